// Package wallet shows an account's wallet and where it is topped up.
package wallet

import (
	"errors"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Routes is API §4.11 and §4.12, and what the coins' networks do.
func Routes() []server.Route {
	const deposits = server.Control + "/deposits"
	return []server.Route{
		{Method: http.MethodGet, Path: server.API + "/wallet/balance", Handle: balance},
		{Method: http.MethodGet, Path: server.API + "/wallet/deposit-address", Handle: depositAddresses},
		{Method: http.MethodPost, Path: deposits, Handle: detect},
		{Method: http.MethodPost, Path: deposits + "/{id}/confirm", Handle: server.NoFields(confirm)},
	}
}

// balance shows the object of API §2.3.
func balance(c *server.Call) (wire.Response, error) {
	lines, err := ledger.Summary(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	pending, unread := PendingDeposits(c.Tx, c.Account.ID)
	holds, hidden := card.ShownHolds(c)
	active, uncounted := card.Count(c.Tx, c.Account.ID, card.Filter{Status: card.Active})
	return wire.OK(map[string]any{
		"balance":             c.Quirks.WalletAmount(lines[0].Balance),
		"currency":            "USDT",
		"pending_deposits":    c.Quirks.WalletAmount(pending),
		"cards_active":        active,
		"cards_total_balance": lines[len(lines)-1].Balance + holds,
	}), errors.Join(unread, hidden, uncounted)
}

// PendingDeposits returns what is on its way into an account's wallet.
func PendingDeposits(tx *store.Tx, accountID int64) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `SELECT COALESCE(SUM(amount), 0) FROM deposits WHERE account_id = ? AND status = ?`,
		accountID, depositPending)
}

// coins are the currencies with their networks.
func coins() [][2]string {
	return [][2]string{
		{"btc", "Bitcoin"},
		{"eth", "Ethereum"},
		{"sol", "Solana"},
		{"usdt", "Tron (TRC-20)"},
		{"bnb", "BNB Smart Chain"},
		{"trx", "Tron"},
		{"pol", "Polygon"},
		{"ltc", "Litecoin"},
		{"avax", "Avalanche C-Chain"},
		{"arb", "Arbitrum One"},
	}
}

// Address is the object of API §2.4.
type Address struct {
	Currency string `json:"currency" db:"currency"`
	Network  string `json:"network"`
	Address  string `json:"address"`
}

func currencies() []string {
	var names []string
	for _, coin := range coins() {
		names = append(names, coin[0])
	}
	return names
}

// Addresses returns an account's address for one of the currencies or, with "", for each.
func Addresses(keys *vault.Keyring, by account.Account, currency string) (addresses []Address) {
	for _, coin := range coins() {
		if currency == "" || currency == coin[0] {
			addresses = append(addresses, Address{coin[0], coin[1], keys.DepositAddress(by.PublicID, coin[0])})
		}
	}
	return addresses
}

func depositAddresses(c *server.Call) (wire.Response, error) {
	query := c.Query()
	currency := query.Choice("currency", currencies()...)
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.List(Addresses(c.Keys, c.Account, currency)), nil
}

// The statuses of a deposit. Its network confirms it once.
const (
	depositPending   = "pending"
	depositConfirmed = "confirmed"
)

// Deposit is an amount of coins on their way into the wallet.
type Deposit struct {
	ID string `json:"id" db:"public_id"`
	Address
	Amount    usd.Amount `json:"amount" db:"amount"` // what the coins come to in USDT
	Status    string     `json:"status" db:"status"`
	CreatedAt wire.Time  `json:"created_at" db:"created_at"`
}

// detect is somebody sending coins to a deposit address, which are not confirmed yet.
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
	return wire.Created(d), webhook.Emit(c, webhook.DepositPending, d.ID, d)
}

// confirm is the coin's network confirming a deposit.
func confirm(c *server.Call) (wire.Response, error) {
	id := c.PathValue("id")
	found, err := store.List[Deposit](c.Tx, columns+`WHERE public_id = ? AND account_id = ?`, id, c.Account.ID)
	d, err := wire.Only(withAddresses(c.Keys, c.Account, found), err, "deposit", id)
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
	return wire.OK(d), webhook.Emit(c, webhook.DepositConfirmed, d.ID, d)
}

// columns selects the fields of a Deposit, but for its address.
const columns = `SELECT public_id, currency, amount, status, created_at FROM deposits `

func withAddresses(keys *vault.Keyring, by account.Account, deposits []*Deposit) []*Deposit {
	for _, d := range deposits {
		d.Address = Addresses(keys, by, d.Currency)[0]
	}
	return deposits
}

// Newest returns a page of an account's deposits, newest first.
func Newest(tx *store.Tx, keys *vault.Keyring, by account.Account, status string, page wire.Page) ([]*Deposit, bool, error) {
	deposits, more, err := store.Page[Deposit](tx, page, columns+`WHERE account_id = ?1 AND ?2 IN ('', status) ORDER BY id DESC`, by.ID, status)
	return withAddresses(keys, by, deposits), more, err
}
