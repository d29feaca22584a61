// Package bin is the catalogue of BINs that cards can be issued on.
package bin

import "github.com/vcard/terraform-provider-vcard/internal/usd"

// BIN is a range of card numbers, as the API shows it, its support of two mobile
// wallets, whose fields have no certain names, and its maximum, which the API
// does not show.
type BIN struct {
	ID         string     `json:"id"`
	Network    string     `json:"network"`
	Category   string     `json:"category"`
	ThreeDS    bool       `json:"3ds"`
	WalletAPay bool       `json:"-"`
	WalletBPay bool       `json:"-"`
	Maximum    usd.Amount `json:"-"` // of a card's monthly spending limit
}

// Catalogue returns the nine BINs. Cards of all of them are enrolled in 3DS.
func Catalogue() []BIN {
	return []BIN{
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

// ByID returns a BIN of the catalogue.
func ByID(id string) (BIN, bool) {
	for _, b := range Catalogue() {
		if b.ID == id {
			return b, true
		}
	}
	return BIN{}, false
}
