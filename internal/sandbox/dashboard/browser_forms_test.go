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
		b.await("document.querySelectorAll('td.follow-up').length === 2") // by itself
		if !evaluate[bool](b, "window.marked.isConnected && document.activeElement === window.marked") {
			t.Errorf("%s: the update took the focus away", path)
		}
	}
}
