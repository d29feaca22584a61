package control

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

type requestView struct {
	Method         string  `json:"method"`
	Path           string  `json:"path"` // relative to the base address
	Query          string  `json:"query"`
	Status         int     `json:"status"`
	IdempotencyKey *string `json:"idempotency_key"`
	Time           string  `json:"time"`
}

// listRequests shows the API calls so far, the oldest first.
func listRequests(c *server.Call) (wire.Response, error) {
	entries, err := requestlog.List(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	data := make([]requestView, len(entries))
	for i, e := range entries {
		data[i] = requestView{e.Method, e.Path, e.Query, e.Status, nil, wire.Timestamp(e.Time)}
		if e.IdempotencyKey != "" {
			data[i].IdempotencyKey = &e.IdempotencyKey
		}
	}
	return wire.OK(wire.List[requestView]{Data: data}), nil
}

func forgetRequests(c *server.Call) (wire.Response, error) {
	return wire.OK(wire.List[requestView]{Data: []requestView{}}), requestlog.Forget(c.Tx, c.Account.ID)
}
