package control

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/limit"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// mostCalls is what a limit may be at most.
const mostCalls = 1_000_000_000

func readLimits(c *wire.Call) (wire.Reply, error) {
	limits, err := limit.Read(c.Tx)
	return wire.OK(limits), err
}

// replaceLimits sets all limits; one that is left out is as documented. Calls
// that were counted stay counted.
func replaceLimits(c *wire.Call) (wire.Reply, error) {
	fields, usual := c.Fields(), limit.Documented()
	limits := limit.Limits{
		RequestsPerMinute: fields.Integer("requests_per_minute", usual.RequestsPerMinute, 0, mostCalls),
		CreatesPerMinute:  fields.Integer("creates_per_minute", usual.CreatesPerMinute, 0, mostCalls),
		RequestsPerHour:   fields.Integer("requests_per_hour", usual.RequestsPerHour, 0, mostCalls),
		DetailsPerMinute:  fields.Integer("details_per_minute", usual.DetailsPerMinute, 0, mostCalls),
	}
	if err := fields.Done(); err != nil {
		return wire.Reply{}, err
	}
	return wire.OK(limits), limits.Write(c.Tx)
}
