package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

const campaigns = 12

// fleet is a configuration of twelve cards, and what else a team reads.
const fleet = acctest.Required + `
resource "vcard_card" "ads" {
  for_each = toset([for n in range(12) : format("ads-%02d", n)])
  bin_id   = "bin_ads_visa_us"
  amount   = 60
  label    = each.key
}

data "vcard_bins" "all" {}

data "vcard_wallet_balance" "now" {}
`

// A cause is told in full once, and in a line for what else was to be done. Cards that are
// only read, or planned, are not named.
func TestOneCauseIsToldOnce(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	var seen atomic.Int32
	var answer http.HandlerFunc // in the service's place
	front := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		seen.Add(1)
		if answer != nil {
			answer(w, r)
			return true
		}
		return false
	})
	w := acctest.NewWorkspace(t)
	w.Write("main.tf", fleet)
	address := func(url, key string) {
		w.Write("provider.tf", fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key = %q\n}\n", url, key))
	}
	refused := httptest.NewServer(http.NotFoundHandler())
	refused.Close()
	respond := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body)
		}
	}
	type cause struct {
		name, url, key string
		answer         http.HandlerFunc
		title          string
		tries          int // of a call
	}
	causes := []cause{
		{"wrong key", front.URL, "sk_live_sandbox_wrong", nil, "The service does not accept the API key", 1},
		{"not ready", front.URL, accountKey(s, "api_not_enabled"), nil, "The account is not ready for the API", 1},
		{"down", refused.URL + "/api/v1", s.Key, nil, "The service cannot be reached", 0},
		{"failing", front.URL, s.Key, respond(503, "maintenance"), "The service is not available", 5},
		{"not the service", front.URL, s.Key, respond(200, "<html>log in</html>"), "The address in base_url is not the service's", 5},
		{"key taken back", front.URL, s.Key, respond(401, `{"error": "unauthorized", "message": "revoked"}`), "The service does not accept the API key", 1},
	}
	// run checks what a cause makes of a command: which errors, and after how many calls.
	run := func(c cause, when string, tries int, args ...string) {
		t.Helper()
		answer = c.answer
		address(c.url, c.key)
		seen.Store(0)
		code, output := w.Run(append(args, "-no-color")...)
		if code != 1 {
			t.Errorf("%s, %s: ended with %d", c.name, when, code)
		}
		text := acctest.Unwrapped(output)
		full, lines := strings.Count(text, "Error: "+c.title+" "), strings.Count(text, ": "+strings.ToLower(c.title[:1])+c.title[1:]+" with ")
		least, most := 0, 2 // the data sources
		if args[0] == "apply" {
			least, most = campaigns-1, campaigns-1
		}
		if full != 1 || lines < least || lines > most || strings.Count(text, "Error: ") != 1+lines {
			t.Errorf("%s, %s: told in full %d times and in a line %d times, want 1 and %d to %d:\n%s", c.name, when, full, lines, least, most, output)
		}
		const together = 10 // calls that a CLI makes at a time
		if got := int(seen.Load()); got > together*tries {
			t.Errorf("%s, %s: %d calls, want at most %d", c.name, when, got, together*tries)
		}
		answer = nil
		address(front.URL, s.Key)
	}
	for _, c := range causes {
		run(c, "new cards", c.tries, "plan")
	}
	address(front.URL, s.Key)
	w.Must("apply", "-auto-approve", "-no-color")
	another := cause{"key of another account", front.URL, accountKey(s, "ready"), nil, "The service does not know card", 100}
	run(another, "cards of the state", another.tries, "plan")
	for _, c := range causes {
		run(c, "cards of the state", c.tries, "plan")
	}
	w.Write("main.tf", strings.Replace(fleet, "amount   = 60", "amount   = 70", 1))
	for _, c := range causes[3:] {
		w.Must("plan", "-no-color", "-out=more")
		run(c, "changes that were planned", c.tries, "apply", "more")
	}
	w.Write("main.tf", fleet)
	w.Must("plan", "-no-color", "-detailed-exitcode")
}

// accountKey is the key of another account in a state of its onboarding.
func accountKey(s *acctest.Service, state string) string {
	return s.Post("/_sandbox/accounts", map[string]any{"state": state, "initial_balance": 10000}).Must().Text("api_key")
}
