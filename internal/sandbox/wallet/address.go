package wallet

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
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

// depositAddress is the object of API §2.4.
type depositAddress struct {
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

// addressFor returns the account's address for one of the currencies.
func addressFor(c *server.Call, currency string) depositAddress {
	all := coins()
	i := slices.IndexFunc(all, func(coin coin) bool { return coin.currency == currency })
	return depositAddress{currency, all[i].network, c.Keys.DepositAddress(c.Account.PublicID, currency)}
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
	data := make([]depositAddress, len(wanted))
	for i, currency := range wanted {
		data[i] = addressFor(c, currency)
	}
	return wire.OK(wire.List[depositAddress]{Data: data}), nil
}
