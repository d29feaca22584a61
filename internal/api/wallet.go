package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// WalletBalance is what the account holds. The wallet is held in USDT, which has
// more decimals than the USD of the cards.
type WalletBalance struct {
	Balance           usd.Decimal    `json:"balance"`
	Currency          transport.Word `json:"currency"`
	PendingDeposits   usd.Decimal    `json:"pending_deposits"` // detected, not confirmed
	CardsActive       *int64         `json:"cards_active"`     // nil where it is not known
	CardsTotalBalance *usd.Decimal   `json:"cards_total_balance"`
}

// DepositAddress is where one coin tops the wallet up.
type DepositAddress struct {
	Currency transport.Word `json:"currency"`
	Network  transport.Line `json:"network"` // for people
	Address  transport.Line `json:"address"`
}

// WalletBalance reads the wallet.
func (c *Client) WalletBalance(ctx context.Context) (WalletBalance, error) {
	var wallet WalletBalance
	err := c.Read(ctx, &transport.Call{
		Operation: "read the wallet balance", Method: http.MethodGet, Path: "/wallet/balance",
		Accept: func(body []byte) error {
			var read struct {
				WalletBalance
				CardsActive json.RawMessage `json:"cards_active"` // nothing is decided by it
			}
			err := transport.DecodeObject(body, &read, "balance")
			wallet = read.WalletBalance
			if count := transport.DecodeOrZero[*transport.Count](read.CardsActive); count != nil {
				wallet.CardsActive = new(int64(*count))
			}
			return err
		},
	})
	return wallet, err
}

// DepositAddresses reads the deposit addresses of one coin, such as "usdt", or
// of all coins when currency is empty.
func (c *Client) DepositAddresses(ctx context.Context, currency string) ([]DepositAddress, error) {
	query := url.Values{}
	setQuery(query, "currency", currency)
	var addresses []DepositAddress
	err := c.Read(ctx, &transport.Call{
		Operation: "read the deposit addresses", Method: http.MethodGet, Path: "/wallet/deposit-address", Query: query,
		Accept: func(body []byte) (err error) {
			addresses, _, err = transport.DecodeList[DepositAddress](body, "currency", "address")
			return err
		},
	})
	return addresses, err
}
