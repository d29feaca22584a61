//go:build unix

package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// snippet is the text that a page has for a copy button, by how it begins.
func (p seen) snippet(begin string) string {
	p.t.Helper()
	text := p.find(`(?s)data-copy="(` + begin + `[^"]*)"`)
	if text == "" {
		p.t.Fatalf("%s has nothing to copy that begins with %q:\n%s", p.Request.URL, begin, p.text)
	}
	return text
}

// What a card's page says of it in HCL takes the card over, whatever is in it, and
// changes nothing.
func TestCardsConfigurationTakesItOver(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	w := acctest.NewWorkspace(t)
	w.Env = append(w.Env, "VCARD_BASE_URL="+s.URL, "VCARD_API_KEY="+s.Key)
	config := acctest.Required
	for _, card := range []string{
		s.Issue("100.50", `"label":"Search ads: \"${x}\" %{y} \\ 2026"`, `"spending_limit":300`, `"allowed_categories":["advertising","software"]`,
			`"auto_freeze_at":10`, `"metadata":{"team":"ads","a key":"$${z}\n\t"}`),
		s.Issue("50", `"label":"2026"`), s.Issue("50"), s.Issue("60", `"label":"بطاقة"`),
	} {
		s.Post("/cards/"+card+"/fund", `{"amount":5}`).OK(200)
		page := b.get("/cards/" + card)
		config += strings.Replace(page.snippet("resource "), `"vcard_card" "card"`, fmt.Sprintf(`"vcard_card" %q`, card), 1) +
			strings.Replace(page.snippet("import "), "vcard_card.card\n", "vcard_card."+card+"\n", 1)
	}
	frozen := s.Issue("50", `"label":"paused"`)
	s.Freeze(frozen)
	config += b.get("/cards/"+frozen).snippet("resource ") + b.get("/cards/"+frozen).snippet("import ")
	w.Write("main.tf", config)
	if out := w.Must("apply", "-auto-approve", "-no-color"); !strings.Contains(out, "5 imported, 0 added, 0 changed, 0 destroyed") && !strings.Contains(out, "5 imported, 0 added, 5 changed, 0 destroyed") {
		t.Errorf("it says %s", out)
	}
	w.Must("plan", "-detailed-exitcode", "-no-color")
	equal(t, "the wallet", s.Wallet().String(), "9664.50")
	s.Terminate(frozen)
	b.get("/cards/" + frozen).has("resource &#34;vcard_card&#34;").lacks("import {")
}

// An empty account's first page is all that a first card takes.
func TestFirstPageIssuesAFirstCard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	page := b.get("/").has("export VCARD_API_KEY=…", "10,000.00").lacks(s.Key, "On cards", "Spending this month")
	environment := b.post("/", "show-key").snippet("export ")
	b.get("/").lacks(s.Key)
	w := acctest.NewWorkspace(t)
	for line := range strings.Lines(environment) {
		w.Env = append(w.Env, strings.TrimPrefix(strings.TrimSpace(line), "export "))
	}
	w.Write("main.tf", page.snippet("terraform "))
	w.Must("apply", "-auto-approve", "-no-color")
	equal(t, "cards", len(s.LiveCards()), 1)
	b.get("/").has("On cards", "Spending this month").lacks("main.tf")
}
