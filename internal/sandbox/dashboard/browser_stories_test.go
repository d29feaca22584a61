package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Every page fits into narrow windows, even with long words, and runs no script that a caller has put into a text. In
// both themes, the contrast of every text meets WCAG 2 AA. If VCARD_AXE is set, axe finds no problem of accessibility.
func TestBrowserEveryPage(t *testing.T) {
	t.Parallel()
	contrast := sandboxtest.File(t, "testdata/contrast.js")
	axe := "" // axe.min.js of the npm package axe-core, which checks accessibility
	axePath := os.Getenv("VCARD_AXE")
	if axePath != "" {
		axe = sandboxtest.File(t, axePath)
	} else {
		t.Log("NOT RUN: axe; set VCARD_AXE to the path of axe.min.js of the npm package axe-core")
	}
	s, paths := populated(t)
	b := openTab(t, s)
	b.each(paths, func(path string) {
		b.holds(path+" runs no script from a text", "document.title !== 'owned' && !document.querySelector('main img, main script')")
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			problems := evaluate[[]string](b, contrast)
			if axe != "" {
				b.do(axe + "; window.found = undefined; axe.run().then(r => { window.found = r.violations" +
					".map(v => v.id + ' (' + v.help + '): ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')) }); undefined")
				b.await("window.found !== undefined")
				problems = append(problems, evaluate[[]string](b, "window.found")...)
			}
			for _, problem := range problems {
				t.Errorf("%s, %s: %s", path, theme, problem)
			}
		}
		for _, width := range []int64{360, 390, 640, 710, 800, 950, 970} {
			b.run(chromedp.EmulateViewport(width, 740))
			wide := evaluate[[]string](b, `[...document.querySelectorAll('body *')]
				.filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.unseen, thead, svg, .card > a'))
				.map(e => e.tagName + ' ' + e.className + ' ' + e.getBoundingClientRect().right).slice(0, 5)`)
			if len(wide) > 0 || evaluate[int64](b, "document.scrollingElement.scrollWidth") > width {
				t.Errorf("%s is wider than %d pixels: %v", path, width, wide)
			}
		}
		b.run(chromedp.EmulateViewport(1280, 900))
	})
}

// A user searches for a card, uses the buttons of its page and looks at its details.
func TestBrowserCard(t *testing.T) {
	t.Parallel()
	s, b := startTab(t)
	card := s.Issue("200", `"label":"summer"`)
	b.press(`nav a[href="/cards"]`).await("document.querySelector('h1').textContent === 'Cards'")
	b.key("/").await("document.activeElement.id === 'q'")
	b.key("a/b").await("document.activeElement.value.endsWith('/b')") // in a field, a slash is text
	b.fill("#q", "summ")
	b.press(".filter button").await("location.search.includes('q=summ')")
	b.press("tbody a").await("location.pathname.startsWith('/cards/card_')")
	b.fill("#buy-amount", "25")
	b.press(`#buy button[value="buy"]`).shows("Authorized: 25.00 USD")

	// A double click buys only once. The first click opens the page anew, with the same button at the same place, and the
	// second click hits that button. The notice is already shown, so it does not move the button.
	place := b.middle(`button[value="buy"]`)
	b.do("window.before = true")
	for click := range int64(2) {
		b.mouse(input.DispatchMouseEventTypeMousePressed, place, click+1)
		b.mouse(input.DispatchMouseEventTypeMouseReleased, place, click+1)
		b.await("!window.before")
	}
	b.press(`button[value="freeze"]`).shows("The card is frozen.") // the purchases have ended
	b.press(`button[value="unfreeze"]`).shows("The card is active again.")
	sandboxtest.Equal(t, "transactions after a click and a double click", len(s.Get("/transactions").Data()), 2)

	// The refused input stays in its form while the page updates itself.
	b.fill("#buy-amount", "4,50")
	b.fill("#buy-merchant", "Corner Shop")
	b.press(`button[value="buy"]`).shows("Amount must be a number.")
	b.excuse("400")
	s.Freeze(card)
	b.await(`document.querySelector('h1 .badge').textContent === 'frozen'`) // without a reload
	b.shows("Amount must be a number.")
	b.holds("the form has the refused input", `['amount', 'merchant'].map((f) => document.querySelector('#buy-' + f).value).join('|') === '4,50|Corner Shop'`)

	// Going back to the page does not send the form again. The number stays while the page updates itself, and disappears
	// when the card is terminated.
	b.press(`button[value="details"]`).await(`document.querySelector('#details code')?.textContent.replaceAll(' ', '').length === 16`)
	b.open("/3ds")
	b.do("history.back()")
	b.await(fmt.Sprintf("location.pathname === '/cards/%s' && document.querySelector('h1')", card))
	b.open("/cards/" + card)
	b.press(`button[value="details"]`).await(`document.querySelector('#details code')`)
	b.press("#details a").await("!document.querySelector('#details code')")
	b.press(`button[value="details"]`).await(`document.querySelector('#details code')`)
	s.Post("/cards/"+card+"/unfreeze", nil).OK(200)
	b.await(`document.querySelector('h1 .badge').textContent === 'active'`)
	b.holds("the page still shows the number, without a button that shows it", `document.querySelector('#details code') && !document.querySelector('button[value="details"]')`)
	b.holds("the button that terminates the card is in a closed section", `!document.querySelector('button[value="terminate"]').checkVisibility()`)
	s.Terminate(card)
	b.await(`document.querySelector('h1 .badge').textContent === 'terminated'`)
	b.holds("the number has disappeared with the termination", `!document.querySelector('#details code')`)
	s.Balanced()
}

// The page shows what another process changes in the file, without a reload. Typed text and the focus stay. When the
// sandbox stops, the page says so.
func TestBrowserShowsOtherProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shared.db")
	s, b := startTab(t, func(o *sandboxtest.Options) { o.Path = path })
	other := sandboxtest.StartProcess(t, nil, "--data", path)
	b.do("window.marked = true")
	card := other.Issue("100", `"label":"<img src=x> one"`)
	b.shows("9,899.00")
	b.shows("<img src=x> one")
	b.holds("the page was not loaded again, and runs no script from a text", "window.marked && !document.querySelector('main img')")
	b.open("/cards?status=all")
	b.do("window.marked = true")
	other.Terminate(other.Issue("50"))
	b.await("document.querySelectorAll('.badge.terminated').length === 1 && window.marked")

	authorization := other.Authorize(card, "40", "7311").Transaction()
	b.open("/cards/" + card)
	b.press("#" + authorization + " summary")
	b.fill("#settle-"+authorization, "12.34")
	b.do(`window.marked = document.activeElement; document.querySelector('#buy-merchant').value = 'Half a na'`)
	other.Freeze(card)
	b.await(`document.querySelector('h1 .badge').textContent === 'frozen'`)
	other.Post("/cards/"+card+"/unfreeze", nil).OK(200)
	other.Authorize(card, "1", "7311").OK(201)
	b.await(`document.querySelector('h1 .badge').textContent === 'active' && document.querySelector('#held').textContent === '3 new'`)
	b.do(`document.querySelector('#held').click()`) // unlike a real click, this does not move the focus
	b.await(`document.querySelectorAll('.follow-up summary').length === 2`)
	b.holds("the update kept the typed text and the focus", fmt.Sprintf(`window.marked.isConnected && document.activeElement === window.marked
		&& window.marked.value === '12.34' && window.marked.id === 'settle-%s' && document.querySelector('#buy-merchant').value === 'Half a na'
		&& document.querySelector('#%[1]s details').open`, authorization))
	b.press("#" + authorization + ` button[value="settle"]`).shows("The authorization is settled.")
	other.Balanced()

	b.leave() // the console reports each failed attempt to connect
	s.Close()
	b.await("document.querySelector('#connection').textContent === 'The sandbox does not answer'")
}

// New rows neither move the row under the pointer nor take the focus from a button. A label that is written from right
// to left does not change the order of the digits next to it.
func TestBrowserRows(t *testing.T) {
	t.Parallel()
	s, b := startTab(t)
	card := s.Issue("100", `"label":"بطاقة الإعلانات"`)
	deposit := func() { s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201) }
	b.open("/deposits")
	b.fill("#amount", "250")
	b.press(`button[value="announce"]`).shows("The deposit is pending.")
	place := b.middle("tbody button")
	first := evaluate[string](b, "document.querySelector('tbody tr').id")
	b.mouse(input.DispatchMouseEventTypeMouseMoved, place, 0)
	deposit()
	deposit()
	b.await("document.querySelector('#held').checkVisibility() && document.querySelector('#held').textContent === '2 new'")
	b.holds("the row is still under the pointer", fmt.Sprintf("document.elementFromPoint(%v, %v).closest('tr').id === %q", place[0], place[1], first))
	b.mouse(input.DispatchMouseEventTypeMouseMoved, []float64{5, 5}, 0)
	b.await("document.querySelectorAll('td.follow-up').length === 3 && document.querySelector('#held').hidden")

	for _, c := range []struct {
		path   string
		notice string // after the button of a row is pressed
		add    func() // adds a row
	}{
		{"/3ds", "The challenge is approved.", func() {
			s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "متجر", "amount": 5}).OK(201)
		}},
		{"/deposits", "The deposit is confirmed", deposit},
		{"/world", "The fault is removed.", func() { s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`) }},
	} {
		c.add()
		b.open(c.path)
		b.await("document.querySelector('td.follow-up')")
		b.do("window.rows = document.querySelectorAll('td.follow-up').length; window.marked = document.querySelector('td.follow-up button'); window.marked.focus()")
		c.add()
		b.await("document.querySelector('#held').textContent === '1 new'") // without a reload
		b.do("window.marked.closest('tr').querySelector('td').click(); document.querySelector('#held').click()")
		b.await("document.querySelectorAll('td.follow-up').length === window.rows + 1")
		b.holds("the update kept the focus on "+c.path, "window.marked.isConnected && document.activeElement === window.marked")
		b.key(kb.Enter).shows(c.notice)
	}
	for _, path := range []string{"/cards", "/cards/" + card, "/3ds"} {
		b.open(path)
		b.run(chromedp.EmulateViewport(760, 900))
		b.holds(path+" shows digits from left to right, and codes on one line", `[...document.querySelectorAll('.last4')].every((e) => {
			const [dots, digits] = [[0, 2], [2, 6]].map(([from, to]) => {
				const range = document.createRange();
				range.setStart(e.firstChild, from);
				range.setEnd(e.firstChild, to);
				return range.getBoundingClientRect();
			});
			return dots.left < digits.left && getComputedStyle(e).unicodeBidi === 'isolate';
		}) && [...document.querySelectorAll('.code, td[data-label="Time left"]')].every((e) => e.getClientRects().length === 1 && e.clientHeight < 50)`)
	}
}

// Text that is typed into a form of settings stays while others change settings and faults. So does the key of a new
// account, until the user hides it.
func TestBrowserWorld(t *testing.T) {
	t.Parallel()
	s, b := startTab(t)
	b.open("/world")
	b.fill("#advance", "720h")
	b.run(chromedp.SetValue(chromedp.CSS("#idempotency"), "ignored"))
	b.fill("#path", "/bins")
	s.Put("/_sandbox/limits", `{"requests_per_minute":60}`).OK(200)
	s.Fault(`{"method":"GET","path":"/cards","then":"drop"}`)
	b.shows("default: 1000")
	b.shows("no response; the call is not processed")
	b.holds("the fields have the typed text", "['advance', 'idempotency', 'path'].map((id) => document.getElementById(id).value).join() === '720h,ignored,/bins'")
	b.press(`button[value="create-account"]`).await(`document.querySelector('#created code')`)
	key := evaluate[string](b, `document.querySelectorAll('#created code')[1].textContent`)
	s.Put("/_sandbox/limits", `{}`).OK(200)
	b.await(`!document.querySelector('#limits .changed') && document.querySelector('#created code')`) // an update keeps the key
	b.press("#created a").await("!document.querySelector('#created code')")
	b.holds("the key is not shown again", fmt.Sprintf("!document.documentElement.outerHTML.includes(%q)", key))
	b.holds("the button that resets the sandbox is in a closed section", `!document.querySelector('button[value="reset"]').checkVisibility()`)
}

// The login link logs in, relative times update themselves, and the session expires. A wrong key is refused. The
// dashboard refuses forms that another site sends from a browser that is logged in, and requests under a foreign host
// name.
func TestBrowserSessions(t *testing.T) {
	t.Parallel()
	clock := new(wall)
	s := sandboxtest.Start(t, sandboxtest.WithDashboard, func(o *sandboxtest.Options) { o.Clock = clock.now })
	card := s.Issue("100")
	b := openTab(t, s)
	b.run(chromedp.Navigate(s.Link))
	b.await("location.pathname === '/' && document.querySelector('h1').textContent === 'Overview'")
	b.open("/cards/" + card)
	for _, ago := range []string{"10 min ago", "20 min ago"} { // the page updates itself even if only the time has changed
		clock.advance(10 * time.Minute)
		b.shows(ago)
	}
	clock.advance(13 * time.Hour)
	b.await("location.pathname === '/login'") // without a reload
	b.fill("#key", "sk_live_sandbox_wrong")
	b.press("main button").shows("No account has this API key")
	b.excuse("403")
	b.fill("#key", s.Key)
	b.press("main button").await("location.pathname.startsWith('/cards/card_')")

	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<!doctype html><link rel="icon" href="data:,"><form method="post" action="%s/cards/%s"><button name="action" value="freeze">Win</button></form>
			<iframe src="%[1]s/"></iframe>`, s.Root(), card)
	}))
	defer attacker.Close()
	b.leave()
	b.run(chromedp.Navigate(attacker.URL))
	b.do("document.querySelector('button').click()")
	b.await("document.body.innerText.includes('sent from another site')")
	sandboxtest.Equal(t, "the card", s.Get("/cards/"+card).Text("status"), "active")
	b.run(chromedp.Navigate("http://rebound.test:" + s.Root()[strings.LastIndex(s.Root(), ":")+1:] + "/"))
	b.await("document.body.innerText.includes('not served under this name')")
}

// The dashboard can be used with the keyboard alone.
func TestBrowserKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s)
	b.open("/login")
	b.await("document.activeElement.id === 'key'")
	b.fill("#key", s.Key)
	b.key(kb.Enter).await("location.pathname === '/'")
	b.tabTo("document.activeElement.matches('.skip') && document.activeElement.getBoundingClientRect().top >= 0")
	b.key(kb.Enter).await("document.activeElement.id === 'main'")
	b.open("/cards")
	b.tabTo("document.activeElement.matches('tbody a')")
	b.key(kb.Enter).await("location.pathname.startsWith('/cards/card_')")
	b.tabTo("document.activeElement.matches('#terminate summary')")
	b.holds("the focus can be seen", "getComputedStyle(document.activeElement).outlineStyle !== 'none'")
	b.key(kb.Enter).tabTo(`document.activeElement.matches('button[value="terminate"]')`)
	b.key(kb.Enter).shows("100.00 USD returned to the wallet")
	sandboxtest.Equal(t, "the card", s.Get("/cards/"+card).Text("status"), "terminated")
}

// tabTo presses Tab until an expression is true, which says that the element has the focus.
func (b *tab) tabTo(expression string) {
	b.t.Helper()
	const presses = 60
	for range presses {
		b.key(kb.Tab)
		if evaluate[bool](b, expression) {
			return
		}
	}
	b.t.Fatalf("not true after pressing Tab %d times: %s", presses, expression)
}

// night returns a sandbox with the data of examples/world.yaml after a plan and an apply, and its cards' ids by their
// labels. The apply has issued a card, moved money, repeated a request after a lost response, exceeded a rate limit,
// and asked for more than the wallet has.
func night(t *testing.T) (s *sandboxtest.Server, cards map[string]string) {
	t.Helper()
	world := sandboxtest.Must(os.ReadFile("../../../examples/world.yaml"))
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s = sandboxtest.Start(t, inbox.Trusted, sandboxtest.WithDashboard, sandboxtest.Stopped(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
	s.Post("/_sandbox/seed", string(world)).OK(http.StatusCreated)
	cards = map[string]string{}
	for _, card := range s.Get("/cards").Data() {
		cards[card["label"].(string)] = card["id"].(string)
	}
	s.Post("/webhooks", `{"url":"`+inbox.URL+`/in","events":["card.funded"]}`).OK(http.StatusCreated)
	run := func(name, method, path, body string) sandboxtest.Response {
		return s.WithoutRetries().Send(t.Context(), method, path, body, "User-Agent", "terraform-provider-vcard/1.0.0 Terraform/1.14.0 run/"+name,
			sandboxtest.IdempotencyKey, "key of "+path+body)
	}
	run("00c0ffee", http.MethodGet, "/cards", "").OK(http.StatusOK)
	run("decade00", http.MethodGet, "/cards", "").OK(http.StatusOK)
	cards["video-ads"] = run("decade00", http.MethodPost, "/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":120,"label":"video-ads"}`).OK(http.StatusCreated).Text("id")
	s.Fault(`{"method":"POST","path":"/cards/*/fund","when":"after","then":"drop"}`)
	for range 2 {
		run("decade00", http.MethodPost, "/cards/"+cards["search-ads"]+"/fund", `{"amount":193.95}`)
	}
	run("decade00", http.MethodPost, "/cards/"+cards["social-ads"]+"/withdraw", `{"amount":12.50}`).OK(http.StatusOK)
	s.Fault(`{"method":"POST","path":"/cards/*/unfreeze","then":{"status":429,"body":{"error":"rate_limited","message":"the API key has reached a rate limit"}}}`)
	run("decade00", http.MethodPost, "/cards/"+cards["display-ads"]+"/unfreeze", "")
	// The first attempt to deliver must come before the clock advances.
	sandboxtest.Eventually(t, func() bool { return strings.Contains(s.Get("/_sandbox/deliveries").Raw, `"tries":[{`) })
	s.Advance("3s")
	run("decade00", http.MethodPost, "/cards/"+cards["display-ads"]+"/unfreeze", "").OK(http.StatusOK)
	run("decade00", http.MethodPost, "/cards/"+cards["display-ads"]+"/fund", `{"amount":25000}`).Refused(http.StatusBadRequest, "insufficient_funds", "")
	s.Authorize(cards["video-ads"], "500", "7311").OK(http.StatusCreated)
	s.Get("/_sandbox/requests").OK(http.StatusOK) // writes the recorded requests to the file
	return s, cards
}

// After an apply, the answer to each question is at most three clicks away from the overview, in both themes and in
// windows of a phone, a tablet and a desktop.
func TestBrowserMorningAfter(t *testing.T) {
	t.Parallel()
	s, cards := night(t)
	b := openTab(t, s).logIn()
	find := func(clicks []string, shown ...string) {
		t.Helper()
		b.open("/")
		if len(clicks) > 3 {
			t.Errorf("%v takes %d clicks", shown, len(clicks))
		}
		for _, selector := range clicks {
			b.await(fmt.Sprintf("document.querySelector(%q) !== null", selector))
			b.press(selector)
		}
		for _, text := range shown {
			b.shows(text)
		}
	}
	const theRun = `#runs a[href="/runs/decade00"]`
	refusal := "the wallet has " + s.Get("/wallet/balance").Text("balance") + " USD, less than the amount of 25000.00 USD"
	for _, width := range []int64{360, 768, 1440} {
		b.run(chromedp.EmulateViewport(width, 900))
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			find([]string{theRun}, "-302.45", "313.95", "12.50", "video-ads", "issued", "56.05 → 250.00", "frozen → active")
			b.holds("the navigation is one row", "document.querySelector('.pages').offsetHeight < 60")
			find([]string{theRun}, refusal, "for the rate limit", "attempt 2", "fault 1: no response; the call is processed first")
			find([]string{`#main a[href="/cards/` + cards["video-ads"] + `"]`, `tr:has(.badge.issued) .run-link`}, "Apply decade00")
			find([]string{`#attention a[href^="/transactions/txn_"]`}, "500.00 requested, 120.00 available")
			find([]string{`#attention a[href^="/webhooks/dlv_"]`}, "answered 418 I'm a teapot", "Copy")
		}
	}
}

// On a phone, each row of a table is a block: the cells .lead and .fig are on the first line, and the others below. All
// rows have the same padding.
func TestBrowserStackedRows(t *testing.T) {
	t.Parallel()
	s, cards := night(t)
	for range 6 { // more runs than the overview shows
		s.WithoutRetries().Send(t.Context(), http.MethodGet, "/cards", nil, "User-Agent", "run/0000000f").OK(http.StatusOK)
	}
	s.Get("/_sandbox/requests").OK(http.StatusOK)
	b := openTab(t, s).logIn()
	b.run(chromedp.EmulateViewport(390, 844))
	for _, path := range []string{"/", "/cards", "/cards/" + cards["search-ads"], "/transactions", "/requests", "/runs/decade00", "/3ds", "/deposits", "/webhooks", "/ledger"} {
		b.open(path)
		b.await("document.querySelector('table.stack tbody tr')")
		for _, problem := range evaluate[[]string](b, `[...document.querySelectorAll('table.stack tbody tr')].filter((row) => row.checkVisibility()).flatMap((row) => {
			const problems = [];
			const say = (text) => problems.push(text + ': ' + row.innerText.slice(0, 60).replaceAll('\n', ' '));
			const cells = [...row.children].filter((cell) => cell.checkVisibility());
			const top = (cell) => cell.getBoundingClientRect().top;
			const lead = cells.find((cell) => cell.matches('.lead'));
			const rest = cells.filter((cell) => !cell.matches('.lead, .fig'));
			if (!lead) say('the row has no cell .lead');
			else if (rest.some((cell) => top(cell) <= top(lead))) say('a cell is not below the cell .lead');
			if (cells.some((cell) => parseFloat(getComputedStyle(cell).paddingLeft) > 0)) say('a cell is indented');
			const body = row.parentElement;
			const first = body.querySelector('tr');
			for (const side of ['paddingTop', 'paddingRight', 'paddingBottom', 'paddingLeft']) {
				if (getComputedStyle(row)[side] !== getComputedStyle(first)[side]) say(side + ' differs from the first row');
			}
			if (cells.some((cell) => cell.getBoundingClientRect().right > row.getBoundingClientRect().right + 0.5)) say('a cell is wider than the row');
			return problems;
		})`) {
			t.Errorf("%s: %s", path, problem)
		}
		if width := evaluate[int64](b, "document.scrollingElement.scrollWidth"); width > 390 {
			t.Errorf("%s is %d pixels wide, more than 390", path, width)
		}
	}
	b.open("/")
	b.holds("the newest plans do not hide the apply", `document.querySelector('#runs tbody .lead').textContent === 'Apply decade00'`)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.holds("times and labels take one line each", `[...document.querySelectorAll('td time, td .card')].every((e) => e.getBoundingClientRect().height < 30)`)
	b.holds("each card that needs attention takes one line", `[...document.querySelectorAll('.attention > li')].every((e) => e.getBoundingClientRect().height < 45)`)
}

// A chart shows the figures of a day that the pointer points at, that has the focus, or that is tapped once. A second
// tap opens the list of its purchases. A printed page has no navigation.
func TestBrowserChartsAndPaper(t *testing.T) {
	t.Parallel()
	s, _ := night(t)
	b := openTab(t, s).logIn()
	// A live update resets the readout, so each script reads it right after its event.
	b.holds("the pointer shows the figures of a day", `(() => {
		const box = document.querySelector('#time .money a[data-read^="2026-11-18"]').getBoundingClientRect();
		const under = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		under.dispatchEvent(new PointerEvent("pointerover", {pointerType: "mouse", bubbles: true}));
		return document.querySelector('.readout').textContent.startsWith('2026-11-18: ');
	})()`)
	b.holds("the focus shows the figures of a day", `(() => {
		document.querySelector('#time .money a[data-read^="2026-11-17"]').focus();
		return document.querySelector('.readout').textContent.startsWith('2026-11-17: ');
	})()`)
	const taps = `(() => {
		const tap = () => document.querySelector('#time .money a[data-read^="2026-11-16"]').dispatchEvent(
			new PointerEvent("click", {pointerType: "touch", bubbles: true, cancelable: true}));
		const followed = tap();
		const readout = document.querySelector('.readout').textContent;
		tap();
		return !followed && readout.startsWith('2026-11-16: ');
	})()`
	b.holds("the first tap shows the figures of a day, and does not follow the link", taps)
	b.await("location.search === '?from=2026-11-16&to=2026-11-16' && document.querySelectorAll('tbody tr').length === 2")
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	b.holds("the printed page has the rows", "document.querySelector('tbody tr').checkVisibility()")
	b.holds("the printed page has no navigation", "!['.top', '.pages', '.filter'].some((e) => document.querySelector(e).checkVisibility())")
}

// The buttons copy the texts that a user needs, without the spaces that are only for display.
func TestBrowserCopies(t *testing.T) {
	t.Parallel()
	s, b := startTab(t)
	card := s.Issue("100", `"label":"display-ads"`)
	b.open("/cards/" + card)
	b.press(`button[value="details"]`).await("document.querySelector('#details code') !== null")
	b.do("navigator.clipboard.writeText = async (text) => { window.copied = text }") // because all tabs share one clipboard
	details := s.Get("/cards/" + card + "/details").OK(http.StatusOK)
	for title, text := range map[string]string{
		"the ID": card, "the number": details.Text("pan"), "the code": details.Text("cvv"), "the resource": `= "display-ads"`, "the import block": `id = "` + card + `"`,
	} {
		b.press(`button[aria-label="Copy ` + title + `"]`).await(fmt.Sprintf("window.copied?.includes(%q)", text))
	}
}
