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

// buysDuringWithdrawal lets a purchase of 25 USD fall between a withdrawal and
// its response, after which transactions cannot be read.
func buysDuringWithdrawal(s *acctest.Service, then func()) *acctest.Service {
	var sent atomic.Bool
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isCall(r, http.MethodPost, "/withdraw"):
			id := strings.Split(r.URL.Path, "/")[4]
			s.Authorize(id, "25", "7311").Must()
			sent.Store(true)
			response := forward(s, r)
			then()
			answer(w, response.Status, response.Raw)
		case sent.Load() && isCall(r, http.MethodGet, "/transactions"):
			answer(w, 500, `{"error":"down","message":"down"}`)
		default:
			return false
		}
		return true
	})
}

// A guess about what a service moved never changes amount.
func TestPurchaseDuringAWithdrawalOfUnreadableTransactions(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 100"))
	through(w, buysDuringWithdrawal(s, func() {}), "")
	output := apply(w, oneCard("amount = 90"))
	prints(t, output, "25.00 USD other than", "amount in the state is as it was planned")
	printsNot(t, output, "35.00")
	through(w, s, "")
	plansNothing(t, w)
	serviceHolds(t, s, "active", 65*usd.Dollar, 9909*usd.Dollar)
	apply(w, oneCard("amount = 95"))
	serviceHolds(t, s, "active", 70*usd.Dollar, 9904*usd.Dollar)
}

func TestInterruptedDuringAWithdrawal(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := appliedByCLI(t, s, "", oneCard("amount = 100"))
	due := make(chan struct{})
	through(w, buysDuringWithdrawal(s, func() { close(due) }), "max_retries = 0")
	w.Write("main.tf", oneCard("amount = 90"))
	_, output := w.RunUntil(due, syscall.SIGTERM, "apply", "-no-color", "-auto-approve")
	prints(t, output, "Gracefully shutting down")
	printsNot(t, output, "35.00", "did not respond")
	through(w, s, "")
	plansNothing(t, w)
	serviceHolds(t, s, "active", 65*usd.Dollar, 9909*usd.Dollar)
}

// A network repeats a request, and the service counts it twice.
func TestRepeatedFundIsNamed(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"idempotency": "ignored"})
	w := applied(t, s, "", oneCard("amount = 100"))
	through(w, s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if isCall(r, http.MethodPost, "/fund") {
			s.Post(strings.TrimPrefix(r.URL.Path, "/api/v1"), `{"amount":40.00}`, "X-Idempotency-Key", r.Header.Get("X-Idempotency-Key")).OK(http.StatusOK)
		}
		return false
	}), "")
	prints(t, apply(w, oneCard("amount = 140")), "More or less money moved than asked: fund card", "holds 180.00 USD", "40.00 USD other than")
	plansNothing(t, w)
	serviceHolds(t, s, "active", 180*usd.Dollar, 9819*usd.Dollar)
}

// settledDuringFund loses the responses of every fund while lost is set, and lets
// a purchase settle with another amount behind the first of them.
func settledDuringFund(s *acctest.Service, authorization string, lost *atomic.Bool) *acctest.Service {
	var settled atomic.Bool
	return s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodPost, "/fund") || !lost.Load() {
			return false
		}
		forward(s, r)
		if !settled.Swap(true) {
			s.Settle(authorization, "17").Must()
		}
		panic(http.ErrAbortHandler)
	})
}

// A settlement between the lost response and the look leaves nothing undecided.
func TestSettlementDuringALostFund(t *testing.T) {
	t.Parallel()
	inEachKeyMode(t, func(t *testing.T, s *acctest.Service, settings string) {
		t.Helper()
		w := applied(t, s, settings, oneCard("amount = 100"))
		id := onlyCard(s).ID
		var bought struct {
			Transaction struct{ ID string }
		}
		s.Authorize(id, "20", "7311").Into(&bought)
		var lost atomic.Bool
		lost.Store(true)
		through(w, settledDuringFund(s, bought.Transaction.ID, &lost), settings)
		w.Write("main.tf", oneCard("amount = 140"))
		code, output := w.Run("apply", "-no-color", "-auto-approve")
		lost.Store(false)
		if code != 0 { // with the key honoured the next apply asks again
			prints(t, output, "it is not known whether this took effect")
			apply(w, oneCard("amount = 140"))
		}
		serviceHolds(t, s, "active", 123*usd.Dollar, 9859*usd.Dollar)
		plansNothing(t, w)
	})
}
