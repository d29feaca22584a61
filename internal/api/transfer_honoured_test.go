package api_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

func keysHonoured(c *api.Config) { c.KeysHonoured = true }

// Where keys are honoured, what was lost is asked for again until it is answered.
func TestHonouredKeyIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults    []fault
		operation time.Duration // the longest it may take; zero for the default
		posts     int           // zero for any number
		recovered bool
		fails     string
		least     time.Duration
		most      time.Duration
	}{
		"done, response lost":        {faults: []fault{lostButApplied}, posts: 2, most: time.Minute},
		"done, 500 of the service":   {faults: []fault{{response: "500"}}, posts: 2, most: time.Minute},
		"not done, 503":              {faults: []fault{{commit: never, response: "503"}}, posts: 2, most: time.Minute},
		"done, lost, then too fast":  {faults: []fault{lostButApplied, {commit: never, response: "429"}}, posts: 3, most: time.Minute},
		"done, lost, then in flight": {faults: []fault{lostButApplied, {commit: never, response: "409"}}, posts: 3, most: time.Minute},
		"lost, then refused":         {faults: []fault{lostForGood, refusal}, posts: 2, fails: "refused", most: time.Minute},
		"lost, then refused by 409":  {faults: []fault{lostForGood, {commit: never, response: "409", code: "insufficient_funds"}}, posts: 2, fails: "refused", most: time.Minute},
		"done, then refused by 409":  {faults: []fault{lostButApplied, {commit: never, response: "409", code: "insufficient_funds"}}, posts: 2, recovered: true, most: time.Minute},
		"redirected for ever":        {faults: slices.Repeat([]fault{{commit: never, response: "307"}}, 999), posts: 5, fails: "unknown", most: time.Minute},
		"never answered":             {faults: slices.Repeat([]fault{lostForGood}, 999), fails: "unknown", least: 10 * time.Minute, most: 11 * time.Minute},
		"never answered in its time": {faults: slices.Repeat([]fault{lostForGood}, 999), operation: 2 * time.Minute, fails: "unknown", least: 2 * time.Minute, most: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(test.faults...)
			card := service.add(api.CardListItem{Balance: start})
			client := service.client(t, func(c *api.Config) { c.KeysHonoured, c.OperationTimeout = true, test.operation })
			transfer, err := client.Move(t.Context(), move(card.ID, step, nil))
			keys := service.keys()
			if test.posts > 0 && len(keys) != test.posts || len(slices.Compact(keys)) != 1 || service.clock.total() < test.least || service.clock.total() > test.most {
				t.Errorf("requests with keys %q in %s", keys, service.clock.total())
			}
			if kindOf(err) != test.fails {
				t.Fatalf("%v, want %q", err, test.fails)
			}
			if refused, ok := errors.AsType[*api.Error](err); test.fails == "refused" && (!ok || refused.IsFinal()) {
				t.Errorf("%v is final, though an attempt was lost", err)
			}
			if err == nil && (card.Balance != start+step || transfer.MadeBefore || transfer.Recovered != test.recovered || transfer.Delay == nil || transfer.Delay.Attempts != test.posts || !transfer.Delay.LostResponse) {
				t.Errorf("%+v, and the card holds %s", transfer, card.Balance)
			}
		})
	}
}

// Honoured: how long a lasting conflict or a lasting 500 holds up an apply.
func TestHonouredWaits(t *testing.T) {
	t.Parallel()
	for name, step2 := range map[string]http.HandlerFunc{
		"409 conflict":               respond(409, `{"error":"card_state_conflict","message":"no"}`),
		"409 key reused":             respond(409, `{"error":"idempotency_key_reused","message":"no"}`),
		"409 account locked":         respond(409, `{"error":"account_locked","message":"no"}`),
		"200 {}":                     respond(200, `{}`),
		"200 without wallet_balance": respond(200, `{"card_id":"card_1","card_balance":105}`),
		"500":                        respond(500, `{"error":"internal","message":"no"}`),
	} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		posts := 0
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				posts++
				step2(w, r)
				return
			}
			service.ServeHTTP(w, r)
		})
		_, err := newClient(t, handler, on(service.clock), func(c *api.Config) { c.KeysHonoured = true; c.MaxRetries = 0 }).Move(t.Context(), move(card.ID, step, nil))
		if service.clock.total() > 5*time.Minute {
			t.Errorf("%s: %d requests, %s: %v", name, posts, service.clock.total(), err)
		}
	}
}

// A service's own refusal is told at once, whatever its status.
func TestConflictWithABusinessCode(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusConflict, http.StatusPaymentRequired} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				respond(status, `{"error":"insufficient_funds","message":"no"}`)(w, r)
				return
			}
			service.ServeHTTP(w, r)
		})
		_, err := newClient(t, handler, on(service.clock)).Move(t.Context(), move(card.ID, step, nil))
		refused, ok := errors.AsType[*api.Error](err)
		if _, undecided := errors.AsType[*api.UndecidedError](err); !ok || undecided || refused.Attempts != 1 || service.clock.total() != 0 {
			t.Errorf("%d: %v after %s", status, err, service.clock.total())
		}
	}
}

// A success that does not say what a success says, and a conflict with nothing
// but itself, which may be the request's own first attempt, leave it open.
func TestResponsesThatLeaveAMovementOpen(t *testing.T) {
	t.Parallel()
	for _, response := range []struct {
		status int
		body   string
	}{
		{200, "<html>log in</html>"},
		{200, `{}`},
		{200, `{"card_id":"card_1"}`},
		{200, `{"card_id":"card_2","card_balance":105.00}`},
		{409, ""},
		{409, "<html>"},
		{409, `{"error":"Conflict"}`},
		{409, `{"error":"idempotency_key_in_use"}`},
		{409, `{"error":"still_processing"}`},
		{409, `{"error":"concurrent_request"}`},
	} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				service.give(card, step)
				respond(response.status, response.body)(w, r)
				return
			}
			service.ServeHTTP(w, r)
		})
		transfer, err := newClient(t, handler, on(service.clock)).Move(t.Context(), move(card.ID, step, nil))
		if err != nil || !transfer.Recovered || card.Balance != start+step {
			t.Errorf("%d %q: %+v, %v, and the card holds %s", response.status, response.body, transfer, err, card.Balance)
		}
	}
}
