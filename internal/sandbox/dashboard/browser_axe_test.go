package dashboard_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// hostile is what a caller would have a browser run.
const hostile = `"><img src=x onerror=document.title='owned'><script>document.title='owned'</script>`

// populated is a sandbox in which every page has something to show, of any length and
// whatever it looks like. The paths are those that the navigation does not have.
func populated(t testing.TB) (s *sandboxtest.Server, paths []string) {
	t.Helper()
	inbox := sandboxtest.NewReceiver(t, nil)
	s = sandboxtest.Start(t, inbox.Trusted, sandboxtest.WithDashboard)
	s.Post("/webhooks", `{"url":"`+inbox.URL+"/"+strings.Repeat("long", 100)+`","events":["*"]}`).OK(201)
	card := s.Issue("100", `"label":"A label of sixty-four characters, the longest that there can be."`, `"auto_freeze_at":10`,
		`"metadata":{"team":"ads","a name without any space that goes on and on and on":"`+strings.Repeat("long", 40)+`"}`)
	settlement := s.Settle(s.Authorize(card, "40", "7311").Transaction(), "38.50").Transaction()
	s.Refund(settlement, "10").OK(201)
	s.Authorize(card, "12", "7311", `"fee":0.5`).OK(201)
	s.Authorize(card, "1000", "7311").OK(201)
	merchant := map[string]string{"name": hostile, "mcc": "7311"}
	s.Post("/_sandbox/authorizations", map[string]any{"card_id": card, "amount": 5, "merchant": merchant}).OK(201)
	for _, merchant := range []string{strings.Repeat("Merchant", 16), hostile} {
		s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": merchant, "amount": 5}).OK(201)
	}
	s.Post("/_sandbox/deposits", `{"currency":"btc","amount":500}`).OK(201)
	frozen := s.Post("/cards", map[string]any{
		"bin_id": sandboxtest.BIN, "amount": 50, "label": hostile[:64], "metadata": map[string]string{hostile: hostile},
	}, sandboxtest.IdempotencyKey, hostile).OK(201).Text("id")
	s.Freeze(frozen)
	ended := s.Issue("999", `"label":"`+strings.Repeat("W", 64)+`"`)
	s.Terminate(ended)
	s.Get("/cards/"+strings.Repeat("long", 40)+"?"+strings.Repeat("q", 80)).Refused(404, "not_found", "")
	for _, body := range []string{strings.Repeat("long", 40), hostile} {
		s.Fault(map[string]any{"method": "GET", "path": "/cards/" + strings.Repeat("long", 40), "then": map[string]any{"status": 503, "body": body}})
	}
	s.Quirks(map[string]any{"idempotency": "conflict"})
	inbox.Wait(1)
	delivery, _ := s.Get("/_sandbox/deliveries").OK(200).Data()[0]["id"].(string)
	asked := url.QueryEscape(hostile)
	return s, []string{
		"/cards?q=nothing", "/cards?q=" + asked, "/cards/" + card, "/cards/" + frozen, "/cards/" + ended, "/webhooks/" + delivery + "?signature=" + asked,
		"/transactions?state=refunded&q=" + asked, "/transactions/" + settlement, "/requests?outcome=refused", "/nowhere",
	}
}

// each opens the page to log in, then every other one, with everything on it unfolded.
func (b *tab) each(paths []string, look func(path string)) {
	b.t.Helper()
	b.open("/login")
	look("/login")
	b.logIn()
	pages := evaluate[[]string](b, "[...document.querySelectorAll('.pages a')].map(a => a.pathname)")
	if len(pages) < 2 {
		b.t.Fatalf("the navigation has just %v", pages)
	}
	for _, path := range append(pages, paths...) {
		b.open(path)
		b.await("true")
		b.do("document.querySelectorAll('details').forEach(d => { d.open = true })")
		look(path)
		if path == "/nowhere" { // which is asked for again as time passes
			b.excuse("404")
		}
	}
}

// theme has the page shown in the light or the dark theme.
func (b *tab) theme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// Every page fits into a narrow window, also where a text cannot be broken, and into
// 1280 pixels at 200 %. In either theme, every text is to be read by WCAG 2 AA, and
// axe finds nothing to say. None has made a part of itself of what callers wrote.
func TestBrowserEveryPage(t *testing.T) {
	t.Parallel()
	script, contrast := []byte(nil), string(must(os.ReadFile("testdata/contrast.js")))
	if path := os.Getenv("VCARD_AXE"); path != "" {
		script = must(os.ReadFile(path)) // axe.min.js of the npm package axe-core, which checks accessibility
	} else {
		t.Log("NOT RUN: axe; VCARD_AXE names no axe.min.js of npm's axe-core")
	}
	s, paths := populated(t)
	b := openTab(t, s)
	b.each(paths, func(path string) {
		b.holds(path+" runs nothing that it lists", "document.title !== 'owned' && !document.querySelector('main img, main script')")
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			problems := evaluate[[]string](b, contrast)
			if script != nil {
				b.do(string(script) + "; window.found = undefined; axe.run().then(r => { window.found = r.violations" +
					".map(v => v.id + ' (' + v.help + '): ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')) }); undefined")
				b.await("window.found !== undefined")
				problems = append(problems, evaluate[[]string](b, "window.found")...)
			}
			for _, problem := range problems {
				t.Errorf("%s, %s: %s", path, theme, problem)
			}
		}
		for _, width := range []int64{360, 640, 710, 800, 950} {
			b.run(chromedp.EmulateViewport(width, 740))
			wide := evaluate[[]string](b, `[...document.querySelectorAll('body *')]
				.filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.unseen, thead, svg'))
				.map(e => e.tagName + ' ' + e.className + ' ' + e.getBoundingClientRect().right).slice(0, 5)`)
			if len(wide) > 0 || evaluate[int64](b, "document.scrollingElement.scrollWidth") > width {
				t.Errorf("%s is wider than %d pixels: %v", path, width, wide)
			}
		}
		b.run(chromedp.EmulateViewport(1280, 900))
	})
}
