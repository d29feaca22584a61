package card_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// losesFund breaks off the first fund, which reaches the service or does not, and
// answers no request for transactions from then on.
func losesFund(s *acctest.Service, reaches bool) *acctest.Service {
	var sent atomic.Bool
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isCall(r, http.MethodPost, "/fund"):
			if sent.Swap(true) {
				s.T.Error("money was sent again although it was not known whether it had moved")
			} else if reaches {
				forward(s, r)
			}
			panic(http.ErrAbortHandler)
		case sent.Load() && isCall(r, http.MethodGet, "/transactions"):
			answer(w, http.StatusInternalServerError, `{"error":"down","message":"no transactions today"}`)
			return true
		}
		return false
	})
}

// What cannot be told stays undecided for as many runs as it takes, and nothing
// moves meanwhile.
func TestUndecidedUntilTransactionsCanBeRead(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]bool{"made": true, "not made": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := applied(t, s, "", oneCard("amount = 100"))
			through(w, losesFund(s, made), "")
			prints(t, applyFails(t, w, oneCard("amount = 140")), "Could not fund card", "it is not known whether this took effect", "no transactions today", "Money may or may not have moved")
			for range 2 {
				prints(t, applyFails(t, w, oneCard("amount = 140")), "An earlier movement of money is undecided", "is undecided", "fund of 40.00 USD", "no transactions today")
			}
			through(w, s, "")
			apply(w, oneCard("amount = 140"))
			serviceHolds(t, s, "active", 140*usd.Dollar, 9859*usd.Dollar)
			plansNothing(t, w)
		})
	}
}

// An outage in which cards may have been issued is not told as one: whoever only
// tries again issues them twice.
func TestIssuedBeforeAnOutage(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	var issued atomic.Bool
	w := newCLI(t, nil)
	through(w, s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isCall(r, http.MethodPost, "/cards"):
			forward(s, r)
			issued.Store(true)
			panic(http.ErrAbortHandler)
		case issued.Load():
			answer(w, http.StatusServiceUnavailable, "")
			return true
		}
		return false
	}), "")
	output := applyFails(t, w, oneCard("count = 2\n  amount = 60"))
	prints(t, output, "Could not issue the card", "it is not known whether this took effect", "idempotency key",
		"Look for a new card on that BIN in the dashboard before you issue it again")
	printsNot(t, output, "The service is not available")
	if told := strings.Count(unwrapped(output), "Look for a new card"); told != len(liveCards(s)) {
		t.Errorf("%d cards were issued, and %d are to be looked for:\n%s", len(liveCards(s)), told, output)
	}
}

// The way out that the error names moves nothing, and ends it.
func TestUndecidedMovementIsGivenUp(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 100"))
	through(w, losesFund(s, true), "")
	prints(t, applyFails(t, w, oneCard("amount = 140")), "it is not known whether this took effect")
	prints(t, apply(w, oneCard("amount = 100")), "gives up an undecided movement", "40.00 USD", "Look in the dashboard whether it was made")
	plansNothing(t, w)
	through(w, s, "")
	plansNothing(t, w)
	apply(w, oneCard("amount = 140")) // the same again, which is another movement
	serviceHolds(t, s, "active", 180*usd.Dollar, 9819*usd.Dollar)
}

// An interrupted run that waits for the service's limits sends nothing more.
func TestInterruptedBeforeTheFundIsAccepted(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := appliedByCLI(t, s, "", oneCard("amount = 100"))
	var funds atomic.Int64
	due := make(chan struct{})
	through(w, s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodPost, "/fund") {
			return false
		}
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusTooManyRequests, `{"error":"rate_limited","message":"slow down"}`)
		if funds.Add(1) == 1 {
			close(due)
		}
		return true
	}), "")
	w.Write("main.tf", oneCard("amount = 140"))
	code, output := w.RunUntil(due, syscall.SIGINT, "apply", "-no-color", "-auto-approve")
	if code == 0 {
		t.Error("the interrupted apply succeeded")
	}
	prints(t, output, "Nothing more was sent")
	if funds.Load() != 1 {
		t.Errorf("%d funds were sent", funds.Load())
	}
	serviceHolds(t, s, "active", 100*usd.Dollar, 9899*usd.Dollar)
	through(w, s, "")
	apply(w, oneCard("amount = 140"))
	serviceHolds(t, s, "active", 140*usd.Dollar, 9859*usd.Dollar)
}
