package control

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// createAccount creates an account in a given state of onboarding.
func createAccount(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	state := account.State(fields.Choice("state", account.States()...))
	balance := fields.OptionalNotNegativeAmount("initial_balance")
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	publicID := c.Tx.NewID("acct_")
	key, err := account.Create(c.Tx, c.Keys, account.New{PublicID: publicID, State: state, Balance: balance})
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(map[string]any{"account_id": publicID, "api_key": key}), nil
}

// readKey returns the account's first API key.
func readKey(c *server.Call) (wire.Response, error) {
	key, err := account.Key(c.Tx, c.Keys, c.Account.PublicID)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(map[string]any{"api_key": key}), nil
}

// addKey creates an additional key of the account.
func addKey(c *server.Call) (wire.Response, error) {
	id, key, err := c.Account.AddKey(c.Tx, c.Keys)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(map[string]any{"id": id, "api_key": key}), nil
}

// revokeKey deletes an additional key of the account.
func revokeKey(c *server.Call) (wire.Response, error) {
	id := c.PathValue("id")
	err := c.Account.RevokeKey(c.Tx, id)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(map[string]any{"id": id}), nil
}

// listAccounts returns a page of the file's accounts, oldest first.
func listAccounts(c *server.Call) (wire.Response, error) {
	return server.RespondWithPage(c, func(page wire.Page) ([]*account.Account, int64, error) {
		err := RequireFirstAccount(c, "list accounts")
		if err != nil {
			return nil, 0, err
		}
		return account.List(c.Tx, page)
	})
}

// RequireFirstAccount refuses calls by all accounts but the first. The action completes the sentence "only the
// sandbox's first account can …".
func RequireFirstAccount(c *server.Call, action string) error {
	if c.Account.IsFirst() {
		return nil
	}
	return wire.NewError(http.StatusForbidden, wire.CodeFirstAccountOnly,
		"only the sandbox's first account can %s; use its API key", action)
}

// reset removes the data of the sandbox except the first account, and sets the clock to the real time. The account keeps
// its onboarding state and its first API key, and gets its initial balance again.
func reset(c *server.Call) (wire.Response, error) {
	err := RequireFirstAccount(c, "reset the sandbox, because that removes all other accounts")
	if err != nil {
		return wire.Response{}, err
	}
	err = deleteRows(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	err = c.Tx.ResetClock()
	if err != nil {
		return wire.Response{}, err
	}
	err = account.ResetFirst(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	c.Counters.Reset()
	c.ForgetPostponed()
	return readClock(c)
}

// deleteRows deletes the rows of all tables except service and accounts.
func deleteRows(tx *store.Tx) error {
	tables, err := store.Values[string](tx,
		`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('service', 'accounts')`)
	if err != nil {
		return err
	}
	// The commit checks the foreign keys, so the order of the tables does not matter.
	var script strings.Builder
	script.WriteString(`PRAGMA defer_foreign_keys = ON;`)
	for _, table := range tables {
		script.WriteString(` DELETE FROM "` + table + `";`)
	}
	return tx.Exec(script.String())
}

// LatestYear is the last year to which the clock can be set. It leaves room for dates in the future, such
// as a card's expiry, whose years must have four digits.
const LatestYear = 9000

// moveClock advances the clock of the file.
func moveClock(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	text := fields.Text("advance")
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 { // if Text has already refused the member, Refuse keeps that error
		fields.Refuse(wire.Invalid(`advance must be a duration above 0, such as "90s" or "720h"`))
	}
	err = fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	newTime := c.Tx.Now().Add(duration)
	if newTime.Year() > LatestYear {
		return wire.Response{}, wire.Invalid("advance is too long: the clock cannot pass the year %d", LatestYear)
	}
	err = c.Tx.MoveClock(newTime)
	if err != nil {
		return wire.Response{}, err
	}
	return readClock(c)
}

// readClock returns the service's time.
func readClock(c *server.Call) (wire.Response, error) {
	return wire.OK(map[string]any{"now": wire.Timestamp(c.Tx.Now())}), nil
}

func readQuirks(c *server.Call) (wire.Response, error) { return wire.OK(c.Quirks), nil }

// replaceQuirks sets all quirks. Those that the body leaves out get their defaults.
func replaceQuirks(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	quirks := behavior.DefaultQuirks()
	readSettings(fields, quirks.Settings())
	quirks.WalletFields = readWalletFields(fields, quirks.WalletFields)
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	err = quirks.Write(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(quirks), nil
}

// readSettings sets those settings that the body contains, through their pointers.
func readSettings(f *wire.Fields, settings []behavior.Setting) {
	for _, s := range settings {
		if s.Text != nil {
			*s.Text = f.OptionalChoice(s.Name, *s.Text, s.Words...)
		} else {
			*s.Number = f.Integer(s.Name, *s.Number, s.Minimum, s.Maximum)
			// Some numbers, such as an HTTP status, must also be one of a few values. Value returns the new number.
			if len(s.Words) > 0 && !slices.Contains(s.Words, s.Value()) {
				f.Refuse(wire.Invalid("%s must be one of %s", s.Name, strings.Join(s.Words, ", ")))
			}
		}
	}
}

// walletField matches the form of the names that wallet fields of BINs can have.
var walletField = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

// readWalletFields reads the names of the two wallet fields of BINs. It returns the fallback if they are absent or
// invalid.
func readWalletFields(f *wire.Fields, fallback [2]string) [2]string {
	names, found := f.Texts("wallet_fields") // Texts drops duplicates, so two names are different
	if !found {
		return fallback
	}
	otherFields := []string{"id", "network", "category"} // without 3ds, which walletField does not match
	isInvalid := func(name string) bool { return !walletField.MatchString(name) || slices.Contains(otherFields, name) }
	if len(names) != 2 || slices.ContainsFunc(names, isInvalid) {
		f.Refuse(wire.Invalid("wallet_fields must be two different names in lower case (a-z, 0-9 and _) " +
			"that no other field of a BIN has"))
		return fallback
	}
	return [2]string(names)
}

func readLimits(c *server.Call) (wire.Response, error) {
	limits, err := behavior.ReadLimits(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(limits), nil
}

// readUsed returns the number of calls of this key that count against each limit.
func readUsed(c *server.Call) (wire.Response, error) {
	used := c.Counters.Used(c.Account.CounterID(), c.Tx.Now())
	return wire.OK(used), nil
}

// replaceLimits sets all limits. Those that the body leaves out get their documented values.
func replaceLimits(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	limits := behavior.DocumentedLimits()
	readSettings(fields, limits.Settings())
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	err = limits.Write(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(limits), nil
}

const (
	maxFaults = 100       // not more, because each API call is compared with the faults
	maxPath   = 256       // characters
	maxBody   = 64 << 10  // bytes of a fault's response
	maxTimes  = 1_000_000 // calls
	maxDelay  = 100_000   // milliseconds
	maxLater  = 86_400    // seconds
)

func listFaults(c *server.Call) (wire.Response, error) {
	faults, err := behavior.ListFaults(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.List(faults), nil
}

func clearFaults(c *server.Call) (wire.Response, error) {
	err := behavior.ClearFaults(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.List([]behavior.Fault{}), nil
}

// removeFault removes a fault and returns the remaining ones.
func removeFault(c *server.Call) (wire.Response, error) {
	text := c.PathValue("id")
	id, _ := strconv.ParseInt(text, 10, 64) // an invalid text results in an id that no fault has
	found, err := behavior.RemoveFault(c.Tx, id)
	if err != nil {
		return wire.Response{}, err
	}
	if !found {
		return wire.Response{}, wire.NewError(http.StatusNotFound, wire.CodeNotFound,
			"there is no fault %.64q; the sandbox removes a fault after its last use", text)
	}
	return listFaults(c)
}

// addFault adds a fault for calls of the API.
func addFault(c *server.Call) (wire.Response, error) {
	const defaultWhen = behavior.Before
	fields := c.Fields()
	f := behavior.Fault{
		Method:  fields.Choice("method", http.MethodGet, http.MethodPost, http.MethodDelete, behavior.Any),
		Path:    fields.ShortText("path", maxPath),
		Times:   fields.Integer("times", 1, 0, maxTimes),
		When:    fields.OptionalChoice("when", defaultWhen, behavior.Before, behavior.After, behavior.Later),
		DelayMS: fields.Integer("delay_ms", 0, 0, maxDelay),
		Then:    readThen(fields),

		LaterSeconds: fields.Integer("later_seconds", 0, 0, maxLater),
	}
	checkLater(fields, &f)
	checkPath(fields, &f, slices.Collect(maps.Values(c.Routes)))
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	faults, err := behavior.ListFaults(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	if len(faults) >= maxFaults {
		return wire.Response{}, wire.Invalid("the sandbox already has %d faults, the maximum; delete some first", len(faults))
	}
	err = behavior.AddFault(c.Tx, &f)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(f), nil
}

// checkLater checks the fields that depend on whether when is "later". Of several errors, Refuse keeps the first.
func checkLater(fields *wire.Fields, f *behavior.Fault) {
	if f.When != behavior.Later {
		if f.LaterSeconds != 0 {
			fields.Refuse(wire.Invalid(`later_seconds requires when to be "later"`))
		}
		return
	}
	if f.LaterSeconds == 0 {
		fields.Refuse(wire.Invalid(`later_seconds must be above 0 if when is "later"`))
	}
	if f.Then.Action == behavior.Pass {
		fields.Refuse(wire.Invalid(`then must not be "pass" if when is "later", because there is no response to pass yet`))
	}
}

// readThen reads what happens to the response of a call with the fault.
func readThen(fields *wire.Fields) behavior.Then {
	if !fields.IsObject("then") {
		const absent = ""
		action := fields.OptionalChoice("then", absent, behavior.Drop, behavior.Truncate, behavior.Pass)
		if action == absent {
			fields.Refuse(wire.Invalid(`then is required: {"status": 503}, "drop", "truncate" or "pass"`))
		}
		return behavior.Then{Action: action}
	}
	var then behavior.Then
	fields.Object("then", func(f *wire.Fields) {
		then.Status = int(f.Integer("status", 0, http.StatusOK, 599))
		if then.Status == 0 { // absent, or already refused by Integer
			f.Refuse(wire.Invalid("status is required"))
		}
		then.Body = f.Value("body")
		if len(then.Body) > maxBody {
			f.Refuse(wire.Invalid("body has more than %d bytes", maxBody))
		}
	})
	return then
}

// faultPath matches "*", and paths whose segments are words or "*".
var faultPath = regexp.MustCompile(`^(\*|(/(\*|[\w.~-]+))+)$`)

// checkPath refuses a fault that no call of the API would match.
func checkPath(fields *wire.Fields, f *behavior.Fault, routes []server.Route) {
	absolute := strings.HasPrefix(f.Path, server.API) || strings.HasPrefix(f.Path, server.Control)
	if !faultPath.MatchString(f.Path) || absolute {
		fields.Refuse(wire.Invalid("path must be relative to %s, such as /cards/*/fund, "+
			"where * stands for any segment; * alone stands for all paths", server.API))
		return
	}
	matches := func(r server.Route) bool { return routeMatches(f, r) }
	if !slices.ContainsFunc(routes, matches) {
		fields.Refuse(wire.Invalid("the API has no call %s %s", f.Method, f.Path))
	}
}

// routeMatches reports whether a call of a route may match a fault.
func routeMatches(f *behavior.Fault, r server.Route) bool {
	path, found := strings.CutPrefix(r.Path, server.API)
	if !found {
		return false
	}
	if f.Method != behavior.Any && f.Method != r.Method {
		return false
	}
	if f.Path == behavior.Any {
		return true
	}
	patterns := strings.Split(f.Path, "/")
	return slices.EqualFunc(patterns, strings.Split(path, "/"), segmentMatches)
}

// segmentMatches reports whether the pattern, a segment of a fault's path, can match a segment of a route, which may be a
// parameter. Like in a call's path, behavior.Any does not match an empty segment.
func segmentMatches(pattern, segment string) bool {
	isParameter := strings.HasPrefix(segment, "{")
	if pattern == segment || isParameter {
		return true
	}
	return pattern == behavior.Any && segment != ""
}
