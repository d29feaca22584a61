package session_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// withCard is a session whose wallet holds 100 USD, and whose one card, card_1,
// holds what balance says.
func withCard(t *testing.T, balance func() string) *session.Session {
	t.Helper()
	return withWallet(t, func() string { return "100.00" }, balance)
}

func withWallet(t *testing.T, wallet, balance func() string) *session.Session {
	t.Helper()
	return against(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.Contains(r.URL.Path, "/cards/"):
			_, _ = w.Write([]byte(`{"balance": ` + wallet() + `, "currency": "USDT", "pending_deposits": 0.00, "cards_active": 1.0, "cards_total_balance": 10.00}`))
		case strings.HasSuffix(r.URL.Path, "/card_1"):
			_, _ = w.Write([]byte(`{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":` + balance() + `,"spending_limit":100.00,"label":"ads","created_at":"2026-03-01T12:00:00Z"}`))
		case strings.HasSuffix(r.URL.Path, "/card_ended"):
			_, _ = w.Write([]byte(`{"id":"card_ended","bin_id":"bin_1","network":"visa","last4":"4242","status":"terminated","balance":0.00,"spending_limit":100.00,"label":"ads","created_at":"2026-03-01T12:00:00Z"}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":"card_not_found","message":"no such card"}`))
		}
	})
}

// replace begins and ends the replacement of a card, of which the new one falls
// short by want.
func replace(t *testing.T, s *session.Session, id string, next session.NewCard, terminated bool, want usd.Amount) {
	t.Helper()
	short, end, err := s.BeginReplacing(t.Context(), id, next)
	if err != nil {
		t.Fatal(err)
	}
	if short != want {
		t.Errorf("falls short by %s, want %s", short, want)
	}
	end(terminated)
}

func issue(t *testing.T, s *session.Session, card session.NewCard) {
	t.Helper()
	end, err := s.BeginIssuing(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	end()
}

func ten() string { return "10.00" }

func TestReplacementsOweUntilTheirCardsAreIssued(t *testing.T) {
	t.Parallel()
	s := withCard(t, ten)
	card := session.NewCard{Config: map[string]string{"label": "ads"}, Cost: 61 * usd.Dollar}
	replace(t, s, "card_1", card, false, -49*usd.Dollar)
	replace(t, s, "card_1", card, true, -49*usd.Dollar) // the refused one before owes nothing
	replace(t, s, "card_1", card, true, 12*usd.Dollar)
	replace(t, s, "card_1", card, false, 73*usd.Dollar)
	issue(t, s, session.NewCard{Config: map[string]string{"label": "another"}, Cost: 61 * usd.Dollar})
	replace(t, s, "card_1", card, false, 73*usd.Dollar)
	issue(t, s, card)
	replace(t, s, "card_1", card, false, 12*usd.Dollar)
	issue(t, s, card)
	issue(t, s, card) // one that replaces nothing
	replace(t, s, "card_1", card, false, -49*usd.Dollar)
}

// Cards without a label are told apart by what else is configured.
func TestNewCardsDoNotTakeWhatOthersAreOwed(t *testing.T) {
	t.Parallel()
	s := withCard(t, ten)
	card := func(bin, amount string) session.NewCard {
		config := map[string]string{"bin_id": bin, "label": "<null>"}
		if amount != "" { // else it is not known yet
			config["amount"] = amount
		}
		return session.NewCard{Config: config, Cost: 51 * usd.Dollar}
	}
	replace(t, s, "card_1", card("bin_1", "50"), true, -59*usd.Dollar)
	issue(t, s, card("bin_2", "50"))
	replace(t, s, "card_1", card("bin_1", ""), true, -8*usd.Dollar) // at least, as long as its amount is not known
	replace(t, s, "card_1", card("bin_1", "50"), false, 43*usd.Dollar)
	issue(t, s, card("bin_1", "50")) // rather the one of which all was known
	replace(t, s, "card_1", card("bin_1", "50"), false, -8*usd.Dollar)
	issue(t, s, card("bin_2", "70"))
	replace(t, s, "card_1", card("bin_1", "50"), false, -8*usd.Dollar)
	issue(t, s, card("bin_1", "70"))
	replace(t, s, "card_1", card("bin_1", "50"), false, -59*usd.Dollar)
}

// A card that is gone is replaced too, whatever the wallet holds, and takes from
// it what others count on.
func TestReplacementsOfCardsThatAreGoneOwe(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"card_ended", "card_unknown"} {
		s := withCard(t, ten)
		replace(t, s, gone, session.NewCard{Cost: 901 * usd.Dollar}, false, 0)
		replace(t, s, gone, session.NewCard{Cost: 61 * usd.Dollar}, true, 0)
		replace(t, s, "card_1", session.NewCard{Cost: 61 * usd.Dollar}, false, 12*usd.Dollar)
	}
}

// The card and the wallet are looked at when no card is on its way.
func TestReplacementWaitsForCardsThatAreBeingIssued(t *testing.T) {
	t.Parallel()
	var spent, looked atomic.Bool
	s := withCard(t, func() string {
		looked.Store(true)
		if spent.Load() {
			return "5.00"
		}
		return "10.00"
	})
	card := session.NewCard{Cost: 51 * usd.Dollar}
	begin := func() (end func()) {
		end, err := s.BeginIssuing(t.Context(), card)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	first, second := begin(), begin()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		short, end, err := s.BeginReplacing(t.Context(), "card_1", card)
		if err != nil || short != -54*usd.Dollar {
			t.Errorf("falls short by %s (%v)", short, err)
			return
		}
		end(true)
	}()
	first()
	if looked.Load() {
		t.Error("the card was read while another was being issued")
	}
	spent.Store(true)
	second()
	<-ended
}

// A replacement that cannot be checked is refused, and holds up no other.
func TestReplacementsThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	card := session.NewCard{Cost: 51 * usd.Dollar}
	for name, unreadable := range map[string]struct{ wallet, balance string }{
		"no card":                      {"100.00", `"x"`},
		"no wallet":                    {`"x"`, "10.00"},
		"a wallet that is not counted": {"99999999999999999999", "10.00"},
	} {
		wallet, balance := unreadable.wallet, unreadable.balance
		s := withWallet(t, func() string { return wallet }, func() string { return balance })
		if _, _, err := s.BeginReplacing(t.Context(), "card_1", card); err == nil {
			t.Errorf("%s: replaced", name)
		}
		wallet, balance = "100.00", "10.00"
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, end, err := s.BeginReplacing(soon, "card_1", card); err != nil {
			t.Errorf("%s: the next one: %v", name, err)
		} else {
			end(false)
		}
	}
}

func TestWaitingToIssueOrReplaceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := withCard(t, ten)
	card := session.NewCard{Cost: 51 * usd.Dollar}
	_, end, err := s.BeginReplacing(t.Context(), "card_1", card)
	if err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.BeginIssuing(interrupted, card); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted creation got %v", err)
	}
	if _, _, err := s.BeginReplacing(interrupted, "card_1", card); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted replacement got %v", err)
	}
	end(false)
	replace(t, s, "card_1", card, false, -59*usd.Dollar)
}
