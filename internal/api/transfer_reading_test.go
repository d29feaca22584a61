package api_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What cannot be read first is not moved.
func TestMoveOfACardThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, anchor := range []*api.Anchor{nil, api.IssueAnchor(start)} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		service.hooks["/cards/"+card.ID] = respond(500, "")
		_, err := service.client(t).Move(t.Context(), api.Movement{CardID: card.ID, Delta: step, Anchor: anchor})
		if kindOf(err) != "refused" || len(service.keys()) != 0 {
			t.Errorf("%v after %d requests", err, len(service.keys()))
		}
	}
}

// A purchase between the reading of the transactions and that of the balance is
// seen by reading again.
func TestPurchaseWhileTheCardIsRead(t *testing.T) {
	t.Parallel()
	for name, anchor := range map[string]*api.Anchor{"with an anchor": api.IssueAnchor(start), "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(lostButApplied)
			card := service.add(api.CardListItem{Balance: start})
			var bought sync.Once
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				service.ServeHTTP(w, r)
				if r.URL.Path == "/api/v1/transactions" {
					bought.Do(func() { service.spend(card, api.TransactionAuthorization, 7*usd.Dollar, 0) })
				}
			}), on(service.clock))
			transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: step, Anchor: anchor})
			if err != nil || !transfer.Recovered || transfer.Unexplained != 0 || card.Balance != start+step-7*usd.Dollar {
				t.Errorf("%+v, %v, and the card holds %s", transfer, err, card.Balance)
			}
		})
	}
}

func TestMoveLeavesWhatHasToStay(t *testing.T) {
	t.Parallel()
	for least, moves := range map[usd.Amount]bool{start - step: true, start - step + 1: false} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		_, err := service.client(t).Move(t.Context(), api.Movement{CardID: card.ID, Delta: -step, AtLeast: &least})
		tooLittle, ok := errors.AsType[*api.LeavesTooLittleError](err)
		if moves != (err == nil) || !moves && (!ok || tooLittle.Balance != start || *tooLittle.Movement.AtLeast != least || len(service.keys()) != 0) {
			t.Errorf("with at least %s: %v, and the card holds %s", least, err, card.Balance)
		}
	}
}

// A busy card's transactions fill pages. Those since the anchor are counted, and
// no page is read beyond it.
func TestMoveOnABusyCard(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		purchases int // since the anchor, two transactions each
		killed    bool
		pages     string // the last that is read
	}{
		"few purchases":                    {purchases: 10, pages: "1"},
		"few purchases and a killed fund":  {purchases: 10, killed: true, pages: "1"},
		"many purchases":                   {purchases: 80, pages: "2"},
		"many purchases and a killed fund": {purchases: 80, killed: true, pages: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: 10 * start})
			buy := func(purchases int) {
				for range purchases {
					service.spend(card, api.TransactionAuthorization, usd.Dollar, 0)
					service.spend(card, api.TransactionSettlement, usd.Dollar, 0)
				}
			}
			last := ""
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/v1/transactions" {
					last = max(last, r.URL.Query().Get("page"))
				}
				service.ServeHTTP(w, r)
			}), on(service.clock))
			buy(150)
			first, err := client.FundCard(t.Context(), card.ID, step)
			if err != nil {
				t.Fatal(err)
			}
			if last != "1" {
				t.Errorf("page %s was read for an anchor", last)
			}
			later(t, service, time.Minute)
			buy(test.purchases)
			if test.killed {
				service.give(card, 40*usd.Dollar)
			}
			transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Anchor: throughJSON(t, first.Anchor)})
			if err != nil || transfer.MadeBefore != test.killed || transfer.Unexplained != 0 || last != test.pages {
				t.Errorf("%+v, %v, with pages up to %s", transfer, err, last)
			}
		})
	}
}

// More transactions than are read decide nothing.
func TestLostMovementOnAVeryBusyCard(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	service.spend(card, api.TransactionSettlement, usd.Dollar, 0)
	service.faults = []fault{{response: "drop", before: func() {
		for range 1100 {
			service.spend(card, api.TransactionDecline, usd.Dollar, 0)
		}
	}}}
	if transfer, err := service.client(t).FundCard(t.Context(), card.ID, step); kindOf(err) != "unknown" {
		t.Errorf("%+v, %v", transfer, err)
	}
}
