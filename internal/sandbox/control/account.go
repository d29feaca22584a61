package control

import (
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// createAccount adds an account in a state of onboarding; with initial_balance,
// its wallet begins with that.
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

// reset empties the file down to a first account as it was at the start, with
// the same API key. Other accounts and their keys are gone.
func (s *shared) reset(c *server.Call) (wire.Response, error) {
	if err := FirstOnly(c, "resets it, for every account is removed"); err != nil {
		return wire.Response{}, err
	}
	if err := empty(c.Tx); err != nil {
		return wire.Response{}, err
	}
	if err := account.ResetFirst(c.Tx); err != nil {
		return wire.Response{}, err
	}
	s.counters.Forget()
	return now(c)
}

// empty deletes every row but the file's own and the accounts', and sets the
// clock right.
func empty(tx *store.Tx) error {
	tables, err := store.Values[string](tx,
		`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('service', 'accounts')`)
	if err != nil {
		return err
	}
	if err := tx.Exec(`PRAGMA defer_foreign_keys = ON`); err != nil { // until the commit
		return err
	}
	for _, table := range tables {
		if err := tx.Exec(`DELETE FROM "` + table + `"`); err != nil {
			return err
		}
	}
	return tx.ResetClock()
}

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
	if err := c.Tx.MoveClock(to); err != nil {
		return wire.Response{}, err
	}
	return now(c)
}

func now(c *server.Call) (wire.Response, error) {
	return wire.OK(map[string]any{"now": wire.Timestamp(c.Tx.Now())}), nil
}

func readQuirks(c *server.Call) (wire.Response, error) { return wire.OK(c.Quirks), nil }

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
func (s *shared) readUsed(c *server.Call) (wire.Response, error) {
	return wire.OK(s.counters.Used(c.Account.CountedBy(), c.Tx.Now())), nil
}

// replaceLimits sets all limits; one that is left out is as documented. Calls
// that were counted stay counted.
func replaceLimits(c *server.Call) (wire.Response, error) {
	fields, limits := c.Fields(), behavior.DocumentedLimits()
	readSettings(fields, limits.Settings())
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(limits), limits.Write(c.Tx)
}
