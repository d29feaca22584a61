package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

const campaigns = 12

// fleet is a configuration of twelve cards, and what else a team reads.
const fleet = `terraform {
  required_providers {
    vcard = { source = "vcard/vcard" }
  }
}

resource "vcard_card" "ads" {
  for_each = toset([for n in range(12) : format("ads-%02d", n)])
  bin_id   = "bin_ads_visa_us"
  amount   = 60
  label    = each.key
}

data "vcard_bins" "all" {}

data "vcard_wallet_balance" "now" {}
`

// calls counts the requests that reach a service.
type calls struct {
	mu   sync.Mutex
	seen []string
}

func (c *calls) add(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, r.Method+" "+r.URL.Path)
}

// taken returns the requests since the last time.
func (c *calls) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

// unwrapped is what a person reads, without the frame and the line breaks of the CLI.
func unwrapped(output string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
}

// checkOneCause checks that a cause is told in full once and in a line for the
// rest, each card by its name.
func checkOneCause(t *testing.T, name, output, title string, names []string, others int) {
	t.Helper()
	text := unwrapped(output)
	if n := strings.Count(text, "Error: "+title+" "); n != 1 {
		t.Errorf("%s: told in full %d times:\n%s", name, n, output)
	}
	if n := strings.Count(text, ": "+strings.ToLower(title[:1])+title[1:]+" with "); n != others {
		t.Errorf("%s: %d errors are a line, want %d:\n%s", name, n, others, output)
	}
	if n := strings.Count(text, "Error: "); n != others+1 {
		t.Errorf("%s: %d errors, want %d:\n%s", name, n, others+1, output)
	}
	for _, name := range names {
		if !strings.Contains(text, name) {
			t.Errorf("nothing is said of %s:\n%s", name, output)
		}
	}
}

func TestOneCauseIsToldOnce(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	var names []string
	for n := range campaigns {
		names = append(names, fmt.Sprintf("ads-%02d", n))
	}
	var seen calls
	var answer http.HandlerFunc // in the service's place
	front := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		seen.add(r)
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
	causes := []struct {
		name, url, key string
		answer         http.HandlerFunc
		title          string
		calls          int // of one that goes ahead, and of another that confirms it
		tries          int // of a page of cards, which goes ahead too
	}{
		{"wrong key", front.URL, "sk_live_sandbox_wrong", nil, "The service does not accept the API key", 1, 1},
		{"not ready", front.URL, accountKey(s, "api_not_enabled"), nil, "The account is not ready for the API", 1, 1},
		{"down", refused.URL + "/api/v1", s.Key, nil, "The service cannot be reached", 0, 0},
		{"failing", front.URL, s.Key, respond(503, "maintenance"), "The service is not available", 6, 5}, // five tries, and one by another call
		{"not the service", front.URL, s.Key, respond(200, "<html>log in</html>"), "The address in base_url is not the service's", 6, 5},
		{"key taken back", front.URL, s.Key, respond(401, `{"error": "unauthorized", "message": "revoked"}`), "The service does not accept the API key", 1, 1},
	}
	for _, c := range causes {
		answer = c.answer
		address(c.url, c.key)
		code, output := w.Run("plan", "-no-color")
		if code != 1 {
			t.Fatalf("%s: the plan ended with %d:\n%s", c.name, code, output)
		}
		checkOneCause(t, c.name+", new cards", output, c.title, names, campaigns+1)
		if got := seen.taken(); len(got) > c.calls+c.tries {
			t.Errorf("%s: %d calls, want at most %d: %v", c.name, len(got), c.calls+c.tries, got)
		}
	}
	answer = nil
	address(front.URL, s.Key)
	w.Must("apply", "-auto-approve", "-no-color")
	seen.taken()
	address(front.URL, accountKey(s, "ready"))
	if code, output := w.Run("plan", "-no-color"); code != 1 {
		t.Errorf("the key of another account: the plan ended with %d:\n%s", code, output)
	} else {
		checkOneCause(t, "the key of another account", output, "The API key belongs to another account", names, campaigns-1)
	}
	seen.taken()
	for _, c := range causes {
		answer = c.answer
		address(c.url, c.key)
		_, output := w.Run("plan", "-no-color")
		checkOneCause(t, c.name+", cards of the state", output, c.title, names, campaigns+1)
		if got := seen.taken(); len(got) > c.calls+c.tries {
			t.Errorf("%s: %d calls, want at most %d: %v", c.name, len(got), c.calls+c.tries, got)
		}
	}
	answer = nil
	address(front.URL, s.Key)
	w.Write("main.tf", strings.Replace(fleet, "amount   = 60", "amount   = 70", 1))
	for _, c := range causes[3:] {
		answer = nil
		w.Must("plan", "-no-color", "-out=more")
		seen.taken()
		answer = c.answer
		code, output := w.Run("apply", "-no-color", "more")
		if code != 1 {
			t.Fatalf("%s: the apply ended with %d:\n%s", c.name, code, output)
		}
		checkOneCause(t, c.name+", changes that were planned", output, c.title, names, campaigns-1)
		if got := seen.taken(); len(got) != c.calls {
			t.Errorf("%s: %d calls, want %d: %v", c.name, len(got), c.calls, got)
		}
	}
	answer = nil
	w.Write("main.tf", fleet)
	if code, output := w.Run("plan", "-no-color", "-detailed-exitcode"); code != 0 {
		t.Errorf("the plan after it all ended with %d:\n%s", code, output)
	}
}

// accountKey is the key of an account in a state of its onboarding.
func accountKey(s *acctest.Service, state string) string {
	var account struct {
		Key string `json:"api_key"`
	}
	s.Post("/_sandbox/accounts", map[string]string{"state": state}).Into(&account)
	return account.Key
}
