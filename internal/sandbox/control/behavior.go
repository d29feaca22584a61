package control

import (
	"regexp"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func readQuirks(c *server.Call) (wire.Response, error) { return wire.OK(c.Quirks), nil }

// replaceQuirks sets all quirks; one that is left out is as by default.
func replaceQuirks(c *server.Call) (wire.Response, error) {
	f, q := c.Fields(), behavior.DefaultQuirks()
	for _, choice := range q.Choices() {
		*choice.Value = f.OptionalChoice(choice.Name, *choice.Value, choice.Words...)
	}
	for _, number := range q.Numbers() {
		*number.Value = readNumber(f, number)
	}
	q.WalletFields = readWalletFields(f, q.WalletFields)
	if err := f.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(q), q.Write(c.Tx)
}

func readNumber(f *wire.Fields, n behavior.Number) int64 {
	value := f.Integer(n.Name, *n.Value, n.Least, n.Most)
	if len(n.Only) > 0 && !slices.Contains(n.Only, value) {
		f.Refuse(wire.Invalid("%s must be one of %v", n.Name, n.Only))
	}
	return value
}

var walletField = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

// readWalletFields reads two names that no other field of a BIN has.
func readWalletFields(f *wire.Fields, fallback [2]string) [2]string {
	names, found := f.Texts("wallet_fields")
	if !found {
		return fallback
	}
	isTaken := func(name string) bool {
		return !walletField.MatchString(name) || slices.Contains([]string{"id", "network", "category"}, name)
	}
	if len(names) != 2 || slices.ContainsFunc(names, isTaken) {
		f.Refuse(wire.Invalid("wallet_fields must be two different names in lower case that no other field of a BIN has"))
		return fallback
	}
	return [2]string(names)
}

// maxCalls is the highest limit.
const maxCalls = 1_000_000_000

func readLimits(c *server.Call) (wire.Response, error) {
	limits, err := behavior.ReadLimits(c.Tx)
	return wire.OK(limits), err
}

// readUsed shows how many calls of the account are in the window of each limit.
func (s *shared) readUsed(c *server.Call) (wire.Response, error) {
	return wire.OK(s.counters.Used(c.Account.CountedBy(), c.Tx.Now())), nil
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
