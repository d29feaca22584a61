package card_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// tidies is a service that keeps values of new cards otherwise than asked.
func tidies(t *testing.T) *acctest.Service {
	t.Helper()
	s := acctest.Start(t)
	s.Put("/_sandbox/quirks", map[string]any{"card_values": "tidied"}).OK(http.StatusOK)
	return s
}

const untidy = `amount = 60
  label = " ads "
  spending_limit = 60000
  allowed_categories = ["travel", "food"]`

// What the service made of a value at issuing is no drift: every plan would
// replace the card, for a dollar, a new number, and the same result.
func TestValuesThatTheServiceKeepsOtherwise(t *testing.T) {
	t.Parallel()
	s := tidies(t)
	w := newCLI(t, nil)
	through(w, s, "")
	output := apply(w, oneCard(untidy))
	card := onlyCard(s)
	prints(t, output, "otherwise than asked", card.ID, `label "ads" in place of " ads "`, "spending_limit 50000.00 USD in place of 60000.00")
	printsNot(t, output, "allowed_categories [")
	for range 2 {
		plansNothing(t, w)
		w.Must("apply", "-no-color", "-auto-approve", "-refresh-only")
	}
	serviceHolds(t, s, "active", 60*usd.Dollar, acctest.InitialBalance-61*usd.Dollar)

	// Writing what the service has changes nothing either, now and later.
	tidy := strings.NewReplacer(`" ads "`, `"ads"`, "60000", "50000").Replace(untidy)
	if output := apply(w, oneCard(tidy)); !strings.Contains(output, "1 changed, 0 destroyed") {
		t.Errorf("taking over what the service has is no mere change:\n%s", output)
	}
	plansNothing(t, w)
	if now := onlyCard(s); now.ID != card.ID {
		t.Errorf("the card is %s, was %s", now.ID, card.ID)
	}
	w.Must("destroy", "-no-color", "-auto-approve")
}

// Drift never replaces a card: support raised a limit and tidied a label, which one
// sentence says once, with both values. A configuration that follows takes it over.
func TestDriftReplacesNoCard(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := func(limit string) string {
		return oneCard("amount = 60\n  label = \"Ads \"\n  spending_limit = " + limit)
	}
	w := applied(t, s, "", config("500"))
	old := onlyCard(s)
	through(w, s.Proxy(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodGet, old.ID) {
			return false
		}
		shown := forward(s, r)
		shown.Body["spending_limit"], shown.Body["label"] = 700, "ads"
		body, _ := json.Marshal(shown.Body)
		answer(rw, http.StatusOK, string(body))
		return true
	}), "")
	output := plansNothing(t, w)
	prints(t, output, "The service shows a card otherwise", old.ID, `label "ads" in place of "Ads "`, "spending_limit 700.00 USD in place of 500.00 USD", "The card stays")
	w.Must("apply", "-no-color", "-auto-approve", "-refresh-only")
	printsNot(t, plansNothing(t, w), "otherwise")
	prints(t, apply(w, config("700")), "spending_limit = 500 -> 700", "0 added, 1 changed, 0 destroyed")
	plansNothing(t, w)
	w.Write("main.tf", config("600"))
	prints(t, w.Must("plan", "-no-color"), "spending_limit = 700 -> 600", "forces replacement")
}

// A card whose response was lost is found though its label, or the limit of one
// that only its label can have, is not as asked: issuing it once more would pay
// for two.
func TestTidiedCardIsRecovered(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]object{
		"written label":                     {"amount": 60, "label": " ads ", "spending_limit": 500},
		"generated label, of another limit": {"amount": 60, "spending_limit": 60000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tidies(t)
			s.Put("/_sandbox/quirks", map[string]any{"card_values": "tidied", "idempotency": "ignored"}).OK(http.StatusOK)
			s.Fault(map[string]any{"method": "POST", "path": "/cards", "times": 1, "when": "after", "then": "drop"})
			f := &fixture{t: t, s: s, card: acctest.Instance{Type: "vcard_card"}}
			f.apply(config)
			f.unchanged(config)
			if n := len(liveCards(s)); n != 1 {
				t.Errorf("%d cards were issued", n)
			}
		})
	}
}

// A label finds the card that it was written for.
func TestTidiedCardsAreFoundByTheirLabels(t *testing.T) {
	t.Parallel()
	s := tidies(t)
	id := issue(s, map[string]any{"amount": 60, "label": " ads ", "allowed_categories": []string{"travel"}}).ID
	one, diags := s.Protocol(nil).ReadDataSource("vcard_card", object{"label": " ads "})
	some, more := s.Protocol(nil).ReadDataSource("vcard_cards", object{"label": " ads ", "label_prefix": " a"})
	if one["id"] != id || plain(some["ids"]) != "["+id+"]" {
		t.Errorf("%v and %v are found, %s%s", one["id"], some["ids"], diags.Errors(), more.Errors())
	}
}

// A service may repeat at issuing what was asked, and show only later what it made
// of it.
func TestValuesThatAreShownOtherwiseLater(t *testing.T) {
	t.Parallel()
	s := tidies(t)
	w := newCLI(t, nil)
	through(w, s, "")
	through(w, s.Proxy(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodPost, "/cards") {
			return false
		}
		shown := forward(s, r)
		shown.Body["label"] = " ads "
		body, _ := json.Marshal(shown.Body)
		answer(rw, shown.Status, string(body))
		return true
	}), "")
	config := oneCard(strings.Replace(untidy, "60000", "600", 1))
	printsNot(t, apply(w, config), "otherwise than asked")
	prints(t, plansNothing(t, w), "shows a card otherwise", `label "ads" in place of " ads "`)
	w.Must("apply", "-no-color", "-auto-approve", "-refresh-only")
	printsNot(t, plansNothing(t, w), "otherwise")
	serviceHolds(t, s, "active", 60*usd.Dollar, acctest.InitialBalance-61*usd.Dollar)
}

// A limit that nobody asked for is what the first reading shows.
func TestDefaultLimitThatIsShownLater(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := newCLI(t, nil)
	through(w, s, "")
	through(w, s.Proxy(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodPost, "/cards") {
			return false
		}
		issued := forward(s, r)
		issued.Body["spending_limit"] = 0
		body, _ := json.Marshal(issued.Body)
		answer(rw, issued.Status, string(body))
		return true
	}), "")
	apply(w, oneCard("amount = 60"))
	printsNot(t, plansNothing(t, w), "otherwise than asked")
	prints(t, w.Must("apply", "-no-color", "-auto-approve", "-refresh-only"), "spending_limit", "0 -> 50000")
	prints(t, w.Must("show", "-no-color"), "spending_limit = 50000")
	plansNothing(t, w)
}
