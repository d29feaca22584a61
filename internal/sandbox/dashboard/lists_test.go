package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// labels are those of the cards that a page lists, in its order.
func (p seen) labels() (labels []string) {
	for _, found := range regexp.MustCompile(`<tr id="card_.*?<bdi>(\w+)</bdi>`).FindAllStringSubmatch(p.text, -1) {
		labels = append(labels, found[1])
	}
	return labels
}

// The heads of columns sort, one way and then the other, and keep the filter.
func TestSortedLists(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	for label, amount := range map[string]string{"beta": "300", "Alpha": "1200", "gamma": "50"} {
		card := s.Issue(amount, fmt.Sprintf(`"label":%q`, label))
		if label == "gamma" {
			s.Authorize(card, "9.99", "7311").OK(201)
			s.Authorize(card, "1.01", "7311").OK(201)
		}
	}
	for query, want := range map[string]string{
		"sort=label": "Alpha beta gamma", "sort=-label": "gamma beta Alpha", "sort=-balance": "Alpha beta gamma", "sort=balance": "gamma beta Alpha",
		"sort=-spent&status=active": "gamma", "sort=label&q=a": "Alpha beta gamma", "sort=label&q=ph": "Alpha",
	} {
		if got := strings.Join(b.get("/cards?"+query).labels(), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s lists %s", query, got)
		}
	}
	b.get("/cards?sort=-balance&q=a&page=1").has(t, `aria-sort="descending"><a href="?q=a&amp;sort=balance">`, `<a href="?q=a&amp;sort=-spent">`, `1,200.00`)
	b.get("/cards?sort=nothing").has(t, "Alpha")
	for query, want := range map[string]string{"sort=amount": "1.01", "sort=-amount": "9.99", "sort=time": "9.99", "sort=": "1.01"} {
		if got := regexp.MustCompile(`-(\d+\.\d\d)</span>`).FindStringSubmatch(b.get("/transactions?" + query).text); got == nil || got[1] != want {
			t.Errorf("%s begins with %v", query, got)
		}
	}
}

// A file has all that the filter picks, and nothing that a spreadsheet would run.
func TestListsAsCSV(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Unlimited()
	card := s.Issue("500", `"label":"=1+2"`)
	for range 60 {
		s.Authorize(card, "1.25", "7311").OK(201)
	}
	s.Authorize(card, "9000", "7311").OK(201)
	rows := func(path string) [][]string {
		t.Helper()
		file := b.get(path)
		if got := file.Header.Get("Content-Type") + file.Header.Get("Content-Disposition"); !strings.Contains(got, "text/csv") || !strings.Contains(got, "attachment") {
			t.Errorf("%s is %s", path, got)
		}
		rows, err := csv.NewReader(strings.NewReader(file.text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	all := rows("/transactions?format=csv")
	if len(all) != 62 || len(rows("/transactions?format=csv&state=declined")) != 2 || len(rows("/transactions?format=csv&to=2020-01-01")) != 1 {
		t.Errorf("%d rows", len(all))
	}
	if amount := slices.Index(all[0], "amount"); all[1][amount] != "9000.00" || all[2][amount] != "1.25" || all[1][slices.Index(all[0], "label")] != "'=1+2" {
		t.Errorf("they begin with %q", all[:3])
	}
	if cards := rows("/cards?format=csv&q=1%2B2"); len(cards) != 2 || cards[1][0] != card || cards[1][2] != s.Get("/cards/"+card).Text("last4") {
		t.Errorf("the cards are %q", cards)
	}
	b.get("/transactions?state=declined").has(t, `href="?format=csv&amp;state=declined" download`)
}

func TestFiltersOfSmallLists(t *testing.T) {
	t.Parallel()
	const file = "format=csv"
	s, b := start(t, sandboxtest.Stopped(day(1)))
	card := s.Issue("100", `"label":"summer"`)
	ask := func(merchant string) string {
		return s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": merchant, "amount": 25}).OK(201).Text("id")
	}
	s.Post("/_sandbox/3ds-challenges/"+ask("Shop of the first")+"/complete", `{"outcome":"approved"}`).OK(200)
	ask("Shop of the second")
	s.Advance("6m")
	ask("Shop of the third")
	for query, want := range map[string]string{"status=approved": "first", "status=expired": "second", "status=pending": "third", "q=umm": "first", "q=none": "No challenges match"} {
		b.get("/3ds?"+query).has(t, want)
	}
	b.get("/3ds?status=expired").lacks(t, "the first<", "the third<")
	s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201)
	b.get("/deposits?status=pending").has(t, "<tr id=\"dep_")
	b.get("/deposits?status=confirmed").has(t, "No deposits match").lacks(t, "<tr id=\"dep_")
	b.get("/ledger?kind=card+issued").has(t, "<b>card issued</b>").lacks(t, "<b>opening balance</b>")
	b.get("/ledger?kind=fee").has(t, "No entries match").lacks(t, file)
	s.Get("/_sandbox/requests").OK(200)
	b.get("/requests").has(t, file)
}

// A page says in its title what it is of, and one that is not there has the navigation.
func TestTitlesAndErrorPages(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("1000", `"label":"search-ads"`)
	b.get("/cards/"+card).has(t, "<title>search-ads ••"+s.Get("/cards/"+card).Text("last4")+" · ", "1,000.00")
	for path, status := range map[string]int{"/cards/none": http.StatusNotFound, "/nowhere": http.StatusNotFound, "/transactions?from=x": http.StatusBadRequest} {
		page := b.get(path).has(t, `aria-label="Pages"`, "Log out", `href="/cards"`)
		if page.StatusCode != status {
			t.Errorf("%s was answered %d", path, page.StatusCode)
		}
	}
	newBrowser(t, s).get("/nowhere").lacks(t, `aria-label="Pages"`)
}

// Times are told from now, by the service's clock, with the time itself behind them.
func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	card := s.Issue("100")
	b.get("/cards/"+card).has(t, `<time datetime="2026-03-01T12:00:00Z" title="2026-03-01 12:00:00 UTC">now</time>`)
	for _, step := range [][2]string{{"42s", "42 s ago"}, {"9m18s", "10 min ago"}, {"24h", "1 d ago"}, {"960h", "2026-03-01"}} {
		s.Advance(step[0])
		b.get("/cards/"+card).has(t, `title="2026-03-01 12:00:00 UTC">`+step[1]+`</time>`)
	}
}

// The slash goes to the search, and typing one there writes it.
func TestBrowserSlash(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	s.Issue("100")
	b := openTab(t, s).logIn()
	b.open("/cards")
	b.run(chromedp.KeyEvent("/"))
	b.await("document.activeElement.id === 'q'")
	b.run(chromedp.KeyEvent("a/b"))
	b.await("document.activeElement.value.endsWith('/b')")
}
