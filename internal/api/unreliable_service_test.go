package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A service that honours keys and answers no attempt is believed by what it shows.
func TestHonouredKeyThatIsNeverAnswered(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			service.mu.Lock()
			if len(service.posts) == 0 {
				service.posts = append(service.posts, "k")
				card.Balance += step // made at the first try, and every response is lost
			}
			service.mu.Unlock()
			respond(502, "<html>")(w, r)
			return
		}
		service.ServeHTTP(w, r)
	})
	transfer, err := newClient(t, handler, on(service.clock), func(c *api.Config) { c.KeysHonoured = true }).FundCard(t.Context(), card.ID, step)
	if err != nil || !transfer.Recovered || transfer.CardBalance != start+step || service.clock.total() > 15*time.Minute {
		t.Errorf("%+v, %v after %s, and the card holds %s", transfer, err, service.clock.total(), card.Balance)
	}
}

// A listing that repeats its first page and counts nothing is not complete.
func TestInventoryOfAServiceWithoutPages(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respond(200, `{"data":[{"id":"card_9","status":"active","balance":1,"bin_id":"b","spending_limit":1}]}`)(w, r)
	})
	clock := newFakeClock()
	client := newClient(t, handler, on(clock))
	cards, err := client.Inventory(t.Context(), clock.Now().Add(-time.Second))
	if err == nil {
		t.Errorf("taken for complete: %v", cards)
	}
}

// One foreign transaction of three decimals makes its own sum unclear, nothing more.
func TestThreeDecimals(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	client := service.client(t)
	service.spend(card, api.TransactionAuthorization, 7*usd.Dollar, 0)
	service.spend(card, api.TransactionDecline, 0, 0)
	service.mu.Lock()
	last := service.history[len(service.history)-1]
	last["currency"], last["amount"] = "KWD", json.Number("1.234")
	service.mu.Unlock()
	service.give(card, 40*usd.Dollar) // killed
	transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Anchor: api.IssueAnchor(start)})
	if err != nil || !transfer.MadeBefore {
		t.Errorf("doubled: %+v, %v, holds %s", transfer, err, card.Balance)
	}
}

// A rising number of equal movements under late listing: fund twice the same by kills.
func TestOldPrivateState(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{true, false} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		service.spend(card, api.TransactionAuthorization, 9*usd.Dollar, 0)
		service.spend(card, api.TransactionAuthorization, 7*usd.Dollar, 0) // txn_2
		before := card.Balance
		if made {
			service.give(card, 40*usd.Dollar)
		}
		service.spend(card, api.TransactionAuthorization, 3*usd.Dollar, 0)
		var p api.PendingTransfer
		if err := json.Unmarshal([]byte(`{"key":"x","card_id":"card_1","kind":"fund","amount":40.00,"balance_before":`+before.String()+`,"balance_after":`+before.String()+`,"newest_transaction":"txn_2","sent_at":"2026-02-28T12:00:00Z"}`), &p); err != nil {
			t.Fatal(err)
		}
		outcome, err := service.client(t).ReconcileTransfer(t.Context(), p)
		if err != nil || (outcome.State == api.TransferDone) != made {
			t.Errorf("%+v, %v", outcome, err)
		}
		transfer, err := service.client(t).Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Anchor: throughJSON(t, outcome.Anchor)})
		if err != nil || transfer.MadeBefore || transfer.Unexplained != 0 {
			t.Errorf("%+v, %v", transfer, err)
		}
	}
}

// buyWhileConfirming lets a purchase happen, which is listed late, in the wait
// that confirms a movement.
type buyWhileConfirming struct {
	*fakeClock
	buy func()
}

func (c *buyWhileConfirming) Wait(ctx context.Context, d time.Duration) error {
	if d == 5*time.Second {
		c.buy()
	}
	return c.fakeClock.Wait(ctx, d)
}

func TestPurchaseWhileConfirming(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	service.idempotency = "ignored"
	card := service.add(api.CardListItem{Balance: start})
	service.give(card, 40*usd.Dollar) // killed
	clock := &buyWhileConfirming{service.clock, func() { service.give(card, -3*usd.Dollar) }}
	transfer, err := service.client(t, on(clock)).Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Anchor: api.IssueAnchor(start)})
	if card.Balance > start+40*usd.Dollar {
		t.Errorf("doubled: %+v, %v, holds %s", transfer, err, card.Balance)
	}
}

// A purchase of as much as is withdrawn is no withdrawal once it is listed.
func TestPurchaseListedWhileConfirming(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	service.give(card, -40*usd.Dollar)
	clock := &buyWhileConfirming{service.clock, func() {
		service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
		service.give(card, 40*usd.Dollar)
	}}
	transfer, err := service.client(t, on(clock)).Move(t.Context(), api.Movement{CardID: card.ID, Delta: -40 * usd.Dollar, Anchor: api.IssueAnchor(start)})
	if err != nil || transfer.MadeBefore || transfer.Unexplained != 0 || card.Balance != start-80*usd.Dollar {
		t.Errorf("%+v, %v, and the card holds %s", transfer, err, card.Balance)
	}
}

type skewed struct {
	http.ResponseWriter
	by time.Duration
}

func (s *skewed) WriteHeader(status int) {
	if date, err := http.ParseTime(s.Header().Get("Date")); err == nil {
		s.Header().Set("Date", date.Add(s.by).Format(http.TimeFormat))
	}
	s.ResponseWriter.WriteHeader(status)
}

// The Date of a gateway whose clock is 15 s ahead of the service's created_at.
func TestGatewayClockAheadIssuesTwice(t *testing.T) {
	t.Parallel()
	service := newFakeService(fault{response: "drop"})
	service.idempotency = "ignored"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service.ServeHTTP(&skewed{w, 15 * time.Second}, r)
	})
	issued, err := newClient(t, handler, on(service.clock)).IssueCard(t.Context(), api.IssueCardRequest{BinID: "bin_1", Amount: 100 * usd.Dollar, Label: "ads"})
	if cards := service.balances(); len(cards) != 1 {
		t.Errorf("%d cards: %+v, %v", len(cards), issued.PossibleDuplicates, err)
	}
}

// A service may count a key once by refusing its repetition.
func TestRefusedRepetition(t *testing.T) {
	t.Parallel()
	for _, repeated := range []struct {
		status int
		code   string
	}{{409, "duplicate_request"}, {422, "idempotency_key_used"}, {400, "already_processed"}} {
		for name, test := range map[string]struct {
			first fault
			moved usd.Amount
			fails string
		}{
			"after it was processed": {lostButApplied, step, ""},
			"after it was lost":      {lostForGood, 0, "unknown"}, // something has used the key
		} {
			t.Run(repeated.code+" "+name, func(t *testing.T) {
				t.Parallel()
				service := newFakeService(test.first)
				card := service.add(api.CardListItem{Balance: start})
				posts := map[string]int{}
				client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						posts[r.Header.Get("X-Idempotency-Key")]++
						if posts[r.Header.Get("X-Idempotency-Key")] > 1 {
							respond(repeated.status, fmt.Sprintf(`{"error":%q,"message":"the key was used"}`, repeated.code))(w, r)
							return
						}
					}
					service.ServeHTTP(w, r)
				}), on(service.clock), func(c *api.Config) { c.KeysHonoured = true })
				transfer, err := client.FundCard(t.Context(), card.ID, step)
				if service.balances()[card.ID] != start+test.moved || len(posts) != 1 {
					t.Errorf("the card holds %s after %v", service.balances()[card.ID], posts)
				}
				switch {
				case test.fails != "" && kindOf(err) != test.fails, test.fails == "" && (err != nil || !transfer.Recovered || transfer.CardBalance != start+step):
					t.Errorf("%+v, %v", transfer, err)
				}
			})
		}
	}
}

// A refusal is no proof that a killed run has made a fund which spending hides: an
// error says so.
func TestRefusalWhereSpendingHidesAFund(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
	service.give(card, 40*usd.Dollar)
	for code, repetition := range map[string]bool{
		"duplicate_request": true, "idempotency_key_reused": true, "already_funded": true, "cannot_be_processed": false, "insufficient_funds": false, "card_already_frozen": false,
	} {
		client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				respond(http.StatusUnprocessableEntity, fmt.Sprintf(`{"error":%q,"message":"no"}`, code))(w, r)
				return
			}
			service.ServeHTTP(w, r)
		}), on(service.clock), func(c *api.Config) { c.KeysHonoured = true })
		_, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Key: "k", Anchor: api.IssueAnchor(start)})
		if refused, ok := errors.AsType[*api.Error](err); !ok || refused.IsRepetition() != repetition {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// A card may have been issued under a key whose repetition is refused, though no
// list shows it yet.
func TestRefusedRepetitionOfAnIssuance(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	posts := 0
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			service.ServeHTTP(w, r)
			return
		}
		if posts++; posts == 1 {
			panic(http.ErrAbortHandler)
		}
		respond(http.StatusConflict, `{"error":"duplicate_request","message":"the key was used"}`)(w, r)
	}), on(service.clock), func(c *api.Config) { c.KeysHonoured = true })
	if _, err := client.IssueCard(t.Context(), request("ads")); kindOf(err) != "unknown" || posts != 2 {
		t.Errorf("after %d attempts: %v", posts, err)
	}
}
