package sandbox_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// rule is one rule of the API, and how to see that the service keeps it.
type rule struct {
	name  string
	check func(*fixture)
}

// section is a section of the API's document.
type section struct {
	name  string
	rules []rule
}

// fixture is what a rule is checked on: a service of its own, whose clock stands
// still, with every exchange held to the contract, and one active card of 100
// USD beside 9,899 USD in the wallet.
type fixture struct {
	*service

	card string
}

// TestConformance walks the API's document section by section. The parts of it
// that leave something open are in the tests beside; here is what it says.
func TestConformance(t *testing.T) {
	t.Parallel()
	sections := slices.Concat(resourceSections(), stateSections(), cardSections(), listSections(), accessSections())
	for _, c := range sections {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range c.rules {
				t.Run(r.name, func(t *testing.T) {
					t.Parallel()
					r.check(newFixture(t))
				})
			}
		})
	}
}

func newFixture(t testing.TB, change ...func(*sandboxtest.Options)) *fixture {
	t.Helper()
	s := startWithContract(t, append([]func(*sandboxtest.Options){on(":memory:"), stopped}, change...)...)
	return &fixture{s, s.Issue("100", `"label":"one"`)}
}

// fill puts the card's id where a text says CARD.
func (s *fixture) fill(text string) string { return strings.ReplaceAll(text, "CARD", s.card) }

// do makes a call as in "GET /cards/CARD", below the base address.
func (s *fixture) do(call, body string, headers ...string) sandboxtest.Response {
	s.T.Helper()
	method, path, _ := strings.Cut(s.fill(call), " ")
	return s.Call(method, "/api/v1"+path, s.fill(body), headers...)
}

// value is the field of a response, or of the first object of its list, as text.
func value(a sandboxtest.Response, field string) string {
	a.T.Helper()
	if list, found := a.Body["data"].([]any); found && a.Body[field] == nil {
		if len(list) == 0 {
			a.T.Fatalf("nothing is listed: %s", a.Raw)
		}
		a.Body = list[0].(map[string]any)
	}
	return a.Text(field)
}

// shows checks one field of a response against a pattern for all of it.
func shows(call, body, field, pattern string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		a := s.do(call, body)
		if got := value(a, field); a.Status > 201 || !regexp.MustCompile(`^(?:`+s.fill(pattern)+`)$`).MatchString(got) {
			s.T.Errorf("%s answered %d, %s is %q, want %s", call, a.Status, field, got, pattern)
		}
	}
}

// repeats checks that a call has the same response twice.
func repeats(call string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		first := s.do(call, "").OK(http.StatusOK)
		if again := s.do(call, ""); again.Raw != first.Raw {
			s.T.Errorf("%s answered two ways", call)
		}
	}
}

// accepts checks that a call succeeds.
func accepts(call, body string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		if a := s.do(call, body); a.Status != 200 && a.Status != 201 {
			s.T.Errorf("%s answered %d %s", call, a.Status, a.Raw)
		}
	}
}

// refuses checks an error, and that the call moved no money.
func refuses(call, body string, status int, code, text string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		before := s.Get("/_sandbox/ledger").Raw
		s.do(call, body).Refused(status, code, s.fill(text))
		if after := s.Get("/_sandbox/ledger").Raw; after != before {
			s.T.Errorf("a refused call moved money:\n%s%s", before, after)
		}
	}
}

// invalid is refuses for a broken rule.
func invalid(call, body, text string) func(*fixture) {
	return refuses(call, body, http.StatusBadRequest, "invalid_request", text)
}

// after makes calls that succeed before a check.
func after(check func(*fixture), calls ...string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		for _, call := range calls {
			target, body, _ := strings.Cut(call, " {")
			if body != "" {
				body = "{" + body
			}
			if strings.Contains(target, " /_sandbox/") {
				method, path, _ := strings.Cut(target, " ")
				s.Call(method, path, s.fill(body)).OK(http.StatusCreated)
				continue
			}
			accepts(target, body)(s)
		}
		check(s)
	}
}

// Calls that rules have in common.
const (
	creates    = `POST /cards {"bin_id":"` + sandboxtest.BIN + `","amount":50,"label":"two"}`
	freezes    = `POST /cards/CARD/freeze`
	terminates = `DELETE /cards/CARD`
	authorizes = `POST /_sandbox/authorizations {"card_id":"CARD","amount":30,"merchant":{"name":"Big Ads","mcc":"7311"}}`
	challenges = `POST /_sandbox/3ds-challenges {"card_id":"CARD","merchant":"Big Ads","amount":5}`
	declines   = `POST /_sandbox/authorizations {"card_id":"CARD","amount":3000,"merchant":{"name":"Big Ads","mcc":"7311"}}`
	deposits   = `POST /_sandbox/deposits {"currency":"btc","amount":25}`
)

// order is the body of a card's issue with one member changed or added.
func order(members string) string {
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":50`
	if strings.HasPrefix(members, `"amount"`) {
		body = `{"bin_id":"` + sandboxtest.BIN + `"`
	}
	return body + `,` + members + `}`
}
