package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// WalletBalance is the balance of the account. The wallet is held in USDT, and its amounts may have more decimals than
// those of cards.
type WalletBalance struct {
	Balance           usd.Decimal    `json:"balance"`
	Currency          transport.Word `json:"currency"`
	PendingDeposits   usd.Decimal    `json:"pending_deposits"`    // detected but not confirmed
	CardsActive       *int64         `json:"cards_active"`        // nil if it is not known
	CardsTotalBalance *usd.Decimal   `json:"cards_total_balance"` // USD; nil if it is not known
}

// DepositAddress is the address for deposits of one coin.
type DepositAddress struct {
	Currency transport.Word `json:"currency"`
	Network  transport.Line `json:"network"` // human-readable
	Address  transport.Line `json:"address"`
}

// WalletBalance reads the wallet.
func (c *Client) WalletBalance(ctx context.Context) (WalletBalance, error) {
	var wallet WalletBalance
	err := c.Read(ctx, &transport.Call{
		Operation: "read the wallet balance",
		Method:    http.MethodGet,
		Path:      "/wallet/balance",
		Accept: func(body []byte) error {
			var decoded struct {
				WalletBalance
				// CardsActive shadows the embedded field, so that an invalid count does not make the whole balance
				// unreadable.
				CardsActive json.RawMessage `json:"cards_active"`
			}
			err := transport.DecodeObject(body, &decoded, "balance")
			if err != nil {
				return err
			}
			wallet = decoded.WalletBalance
			count := transport.DecodeOrZero[*transport.Count](decoded.CardsActive)
			if count != nil {
				active := int64(*count)
				wallet.CardsActive = &active
			}
			return nil
		},
	})
	return wallet, err
}

// DepositAddresses reads the deposit addresses of one coin, such as "usdt", or of all coins if currency is empty.
func (c *Client) DepositAddresses(ctx context.Context, currency string) ([]DepositAddress, error) {
	query := url.Values{}
	setQuery(query, "currency", currency)
	var addresses []DepositAddress
	err := c.Read(ctx, &transport.Call{
		Operation: "read the deposit addresses",
		Method:    http.MethodGet,
		Path:      "/wallet/deposit-address",
		Query:     query,
		Accept: func(body []byte) error {
			var err error
			addresses, _, err = transport.DecodeList[DepositAddress](body, "currency", "address")
			return err
		},
	})
	return addresses, err
}
