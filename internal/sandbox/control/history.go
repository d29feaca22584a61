package control

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// latest keeps every date that is worked out from the clock in four digits.
const latest = 9000

func readClock(c *server.Call) (wire.Response, error) { return now(c) }

// moveClock advances the time of the whole file. Time never goes back.
func moveClock(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	text := fields.Text("advance")
	by, err := time.ParseDuration(text)
	if err != nil || by <= 0 {
		fields.Refuse(wire.Invalid(`advance must be a duration above 0, such as "90s" or "720h"`))
	}
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	current, err := c.Tx.Now()
	if err != nil {
		return wire.Response{}, err
	}
	if current.Add(by).Year() > latest {
		return wire.Response{}, wire.Invalid("advance must not pass the year %d", latest)
	}
	if err := c.Tx.MoveClock(by); err != nil {
		return wire.Response{}, err
	}
	return now(c)
}

func now(c *server.Call) (wire.Response, error) {
	t, err := c.Tx.Now()
	return wire.OK(struct {
		Now string `json:"now"`
	}{wire.Timestamp(t)}), err
}

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
