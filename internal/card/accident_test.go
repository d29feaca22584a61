package card_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What the tests of accidents share: a network between the provider and the
// service that a test can break, and what the CLI prints.

const d = usd.Dollar

// mustParse reads what a test has written.
func mustParse[T any](parse func(text string) (T, error), text string) T {
	value, err := parse(text)
	if err != nil {
		panic(err)
	}
	return value
}

// oneCard is the configuration of vcard_card.test with these lines.
func oneCard(lines string) string {
	return acctest.Required + fmt.Sprintf("resource \"vcard_card\" \"test\" {\n  bin_id = %q\n  %s\n}\n", bin, lines)
}

// honoured tells the provider that the service honours its keys.
const honoured = `idempotency_keys = "honoured"`

// through makes the commands that follow reach the service in this way, with
// these settings of the provider.
func through(w cli, s *acctest.Service, settings string) {
	w.Write("provider.tf", fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key = %q\n  %s\n}\n", s.URL, s.Key, settings))
}

// applied is this folder after the configuration was applied in it.
func applied[W cli](w W, s *acctest.Service, settings, config string) W {
	s.T.Helper()
	through(w, s, settings)
	apply(w, config)
	return w
}

// apply applies another configuration and returns what was printed.
func apply(w cli, config string) string {
	w.Write("main.tf", config)
	return w.Must("apply", "-no-color", "-auto-approve")
}

// plansNothing checks that the configuration is what there is, and returns what
// was printed.
func plansNothing(t *testing.T, w cli) string {
	t.Helper()
	code, output := w.Run("plan", "-no-color", "-detailed-exitcode")
	if code != 0 {
		t.Errorf("a plan of what was applied ended with %d:\n%s", code, output)
	}
	return output
}

// prints checks that the CLI printed each of these, wherever it broke the lines.
func prints(t *testing.T, output string, words ...string) {
	t.Helper()
	sandboxtest.Says(t, "what the CLI prints", acctest.Unwrapped(output), words...)
}

func printsNot(t *testing.T, output string, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(acctest.Unwrapped(output), word) {
			t.Errorf("the CLI prints %q:\n%s", word, output)
		}
	}
}

// forward sends a request on to the service and returns its response.
func forward(s *acctest.Service, r *http.Request) sandboxtest.Response {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.T.Error(err)
	}
	request, err := http.NewRequest(r.Method, s.Root()+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		s.T.Error(err)
	}
	request.Header = r.Header.Clone()
	return s.Do(request)
}

// answer is the response of a gateway, or of the service after a test changed it.
func answer(w http.ResponseWriter, status int, body string) {
	if strings.HasPrefix(body, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// liveCards are the active and frozen cards at the service, newest first.
func liveCards(s *acctest.Service) []service {
	s.T.Helper()
	var live []service
	for number := 1; ; number++ {
		var page struct{ Data []service }
		if s.Get(fmt.Sprintf("/cards?per_page=100&page=%d", number)).Into(&page); len(page.Data) == 0 {
			return live
		}
		live = append(live, slices.DeleteFunc(page.Data, func(card service) bool { return card.Status == "terminated" })...)
	}
}

// serviceHolds checks the only live card and the wallet at the service.
func serviceHolds(t *testing.T, s *acctest.Service, status string, balance, wallet usd.Amount) {
	t.Helper()
	if live := liveCards(s); len(live) != 1 || live[0].Status != status || live[0].Balance != balance {
		t.Errorf("the service has the live cards %v, want one that is %s with %s USD", live, status, balance)
	}
	if now := s.Wallet(); now != wallet {
		t.Errorf("the wallet holds %s USD, want %s", now, wallet)
	}
}

const stateFile = "terraform.tfstate"

// losePrivate takes away what the provider keeps beside the state, as Terraform does
// when a provider dies.
func losePrivate(t *testing.T, w cli) {
	t.Helper()
	if c, ok := w.(*core); ok {
		for address, card := range c.state {
			card.Private = nil
			c.state[address] = card
		}
		return
	}
	w.Write(stateFile, regexp.MustCompile(`"private": "[^"]*"`).ReplaceAllString(w.(*acctest.Workspace).Read(stateFile), `"private": ""`))
}

// stateOf returns what brings the present state back, as a backup does or a run that
// was killed before it wrote any.
func stateOf(t *testing.T, w cli) (restore func()) {
	t.Helper()
	if c, ok := w.(*core); ok {
		state := maps.Clone(c.state)
		return func() { c.state = state }
	}
	text := w.(*acctest.Workspace).Read(stateFile)
	return func() { w.Write(stateFile, text) }
}
