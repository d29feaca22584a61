package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// populated is a sandbox in which every page has something to show. The paths are
// those that the navigation does not have.
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
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": strings.Repeat("Merchant", 16), "amount": 5}).OK(201)
	s.Post("/_sandbox/deposits", `{"currency":"btc","amount":500}`).OK(201)
	frozen := s.Issue("50")
	s.Freeze(frozen)
	ended := s.Issue("999", `"label":"`+strings.Repeat("W", 64)+`"`)
	s.Terminate(ended)
	s.Get("/cards/"+strings.Repeat("long", 40)+"?"+strings.Repeat("q", 80)).Refused(404, "not_found", "")
	s.Fault(`{"method":"GET","path":"/cards/` + strings.Repeat("long", 40) + `","then":{"status":503,"body":"` + strings.Repeat("long", 40) + `"}}`)
	s.Quirks(map[string]any{"idempotency": "conflict"})
	inbox.Wait(1)
	delivery, _ := s.Get("/_sandbox/deliveries").OK(200).Data()[0]["id"].(string)
	return s, []string{
		"/cards?q=nothing", "/cards/" + card, "/cards/" + frozen, "/cards/" + ended, "/webhooks/" + delivery, "/transactions?state=refunded&q=none", "/transactions/" + settlement, "/requests?outcome=refused", "/nowhere",
	}
}

func TestBrowserStoryOfACard(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100", `"label":"summer"`)
	b := openTab(t, s).logIn()
	b.press(`nav a[href="/cards"]`)
	b.await("document.querySelector('h1').textContent === 'Cards'")
	b.fill("#q", "summ")
	b.press(".filter button")
	b.await("location.search.includes('q=summ')")
	b.press("tbody a")
	b.await("location.pathname.startsWith('/cards/card_')")

	b.fill("#buy-amount", "25")
	b.press(`#buy button[value="buy"]`)
	b.awaitText("Authorized: 25.00 USD")
	b.press(".follow-up summary")
	b.press(`.follow-up button[value="settle"]`)
	b.awaitText("The authorization is settled.")
	b.press(".follow-up summary")
	b.fill(`.follow-up input[name="amount"]`, "5")
	b.press(`.follow-up button[value="refund"]`)
	b.awaitText("The refund is on the card.")
	b.press(`button[value="details"]`)
	b.await(`document.querySelector('#details code').textContent.replaceAll(' ', '').length === 16`)
	b.press("#details a")
	b.await("!document.querySelector('#details code')")
	b.press(`button[value="freeze"]`)
	b.awaitText("The card is frozen.")
	b.press(`button[value="unfreeze"]`)
	b.awaitText("The card is active again.")
	if evaluate[bool](b, `document.querySelector('button[value="terminate"]').checkVisibility()`) {
		t.Error("a single press terminates the card")
	}
	b.press("#terminate summary")
	b.press(`button[value="terminate"]`)
	b.awaitText("80.00 USD returned to the wallet")
	if got := s.Get("/cards/" + card).Text("status"); got != "terminated" {
		t.Errorf("the card is %s", got)
	}
	s.Balanced()
}

// What another process does to the file shows by itself, soon, and takes away
// neither what is being typed nor the focus.
func TestBrowserShowsOtherProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shared.db")
	s := sandboxtest.Start(t, sandboxtest.WithDashboard, func(o *sandboxtest.Options) { o.Path = path })
	card := s.Issue("100")
	authorization := s.Authorize(card, "40", "7311").Transaction()
	other := sandboxtest.StartProcess(t, nil, "--data", path)
	b := openTab(t, s).logIn()
	b.open("/cards/" + card)
	b.press("#" + authorization + " summary")
	b.fill("#settle-"+authorization, "12.34")
	evaluate[chromedp.Void](b, `window.marked = document.activeElement; document.querySelector('#buy-merchant').value = 'Half a na'`)

	other.Freeze(card)
	b.await(`document.querySelector('h1 .badge').textContent === 'frozen'`)
	other.Post("/cards/"+card+"/unfreeze", nil).OK(200)
	other.Authorize(card, "1", "7311").OK(201)
	b.await(`document.querySelector('h1 .badge').textContent === 'active' && document.querySelector('#held').textContent === '3 new'`)
	evaluate[chromedp.Void](b, `document.querySelector('#held').click()`) // which takes no focus without a pointer
	b.await(`document.querySelectorAll('.follow-up summary').length === 2`)
	if !evaluate[bool](b, fmt.Sprintf(`window.marked.isConnected && document.activeElement === window.marked && window.marked.value === '12.34'
		&& window.marked.id === 'settle-%s' && document.querySelector('#buy-merchant').value === 'Half a na'
		&& document.querySelector('#%[1]s details').open`, authorization)) {
		t.Error("the update took away what was typed, or the focus")
	}
	b.press("#" + authorization + ` button[value="settle"]`)
	b.awaitText("The authorization is settled.")
	other.Balanced()
}

func TestBrowserWrongKeyAndEndedSession(t *testing.T) {
	t.Parallel()
	clock := &wall{at: time.Now()}
	s := sandboxtest.Start(t, sandboxtest.WithDashboard, func(o *sandboxtest.Options) { o.Clock = clock.now })
	b := openTab(t, s)
	b.open("/login")
	b.fill("#key", "sk_live_sandbox_wrong")
	b.press("main button")
	b.awaitText("No account has this API key")
	b.excuse("403")
	b.logIn()
	b.open("/cards")
	clock.advance(13 * time.Hour)
	b.await("location.pathname === '/login'") // by itself
	b.fill("#key", s.Key)
	b.press("main button")
	b.await("location.pathname === '/cards'")
}

func TestBrowserLink(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	b := openTab(t, s)
	b.run(chromedp.Navigate(s.Link))
	b.await("location.pathname === '/' && document.querySelector('h1').textContent === 'Overview'")
}

// A page of another site, on the same machine, and a name that an attacker has
// resolve to it, get nowhere with a browser that is logged in.
func TestBrowserForeignSites(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<!doctype html><link rel="icon" href="data:,"><form method="post" action="%s/cards/%s"><button name="action" value="freeze">Win</button></form>
			<iframe src="%[1]s/"></iframe>`, s.Root(), card)
	}))
	defer attacker.Close()
	b := openTab(t, s).logIn()
	b.leave()
	b.run(chromedp.Navigate(attacker.URL))
	evaluate[chromedp.Void](b, "document.querySelector('button').click()")
	b.await("document.body.innerText.includes('sent from another site')")
	b.open("/cards/" + card)
	evaluate[chromedp.Void](b, `document.querySelector('#freeze input[name="token"]').value = '0'.repeat(64)`)
	b.press(`button[value="freeze"]`)
	b.awaitText("nothing was done")
	if got := s.Get("/cards/" + card).Text("status"); got != "active" {
		t.Errorf("the card is %s", got)
	}
	b.run(chromedp.Navigate("http://rebound.test:" + s.Root()[strings.LastIndex(s.Root(), ":")+1:] + "/"))
	b.await("document.body.innerText.includes('not served under this name')")
}

func TestBrowserKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s)
	b.open("/login")
	b.await("document.activeElement.id === 'key'")
	b.fill("#key", s.Key)
	b.run(chromedp.KeyEvent(kb.Enter))
	b.await("location.pathname === '/'")
	b.tabTo("document.activeElement.matches('.skip') && document.activeElement.getBoundingClientRect().top >= 0")
	b.run(chromedp.KeyEvent(kb.Enter))
	b.await("document.activeElement.id === 'main'")
	b.open("/cards")
	b.tabTo("document.activeElement.matches('tbody a')")
	b.run(chromedp.KeyEvent(kb.Enter))
	b.await("location.pathname.startsWith('/cards/card_')")
	b.tabTo("document.activeElement.matches('#terminate summary')")
	if outline := evaluate[string](b, "getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
		t.Error("the focus cannot be seen")
	}
	b.run(chromedp.KeyEvent(kb.Enter))
	b.tabTo(`document.activeElement.matches('button[value="terminate"]')`)
	b.run(chromedp.KeyEvent(kb.Enter))
	b.awaitText("100.00 USD returned to the wallet")
	if got := s.Get("/cards/" + card).Text("status"); got != "terminated" {
		t.Errorf("the card is %s", got)
	}
}

// tabTo presses the tabulator until the focus is where it should be.
func (b *tab) tabTo(there string) {
	b.t.Helper()
	for range 60 {
		b.run(chromedp.KeyEvent(kb.Tab))
		if evaluate[bool](b, there) {
			return
		}
	}
	b.t.Fatalf("the focus never came to %s", there)
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
		evaluate[chromedp.Void](b, "document.querySelectorAll('details').forEach(d => { d.open = true })")
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

// unreadableTexts computes the contrast of every text that is shown.
const unreadableTexts = `(() => {
	const parse = (color) => {
		const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
		return { r, g, b, a };
	};
	const over = (top, under) => ({
		r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1,
	});
	const ground = (element) => {
		const layers = [];
		for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
		return layers.reduceRight((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
	};
	const luminance = ({ r, g, b }) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	const found = [];
	while (texts.nextNode()) {
		const element = texts.currentNode.parentElement;
		if (!texts.currentNode.data.trim() || !element.checkVisibility() || element.closest('svg title, svg desc, .unseen, script')) continue;
		const style = getComputedStyle(element);
		const under = ground(element);
		const color = over(parse(element.closest('svg') ? style.fill : style.color), under);
		const [low, high] = [luminance(color), luminance(under)].sort((x, y) => x - y);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
		const ratio = (high + 0.05) / (low + 0.05);
		if (ratio < (large ? 3 : 4.5)) found.push(texts.currentNode.data.trim() + ' has ' + ratio.toFixed(2));
	}
	for (const field of document.querySelectorAll('input:not([type=hidden]), select, button, .button')) {
		if (!field.checkVisibility()) continue;
		const style = getComputedStyle(field);
		const under = ground(field);
		const ratio = (a, b) => { const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
		if (field.matches('input, select') && ratio(over(parse(style.borderTopColor), under), ground(field.parentElement)) < 3) found.push('the border of ' + field.name);
		if (field.matches('input, select') && ratio(over(parse(style.color), under), under) < 4.5) found.push('the text of ' + field.name);
	}
	return found;
})()`
