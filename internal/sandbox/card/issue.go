package card

import (
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	minimumLoad     = 50 * usd.Dollar
	issuanceFee     = 1 * usd.Dollar
	maxLabel        = 64 // characters
	maxMetadataKeys = 20

	maxMetadataValue = 512 // characters of a name or a value
	validYears       = 3
)

func issue(c *server.Call) (wire.Response, error) {
	card, err := readCard(c.Fields(), c.Quirks.CardValues == behavior.Tidied)
	if err != nil {
		return wire.Response{}, err
	}
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return wire.Response{}, err
	}
	cost := card.Balance + issuanceFee
	if wallet < cost {
		return wire.Response{}, wire.Refuse(wire.CodeInsufficientFunds,
			"the wallet holds %s USD; the load and the fee of %s USD need %s USD", wallet, issuanceFee, cost)
	}
	if err := card.insert(c); err != nil {
		return wire.Response{}, err
	}
	err = ledger.Post(c.Tx, c.Account.ID, "card issued",
		ledger.On(ledger.Wallet, -cost), ledger.OnCard(card.LedgerAccountID, card.Balance), ledger.On(ledger.Fees, issuanceFee))
	if err != nil {
		return wire.Response{}, err
	}
	view := card.full()
	if c.Quirks.CardValues == behavior.Tidied {
		view.AllowedCategories = tidied(card.AllowedCategories)
	}
	return wire.Created(view), webhook.Emit(c, webhook.CardCreated, card.full())
}

// tidied returns categories as they are in no request.
func tidied(categories []string) []string {
	upper := slices.Sorted(slices.Values(categories))
	for i, name := range upper {
		upper[i] = strings.ToUpper(name)
	}
	return upper
}

// readCard reads what a caller wants issued. Its load is the balance.
func readCard(f *wire.Fields, tidy bool) (*Card, error) {
	card := &Card{Status: Active, BINID: f.Text("bin_id"), Balance: f.Amount("amount")}
	card.Label, _ = f.OptionalText("label", maxLabel)
	limit, limited := f.OptionalAmount("spending_limit")
	card.AllowedCategories, _ = f.Texts("allowed_categories")
	if threshold, found := f.OptionalAmount("auto_freeze_at"); found {
		card.AutoFreezeAt = &threshold
	}
	card.Metadata = f.Pairs("metadata", maxMetadataKeys, maxMetadataValue)
	if err := f.Done(); err != nil {
		return nil, err
	}
	bin, known := binByID(card.BINID)
	if !known {
		return nil, wire.Refuse(wire.CodeBINNotFound, "bin_id: there is no BIN %.64q; GET /bins lists them", card.BINID)
	}
	if card.SpendingLimit = bin.Maximum; limited {
		card.SpendingLimit = limit
	}
	if tidy {
		card.Label, card.SpendingLimit = strings.TrimSpace(card.Label), min(card.SpendingLimit, bin.Maximum)
	}
	return card, card.check(bin)
}

func (c *Card) check(on bin) error {
	for _, name := range c.AllowedCategories {
		if known := categoryNames(); !slices.Contains(known, name) {
			return wire.Invalid("allowed_categories: %.64q is not a category; there are %s", name, strings.Join(known, ", "))
		}
	}
	switch {
	case c.Balance < minimumLoad:
		return wire.Invalid("amount must be at least %s USD", minimumLoad)
	case c.SpendingLimit <= 0 || c.SpendingLimit > on.Maximum:
		return wire.Invalid("spending_limit must be above 0 and at most %s USD, the maximum of %s", on.Maximum, on.ID)
	case c.AutoFreezeAt != nil && *c.AutoFreezeAt < 0:
		return wire.Invalid("auto_freeze_at must not be negative")
	}
	return nil
}

// insert gives the card its number and writes it. What loads it is up to the caller.
func (c *Card) insert(call *server.Call) (err error) {
	now := call.Tx.Now()
	c.PublicID = call.Tx.NewID("card_")
	pan := call.Keys.PAN(c.PublicID)
	c.Last4 = pan[len(pan)-4:]
	c.CreatedAt = wire.Time{Time: now}
	c.ExpiresAt = time.Date(now.Year()+validYears, now.Month()+1, 0, 0, 0, 0, 0, time.UTC)
	if c.LedgerAccountID, err = ledger.OpenCard(call.Tx, call.Account.ID); err != nil {
		return err
	}
	c.ID, err = call.Tx.Insert(`
		INSERT INTO cards (public_id, account_id, ledger_account_id, bin_id, last4, status, loaded, spending_limit, label,
		                   allowed_categories, auto_freeze_at, metadata, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.PublicID, call.Account.ID, c.LedgerAccountID, c.BINID, c.Last4, c.Status, c.Balance, c.SpendingLimit, c.Label,
		string(wire.Encode(c.AllowedCategories)), c.AutoFreezeAt, string(wire.Encode(c.Metadata)), now.UnixMilli(), c.ExpiresAt.Format(time.DateOnly))
	return err
}
