package wallet

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// coin is a currency that the wallet can be topped up with.
type coin struct {
	currency string
	network  string
	form     vault.AddressForm
}

func coins() []coin {
	return []coin{
		{"btc", "Bitcoin", vault.FormSegwitBitcoin},
		{"eth", "Ethereum", vault.FormEVM},
		{"sol", "Solana", vault.FormSolana},
		{"usdt", "Tron (TRC-20)", vault.FormTron},
		{"bnb", "BNB Smart Chain", vault.FormEVM},
		{"trx", "Tron", vault.FormTron},
		{"pol", "Polygon", vault.FormEVM},
		{"ltc", "Litecoin", vault.FormSegwitLitecoin},
		{"avax", "Avalanche C-Chain", vault.FormEVM},
		{"arb", "Arbitrum One", vault.FormEVM},
	}
}

// depositAddress is the object of API §2.4.
type depositAddress struct {
	Currency string `json:"currency"`
	Network  string `json:"network"`
	Address  string `json:"address"`
}

func depositAddresses(c *wire.Call) (wire.Reply, error) {
	all := coins()
	currencies := make([]string, len(all))
	for i, coin := range all {
		currencies[i] = coin.currency
	}
	query := c.Query()
	currency := query.Choice("currency", currencies...)
	if err := query.Done(); err != nil {
		return wire.Reply{}, err
	}
	if currency != "" {
		all = slices.DeleteFunc(all, func(coin coin) bool { return coin.currency != currency })
	}
	data := make([]depositAddress, len(all))
	for i, coin := range all {
		data[i] = depositAddress{
			coin.currency, coin.network,
			c.Keys.DepositAddress(coin.form, c.Account.PublicID, coin.currency),
		}
	}
	return wire.OK(struct {
		Data []depositAddress `json:"data"`
	}{data}), nil
}
