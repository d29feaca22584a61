package card

import (
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/limit"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Routes is API §4.1 to §4.9.
func Routes() []wire.Route {
	const cards, one = wire.API + "/cards", wire.API + "/cards/{card_id}"
	return []wire.Route{
		{Method: http.MethodPost, Path: cards, Handle: issue, Class: limit.Create},
		{Method: http.MethodGet, Path: cards, Handle: list},
		{Method: http.MethodGet, Path: one, Handle: summary},
		{Method: http.MethodGet, Path: one + "/details", Handle: details, Class: limit.Details},
		{Method: http.MethodPost, Path: one + "/freeze", Handle: freeze},
		{Method: http.MethodPost, Path: one + "/unfreeze", Handle: unfreeze},
		{Method: http.MethodDelete, Path: one, Handle: terminate},
		{Method: http.MethodPost, Path: one + "/fund", Handle: fund},
		{Method: http.MethodPost, Path: one + "/withdraw", Handle: withdraw},
	}
}
