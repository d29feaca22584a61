package dashboard_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// linked are the pages that a page leads to.
var linked = regexp.MustCompile(`href="(/[^"]*)"`)

// No page shows what only its makers are to know; nor does one that another account
// sees tell anything of this one.
func TestPagesKeepSecrets(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	other := s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key")
	made := s.Post("/webhooks", `{"url":"https://127.0.0.1:1/","events":["*"]}`).OK(201).Text("secret")
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1/plantedPath0123456789/in?planted-query","events":["*"],"secret":"planted-secret"}`).OK(201)
	card := s.Issue("100", `"label":"Planted label"`)
	s.Settle(s.Authorize(card, "10", "7311").Transaction(), "")
	s.Post("/_sandbox/3ds-challenges", `{"card_id":"`+card+`","merchant":"Ads","amount":5}`).OK(201)
	s.Get("/cards?bin_id=" + s.Key)
	pan := s.Get("/cards/" + card + "/details").OK(200).Text("pan")
	sandboxtest.Eventually(t, func() bool { return !strings.Contains(s.Get("/_sandbox/deliveries").Raw, `"tries":[]`) })

	pages := crawl(t, b)
	for _, path := range []string{"/cards/" + card, "/requests", "/webhooks", "/3ds", "/ledger"} {
		if pages[path] == "" {
			t.Errorf("%s was not seen", path)
		}
	}
	if !slices.ContainsFunc(s.Get("/_sandbox/deliveries").Data(), func(d map[string]any) bool { return pages["/webhooks/"+d["id"].(string)] != "" }) {
		t.Error("no delivery was seen")
	}
	for path, text := range pages {
		for _, secret := range []string{s.Key, other, made, "planted-secret", "plantedPath", "planted-query", pan} {
			if strings.Contains(strings.ReplaceAll(text, " ", ""), secret) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
	for path, text := range crawl(t, newBrowser(t, s).logIn(other)) {
		if strings.Contains(text, card) || strings.Contains(text, "Planted label") {
			t.Errorf("%s shows another account's card", path)
		}
	}
}

// crawl returns what can be seen from the overview on, by the paths.
func crawl(t *testing.T, b *browser) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for left := []string{"/"}; len(left) > 0 && len(seen) < 200; left = left[1:] {
		path, _, _ := strings.Cut(left[0], "?")
		if _, found := seen[path]; found || strings.HasPrefix(path, "/assets/") {
			continue
		}
		seen[path] = html.UnescapeString(b.get(left[0]).text)
		for _, link := range linked.FindAllStringSubmatch(seen[path], -1) {
			left = append(left, link[1])
		}
	}
	return seen
}
