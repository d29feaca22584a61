package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Bin is an entry of the catalogue that cards are issued from.
type Bin struct {
	ID       string          `json:"id"`
	Network  transport.Word  `json:"network"`
	Category transport.Word  `json:"category"`
	ThreeDS  bool            `json:"3ds"`
	Wallets  map[string]bool `json:"-"` // mobile wallets, by the service's field name
}

// UnmarshalJSON keeps every boolean field without a name of its own in the
// document under the service's name: they carry a brand (API §2.5).
func (b *Bin) UnmarshalJSON(data []byte) error {
	type plain Bin
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, (*plain)(b)); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	b.Wallets = map[string]bool{}
	for name, value := range fields {
		if text := string(value); name != "3ds" && (text == "true" || text == "false") {
			b.Wallets[transport.NewWord(name).String()] = text == "true"
		}
	}
	return nil
}

// Bins reads the catalogue.
func (c *Client) Bins(ctx context.Context) ([]Bin, error) {
	var bins []Bin
	err := c.Read(ctx, &transport.Call{
		Operation: "list the BINs", Method: http.MethodGet, Path: "/bins",
		Accept: func(body []byte) (err error) {
			bins, _, err = transport.DecodeList[Bin](body, "id")
			return err
		},
	})
	return bins, err
}
