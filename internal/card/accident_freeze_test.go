package card_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The service freezes a card between plan and apply. Apply unfreezes nothing
// that the configuration does not say, and the next plan has nothing to do.
func TestAutoFreezeBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 200\n  auto_freeze_at = 50"))
	w.Write("main.tf", oneCard("amount = 190\n  auto_freeze_at = 50"))
	w.Must("plan", "-no-color", "-out=saved")
	s.Authorize(onlyCard(s).ID, "155", "7311").Must()
	if now := onlyCard(s); now.Status != "frozen" || now.Balance != 45*usd.Dollar {
		t.Fatalf("the purchase left %+v", now)
	}
	w.Must("apply", "-no-color", "saved")
	serviceHolds(t, s, "frozen", 35*usd.Dollar, 9809*usd.Dollar)
	plansNothing(t, w)
}

// The mirror: a card that was frozen is unfrozen by hand between plan and apply.
func TestUnfrozenByHandBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 200"))
	id := onlyCard(s).ID
	s.Freeze(id)
	w.Write("main.tf", oneCard("amount = 190"))
	w.Must("plan", "-no-color", "-out=saved")
	s.Post("/cards/"+id+"/unfreeze", nil).OK(http.StatusOK)
	w.Must("apply", "-no-color", "saved")
	serviceHolds(t, s, "active", 190*usd.Dollar, 9809*usd.Dollar)
	plansNothing(t, w)
}

// What the configuration says is done, whatever happened in between.
func TestConfiguredFrozenHoldsThroughAWithdrawal(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := "auto_freeze_at = 50\n  frozen = false\n  amount = "
	w := applied(t, s, "", oneCard(config+"200"))
	w.Write("main.tf", oneCard(config+"190"))
	w.Must("plan", "-no-color", "-out=saved")
	s.Authorize(onlyCard(s).ID, "155", "7311").Must()
	w.Must("apply", "-no-color", "saved")
	apply(w, oneCard(config+"190"))
	serviceHolds(t, s, "active", 35*usd.Dollar, 9809*usd.Dollar)
}

// forgetful is the service, of which the first reads of a card after a withdrawal
// show it as it was before.
func forgetful(s *acctest.Service, reads int) *acctest.Service {
	var mu sync.Mutex
	var before, stale string
	left := 0
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case isCall(r, http.MethodPost, "/withdraw"):
			stale, left = before, reads
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/cards/card_"):
			if left > 0 {
				left--
				answer(w, http.StatusOK, stale)
				return true
			}
			shown := forward(s, r)
			before = shown.Raw
			answer(w, shown.Status, shown.Raw)
			return true
		}
		return false
	})
}

// What a service shows right after a withdrawal may be from before it: the
// balance of its response says whether the card is frozen.
func TestStaleStatusAfterAWithdrawal(t *testing.T) {
	t.Parallel()
	for configured, status := range map[string]string{"": "frozen", "\n  frozen = false": "active"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			config := func(amount string) string {
				return oneCard("amount = " + amount + "\n  auto_freeze_at = 50" + configured)
			}
			w := applied(t, s, "", config("200"))
			through(w, forgetful(s, 3), "")
			apply(w, config("40"))
			prints(t, w.Must("show", "-no-color"), fmt.Sprintf("status = %q", status), "balance = 40 ")
			serviceHolds(t, s, status, 40*usd.Dollar, 9959*usd.Dollar)
			through(w, s, "")
			plansNothing(t, w)
		})
	}
}

// A service that freezes at another threshold, or at none, is not waited for once
// it shows the balance after the withdrawal.
func TestIgnoredAutoFreezeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	var reads atomic.Int64
	w := newCLI(t, nil)
	through(w, s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isCall(r, http.MethodPost, "/cards"):
			r.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"bin_id":%q,"amount":200}`, bin)))
			shown := forward(s, r)
			answer(w, shown.Status, shown.Raw)
			return true
		case isCall(r, http.MethodPost, "/withdraw"):
			reads.Store(0)
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/cards/card_"):
			reads.Add(1)
		}
		return false
	}), "")
	apply(w, oneCard("amount = 200\n  auto_freeze_at = 50"))
	apply(w, oneCard("amount = 40\n  auto_freeze_at = 50"))
	serviceHolds(t, s, "active", 40*usd.Dollar, 9959*usd.Dollar)
	if n := reads.Load(); n != 1 {
		t.Errorf("the card was read %d times after the withdrawal, want once", n)
	}
}
