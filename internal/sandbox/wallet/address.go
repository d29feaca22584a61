package wallet

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

type coin struct {
	currency string
	network  string
}

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

// Address is the object of API §2.4.
type Address struct {
	Currency string `json:"currency"`
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

// Addresses returns an account's address for one of the currencies or, with "", for each.
func Addresses(keys *vault.Keyring, by account.Account, currency string) (addresses []Address) {
	for _, coin := range coins() {
		if currency == "" || currency == coin.currency {
			addresses = append(addresses, Address{coin.currency, coin.network, keys.DepositAddress(by.PublicID, coin.currency)})
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
	return wire.OK(wire.List[Address]{Data: Addresses(c.Keys, c.Account, currency)}), nil
}
