package bin

import (
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Routes is API §4.13.
func Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Path: wire.API + "/bins", Handle: list},
	}
}

func list(*wire.Call) (wire.Reply, error) {
	catalogue := Catalogue()
	return wire.OK(struct {
		Data  []BIN `json:"data"`
		Total int   `json:"total"`
	}{catalogue, len(catalogue)}), nil
}
