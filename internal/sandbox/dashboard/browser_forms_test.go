package dashboard_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// The page that comes after the first click is there before the second one, with
// the same button at the same place.
func TestBrowserDoubleClickBuysOnce(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s).logIn()
	b.open("/cards/" + card)
	b.press(`button[value="buy"]`)
	b.awaitText("Authorized: 40.00 USD") // which takes its place on the page already
	place := evaluate[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('button[value="buy"]').getBoundingClientRect())`)
	evaluate[chromedp.Void](b, "window.before = true")
	for count := range int64(2) {
		for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
			call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: kind, X: place[0], Y: place[1], Button: input.MouseButtonLeft, ClickCount: count + 1,
			})
		}
		b.await("!window.before")
	}
	b.press("#freeze button")
	b.awaitText("The card is frozen.") // nothing else is on its way
	if got := len(s.Get("/transactions").Data()); got != 2 {
		t.Errorf("a click and a double click made %d transactions", got)
	}
}

// What was refused stays in its form while the page is brought up to date.
func TestBrowserKeepsWhatWasRefused(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s).logIn()
	b.open("/cards/" + card)
	b.fill("#buy-amount", "4,50")
	b.fill("#buy-merchant", "Corner Shop")
	b.press(`button[value="buy"]`)
	b.awaitText("Amount must be a number.")
	b.excuse("400")
	s.Freeze(card)
	b.await(`document.querySelector('h1 .badge').textContent === 'frozen'`) // by itself
	b.awaitText("Amount must be a number.")
	if got := evaluate[string](b, `document.querySelector('#buy-amount').value + '|' + document.querySelector('#buy-merchant').value`); got != "4,50|Corner Shop" {
		t.Errorf("the form now has %s", got)
	}
}

// The number and the code stay while they are looked at, and go with the card.
func TestBrowserHidesTheNumberOfATerminatedCard(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s).logIn()
	b.open("/cards/" + card)
	b.press(`button[value="details"]`)
	b.await(`document.querySelector('#details code') !== null`)
	s.Freeze(card)
	b.await(`document.querySelector('h1 .badge').textContent === 'frozen'`)
	if !evaluate[bool](b, `document.querySelector('#details code') !== null && document.querySelector('button[value="details"]') === null`) {
		t.Error("the update took the number away, or offers it twice")
	}
	s.Terminate(card)
	b.await(fmt.Sprintf(`document.querySelector('h1 .badge').textContent === %q`, "terminated"))
	if evaluate[bool](b, `document.querySelector('#details code') !== null`) {
		t.Error("the number of a terminated card is still there")
	}
}

// Back from what a form has shown is a page that was opened, not a form to be sent again.
func TestBrowserGoesBack(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s).logIn()
	for path, form := range map[string]string{"/ledger": "#check", "/cards/" + card: "#details"} {
		b.open(path)
		evaluate[chromedp.Void](b, "window.before = true")
		b.press(form + " button")
		b.await("!window.before && document.querySelector('#audit .notice, #details code') !== null")
		b.open("/3ds")
		evaluate[chromedp.Void](b, "history.back()")
		b.await(fmt.Sprintf("location.pathname === %q && document.querySelector('h1')", path))
	}
}

// Labels that run from right to left leave the digits as they are, and codes and times
// stay on one line.
func TestBrowserMixedDirections(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100", `"label":"بطاقة الإعلانات"`)
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "متجر", "amount": 5}).OK(201)
	b := openTab(t, s).logIn()
	for _, path := range []string{"/cards", "/cards/" + card, "/3ds"} {
		b.open(path)
		b.run(chromedp.EmulateViewport(760, 900))
		if got := evaluate[bool](b, `[...document.querySelectorAll('.last4')].every((e) => {
			const [dots, digits] = [[0, 2], [2, 6]].map(([from, to]) => {
				const range = document.createRange();
				range.setStart(e.firstChild, from);
				range.setEnd(e.firstChild, to);
				return range.getBoundingClientRect();
			});
			return dots.left < digits.left && getComputedStyle(e).unicodeBidi === 'isolate';
		}) && [...document.querySelectorAll('.code, td[data-label="Time left"]')].every((e) => e.getClientRects().length === 1 && e.clientHeight < 50)`); !got {
			t.Errorf("%s mixes the directions, or breaks a code", path)
		}
	}
}

// A row under the pointer, or around the focus, stays where it is while others come.
func TestBrowserHoldsRowsUnderThePointer(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	ask := func() { s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201) }
	ask()
	b := openTab(t, s).logIn()
	b.open("/deposits")
	place := evaluate[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('tbody button').getBoundingClientRect())`)
	move := func(x, y float64) {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y})
	}
	move(place[0], place[1])
	first := evaluate[string](b, "document.querySelector('tbody tr').id")
	ask()
	ask()
	b.await("document.querySelector('#held').checkVisibility() && document.querySelector('#held').textContent === '2 new'")
	if under := evaluate[string](b, fmt.Sprintf("document.elementFromPoint(%v, %v).closest('tr').id", place[0], place[1])); under != first {
		t.Errorf("under the pointer is %s, not %s any more", under, first)
	}
	move(5, 5)
	b.await("document.querySelectorAll('td.follow-up').length === 3 && document.querySelector('#held').hidden")
}

// The focus stays on the button of a row while others come and go, so that a press
// of it is not lost.
func TestBrowserKeepsTheButtonsOfRows(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s).logIn()
	for path, add := range map[string]func(){
		"/3ds": func() {
			s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Example Ads", "amount": 5}).OK(201)
		},
		"/deposits": func() { s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201) },
		"/world":    func() { s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`) },
	} {
		add()
		b.open(path)
		b.await("document.querySelectorAll('td.follow-up').length === 1")
		evaluate[chromedp.Void](b, "window.marked = document.querySelector('td.follow-up button'); window.marked.focus()")
		add()
		b.await("document.querySelector('#held').textContent === '1 new'") // by itself
		evaluate[chromedp.Void](b, "window.marked.closest('tr').querySelector('td').click(); document.querySelector('#held').click()")
		b.await("document.querySelectorAll('td.follow-up').length === 2")
		if !evaluate[bool](b, "window.marked.isConnected && document.activeElement === window.marked") {
			t.Errorf("%s: the update took the focus away", path)
		}
	}
}
