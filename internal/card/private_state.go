package card

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// privateState is what Terraform's private state holds of a card, no secret among it. Core
// drops it when a provider dies: without it, the safe side is taken.
type privateState struct {
	// Shown is what the service shows in place of what was asked for, by attribute.
	Shown map[string]string `json:"shown,omitempty"`
	// DefaultLimit says that nobody asked for the spending limit.
	DefaultLimit bool `json:"default_limit,omitempty"`
	// Month is that of the last refresh.
	Month reconcile.Month `json:"month,omitempty"`
	// JustImported spares the read with which Terraform follows an import.
	JustImported bool `json:"just_imported,omitempty"`
	// Replaced is the card as it was planned: core plans a replacement a second
	// time as a creation, and this is all which that creation knows of it.
	Replaced *replacedCard `json:"replaced,omitempty"`
	// NextCost is what the card that replaces this one takes, in USD; 0 with create_before_destroy.
	NextCost usd.Amount `json:"next_cost,omitzero"`
}

// replacedCard is a card that may be about to be replaced.
type replacedCard struct {
	Name      string     `json:"name"`
	Protected bool       `json:"protected"`
	Balance   usd.Amount `json:"balance"`
	// Planned is what the plan's sum of the wallet already has of this card.
	Planned usd.Amount `json:"planned"`
}

const privateStateKey = "card"

type (
	keyGetter interface {
		GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	}
	keySetter interface {
		SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
	}
)

// readPrivateState returns the zero privateState where none can be read.
func readPrivateState(ctx context.Context, from keyGetter, diags *diag.Diagnostics) (s privateState) {
	data, problems := from.GetKey(ctx, privateStateKey)
	diags.Append(problems...)
	if json.Unmarshal(data, &s) != nil {
		return privateState{}
	}
	return s
}

func (s privateState) write(ctx context.Context, to keySetter, diags *diag.Diagnostics) {
	data, err := json.Marshal(s)
	if err != nil {
		diags.AddError("Private state cannot be written", err.Error())
		return
	}
	diags.Append(to.SetKey(ctx, privateStateKey, data)...)
}
