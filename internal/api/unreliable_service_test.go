package api_test

import (
	"context"
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
	transfer, err := newClient(t, handler, on(service.clock), keysHonoured).Move(t.Context(), move(card.ID, step, nil))
	if err != nil || !transfer.Recovered || transfer.CardBalance != start+step || service.clock.total() > 15*time.Minute {
		t.Errorf("%+v, %v after %s, and the card holds %s", transfer, err, service.clock.total(), card.Balance)
	}
}

// whileWaiting lets something happen in the first wait of five seconds.
type whileWaiting struct {
	*fakeClock
	happen func()
}

func (c *whileWaiting) Wait(ctx context.Context, d time.Duration) error {
	if d == 5*time.Second && c.happen != nil {
		c.happen()
		c.happen = nil
	}
	return c.fakeClock.Wait(ctx, d)
}

// A purchase of as much as is withdrawn is no withdrawal once it is listed.
func TestPurchaseListedWhileLookingAgain(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	service.give(card, -40*usd.Dollar)
	clock := &whileWaiting{service.clock, func() {
		service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
		service.give(card, 40*usd.Dollar)
	}}
	transfer, err := service.client(t, on(clock)).Move(t.Context(), move(card.ID, -40*usd.Dollar, record))
	if err != nil || transfer.MadeBefore || transfer.LeftOver != 0 || card.Balance != start-80*usd.Dollar {
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

// A service may count a key once by refusing its repetition: the card tells what
// the key was used for.
func TestRefusalThatSpeaksOfTheKey(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		status int
		code   string
	}{{409, "duplicate_request"}, {422, "idempotency_key_used"}, {400, "already_processed"}} {
		for name, test := range map[string]struct {
			faults   []fault // of the requests that come before the refusal
			unknown  bool    // whether the keys are honoured
			by       usd.Amount
			posts    int
			made     bool
			recovers bool
		}{
			"an attempt that was made":          {faults: []fault{lostButApplied}, posts: 2, made: true},
			"an attempt that was not":           {faults: []fault{lostForGood}, posts: 2},
			"an attempt that is made at last":   {faults: []fault{afterTheWait}, unknown: true, posts: 2, made: true},
			"a run before, which made it":       {by: step, posts: 1, made: true},
			"a run before, of which nothing is": {posts: 1},
		} {
			t.Run(refusal.code+" after "+name, func(t *testing.T) {
				t.Parallel()
				service := newFakeService(test.faults...)
				service.idempotency = "ignored"
				card := service.add(api.CardListItem{Balance: start})
				record := service.remembered(t, card)
				service.give(card, test.by)
				posts := 0
				client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						if posts++; posts > len(test.faults) {
							respond(refusal.status, fmt.Sprintf(`{"error":%q,"message":"the key was used"}`, refusal.code))(w, r)
							return
						}
					}
					service.ServeHTTP(w, r)
				}), on(service.clock), func(c *api.Config) { c.KeysHonoured = !test.unknown })
				transfer, err := client.Move(t.Context(), move(card.ID, step, record))
				stopped, isStopped := errors.AsType[*api.StoppedError](err)
				switch after := transfer.Record; {
				case posts != test.posts || after.Token == record.Token || after.Pending != nil:
					t.Errorf("%d requests, %+v, %v", posts, transfer, err)
				case test.made:
					if err != nil || transfer.CardBalance != start+step || after.Anchor.Balance != start+step || transfer.MadeBefore != (test.by > 0) {
						t.Errorf("%+v, %v", transfer, err)
					}
				case !isStopped || stopped.Refusal == nil || stopped.Refusal.Code != refusal.code || after.Anchor.Balance != start:
					t.Errorf("%+v, %v", transfer, err)
				}
				checkUnlocked(t, client, card.ID)
			})
		}
	}
}

// Spending hides the fund of a killed run. A refusal for another reason is no proof
// that it was not made; one that speaks of the key proves that it was.
func TestRefusalWhereSpendingHidesAFund(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"duplicate_request": "", "already_funded": "", "insufficient_funds": "unknown", "card_already_frozen": "unknown"} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		record := service.remembered(t, card)
		service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
		service.give(card, 40*usd.Dollar)
		client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				respond(http.StatusUnprocessableEntity, fmt.Sprintf(`{"error":%q,"message":"no"}`, code))(w, r)
				return
			}
			service.ServeHTTP(w, r)
		}), on(service.clock), keysHonoured)
		transfer, err := client.Move(t.Context(), move(card.ID, 40*usd.Dollar, record))
		if kindOf(err) != want || transfer.MadeBefore != (want == "") || (transfer.Record.Pending != nil) != (want != "") || (transfer.Record.Token == record.Token) != (want != "") {
			t.Errorf("%s: %+v, %v", code, transfer, err)
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
	}), on(service.clock), keysHonoured)
	if _, err := client.IssueCard(t.Context(), request("ads")); kindOf(err) != "unknown" || posts != 2 {
		t.Errorf("after %d attempts: %v", posts, err)
	}
}
