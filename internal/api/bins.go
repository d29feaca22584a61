package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Bin is an entry of the catalogue of BINs on which cards can be issued.
type Bin struct {
	ID       string          `json:"id"`
	Network  transport.Word  `json:"network"`
	Category transport.Word  `json:"category"`
	ThreeDS  bool            `json:"3ds"`
	Wallets  map[string]bool `json:"-"` // mobile wallets, by the service's field name
}

// UnmarshalJSON also puts the boolean fields other than 3ds into Wallets, because the API documentation does not show
// the names of the fields for wallets (API §2.5).
func (b *Bin) UnmarshalJSON(data []byte) error {
	type plain Bin // without this method, which would call itself
	err := json.Unmarshal(data, (*plain)(b))
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	err = json.Unmarshal(data, &fields)
	if err != nil {
		return err
	}
	b.Wallets = map[string]bool{}
	for name, value := range fields {
		if name == "3ds" {
			continue
		}
		wallet := transport.NewWord(name).String()
		switch string(value) {
		case "true":
			b.Wallets[wallet] = true
		case "false":
			b.Wallets[wallet] = false
		}
	}
	return nil
}

// Bins reads the catalogue.
func (c *Client) Bins(ctx context.Context) ([]Bin, error) {
	var bins []Bin
	err := c.Read(ctx, &transport.Call{
		Operation: "list the BINs",
		Method:    http.MethodGet,
		Path:      "/bins",
		Accept: func(body []byte) error {
			var err error
			bins, _, err = transport.DecodeList[Bin](body, "id")
			return err
		},
	})
	return bins, err
}
