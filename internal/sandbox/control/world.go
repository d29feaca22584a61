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

// createAccount adds an account in a state of onboarding.
func createAccount(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	state := account.State(fields.Choice("state", account.States()...))
	balance := fields.OptionalNotNegative("initial_balance")
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	publicID := c.Tx.NewID("acct_")
	key, err := account.Create(c.Tx, c.Keys, account.New{PublicID: publicID, State: state, Balance: balance})
	return wire.Created(map[string]any{"account_id": publicID, "api_key": key}), err
}

// readKey shows an account its own key, for who has logged in without it.
func readKey(c *server.Call) (wire.Response, error) {
	key, err := account.Key(c.Tx, c.Keys, c.Account.PublicID)
	return wire.OK(map[string]any{"api_key": key}), err
}

// addKey makes a further key of the account, which is shown this once.
func addKey(c *server.Call) (wire.Response, error) {
	id, key, err := c.Account.AddKey(c.Tx, c.Keys)
	return wire.Created(map[string]any{"id": id, "api_key": key}), err
}

// revokeKey ends a further key. An account's own has no end.
func revokeKey(c *server.Call) (wire.Response, error) {
	id := c.PathValue("id")
	return wire.OK(map[string]any{"id": id}), c.Account.RevokeKey(c.Tx, id)
}

// listAccounts shows the accounts of the file, the oldest first.
func listAccounts(c *server.Call) (wire.Response, error) {
	return server.LargeList(c, func(page wire.Page) ([]*account.Account, int64, error) {
		if err := FirstOnly(c, "lists them"); err != nil {
			return nil, 0, err
		}
		return account.List(c.Tx, page)
	})
}

// FirstOnly refuses what concerns every account to all but the first.
func FirstOnly(c *server.Call, what string) error {
	if c.Account.First() {
		return nil
	}
	return wire.NewError(http.StatusForbidden, wire.CodeFirstAccountOnly, "only the key of the file's first account %s", what)
}

// reset leaves the first account alone, as it was at the start and with the same key.
func reset(c *server.Call) (wire.Response, error) {
	if err := FirstOnly(c, "resets it, for every account is removed"); err != nil {
		return wire.Response{}, err
	}
	if err := empty(c.Tx); err != nil {
		return wire.Response{}, err
	}
	if err := account.ResetFirst(c.Tx); err != nil {
		return wire.Response{}, err
	}
	c.Counters.Forget()
	c.ForgetLate()
	return now(c)
}

// empty deletes every row but the file's own and the accounts', and sets the clock right.
func empty(tx *store.Tx) error {
	tables, err := store.Values[string](tx,
		`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('service', 'accounts')`)
	if err != nil {
		return err
	}
	// References are checked at the commit.
	if err := tx.Exec(`PRAGMA defer_foreign_keys = ON; DELETE FROM "` + strings.Join(tables, `"; DELETE FROM "`) + `"`); err != nil {
		return err
	}
	return tx.ResetClock()
}

// LatestYear keeps every date that is worked out from the clock in four digits.
const LatestYear = 9000

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
	if err := c.Tx.MoveClock(to); err != nil {
		return wire.Response{}, err
	}
	return now(c)
}

func now(c *server.Call) (wire.Response, error) {
	return wire.OK(map[string]any{"now": wire.Timestamp(c.Tx.Now())}), nil
}

// replaceQuirks sets all quirks; one that is left out is as by default.
func replaceQuirks(c *server.Call) (wire.Response, error) {
	f, q := c.Fields(), behavior.DefaultQuirks()
	readSettings(f, q.Settings())
	q.WalletFields = readWalletFields(f, q.WalletFields)
	if err := f.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(q), q.Write(c.Tx)
}

// readSettings leaves what is left out as it is.
func readSettings(f *wire.Fields, settings []behavior.Setting) {
	for _, s := range settings {
		if s.Text != nil {
			*s.Text = f.OptionalChoice(s.Name, *s.Text, s.Words...)
			continue
		}
		*s.Number = f.Integer(s.Name, *s.Number, s.Least, s.Most)
		if len(s.Words) > 0 && !slices.Contains(s.Words, s.Value()) {
			f.Refuse(wire.Invalid("%s must be one of %v", s.Name, s.Words))
		}
	}
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

func readLimits(c *server.Call) (wire.Response, error) {
	limits, err := behavior.ReadLimits(c.Tx)
	return wire.OK(limits), err
}

// readUsed shows how many calls of the account are in the window of each limit.
func readUsed(c *server.Call) (wire.Response, error) {
	return wire.OK(c.Counters.Used(c.Account.CountedBy(), c.Tx.Now())), nil
}

// replaceLimits sets all limits; one that is left out is as documented.
func replaceLimits(c *server.Call) (wire.Response, error) {
	fields, limits := c.Fields(), behavior.DocumentedLimits()
	readSettings(fields, limits.Settings())
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(limits), limits.Write(c.Tx)
}

const (
	maxFaults = 100      // each call looks through all of them
	maxPath   = 256      // characters
	maxBody   = 64 << 10 // bytes of a response of a fault's own
	maxTimes  = 1_000_000
	maxDelay  = 100_000 // milliseconds; the server gives up on a response after two minutes
	maxLater  = 86_400  // seconds
)

func listFaults(c *server.Call) (wire.Response, error) {
	faults, err := behavior.Faults(c.Tx)
	return wire.List(faults), err
}

func clearFaults(c *server.Call) (wire.Response, error) {
	return wire.List([]behavior.Fault{}), behavior.ClearFaults(c.Tx)
}

// removeFault shows the faults that are left.
func removeFault(c *server.Call) (wire.Response, error) {
	text := c.PathValue("id")
	id, _ := strconv.ParseInt(text, 10, 64) // ids begin with 1
	found, err := behavior.RemoveFault(c.Tx, id)
	switch {
	case err != nil:
		return wire.Response{}, err
	case !found: // a fault belongs to the file, not to an account
		return wire.Response{}, wire.NewError(http.StatusNotFound, wire.CodeNotFound, "there is no fault %.64q; it may have been applied", text)
	}
	return listFaults(c)
}

// addFault sets a fault for calls that one of the API's routes takes.
func addFault(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	f := behavior.Fault{
		Method:  fields.Choice("method", http.MethodGet, http.MethodPost, http.MethodDelete, behavior.Any),
		Path:    fields.ShortText("path", maxPath),
		Times:   fields.Integer("times", 1, 0, maxTimes),
		When:    fields.OptionalChoice("when", behavior.Before, behavior.Before, behavior.After, behavior.Later),
		DelayMS: fields.Integer("delay_ms", 0, 0, maxDelay),
		Then:    readThen(fields),

		LaterSeconds: fields.Integer("later_seconds", 0, 0, maxLater),
	}
	checkLater(fields, &f)
	checkPath(fields, &f, slices.Collect(maps.Values(c.Routes)))
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	faults, err := behavior.Faults(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	if len(faults) >= maxFaults {
		return wire.Response{}, wire.Invalid("there are %d faults already; delete them first", maxFaults)
	}
	if err := behavior.AddFault(c.Tx, &f); err != nil {
		return wire.Response{}, err
	}
	return wire.Created(f), nil
}

// checkLater has later_seconds exactly where it means something.
func checkLater(fields *wire.Fields, f *behavior.Fault) {
	if f.When != behavior.Later {
		if f.LaterSeconds != 0 {
			fields.Refuse(wire.Invalid("later_seconds is only for a fault whose when is later"))
		}
		return
	}
	if f.LaterSeconds == 0 {
		fields.Refuse(wire.Invalid("a fault whose when is later needs later_seconds"))
	}
	if f.Then.Word == behavior.Pass {
		fields.Refuse(wire.Invalid("a call that is committed later has no response to pass; choose another then"))
	}
}

func readThen(fields *wire.Fields) (then behavior.Then) {
	if !fields.HasObject("then") {
		then.Word = fields.OptionalChoice("then", "", behavior.Drop, behavior.Truncate, behavior.Pass)
		if then.Word == "" {
			fields.Refuse(wire.Invalid(`then is required: {"status": 503}, "drop", "truncate" or "pass"`))
		}
		return then
	}
	fields.Object("then", func(f *wire.Fields) {
		then.Status = int(f.Integer("status", 0, http.StatusOK, 599))
		if then.Status == 0 {
			f.Refuse(wire.Invalid("status is required"))
		}
		then.Body = f.Value("body")
		if len(then.Body) > maxBody {
			f.Refuse(wire.Invalid("body has more than %d bytes", maxBody))
		}
	})
	return then
}

// faultPath matches segments that are words or, for any one, a star; or all paths.
var faultPath = regexp.MustCompile(`^(\*|(/(\*|[\w.~-]+))+)$`)

// checkPath refuses one that no call would ever match.
func checkPath(fields *wire.Fields, f *behavior.Fault, routes []server.Route) {
	if !faultPath.MatchString(f.Path) || strings.HasPrefix(f.Path, server.API) || strings.HasPrefix(f.Path, server.Control) {
		fields.Refuse(wire.Invalid("path is what follows %s, with * for a segment, as in /cards/*/fund, or * for all", server.API))
		return
	}
	meets := func(r server.Route) bool {
		path, found := strings.CutPrefix(r.Path, server.API)
		return found && (f.Method == behavior.Any || f.Method == r.Method) && (f.Path == behavior.Any ||
			slices.EqualFunc(strings.Split(f.Path, "/"), strings.Split(path, "/"), func(pattern, segment string) bool {
				return pattern == segment || pattern == behavior.Any && segment != "" || strings.HasPrefix(segment, "{")
			}))
	}
	if !slices.ContainsFunc(routes, meets) {
		fields.Refuse(wire.Invalid("no call of the API is %s %s", f.Method, f.Path))
	}
}
