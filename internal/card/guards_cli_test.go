package card_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A month's cap, as the plans of that month and of the next show it, by the service's
// clock: this machine's is months ahead. What a killed run topped up counts.
func TestMonthsCap(t *testing.T) {
	t.Parallel()
	m := newMoney(t, "honoured", honoured+"\n  wallet_check = \"off\"")
	const card = "amount = 60\n  max_top_up_per_month = 25\n  top_up = {\n    below = 50\n    to    = 60\n  }"
	plans := func(words ...string) {
		t.Helper()
		code, output := m.plan(card)
		if code != 0 {
			t.Fatalf("the plan ended with %d:\n%s", code, output)
		}
		prints(t, output, words...)
	}
	spends := func(amount string) {
		t.Helper()
		m.passes(time.Minute)
		m.spends(amount)
	}
	m.apply(card)
	spends("11")
	printsNot(t, m.apply(card), "A top-up")
	m.holds(60 * usd.Dollar)

	spends("12")
	m.killed(card, 1)
	m.holds(60 * usd.Dollar)
	spends("13")
	const had = "in March 2026 it has had 24.00 USD, of at most 25.00 USD (max_top_up_per_month); the cap begins anew on 2026-04-01"
	m.stops(card, 47*usd.Dollar, "with 13.00 USD: it would pass max_top_up_per_month", "and no transaction explains counts: "+had)
	plans("A top-up is cut to 1.00 USD by the month's cap", had, "topped_up = 11 -> 12")
	var service struct{ Now time.Time }
	m.s.Get("/_sandbox/clock").Into(&service)
	april := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	m.passes(april.Add(-time.Minute).Sub(service.Now))
	m.through(m.s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost { // it arrives in April
			m.passes(time.Minute)
		}
		return false
	}))
	m.apply(card)
	m.through(m.s)
	m.holds(48 * usd.Dollar)

	spends("20")
	plans("A top-up is cut to 24.00 USD by the month's cap", "in April 2026 it has had 1.00 USD, of at most 25.00 USD", "topped_up = 12 -> 36")
	m.apply(card)
	m.holds(52 * usd.Dollar)
	spends("20")
	plans("A top-up is due, and the month's cap is reached", "the cap begins anew on 2026-05-01", "No changes.")
	m.passes(30 * 24 * time.Hour)
	plans("topped_up = 36 -> 61", "in May 2026 it has had nothing")
	m.apply(card)
	m.holds(57 * usd.Dollar)
}

// An amount that was typed in cents, wherever one card is given money.
func TestCentsForDollars(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	through(w, s, "max_card_load = 500")
	const meant = "at most 500.00 USD, which is max_card_load in the provider configuration, got 25000.00. If 25000.00 was meant in cents, write 250.00: amounts are in USD."
	apply(w, oneCard("amount = 250\n  frozen = true\n  top_up = {\n    below = 50\n    to    = 500\n  }"))
	for at, card := range map[string]string{
		"amount":    "amount = 25000",
		"top_up.to": "amount = 250\n  top_up = {\n    below = 50\n    to    = 25000\n  }",
	} {
		w.Write("main.tf", oneCard(card))
		code, output := w.Run("plan", "-no-color")
		if prints(t, output, "Error: More than one card may be given", at+" must be "+meant); code != 1 {
			t.Errorf("%s: ended with %d", at, code)
		}
	}
	w.Write("main.tf", oneCard("amount = 500.01"))
	_, output := w.Run("plan", "-no-color")
	prints(t, output, "got 500.01.", "write 5.00", "raise max_card_load")

	acctest.Needs(t, "1.4.0", "1.6.0") // terraform_data
	w.Write("main.tf", strings.Replace(oneCard("amount = tonumber(terraform_data.load.output)"), "resource", "resource \"terraform_data\" \"load\" {\n  input = \"25000\"\n}\nresource", 1))
	w.Must("plan", "-no-color", "-out=saved") // when nobody knows
	if code, output := w.Run("apply", "-no-color", "saved"); code != 1 || !strings.Contains(unwrapped(output), "amount must be "+meant) {
		t.Errorf("what is known during apply ended with %d:\n%s", code, output)
	}
	if now := onlyCard(s); now.Balance != 250*usd.Dollar {
		t.Errorf("the card holds %s USD", now.Balance)
	}
}
