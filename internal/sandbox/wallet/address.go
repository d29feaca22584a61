package wallet

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// coin is a currency that the wallet can be topped up with.
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

// addressFor returns an account's address for one of the currencies.
func addressFor(keys *vault.Keyring, by account.Account, currency string) Address {
	all := coins()
	i := slices.IndexFunc(all, func(coin coin) bool { return coin.currency == currency })
	return Address{currency, all[i].network, keys.DepositAddress(by.PublicID, currency)}
}

// Addresses returns an account's address for each currency.
func Addresses(keys *vault.Keyring, by account.Account) []Address {
	return addressesFor(keys, by, currencies())
}

func addressesFor(keys *vault.Keyring, by account.Account, currencies []string) []Address {
	addresses := make([]Address, len(currencies))
	for i, currency := range currencies {
		addresses[i] = addressFor(keys, by, currency)
	}
	return addresses
}

func depositAddresses(c *server.Call) (wire.Response, error) {
	wanted := currencies()
	query := c.Query()
	currency := query.Choice("currency", wanted...)
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	if currency != "" {
		wanted = []string{currency}
	}
	return wire.OK(wire.List[Address]{Data: addressesFor(c.Keys, c.Account, wanted)}), nil
}
