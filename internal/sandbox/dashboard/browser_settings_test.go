package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// What is typed into a form of settings stays while others change the world.
func TestBrowserWorld(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	s.Issue("100")
	b := openTab(t, s).logIn()
	b.open("/world")
	b.fill("#advance", "720h")
	b.run(chromedp.SetValue(chromedp.CSS("#idempotency"), "ignored"))
	b.fill("#path", "/bins")
	s.Put("/_sandbox/limits", `{"requests_per_minute":60}`).OK(200)
	s.Fault(`{"method":"GET","path":"/cards","then":"drop"}`)
	b.awaitText("usually 1000")
	b.awaitText("no answer, nothing is done")
	if got := evaluate[string](b, "['advance', 'idempotency', 'path'].map(id => document.getElementById(id).value).join()"); got != "720h,ignored,/bins" {
		t.Errorf("the fields have %s", got)
	}
	before := s.Get("/_sandbox/clock").Text("now")
	b.press(`button[value="advance"]`)
	b.awaitText("Time has passed.")
	if after := s.Get("/_sandbox/clock").Text("now"); after[:10] <= before[:10] {
		t.Errorf("it was %s, and is %s", before, after)
	}
	b.press(`button[value="create-account"]`)
	b.await(`document.querySelector('#created code')`)
	key := evaluate[string](b, `document.querySelectorAll('#created code')[1].textContent`)
	s.As(key).Get("/wallet/balance").OK(200)
	s.Put("/_sandbox/limits", `{}`).OK(200)
	b.await(`!document.querySelector('#limits .changed') && document.querySelector('#created code')`) // an update keeps the key
	b.press("#created a")
	b.await("!document.querySelector('#created code')")
	if strings.Contains(evaluate[string](b, "document.documentElement.outerHTML"), key) {
		t.Error("the key is shown again")
	}
	b.press("#reset summary")
	b.press(`button[value="reset"]`)
	b.awaitText("Everything is as it was at the start.")
	if left := s.Get("/cards").OK(200).Data(); len(left) != 0 {
		t.Errorf("%d cards are left", len(left))
	}
}

// What clients and merchants wrote runs on none of the pages that list it.
func TestBrowserRunsNothingThatIsListed(t *testing.T) {
	t.Parallel()
	const script = `<img src=x onerror=document.title='owned'><script>document.title='owned'</script>`
	inbox := sandboxtest.NewReceiver(t, nil)
	s := sandboxtest.Start(t, sandboxtest.WithDashboard, inbox.Trusted)
	s.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201)
	card := s.Post("/cards", map[string]any{
		"bin_id": sandboxtest.BIN, "amount": 100, "label": script[:64], "metadata": map[string]string{script: script},
	}, sandboxtest.IdempotencyKey, script).OK(201).Text("id")
	s.Post("/_sandbox/authorizations", map[string]any{"card_id": card, "amount": 5, "merchant": map[string]string{"name": script, "mcc": "7311"}}).OK(201)
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "amount": 5, "merchant": `">` + script}).OK(201)
	s.Fault(map[string]any{"method": "GET", "path": "/bins", "then": map[string]any{"status": 503, "body": script}})
	inbox.Wait(3)
	delivery := s.Get("/_sandbox/deliveries").Data()[0]["id"]
	b := openTab(t, s).logIn()
	for _, path := range []string{
		"/", "/cards", "/cards/" + card, "/cards?q=%22%3E%3Cscript%3Edocument.title='owned'%3C/script%3E", "/transactions", "/3ds", "/webhooks", fmt.Sprint("/webhooks/", delivery), "/requests", "/ledger", "/world",
		"/transactions?q=%22%3E%3Cscript%3Edocument.title='owned'%3C/script%3E", fmt.Sprintf("/webhooks/%s?signature=%%22%%3E%%3Cscript%%3E", delivery),
	} {
		b.open(path)
		b.await(`document.querySelector('h1')`)
		version := evaluate[string](b, "version")
		s.Authorize(card, "0.01", "7311").OK(201)
		b.await(fmt.Sprintf("version !== %q", version)) // the live update has run
		if evaluate[bool](b, `document.title === 'owned' || document.querySelector('main img, main script') !== null`) {
			t.Errorf("%s has run what a caller wrote", path)
		}
	}
}
