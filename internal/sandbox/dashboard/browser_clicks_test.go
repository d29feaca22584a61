package dashboard_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// What one looks for is at most three clicks from the overview, in the world of the
// pictures; and what is there to be copied is copied as it is needed.
func TestBrowserThreeClicks(t *testing.T) {
	t.Parallel()
	world, err := os.ReadFile("../../../examples/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s := sandboxtest.Start(t, inbox.Trusted, sandboxtest.WithDashboard, sandboxtest.StartingAt(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
	s.Post("/_sandbox/seed", string(world)).OK(http.StatusCreated)
	card := s.Get("/cards?status=frozen").Data()[0]["id"].(string)
	s.Post("/webhooks", `{"url":"`+inbox.URL+`/in","events":["card.funded"]}`).OK(http.StatusCreated)
	s.Post("/cards/"+card+"/fund", `{"amount":5}`, "User-Agent", "terraform-provider-vcard/1.0.0 Terraform/1.14.0 run/decade00").OK(http.StatusOK)
	inbox.Wait(1)
	b := openTab(t, s).logIn()
	// find clicks from the overview until the page shows it.
	find := func(shown string, clicks ...string) {
		t.Helper()
		b.open("/")
		for _, selector := range clicks {
			b.await(fmt.Sprintf("document.querySelector(%q) !== null", selector))
			b.press(selector)
		}
		if len(clicks) > 3 {
			t.Errorf("%s takes %d clicks", shown, len(clicks))
		}
		b.await(fmt.Sprintf("document.querySelector('main').innerText.includes(%q)", shown))
	}
	page := func(path string) string { return `nav.pages a[href="` + path + `"]` }

	find("120.00 asked; 68.45", `tr:has(.badge.declined) a[href^="/transactions/"]`)
	b.await("location.pathname.startsWith('/transactions/')")
	find("1 funded, 1 request", page("/requests"))
	find("418", page("/webhooks"), `a[href^="/webhooks/dlv_"]`)
	find("766.10 USD", `.spans a[href*="days=90"]`, "#time summary")
	if days := evaluate[int](b, "document.querySelectorAll('#time tbody tr').length"); days != 24 {
		t.Errorf("%d days of spending are listed", days)
	}

	find("", page("/transactions"))
	b.await("document.querySelector('#from') !== null")
	evaluate[chromedp.Void](b, "document.querySelector('#from').value = '2026-11-01'")
	b.press(".filter button")
	b.await("location.search.includes('from=2026-11-01')")
	evaluate[chromedp.Void](b, "fetch(document.querySelector('a[download]').href).then(r => r.text()).then(t => { window.csv = t })")
	b.await("window.csv !== undefined")
	if csv := evaluate[string](b, "window.csv"); !strings.Contains(csv, "2026-11-18") || strings.Contains(csv, "2026-10-") || strings.Count(csv, "\n") < 20 {
		t.Errorf("the month is\n%s", csv)
	}

	find("import {", `tr[id] a[href="/cards/`+card+`"]`)
	b.press(`button[value="details"]`)
	b.await("document.querySelector('#details code') !== null")
	evaluate[chromedp.Void](b, "navigator.clipboard.writeText = async (text) => { window.copied = text }") // tabs have one clipboard
	details := s.Get("/cards/" + card + "/details").OK(http.StatusOK)
	for what, text := range map[string]string{
		"the id": card, "the number": details.Text("pan"), "the code": details.Text("cvv"), "the resource": `= "display-ads"`, "the import block": `id = "` + card + `"`,
	} {
		b.press(`button[aria-label="Copy ` + what + `"]`)
		b.await(fmt.Sprintf("window.copied?.includes(%q)", text)) // without the spaces that the number shows
	}
}
