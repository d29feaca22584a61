// Package wallet shows an account's wallet and where it is topped up.
package wallet

import (
	"encoding/json"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
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

// summary is the object of API §2.3.
type summary struct {
	Balance           json.Number `json:"balance"`
	Currency          string      `json:"currency"`
	PendingDeposits   json.Number `json:"pending_deposits"`
	CardsActive       int64       `json:"cards_active"`
	CardsTotalBalance usd.Amount  `json:"cards_total_balance"`
}

func balance(c *server.Call) (wire.Response, error) {
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return wire.Response{}, err
	}
	pending, err := PendingDeposits(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	onCards, err := ledger.CardsTotal(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	holds, err := card.ShownHolds(c)
	if err != nil {
		return wire.Response{}, err
	}
	active, err := card.Count(c.Tx, c.Account.ID, card.Filter{Status: card.Active})
	return wire.OK(summary{
		Balance:           c.Quirks.WalletAmount(wallet),
		Currency:          "USDT",
		PendingDeposits:   c.Quirks.WalletAmount(pending),
		CardsActive:       active,
		CardsTotalBalance: onCards + holds,
	}), err
}

// PendingDeposits returns what is on its way into an account's wallet.
func PendingDeposits(tx *store.Tx, accountID int64) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `SELECT COALESCE(SUM(amount), 0) FROM deposits WHERE account_id = ? AND status = ?`,
		accountID, depositPending)
}
