package bin

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Routes is API §4.13.
func Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Path: wire.API + "/bins", Handle: list},
	}
}

func list(c *wire.Call) (wire.Reply, error) {
	catalogue := Catalogue()
	shown := make([]view, len(catalogue))
	for i, b := range catalogue {
		shown[i] = view{b, c.Quirks.WalletFields}
	}
	return wire.OK(struct {
		Data  []view `json:"data"`
		Total int    `json:"total"`
	}{shown, len(shown)}), nil
}

// view is a BIN with the service's names for its two wallet fields.
type view struct {
	BIN

	walletFields [2]string
}

// MarshalJSON adds the wallet fields.
func (v view) MarshalJSON() ([]byte, error) {
	base, err := json.Marshal(v.BIN)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(base[:len(base)-1], `,%q:%t,%q:%t}`, v.walletFields[0], v.WalletAPay, v.walletFields[1], v.WalletBPay), nil
}
