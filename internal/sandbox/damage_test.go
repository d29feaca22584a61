package sandbox_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// chosenText is what differs from one run to the next: numbers, and what the service makes up.
var chosenText = regexp.MustCompile(`[0-9][0-9.]*|_[a-z0-9]{20,}|sandbox-[a-z]+-[0-9a-f]+`)

// Whatever the file has lost, a call is answered as ever or with a 500, and an error
// on the way is never passed over: each column is taken away in turn.
func TestLostColumns(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	s.subscribe("https://127.0.0.1:1", `"*"`)
	s.Post("/_sandbox/faults", `{"method":"GET","path":"/cards/nobody","then":"pass"}`).OK(http.StatusCreated)
	fill := s.populate()
	s.Put("/_sandbox/quirks", `{"balance":"settled"}`).OK(http.StatusOK)
	s.close()
	sound := read(t, s.path)

	calls := strings.Split(fill(`GET /bins
GET /cards?status=active
GET /cards/CARD
GET /cards/CARD/details
GET /transactions?card_id=CARD&type=authorization
GET /wallet/balance
GET /wallet/deposit-address
GET /3ds
GET /_sandbox/clock
GET /_sandbox/limits
GET /_sandbox/quirks
GET /_sandbox/faults
GET /_sandbox/accounts
POST /cards {BIN,"amount":50}
POST /cards/CARD/fund {"amount":1}
POST /cards/CARD/withdraw {"amount":1}
POST /_sandbox/authorizations {"card_id":"CARD","amount":1,MERCHANT}
POST /cards/CARD/freeze
POST /cards/FROZEN/unfreeze
POST /_sandbox/settlements {"transaction_id":"OPEN"}
POST /_sandbox/refunds {"transaction_id":"SETTLED"}
POST /_sandbox/3ds-challenges {"card_id":"CARD","merchant":"Big Ads","amount":5}
POST /_sandbox/3ds-challenges/CHALLENGE/complete {"outcome":"approved"}
POST /_sandbox/deposits {"currency":"eth","amount":5}
POST /_sandbox/deposits/DEPOSIT/confirm
POST /_sandbox/accounts {"state":"ready"}
POST /webhooks {"url":"https://127.0.0.1:1","events":["*"]}
POST /_sandbox/simulate {"days":1,"purchases_per_day":2,"seed":1}
DELETE /cards/FROZEN
POST /_sandbox/faults {"method":"GET","path":"/bins","then":"pass"}
PUT /_sandbox/quirks {}
PUT /_sandbox/limits {}
POST /_sandbox/clock {"advance":"1h"}`), "\n")
	try := func(table, column string) (answers []string) {
		path := written(t, sound)
		box := sandboxtest.Start(t, stopped, on(path), func(o *sandboxtest.Options) { o.Direct = true })
		if column != "" {
			execSQL(t, path, fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO taken_away", table, column))
		}
		for i, call := range calls {
			method, rest, _ := strings.Cut(call, " ")
			target, body, _ := strings.Cut(rest, " ")
			a := box.Send(t.Context(), method, target, body, sandboxtest.IdempotencyKey, fmt.Sprint(i))
			if method != http.MethodGet { // what is read is always the same
				a.Raw = chosenText.ReplaceAllString(a.Raw, "#")
			}
			answers = append(answers, fmt.Sprint(a.Status, a.Raw))
		}
		if column != "" {
			execSQL(t, path, fmt.Sprintf("ALTER TABLE %s RENAME COLUMN taken_away TO %s", table, column))
		}
		box.Balanced()
		box.Close()
		return answers
	}
	want := try("", "")
	for _, answer := range want {
		if answer[0] != '2' {
			t.Fatalf("of a sound file: %s", answer)
		}
	}
	columns := query[string](t, s.path, `SELECT group_concat(m.name || '.' || c.name, ' ')
		FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`)
	for i, column := range strings.Fields(columns) {
		if testing.Short() && i%6 > 0 {
			continue
		}
		table, name, _ := strings.Cut(column, ".")
		for i, answer := range try(table, name) {
			if answer != want[i] && !strings.HasPrefix(answer, "500{\"error\":\"internal_error\"") {
				t.Errorf("without %s: %s answered %s, want %s", column, calls[i], answer, want[i])
			}
		}
	}
}
