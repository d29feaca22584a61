package wallet

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The statuses of a deposit. Its network confirms it once.
const (
	depositPending   = "pending"
	depositConfirmed = "confirmed"
)

// Deposit is an amount of coins on their way into the wallet.
type Deposit struct {
	ID string `json:"id"`
	Address
	Amount    usd.Amount `json:"amount"` // what the coins come to in USDT
	Status    string     `json:"status"`
	CreatedAt wire.Time  `json:"created_at"`
}

// detect is somebody sending coins to a deposit address. The wallet has them
// once they are confirmed.
func detect(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	currency := fields.Choice("currency", currencies()...)
	amount := fields.Positive("amount")
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	now := c.Tx.Now()
	d := Deposit{c.Tx.NewID("dep_"), Addresses(c.Keys, c.Account, currency)[0], amount, depositPending, wire.Time{Time: now}}
	err := c.Tx.Exec(`INSERT INTO deposits (public_id, account_id, currency, amount, status, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		d.ID, c.Account.ID, currency, d.Amount, d.Status, now.UnixMilli())
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(d), webhook.Emit(c, webhook.DepositPending, d)
}

// confirm is the coin's network confirming a deposit.
func confirm(c *server.Call) (wire.Response, error) {
	d, err := depositByPublicID(c, c.PathValue("id"))
	if err != nil {
		return wire.Response{}, err
	}
	if d.Status != depositPending {
		return wire.Response{}, wire.Invalid("deposit %s is confirmed already", d.ID)
	}
	d.Status = depositConfirmed
	if err := c.Tx.Exec(`UPDATE deposits SET status = ? WHERE public_id = ?`, d.Status, d.ID); err != nil {
		return wire.Response{}, err
	}
	err = ledger.Post(c.Tx, c.Account.ID, "deposit confirmed", ledger.On(ledger.Deposits, -d.Amount), ledger.On(ledger.Wallet, d.Amount))
	if err != nil {
		return wire.Response{}, err
	}
	if err := account.Deposited(c.Tx, c.Account.ID); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(d), webhook.Emit(c, webhook.DepositConfirmed, d)
}

const columns = `SELECT public_id, currency, amount, status, created_at FROM deposits `

func scan(row store.Row, keys *vault.Keyring, by account.Account) (d Deposit, err error) {
	var currency string
	if err := row.Scan(&d.ID, &currency, &d.Amount, &d.Status, &d.CreatedAt); err != nil {
		return Deposit{}, err
	}
	d.Address = Addresses(keys, by, currency)[0]
	return d, nil
}

func depositByPublicID(c *server.Call, publicID string) (Deposit, error) {
	found, err := store.Select(c.Tx, func(row store.Row) (Deposit, error) { return scan(row, c.Keys, c.Account) },
		columns+`WHERE public_id = ? AND account_id = ?`, publicID, c.Account.ID)
	return wire.Only(found, err, "deposit", publicID)
}

// Newest returns a page of an account's deposits, newest first, and whether there
// is more.
func Newest(tx *store.Tx, keys *vault.Keyring, by account.Account, status string, page wire.Page) (deposits []Deposit, more bool, err error) {
	deposits, err = store.Select(tx, func(row store.Row) (Deposit, error) { return scan(row, keys, by) },
		columns+`WHERE account_id = ?1 AND ?2 IN ('', status) ORDER BY id DESC LIMIT ?3 OFFSET ?4`, by.ID, status, page.Size+1, page.Offset())
	return wire.Cut(page, deposits, err)
}
