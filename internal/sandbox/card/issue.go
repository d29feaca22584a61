package card

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/bin"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/category"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/event"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	minimumLoad     = 50 * usd.Dollar
	issuanceFee     = 1 * usd.Dollar
	maxLabel        = 64 // characters
	maxMetadataKeys = 20
	validYears      = 3
)

// order is what a caller wants issued.
type order struct {
	bin          bin.BIN
	load         usd.Amount
	label        string
	limit        usd.Amount
	categories   []string
	autoFreezeAt *usd.Amount
	metadata     map[string]json.RawMessage
}

func issue(c *wire.Call) (wire.Reply, error) {
	o, err := readOrder(c.Fields())
	if err != nil {
		return wire.Reply{}, err
	}
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return wire.Reply{}, err
	}
	if cost := o.load + issuanceFee; wallet < cost {
		return wire.Reply{}, wire.Refuse(wire.CodeInsufficientFunds,
			"the wallet holds %s USD; the load and the fee of %s USD need %s USD", wallet, issuanceFee, cost)
	}
	card, err := o.issue(c)
	if err != nil {
		return wire.Reply{}, err
	}
	err = ledger.Post(c.Tx, c.Account.ID, "card issued",
		ledger.On(ledger.Wallet, -o.load-issuanceFee), ledger.OnCard(card.LedgerAccountID, o.load), ledger.On(ledger.Fees, issuanceFee))
	if err != nil {
		return wire.Reply{}, err
	}
	card.Balance = o.load
	return wire.Created(card.full()), event.Emit(c, event.CardCreated, card.full())
}

func readOrder(f *wire.Fields) (o order, err error) {
	binID := f.Text("bin_id")
	o.load = f.Amount("amount")
	o.label, _ = f.OptionalText("label", maxLabel)
	limit, limited := f.OptionalAmount("spending_limit")
	o.categories, _ = f.Texts("allowed_categories")
	if threshold, found := f.OptionalAmount("auto_freeze_at"); found {
		o.autoFreezeAt = &threshold
	}
	o.metadata = f.Pairs("metadata", maxMetadataKeys)
	if err := f.Done(); err != nil {
		return order{}, err
	}
	var known bool
	if o.bin, known = bin.ByID(binID); !known {
		return order{}, wire.Refuse(wire.CodeBINNotFound, "bin_id: there is no BIN %.64q; GET /bins lists them", binID)
	}
	if o.limit = o.bin.Maximum; limited {
		o.limit = limit
	}
	return o, o.check()
}

func (o order) check() error {
	for _, name := range o.categories {
		if known := category.Names(); !slices.Contains(known, name) {
			return wire.Invalid("allowed_categories: %.64q is not a category; there are %s", name, strings.Join(known, ", "))
		}
	}
	switch {
	case o.load < minimumLoad:
		return wire.Invalid("amount must be at least %s USD", minimumLoad)
	case o.limit <= 0 || o.limit > o.bin.Maximum:
		return wire.Invalid("spending_limit must be above 0 and at most %s USD, the maximum of %s", o.bin.Maximum, o.bin.ID)
	case o.autoFreezeAt != nil && *o.autoFreezeAt < 0:
		return wire.Invalid("auto_freeze_at must not be negative")
	}
	return nil
}

// issue writes the card, still empty.
func (o order) issue(c *wire.Call) (*Card, error) {
	now, err := c.Tx.Now()
	if err != nil {
		return nil, err
	}
	publicID := vault.Token("card_")
	pan := c.Keys.PAN(publicID)
	card := &Card{
		PublicID:          publicID,
		BINID:             o.bin.ID,
		Last4:             pan[len(pan)-4:],
		Status:            Active,
		SpendingLimit:     o.limit,
		Label:             o.label,
		AllowedCategories: o.categories,
		AutoFreezeAt:      o.autoFreezeAt,
		Metadata:          o.metadata,
		CreatedAt:         now,
		ExpiresAt:         time.Date(now.Year()+validYears, now.Month()+1, 0, 0, 0, 0, 0, time.UTC),
	}
	if card.LedgerAccountID, err = ledger.OpenCard(c.Tx, c.Account.ID); err != nil {
		return nil, err
	}
	categories, err := json.Marshal(card.AllowedCategories)
	if err != nil {
		return nil, err
	}
	metadata, err := json.Marshal(card.Metadata)
	if err != nil {
		return nil, err
	}
	card.ID, err = c.Tx.Insert(`
		INSERT INTO cards (public_id, account_id, ledger_account_id, bin_id, last4, status, spending_limit, label,
		                   allowed_categories, auto_freeze_at, metadata, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		card.PublicID, c.Account.ID, card.LedgerAccountID, card.BINID, card.Last4, card.Status, card.SpendingLimit, card.Label,
		string(categories), card.AutoFreezeAt, string(metadata), now.UnixMilli(), card.ExpiresAt.Format(time.DateOnly))
	return card, err
}
