package control

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// maxCalls is the highest limit.
const maxCalls = 1_000_000_000

func readLimits(c *server.Call) (wire.Response, error) {
	limits, err := behavior.ReadLimits(c.Tx)
	return wire.OK(limits), err
}

// replaceLimits sets all limits; one that is left out is as documented. Calls
// that were counted stay counted.
func replaceLimits(c *server.Call) (wire.Response, error) {
	fields, documented := c.Fields(), behavior.DocumentedLimits()
	limits := behavior.Limits{
		RequestsPerMinute: fields.Integer("requests_per_minute", documented.RequestsPerMinute, 0, maxCalls),
		CreatesPerMinute:  fields.Integer("creates_per_minute", documented.CreatesPerMinute, 0, maxCalls),
		RequestsPerHour:   fields.Integer("requests_per_hour", documented.RequestsPerHour, 0, maxCalls),
		DetailsPerMinute:  fields.Integer("details_per_minute", documented.DetailsPerMinute, 0, maxCalls),
	}
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(limits), limits.Write(c.Tx)
}
