package control

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// LatestYear keeps every date that is worked out from the clock in four digits.
const LatestYear = 9000

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
	to := c.Tx.Now().Add(by)
	if to.Year() > LatestYear {
		return wire.Response{}, wire.Invalid("advance must not pass the year %d", LatestYear)
	}
	c.Tx.MoveClock(to)
	return now(c)
}

func now(c *server.Call) (wire.Response, error) {
	return wire.OK(struct {
		Now string `json:"now"`
	}{wire.Timestamp(c.Tx.Now())}), nil
}
