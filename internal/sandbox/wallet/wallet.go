// Package wallet serves the calls about an account's wallet and its deposits.
package wallet

import (
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

// Routes returns the routes of API §4.11 and §4.12, and the control calls for deposits.
func Routes() []server.Route {
	const deposits = server.Control + "/deposits"
	return []server.Route{
		{Method: http.MethodGet, Path: server.API + "/wallet/balance", Handle: balance},
		{Method: http.MethodGet, Path: server.API + "/wallet/deposit-address", Handle: depositAddresses},
		{Method: http.MethodPost, Path: deposits, Handle: createDeposit},
		{Method: http.MethodPost, Path: deposits + "/{id}/confirm", Handle: server.NoFields(confirmDeposit)},
	}
}

// balance returns the object of API §2.3.
func balance(c *server.Call) (wire.Response, error) {
	lines, err := ledger.Summary(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	pending, err := PendingDeposits(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	holds, err := card.ShownHolds(c)
	if err != nil {
		return wire.Response{}, err
	}
	active, err := card.Count(c.Tx, c.Account.ID, card.Filter{Status: card.Active})
	if err != nil {
		return wire.Response{}, err
	}
	// The first line is the wallet, and the last line is the total of all cards.
	wallet := lines[0].Balance
	cards := lines[len(lines)-1].Balance
	return wire.OK(map[string]any{
		"balance":             c.Quirks.WalletAmount(wallet),
		"currency":            "USDT",
		"pending_deposits":    c.Quirks.WalletAmount(pending),
		"cards_active":        active,
		"cards_total_balance": cards + holds,
	}), nil
}

// PendingDeposits returns the sum of an account's unconfirmed deposits.
func PendingDeposits(tx *store.Tx, accountID int64) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `SELECT COALESCE(SUM(amount), 0) FROM deposits WHERE account_id = ? AND status = ?`,
		accountID, depositPending)
}

type coin struct{ currency, network string }

func coins() []coin {
	return []coin{
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

// DepositAddress is the object of API §2.4.
type DepositAddress struct {
	Currency string `json:"currency" db:"currency"`
	Network  string `json:"network"`
	Address  string `json:"address"`
}

func currencies() []string {
	var names []string
	for _, coin := range coins() {
		names = append(names, coin.currency)
	}
	return names
}

// AllCurrencies makes Addresses return the addresses for all currencies.
const AllCurrencies = ""

// Addresses returns an account's deposit address for a currency. For AllCurrencies, it returns the account's addresses
// for all currencies. The result is empty for an unknown currency.
func Addresses(keys *vault.Keyring, owner account.Account, currency string) []DepositAddress {
	var addresses []DepositAddress
	for _, coin := range coins() {
		if currency == AllCurrencies || currency == coin.currency {
			addresses = append(addresses, DepositAddress{
				Currency: coin.currency,
				Network:  coin.network,
				Address:  keys.DepositAddress(owner.PublicID, coin.currency),
			})
		}
	}
	return addresses
}

// addressFor returns an account's deposit address for a currency, which must be one of currencies.
func addressFor(keys *vault.Keyring, owner account.Account, currency string) DepositAddress {
	return Addresses(keys, owner, currency)[0]
}

func depositAddresses(c *server.Call) (wire.Response, error) {
	query := c.Query()
	currency := query.Choice("currency", currencies()...) // AllCurrencies if the parameter is absent
	err := query.Done()
	if err != nil {
		return wire.Response{}, err
	}
	return wire.List(Addresses(c.Keys, c.Account, currency)), nil
}

// The statuses of a deposit.
const (
	depositPending   = "pending"
	depositConfirmed = "confirmed"
)

// Deposit is a transfer of coins to a deposit address.
type Deposit struct {
	ID string `json:"id" db:"public_id"`
	DepositAddress
	Amount    usd.Amount `json:"amount" db:"amount"` // the value of the coins in USDT
	Status    string     `json:"status" db:"status"`
	CreatedAt wire.Time  `json:"created_at" db:"created_at"`
}

// createDeposit simulates that someone sends coins to a deposit address. The deposit is pending until it is confirmed.
func createDeposit(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	currency := fields.Choice("currency", currencies()...)
	amount := fields.PositiveAmount("amount")
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	d := Deposit{
		ID:             c.Tx.NewID("dep_"),
		DepositAddress: addressFor(c.Keys, c.Account, currency),
		Amount:         amount,
		Status:         depositPending,
		CreatedAt:      wire.Time{Time: c.Tx.Now()},
	}
	err = c.Tx.Exec(`
		INSERT INTO deposits (public_id, account_id, currency, amount, status, created_at)
		VALUES (?, ?, ?, ?, ?, ?)`,
		d.ID, c.Account.ID, currency, d.Amount, d.Status, d.CreatedAt.UnixMilli())
	if err != nil {
		return wire.Response{}, err
	}
	err = webhook.Emit(c, webhook.DepositPending, d.ID, d)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(d), nil
}

// confirmDeposit simulates that the coin's network confirms a deposit. It adds the amount to the wallet. If the account
// was waiting for its first deposit, it also advances the onboarding.
func confirmDeposit(c *server.Call) (wire.Response, error) {
	id := c.PathValue("id")
	found, err := store.List[Deposit](c.Tx, selectDeposits+`WHERE public_id = ? AND account_id = ?`, id, c.Account.ID)
	d, err := wire.OneOrNotFound(found, err, "deposit", id)
	if err != nil {
		return wire.Response{}, err
	}
	if d.Status != depositPending {
		return wire.Response{}, wire.Invalid("deposit %s is already confirmed", d.ID)
	}
	d.DepositAddress = addressFor(c.Keys, c.Account, d.Currency) // for the response and the event
	d.Status = depositConfirmed
	err = c.Tx.Exec(`UPDATE deposits SET status = ? WHERE public_id = ?`, d.Status, d.ID)
	if err != nil {
		return wire.Response{}, err
	}
	err = ledger.Post(c.Tx, c.Account.ID, "deposit confirmed",
		ledger.NewLeg(ledger.Deposits, -d.Amount), ledger.NewLeg(ledger.Wallet, d.Amount))
	if err != nil {
		return wire.Response{}, err
	}
	err = account.AdvanceAfterDeposit(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	err = webhook.Emit(c, webhook.DepositConfirmed, d.ID, d)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(d), nil
}

// selectDeposits selects the fields of a Deposit except Network and Address, which addressFor returns.
const selectDeposits = `SELECT public_id, currency, amount, status, created_at FROM deposits `

// NewestDeposits returns a page of an account's deposits, newest first, and reports whether there are more. An empty
// status selects all deposits.
func NewestDeposits(
	tx *store.Tx, keys *vault.Keyring, owner account.Account, status string, page wire.Page,
) ([]*Deposit, bool, error) {
	where := store.NewWhere(`account_id = ?`, owner.ID).AndIf(status != "", `status = ?`, status)
	deposits, more, err := store.Page[Deposit](tx, page, selectDeposits+where.SQL+` ORDER BY id DESC`, where.Args...)
	if err != nil {
		return nil, false, err
	}
	for _, d := range deposits {
		d.DepositAddress = addressFor(keys, owner, d.Currency)
	}
	return deposits, more, nil
}
