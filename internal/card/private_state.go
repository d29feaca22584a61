package card

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// privateState is what Terraform's private state holds of a card, no secret among it.
type privateState struct {
	// Version grows when an earlier release could not read what a later one writes.
	Version int `json:"version,omitempty"`
	// Account is the fingerprint of the account that owns the card, as earlier
	// releases kept it, and Addresses the hashes of its deposit addresses.
	Account   string   `json:"account,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Anchor is what the card is known to have held.
	Anchor *api.Anchor `json:"anchor,omitempty"`
	// Token is in the idempotency key of the next movement of money, and is renewed
	// when that is made, so that a movement of the same amount later is another one.
	Token string `json:"token,omitempty"`
	// Unanswered says that a request under the key of Token may still be on its way.
	Unanswered bool `json:"unanswered,omitempty"`
	// Imported cards have attributes whose values nobody but the service knows.
	Imported bool `json:"imported,omitempty"`
	// IssuedOtherwise is what the service made of what was asked.
	IssuedOtherwise issuedOtherwise `json:"issued_otherwise,omitempty"`
	// Unread cards have not been read since they were issued.
	Unread bool `json:"unread,omitempty"`
	// JustImported spares the read with which Terraform follows an import.
	JustImported bool `json:"just_imported,omitempty"`
	// Pending is a movement of money whose outcome is not known.
	Pending *pendingTransfer `json:"pending,omitempty"`
	// Prior is the card as it was planned: core plans a replacement a second
	// time as a creation, and this is all which that creation knows of it.
	Prior *priorCard `json:"prior,omitempty"`
	// Next is the card that a plan issues. Terminating a card finds it here when
	// the card is replaced.
	Next *session.NewCard `json:"next,omitempty"`
	// HistoryLost says that what was kept of the card is lost, and with it whether
	// an earlier run has moved money: the next movement stops once.
	HistoryLost bool `json:"history_lost,omitempty"`
	// DefaultLimit is the spending limit that the service set for want of another.
	DefaultLimit *usd.Amount `json:"default_limit,omitempty"`
}

// pendingTransfer is a transfer and what the state says once it has happened.
type pendingTransfer struct {
	Transfer api.PendingTransfer `json:"transfer"`
	Amount   *usd.Amount         `json:"amount"`
	ToppedUp usd.Amount          `json:"topped_up"`
}

// account is what is known of the account that owns the card.
func (s privateState) account() session.Account {
	return session.Account{Fingerprint: s.Account, Addresses: s.Addresses}
}

// isEmpty reports whether nothing was kept of the card.
func (s privateState) isEmpty() bool { return s.Token == "" && s.Anchor == nil }

// renewToken ends the life of a key, since what it was for is done or refused.
func (s *privateState) renewToken() { s.Token, s.Unanswered = uuid.NewString(), false }

// keepAccount adds the addresses of an account, so that one of them may be
// rotated and the account is still known.
func (s *privateState) keepAccount(account session.Account) {
	s.Account = account.Fingerprint
	s.Addresses = append(s.Addresses, account.Addresses...)
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
}

// priorCard is a card that may be about to be replaced.
type priorCard struct {
	Name      string     `json:"name"`
	Protected bool       `json:"protected"`
	Balance   usd.Amount `json:"balance"`
	// Planned is what the plan's sum of the wallet already has of this card.
	Planned usd.Amount `json:"planned"`
}

const (
	privateStateKey     = "card"
	privateStateVersion = 2
)

type keyGetter interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type keySetter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readPrivateState returns the zero privateState where none was written.
func readPrivateState(ctx context.Context, from keyGetter, diags *diag.Diagnostics) privateState {
	var s privateState
	data, problems := from.GetKey(ctx, privateStateKey)
	diags.Append(problems...)
	if len(data) == 0 {
		return s
	}
	var written struct { // what a later release writes may have another shape
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &written); err == nil && written.Version > privateStateVersion {
		diags.AddError("Private state of a later release",
			"What is kept beside the state of this card was written by a later release of the provider, so nothing was done. Use that release or a later one.")
	} else if err := json.Unmarshal(data, &s); err != nil {
		diags.AddError("Unreadable private state",
			"What the provider keeps beside the state of this card cannot be read: "+err.Error()+
				". Restore the state from a backup, or remove the card from the state with terraform state rm and import it again.")
	}
	return s
}

func (s privateState) write(ctx context.Context, to keySetter, diags *diag.Diagnostics) {
	s.Version = privateStateVersion
	data, err := json.Marshal(s)
	if err != nil {
		diags.AddError("Private state cannot be written", err.Error())
		return
	}
	diags.Append(to.SetKey(ctx, privateStateKey, data)...)
}
