package session_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// purse is a session with a service whose wallet and cards hold this, and how often the
// wallet was read. It cannot be read where it holds "".
func purse(t *testing.T, wallet, cards string) (*session.Session, *atomic.Int32) {
	t.Helper()
	reads := new(atomic.Int32)
	return against(t, func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		if wallet == "refused" { // as every call is
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": "unauthorized", "message": "no such key"}`))
			return
		}
		if wallet == "" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error": "forbidden", "message": "not with this key"}`))
			return
		}
		_, _ = fmt.Fprintf(w, `{"balance": %s, "currency": "USDT", "pending_deposits": 0.00, "cards_active": "many", "cards_total_balance": %s}`, wallet, cards)
	}), reads
}

// said is what a card's plan has to say.
func said(diags diag.Diagnostics) (text string) {
	for _, one := range diags {
		text += fmt.Sprintf("%s: %s. %s\n", one.Severity(), one.Summary(), one.Detail())
	}
	return text
}

func takes(amount usd.Amount) session.PlannedSpend {
	return session.PlannedSpend{Card: "card " + amount.String(), Taken: amount}
}

// What a plan takes from the wallet is said once, by a card that takes; and where it is to be
// refused, once more when what other cards hold cannot pay for it either.
func TestWalletCheck(t *testing.T) {
	t.Parallel()
	type step struct {
		planned session.PlannedSpend
		says    string
	}
	const unread = "The plan is not checked against the wallet. Could not see whether the wallet can pay for this plan. "
	keeps := session.PlannedSpend{Card: "kept", Holds: 50_00}
	for name, test := range map[string]struct {
		wallet, cards string
		check         session.WalletCheck
		steps         []step
		reads         int32
	}{
		"nothing is moved":  {"", "", "", []step{{takes(0), ""}, {keeps, ""}}, 0},
		"one cent over it":  {"100.00", "0.00", "", []step{{takes(100_00), ""}, {takes(1), "Warning: The plan takes at least 100.01 USD from a wallet that holds 100.00 USD"}, {takes(1), ""}}, 1},
		"the largest first": {"100.00", "0.00", "", []step{{takes(60_00), ""}, {takes(70_00), "Most goes to card 70.00 with 70.00 USD, card 60.00 with 60.00 USD."}}, 1},
		"refused":           {"100.00", "0.00", session.WalletCheckError, []step{{takes(100_01), "Error: The plan takes at least 100.01 USD"}, {takes(1), ""}}, 1},
		"off":               {"100.00", "0.00", session.WalletCheckOff, []step{{takes(100_01), ""}}, 0},
		"others may pay":    {"100.00", "50.00", "", []step{{takes(120_00), "Warning: The plan takes at least 120.00 USD"}, {takes(40_00), ""}}, 1},
		"they cannot":       {"100.00", "50.00", session.WalletCheckError, []step{{takes(120_00), "Warning: "}, {takes(40_00), "Error: The plan takes at least 160.00 USD"}}, 1},
		"a card that is kept": {
			"100.00", "50.00", session.WalletCheckError,
			[]step{{takes(120_00), "Warning: "}, {keeps, ""}, {takes(1), "Error: The plan takes at least 120.01 USD"}},
			1,
		},
		"it cannot be read":   {"", "", "", []step{{takes(100_00), "Warning: " + unread}, {takes(100_00), ""}}, 1},
		"it has to be":        {"", "", session.WalletCheckError, []step{{takes(100_00), "Error: " + unread}}, 1},
		"an outage":           {"refused", "", "", []step{{takes(100_00), ""}}, 1}, // which every call tells
		"in spite of one":     {"refused", "", session.WalletCheckError, []step{{takes(100_00), "Error: The plan is not checked against the wallet"}}, 1},
		"it is no number":     {`"many"`, "0.00", "", []step{{takes(1), unread}}, 1},
		"it is too much":      {"1e18", "0.00", "", []step{{takes(1), unread}}, 1},
		"the cards lack":      {"100.00", "null", "", []step{{takes(100_00), ""}, {takes(1), "cards_total_balance missing"}, {takes(1), ""}}, 1},
		"it pays for another": {"100.00", "0.00", "", []step{{session.PlannedSpend{Taken: 200_00, Returned: 100_00}, ""}, {takes(1), "at least 100.01 USD"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reads := purse(t, test.wallet, test.cards)
			s.WalletCheck = test.check
			for _, step := range test.steps {
				if text := said(s.Spend(t.Context(), step.planned)); (text == "") != (step.says == "") || !strings.Contains(text, step.says) {
					t.Errorf("%s says %q, want %q", step.planned.Card, text, step.says)
				}
			}
			if n := reads.Load(); n != test.reads {
				t.Errorf("the wallet was read %d times, want %d", n, test.reads)
			}
		})
	}
}

// In whatever order a plan's cards come, a plan that can be paid is not refused, and of one
// that cannot, exactly one card which takes money tells, of all.
func TestOrderOfCards(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			payable := n%2 == 0
			returns := session.PlannedSpend{Card: "ended", Holds: 100_00}
			if payable {
				returns.Returned = 100_00
			}
			plan := []session.PlannedSpend{takes(60_00), takes(40_00), takes(50_00), takes(10_00), returns, {Card: "kept", Holds: 100_00}}
			late := 4 // those that take nothing
			if n >= 4 {
				rand.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
				late = len(plan)
			}
			s, reads := purse(t, "60.00", "200.00")
			s.WalletCheck = session.WalletCheckError
			var beside sync.WaitGroup
			told := make([]string, len(plan))
			for i, card := range plan {
				if i == late {
					sandboxtest.Eventually(t, func() bool { return reads.Load() > 0 })
				}
				beside.Go(func() { told[i] = said(s.Spend(t.Context(), card)) })
			}
			beside.Wait()
			const want = "Error: The plan takes at least 160.00 USD from a wallet that holds 60.00 USD. Loads, issuance fees, funds and top-ups planned so far, " +
				"less what they return, pass the wallet's balance by 100.00 USD. Most goes to card 60.00 with 60.00 USD, card 50.00 with 50.00 USD, card 40.00 with 40.00 USD. "
			for i, text := range told {
				if text != "" && (payable || plan[i].Taken == 0) {
					t.Errorf("payable: %t, %s says %s", payable, plan[i].Card, text)
				}
			}
			if all := strings.Join(told, ""); !payable && (strings.Count(all, "Error: ") != 1 || !strings.HasPrefix(all, want)) {
				t.Errorf("of %v says %s", plan, all)
			}
		})
	}
}

// What a plan takes is bounded whatever it returns, but for a replacement's own card.
func TestMaxTakenPerPlan(t *testing.T) {
	t.Parallel()
	const over = "Error: The plan takes at least 300.01 USD, and max_taken_per_plan is 300.00 USD."
	for name, test := range map[string]struct {
		planned []session.PlannedSpend
		says    string
	}{
		"as much":               {[]session.PlannedSpend{takes(200_00), takes(100_00)}, ""},
		"a cent more":           {[]session.PlannedSpend{takes(200_00), takes(100_00), takes(1)}, over + " That is the sum of loads, issuance fees, funds and top-ups planned so far; what other cards return does not count. Most goes to card 200.00 with 200.00 USD, card 100.00 with 100.00 USD, card 0.01 with 0.01 USD."},
		"less what others give": {[]session.PlannedSpend{{Returned: 1000_00}, takes(300_01)}, over},
		"less its own card":     {[]session.PlannedSpend{{Taken: 350_00, Returned: 50_00}}, ""},
		"which never helps":     {[]session.PlannedSpend{{Taken: 50_00, Returned: 350_00}, takes(300_01)}, over},
		"what may be made":      {[]session.PlannedSpend{{Taken: 100_00, Doubtful: 200_00}}, ""},
		"what may be, and more": {[]session.PlannedSpend{{Returned: 50_00, Doubtful: 300_00}, takes(1)}, over},
		"planned again":         {[]session.PlannedSpend{takes(100_00), {Taken: 300_00, Again: true, Counted: 100_00}}, ""},
		"planned again, over":   {[]session.PlannedSpend{takes(100_00), {Taken: 300_01, Again: true, Counted: 100_00}}, over},
		"after a withdrawal":    {[]session.PlannedSpend{{Returned: 100_00}, {Taken: 300_00, Again: true, Counted: -100_00}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reads := purse(t, "1.00", "0.00")
			s.WalletCheck, s.MaxTakenPerPlan = session.WalletCheckOff, new(usd.Amount(300_00))
			text := ""
			for _, planned := range test.planned {
				text += said(s.Spend(t.Context(), planned))
			}
			if (text == "") != (test.says == "") || !strings.HasPrefix(text, test.says) || reads.Load() > 0 {
				t.Errorf("says %q, want %q", text, test.says)
			}
			if text != "" && said(s.Spend(t.Context(), takes(1))) != "" {
				t.Error("it is said again")
			}
		})
	}
}
