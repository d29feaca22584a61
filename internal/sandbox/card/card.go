// Package card issues cards, on the BINs of its catalogue, and moves them
// through their life.
package card

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Routes is API §4.1 to §4.9 and §4.13.
func Routes() []server.Route {
	const cards, one = server.API + "/cards", server.API + "/cards/{card_id}"
	return []server.Route{
		{Method: http.MethodPost, Path: cards, Handle: issue, Class: behavior.Create},
		{Method: http.MethodGet, Path: cards, Handle: list},
		{Method: http.MethodGet, Path: one, Handle: summary},
		{Method: http.MethodGet, Path: one + "/details", Handle: details, Class: behavior.Details},
		{Method: http.MethodPost, Path: one + "/freeze", Handle: server.NoFields(freeze)},
		{Method: http.MethodPost, Path: one + "/unfreeze", Handle: server.NoFields(unfreeze)},
		{Method: http.MethodDelete, Path: one, Handle: server.NoFields(terminate)},
		{Method: http.MethodPost, Path: one + "/fund", Handle: fund},
		{Method: http.MethodPost, Path: one + "/withdraw", Handle: withdraw},
		{Method: http.MethodGet, Path: server.API + "/bins", Handle: listBINs},
	}
}

// MaxMerchantName is how many characters the name of a merchant that uses a card may have.
const MaxMerchantName = 128

// Status is where a card is in its life.
type Status string

// The three states of API §3.
const (
	Active     Status = "active"
	Frozen     Status = "frozen"
	Terminated Status = "terminated"
)

// Card is a card as the file holds it. Its number and code are derived, not held.
type Card struct {
	ID                int64
	PublicID          string
	LedgerAccountID   int64
	BINID             string
	Last4             string
	Status            Status
	Balance           usd.Amount
	holds             usd.Amount // that the service shows as part of the balance
	Loaded            usd.Amount // what its owner put on it, less what was taken back
	SpendingLimit     usd.Amount // per UTC calendar month
	Label             string
	AllowedCategories []string // empty: all
	AutoFreezeAt      *usd.Amount
	Metadata          map[string]json.RawMessage
	CreatedAt         wire.Time
	ExpiresAt         time.Time // the last day of its month
}

// Network is the lower-case name of the card's network.
func (c *Card) Network() string {
	b, _ := binByID(c.BINID)
	return b.Network
}

const columns = `
	SELECT c.id, c.public_id, c.ledger_account_id, c.bin_id, c.last4, c.status, l.balance, c.loaded, c.spending_limit, c.label,
	       c.allowed_categories, c.auto_freeze_at, c.metadata, c.created_at, c.expires_at
	FROM cards c JOIN ledger_accounts l ON l.id = c.ledger_account_id `

func scan(row store.Row) (*Card, error) {
	var (
		c                    Card
		categories, metadata []byte
		expires              string
	)
	err := row.Scan(&c.ID, &c.PublicID, &c.LedgerAccountID, &c.BINID, &c.Last4, &c.Status, &c.Balance, &c.Loaded, &c.SpendingLimit,
		&c.Label, &categories, &c.AutoFreezeAt, &metadata, &c.CreatedAt, &expires)
	if err != nil {
		return nil, err
	}
	if c.ExpiresAt, err = time.Parse(time.DateOnly, expires); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(categories, &c.AllowedCategories); err != nil {
		return nil, err
	}
	return &c, json.Unmarshal(metadata, &c.Metadata)
}

// ByPublicID returns a card of an account, or a 404.
func ByPublicID(tx *store.Tx, accountID int64, publicID string) (*Card, error) {
	found, err := store.Select(tx, scan, columns+`WHERE c.public_id = ? AND c.account_id = ?`, publicID, accountID)
	return wire.Only(found, err, "card", publicID)
}

func find(c *server.Call) (*Card, error) {
	card, err := ByPublicID(c.Tx, c.Account.ID, c.PathValue("card_id"))
	if err != nil {
		return nil, err
	}
	_, err = card.Shown(c)
	return card, err
}

// findLive returns the card that a call's path names, unless it is terminated.
func findLive(c *server.Call) (*Card, error) {
	card, err := find(c)
	if err != nil || card.Status != Terminated {
		return card, err
	}
	if c.Quirks.TerminatedStatus == http.StatusNotFound {
		return nil, wire.NotFound("card", card.PublicID)
	}
	return nil, wire.NewError(int(c.Quirks.TerminatedStatus), wire.CodeCardTerminated,
		"card %s is terminated, which is permanent", card.PublicID)
}

// findUsable is findLive for calls that a service may refuse on a frozen card.
func findUsable(c *server.Call) (*Card, error) {
	card, err := findLive(c)
	if err == nil && card.Status == Frozen && c.Quirks.FrozenMoney == behavior.Refused {
		return nil, wire.Refuse(wire.CodeCardFrozen, "card %s is frozen; unfreeze it first", card.PublicID)
	}
	return card, err
}
