package sandbox_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// rule is one rule of the API, and how to see that the service keeps it.
type rule struct {
	name  string
	check func(*scene)
}

// chapter is a section of the API's document.
type chapter struct {
	name  string
	rules []rule
}

// scene is what a rule is checked on: a service of its own, whose clock stands
// still, with every exchange held to the contract, and one active card of 100
// USD beside 9,899 USD in the wallet.
type scene struct {
	*service

	card string
}

// TestConformance walks the API's document section by section. The parts of it
// that leave something open are in the tests beside; here is what it says.
func TestConformance(t *testing.T) {
	t.Parallel()
	chapters := slices.Concat(resourceChapters(), stateChapters(), cardChapters(), listChapters(), accessChapters())
	for _, c := range chapters {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range c.rules {
				t.Run(r.name, func(t *testing.T) {
					t.Parallel()
					r.check(newScene(t))
				})
			}
		})
	}
}

func newScene(t *testing.T, change ...func(*sandbox.Options)) *scene {
	t.Helper()
	inMemory := func(o *sandbox.Options) { o.Path = ":memory:" }
	s := conforming(t, append([]func(*sandbox.Options){inMemory, stopped}, change...)...)
	return &scene{s, s.issue("100", `"label":"one"`)}
}

// fill puts the card's id where a text says CARD.
func (s *scene) fill(text string) string { return strings.ReplaceAll(text, "CARD", s.card) }

// do makes a call as in "GET /cards/CARD", below the base address.
func (s *scene) do(call, body string, headers ...string) answer {
	s.t.Helper()
	method, path, _ := strings.Cut(s.fill(call), " ")
	return s.call(method, "/api/v1"+path, s.fill(body), headers...)
}

// value is the field of an answer, or of the first object of its list, as text.
func value(a answer, field string) string {
	a.t.Helper()
	if list, found := a.body["data"].([]any); found && a.body[field] == nil {
		if len(list) == 0 {
			a.t.Fatalf("nothing is listed: %s", a.raw)
		}
		a.body = list[0].(map[string]any)
	}
	return a.text(field)
}

// answers checks a status and the fields of the answer, all of them.
func answers(call, body string, status int, names ...string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		fields(s.t, s.do(call, body).ok(status).body, names...)
	}
}

// lists checks the fields of a list, after a slash those of its objects.
func lists(call string, names ...string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		of := slices.Index(names, "/")
		a := s.do(call, "").ok(http.StatusOK)
		fields(s.t, a.body, names[:of]...)
		for _, object := range a.data() {
			fields(s.t, object, names[of+1:]...)
		}
		if len(a.data()) == 0 {
			s.t.Errorf("nothing is listed: %s", a.raw)
		}
	}
}

// shows checks one field of an answer against a pattern for all of it.
func shows(call, body, field, pattern string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		a := s.do(call, body)
		if got := value(a, field); a.status > 201 || !regexp.MustCompile(`^(?:`+s.fill(pattern)+`)$`).MatchString(got) {
			s.t.Errorf("%s answered %d, %s is %q, want %s", call, a.status, field, got, pattern)
		}
	}
}

// repeats checks that a call answers the same twice.
func repeats(call string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		first := s.do(call, "").ok(http.StatusOK)
		if again := s.do(call, ""); again.raw != first.raw {
			s.t.Errorf("%s answered two ways", call)
		}
	}
}

// accepts checks that a call succeeds.
func accepts(call, body string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		if a := s.do(call, body); a.status != 200 && a.status != 201 {
			s.t.Errorf("%s answered %d %s", call, a.status, a.raw)
		}
	}
}

// refuses checks an error, and that the call moved no money.
func refuses(call, body string, status int, code, text string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		before := s.get("/_sandbox/ledger").raw
		s.do(call, body).refused(status, code, s.fill(text))
		if after := s.get("/_sandbox/ledger").raw; after != before {
			s.t.Errorf("a refused call moved money:\n%s%s", before, after)
		}
	}
}

// invalid is refuses for a broken rule.
func invalid(call, body, text string) func(*scene) {
	return refuses(call, body, http.StatusBadRequest, "invalid_request", text)
}

// after makes calls that succeed before a check.
func after(check func(*scene), calls ...string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		for _, call := range calls {
			target, body, _ := strings.Cut(call, " {")
			if body != "" {
				body = "{" + body
			}
			if strings.Contains(target, " /_sandbox/") {
				method, path, _ := strings.Cut(target, " ")
				s.call(method, path, s.fill(body)).ok(http.StatusCreated)
				continue
			}
			accepts(target, body)(s)
		}
		check(s)
	}
}

// Calls that rules have in common.
const (
	creates    = `POST /cards {"bin_id":"` + adsBIN + `","amount":50,"label":"two"}`
	freezes    = `POST /cards/CARD/freeze`
	terminates = `DELETE /cards/CARD`
	authorizes = `POST /_sandbox/authorizations {"card_id":"CARD","amount":30,"merchant":{"name":"Big Ads","mcc":"7311"}}`
	challenges = `POST /_sandbox/3ds-challenges {"card_id":"CARD","merchant":"Big Ads","amount":5}`
	declines   = `POST /_sandbox/authorizations {"card_id":"CARD","amount":3000,"merchant":{"name":"Big Ads","mcc":"7311"}}`
	deposits   = `POST /_sandbox/deposits {"currency":"btc","amount":25}`
)

// order is the body of a card's issue with one member changed or added.
func order(members string) string {
	body := `{"bin_id":"` + adsBIN + `","amount":50`
	if strings.HasPrefix(members, `"amount"`) {
		body = `{"bin_id":"` + adsBIN + `"`
	}
	return body + `,` + members + `}`
}
