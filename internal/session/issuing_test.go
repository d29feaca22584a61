package session_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestReplacementsOweUntilTheirCardsAreIssued(t *testing.T) {
	t.Parallel()
	s := against(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"balance": 100.00, "currency": "USDT", "pending_deposits": 0.00, "cards_active": 1, "cards_total_balance": 10.00}`))
	})
	card := session.NewCard{Label: "ads", Cost: 61 * usd.Dollar}
	replace := func(card session.NewCard, terminated bool, want usd.Amount) {
		t.Helper()
		short, end, err := s.BeginReplacing(t.Context(), card, 10*usd.Dollar)
		if err != nil || short != want {
			t.Errorf("falls short by %s (%v), want %s", short, err, want)
		}
		end(terminated)
	}
	replace(card, false, -49*usd.Dollar)
	replace(card, true, -49*usd.Dollar) // the refused one before owes nothing
	replace(card, true, 12*usd.Dollar)
	replace(card, false, 73*usd.Dollar)
	s.BeginIssuing(session.NewCard{Label: "another", Cost: 61 * usd.Dollar})()
	replace(card, false, 73*usd.Dollar)
	s.BeginIssuing(card)()
	replace(card, false, 12*usd.Dollar)
	s.BeginIssuing(card)()
	s.BeginIssuing(card)() // one that replaces nothing
	replace(card, false, -49*usd.Dollar)
	replace(session.NewCard{Cost: 51 * usd.Dollar, Least: true}, true, -59*usd.Dollar)
	replace(card, false, -49*usd.Dollar) // what it costs is not known, so that its end would not be either
}

// The wallet is looked at when no card is on its way.
func TestReplacementWaitsForCardsThatAreBeingIssued(t *testing.T) {
	t.Parallel()
	looked := make(chan struct{})
	s := against(t, func(w http.ResponseWriter, _ *http.Request) {
		close(looked)
		_, _ = w.Write([]byte(`{"balance": 100.00, "currency": "USDT", "pending_deposits": 0.00, "cards_active": 1, "cards_total_balance": 10.00}`))
	})
	card := session.NewCard{Cost: 51 * usd.Dollar}
	first, second := s.BeginIssuing(card), s.BeginIssuing(card)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, end, err := s.BeginReplacing(t.Context(), card, 0); err != nil {
			t.Error(err)
		} else {
			end(true)
		}
	}()
	first()
	select {
	case <-looked:
		t.Error("the wallet was read while a card was being issued")
	default:
	}
	second()
	<-ended
}
