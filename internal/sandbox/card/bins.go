package card

import (
	"encoding/json"
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// bin is a range of card numbers, as the API shows it, its support of two mobile
// wallets, whose fields have no certain names, and its maximum, which the API
// does not show.
type bin struct {
	ID         string     `json:"id"`
	Network    string     `json:"network"`
	Category   string     `json:"category"`
	ThreeDS    bool       `json:"3ds"`
	WalletAPay bool       `json:"-"`
	WalletBPay bool       `json:"-"`
	Maximum    usd.Amount `json:"-"` // of a card's monthly spending limit
}

// bins returns the catalogue of the nine BINs. Cards of all of them are enrolled in 3DS.
func bins() []bin {
	return []bin{
		{ID: "bin_ads_visa_us", Network: "visa", Category: "ads", ThreeDS: true, WalletAPay: true, WalletBPay: true, Maximum: 50_000 * usd.Dollar},
		{ID: "bin_ads_visa_eu", Network: "visa", Category: "ads", ThreeDS: true, WalletAPay: true, Maximum: 30_000 * usd.Dollar},
		{ID: "bin_ads_mastercard_us", Network: "mastercard", Category: "ads", ThreeDS: true, WalletBPay: true, Maximum: 50_000 * usd.Dollar},
		{ID: "bin_ads_mastercard_eu", Network: "mastercard", Category: "ads", ThreeDS: true, Maximum: 25_000 * usd.Dollar},
		{ID: "bin_software_visa_us", Network: "visa", Category: "software", ThreeDS: true, WalletAPay: true, WalletBPay: true, Maximum: 20_000 * usd.Dollar},
		{ID: "bin_software_mastercard_us", Network: "mastercard", Category: "software", ThreeDS: true, WalletBPay: true, Maximum: 15_000 * usd.Dollar},
		{ID: "bin_general_visa_us", Network: "visa", Category: "general", ThreeDS: true, WalletAPay: true, Maximum: 10_000 * usd.Dollar},
		{ID: "bin_general_visa_eu", Network: "visa", Category: "general", ThreeDS: true, Maximum: 5_000 * usd.Dollar},
		{ID: "bin_general_mastercard_us", Network: "mastercard", Category: "general", ThreeDS: true, WalletAPay: true, WalletBPay: true, Maximum: 10_000 * usd.Dollar},
	}
}

func binByID(id string) (bin, bool) {
	for _, b := range bins() {
		if b.ID == id {
			return b, true
		}
	}
	return bin{}, false
}

func listBINs(c *server.Call) (wire.Response, error) {
	catalogue := bins()
	shown := make([]binView, len(catalogue))
	for i, b := range catalogue {
		shown[i] = binView{b, c.Quirks.WalletFields}
	}
	return wire.OK(struct {
		Data  []binView `json:"data"`
		Total int       `json:"total"`
	}{shown, len(shown)}), nil
}

type binView struct {
	bin

	walletFields [2]string
}

// MarshalJSON adds the wallet fields.
func (v binView) MarshalJSON() ([]byte, error) {
	base, err := json.Marshal(v.bin)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(base[:len(base)-1], `,%q:%t,%q:%t}`, v.walletFields[0], v.WalletAPay, v.walletFields[1], v.WalletBPay), nil
}
