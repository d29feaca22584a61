package control

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/fault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	maxPattern   = 256 // characters
	mostTimes    = 1_000_000
	longestDelay = 100_000 // milliseconds; the server gives up on an answer after two minutes
)

type faultList struct {
	Data []fault.Fault `json:"data"`
}

func listFaults(c *wire.Call) (wire.Reply, error) {
	faults, err := fault.List(c.Tx)
	return wire.OK(faultList{faults}), err
}

func clearFaults(c *wire.Call) (wire.Reply, error) {
	return wire.OK(faultList{[]fault.Fault{}}), fault.Clear(c.Tx)
}

func addFault(c *wire.Call) (wire.Reply, error) {
	fields := c.Fields()
	f := fault.Fault{
		Method:  fields.ShortText("method", maxPattern),
		Path:    fields.ShortText("path", maxPattern),
		Times:   fields.Integer("times", 1, 0, mostTimes),
		When:    fields.Choice("when", fault.Before, fault.Before, fault.After),
		DelayMS: fields.Integer("delay_ms", 0, 0, longestDelay),
		Then:    readThen(fields),
	}
	checkTarget(fields, f)
	if err := fields.Done(); err != nil {
		return wire.Reply{}, err
	}
	return wire.Created(&f), fault.Add(c.Tx, &f)
}

func readThen(fields *wire.Fields) (then fault.Then) {
	if !fields.HasObject("then") {
		then.Word = fields.Choice("then", "", fault.Drop, fault.Truncate, fault.Pass)
		if then.Word == "" {
			fields.Refuse(wire.Invalid(`then is required: {"status": 503}, "drop", "truncate" or "pass"`))
		}
		return then
	}
	fields.Object("then", func(answer *wire.Fields) {
		then.Status = int(answer.Integer("status", 0, http.StatusOK, 599))
		if then.Status == 0 {
			answer.Refuse(wire.Invalid("status is required"))
		}
		then.Body = answer.Value("body")
	})
	return then
}

// checkTarget refuses a fault that no call would ever match.
func checkTarget(fields *wire.Fields, f fault.Fault) {
	methods := []string{http.MethodGet, http.MethodPost, http.MethodDelete, fault.AnyMethod}
	if !slices.Contains(methods, f.Method) {
		fields.Refuse(wire.Invalid("method must be one of %s", strings.Join(methods, ", ")))
	}
	if strings.HasPrefix(f.Path, wire.API) || strings.HasPrefix(f.Path, wire.Control) {
		fields.Refuse(wire.Invalid("path is a pattern for what follows %s, as in /cards/*/fund", wire.API))
	}
	if _, err := fault.Compile(f.Path); err != nil {
		fields.Refuse(wire.Invalid("path is not a pattern: %v", err))
	}
}
