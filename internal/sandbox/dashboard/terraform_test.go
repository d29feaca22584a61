//go:build unix

package dashboard_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

var snippets = regexp.MustCompile(`(?s)data-copy="([^"]*)"`)

// snippet is the text that a page has for a copy button, by how it begins.
func (p seen) snippet(t testing.TB, begin string) string {
	t.Helper()
	for _, found := range snippets.FindAllStringSubmatch(p.text, -1) {
		if text := html.UnescapeString(found[1]); strings.HasPrefix(text, begin) {
			return text
		}
	}
	t.Fatalf("%s has nothing to copy that begins with %q:\n%s", p.Request.URL, begin, p.text)
	return ""
}

const required = "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n"

// What a card's page says of it in HCL takes the card over, whatever is in it, and
// changes nothing.
func TestCardsConfigurationTakesItOver(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	w := acctest.NewWorkspace(t)
	w.Env = append(w.Env, "VCARD_BASE_URL="+s.URL, "VCARD_API_KEY="+s.Key)
	config := required
	for _, card := range []string{
		s.Issue("100.50", `"label":"Search ads: \"${x}\" %{y} \\ 2026"`, `"spending_limit":300`, `"allowed_categories":["advertising","software"]`,
			`"auto_freeze_at":10`, `"metadata":{"team":"ads","a key":"$${z}\n\t"}`),
		s.Issue("50", `"label":"2026"`), s.Issue("50"), s.Issue("60", `"label":"بطاقة"`),
	} {
		s.Post("/cards/"+card+"/fund", `{"amount":5}`).OK(200)
		page := b.get("/cards/" + card)
		config += strings.Replace(page.snippet(t, "resource "), `"vcard_card" "card"`, fmt.Sprintf(`"vcard_card" %q`, card), 1) +
			strings.Replace(page.snippet(t, "import "), "vcard_card.card\n", "vcard_card."+card+"\n", 1)
	}
	frozen := s.Issue("50", `"label":"paused"`)
	s.Freeze(frozen)
	config += b.get("/cards/"+frozen).snippet(t, "resource ") + b.get("/cards/"+frozen).snippet(t, "import ")
	w.Write("main.tf", config)
	if out := w.Must("apply", "-auto-approve", "-no-color"); !strings.Contains(out, "5 imported, 0 added, 0 changed, 0 destroyed") && !strings.Contains(out, "5 imported, 0 added, 5 changed, 0 destroyed") {
		t.Errorf("it says %s", out)
	}
	w.Must("plan", "-detailed-exitcode", "-no-color")
	if got := s.Wallet().String(); got != "9664.50" {
		t.Errorf("the wallet holds %s", got)
	}
	s.Terminate(frozen)
	b.get("/cards/"+frozen).has(t, "resource &#34;vcard_card&#34;").lacks(t, "import {")
}

// An empty account's first page is all that a first card takes.
func TestFirstPageIssuesAFirstCard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	page := b.get("/").has(t, "export VCARD_API_KEY=…", "10,000.00").lacks(t, s.Key, "On cards", "Spending this month")
	environment := b.post("/", "show-key").snippet(t, "export ")
	b.get("/").lacks(t, s.Key)
	w := acctest.NewWorkspace(t)
	for line := range strings.Lines(environment) {
		w.Env = append(w.Env, strings.TrimPrefix(strings.TrimSpace(line), "export "))
	}
	w.Write("main.tf", page.snippet(t, "terraform "))
	w.Must("apply", "-auto-approve", "-no-color")
	if n := len(s.LiveCards()); n != 1 {
		t.Errorf("%d cards", n)
	}
	b.get("/").has(t, "On cards", "Spending this month").lacks(t, "main.tf")

	key := s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key")
	newBrowser(t, s).logIn(key).post("/", "show-key").has(t, key).lacks(t, s.Key)
}
