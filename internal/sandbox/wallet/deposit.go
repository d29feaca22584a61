package wallet

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
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

// deposit is an amount of coins on their way into the wallet.
type deposit struct {
	ID string `json:"id"`
	depositAddress
	Amount    usd.Amount `json:"amount"` // what the coins come to in USDT
	Status    string     `json:"status"`
	CreatedAt string     `json:"created_at"`
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
	now, err := c.Tx.Now()
	if err != nil {
		return wire.Response{}, err
	}
	d := deposit{vault.Token("dep_"), addressFor(c, currency), amount, depositPending, wire.Timestamp(now)}
	err = c.Tx.Exec(`INSERT INTO deposits (public_id, account_id, currency, amount, status, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		d.ID, c.Account.ID, currency, d.Amount, d.Status, now.UnixMilli())
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(d), webhook.Emit(c, webhook.DepositPending, d)
}

// confirm is the coin's network confirming a deposit.
func confirm(c *server.Call) (wire.Response, error) {
	if err := c.NoFields(); err != nil {
		return wire.Response{}, err
	}
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

func depositByPublicID(c *server.Call, publicID string) (d deposit, err error) {
	var (
		currency string
		created  int64
	)
	found, err := c.Tx.Get([]any{&currency, &d.Amount, &d.Status, &created},
		`SELECT currency, amount, status, created_at FROM deposits WHERE public_id = ? AND account_id = ?`, publicID, c.Account.ID)
	if err != nil {
		return deposit{}, err
	}
	if !found {
		return deposit{}, wire.NotFound("deposit", publicID)
	}
	d.ID, d.depositAddress, d.CreatedAt = publicID, addressFor(c, currency), wire.Timestamp(time.UnixMilli(created))
	return d, nil
}
