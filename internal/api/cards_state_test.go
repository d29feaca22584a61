package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestCardStateAcrossFailures(t *testing.T) {
	t.Parallel()
	const active, frozen, terminated = api.StatusActive, api.StatusFrozen, api.StatusTerminated
	const returned, already, recovered = ", returned 100.00, already false", ", returned 0.00, already true", ", returned 0.00, already false"
	hidden := undone("404 <html>")
	still := func(s api.CardStatus) fault {
		return undone(fmt.Sprintf(`200 {"id":"card_1","status":%q,"balance":100,"returned_to_wallet":0}`, s))
	}
	later := func(s api.CardStatus) fault {
		return fault{commit: 20 * time.Second, response: still(s).response, stays: true}
	}
	type row struct {
		was    api.CardStatus
		faults []fault
		wanted api.CardStatus
		below  usd.Amount // threshold of auto-freeze
		posts  int
		ends   api.CardStatus
		tells  string // of a termination
		fails  string // "refused", "unknown" or "not found"
		waits  bool
		keys   bool // are honoured
		forget bool // the service does terminated cards
	}
	tests := map[string]row{
		"freeze": {was: active, wanted: frozen, posts: 1, ends: frozen},
		"freeze, and it says active": {
			was: active, faults: []fault{still(active)},
			wanted: frozen, posts: 2, ends: frozen, waits: true,
		},
		"freeze, done later": {was: active, faults: []fault{later(active)}, wanted: frozen, posts: 1, ends: frozen, waits: true},
		"freeze, done later, keys honoured": {
			was: active, faults: []fault{later(active)}, wanted: frozen,
			posts: 5, ends: frozen, waits: true, keys: true,
		},
		"freeze refused": {was: active, faults: []fault{refusal}, wanted: frozen, posts: 1, ends: active, fails: "refused"},
		"freeze, 409 that passes": {
			was: active, faults: []fault{undone("409")},
			wanted: frozen, posts: 2, ends: frozen, waits: true,
		},
		"freeze a terminated card": {was: terminated, wanted: frozen, posts: 1, ends: terminated, fails: "refused"},
		"freeze a terminated card, 409": {
			was: terminated, faults: []fault{undone("409")},
			wanted: frozen, posts: 1, ends: terminated, fails: "refused",
		},
		"freeze done, response lost": {
			was: active, faults: []fault{lostButApplied},
			wanted: frozen, posts: 1, ends: frozen, waits: true,
		},
		"freeze not done, lost": {was: active, faults: []fault{lostForGood}, wanted: frozen, posts: 2, ends: frozen, waits: true},
		"freeze never done": {
			was: active, faults: []fault{lostForGood.forEver()}, wanted: frozen,
			posts: 5, ends: active, fails: "unknown", waits: true,
		},
		"freeze, a gateway's 404":           {was: active, faults: []fault{{response: "404 <html>"}}, wanted: frozen, posts: 1, ends: frozen},
		"freeze, a gateway's 404, not done": {was: active, faults: []fault{hidden}, wanted: frozen, posts: 2, ends: frozen, waits: true},
		"freeze what is not there":          {wanted: frozen, posts: 1, fails: "not found"},
		"unfreeze":                          {was: frozen, wanted: active, posts: 1, ends: active},
		"unfreeze, and it says frozen": {
			was: frozen, faults: []fault{still(frozen)},
			wanted: active, below: start, posts: 1, ends: frozen,
		},
		"unfreeze, and it says frozen yet": {
			was: frozen, faults: []fault{{response: still(frozen).response}},
			wanted: active, posts: 1, ends: active,
		},
		"unfreeze done, response lost": {
			was: frozen, faults: []fault{lostButApplied},
			wanted: active, posts: 1, ends: active, waits: true,
		},
		"unfreeze lost, frozen by the service": {
			was: frozen, faults: []fault{lostForGood}, wanted: active,
			below: start + usd.Cent, posts: 1, ends: frozen, waits: true,
		},
		"unfreeze lost, balance suffices": {
			was: frozen, faults: []fault{lostForGood}, wanted: active,
			below: start, posts: 2, ends: active, waits: true,
		},
		"unfreeze refused below the threshold": {
			was: frozen, faults: []fault{refusal}, wanted: active,
			below: start + usd.Cent, posts: 1, ends: frozen, fails: "refused",
		},
		"terminate": {was: active, wanted: terminated, posts: 1, ends: terminated, tells: returned},
		"terminate, and it says active": {
			was: active, faults: []fault{still(active)}, wanted: terminated,
			posts: 2, ends: terminated, tells: returned, waits: true,
		},
		"terminate done, and it says active": {
			was: active, faults: []fault{{response: still(active).response}},
			wanted: terminated, posts: 1, ends: terminated, tells: already,
		},
		"terminate done, lost": {
			was: active, faults: []fault{lostButApplied}, wanted: terminated,
			posts: 1, ends: terminated, tells: recovered, waits: true,
		},
		"terminate not done, lost": {
			was: frozen, faults: []fault{undone("500")}, wanted: terminated,
			posts: 2, ends: terminated, tells: returned, waits: true,
		},
		"terminate, done later, keys honoured": {
			was: active, faults: []fault{later(active)}, wanted: terminated,
			posts: 5, ends: terminated, tells: recovered, waits: true, keys: true,
		},
		"terminate, and it stays": {
			was: active, faults: []fault{undone(`200 {"id":"card_1","status":"terminated","returned_to_wallet":100}`)}, wanted: terminated,
			posts: 1, ends: active, fails: "unknown", waits: true,
		},
		"terminate, 404, and it is there":       {was: active, faults: []fault{undone("404")}, wanted: terminated, posts: 1, ends: active, fails: "unknown"},
		"terminate and forget":                  {was: active, wanted: terminated, posts: 1, ends: terminated, tells: returned, forget: true},
		"terminate and forget, lost":            {was: active, faults: []fault{lostButApplied}, wanted: terminated, posts: 1, ends: terminated, fails: "not found", waits: true, forget: true},
		"terminate and forget, a gateway's 404": {was: active, faults: []fault{{response: "404 <html>"}}, wanted: terminated, posts: 1, ends: terminated, fails: "not found", forget: true},
		"terminate refused": {
			was: active, faults: []fault{refusal}, wanted: terminated,
			posts: 1, ends: active, fails: "refused",
		},
		"terminate, a gateway's 404, not done": {
			was: active, faults: []fault{hidden}, wanted: terminated,
			posts: 2, ends: terminated, tells: returned, waits: true,
		},
		"terminate what is not there":      {wanted: terminated, posts: 1, fails: "not found"},
		"terminate what is not there, 500": {faults: []fault{undone("500")}, wanted: terminated, posts: 1, fails: "not found", waits: true},
		"terminate with a bad key": {
			was: active, faults: []fault{undone("401")},
			wanted: terminated, posts: 1, ends: active, fails: "refused",
		},
	}
	for _, wanted := range []api.CardStatus{active, frozen, terminated} { // of a card that is so already
		for _, response := range []string{"400", "404", "409", "422"} {
			test := row{was: wanted, faults: []fault{undone(response)}, wanted: wanted, posts: 1, ends: wanted}
			if wanted == terminated {
				test.tells = already
			}
			tests[string(wanted)+" already, "+response] = test
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(test.faults...)
			if service.forgets = test.forget; test.was != "" {
				service.add(api.CardListItem{Balance: start, Status: test.was})
			}
			status, lost, err := change(t, service.client(t, func(c *api.Config) { c.KeysHonoured = test.keys }), test.wanted, test.below)
			if n := len(service.keys()); n != test.posts {
				t.Errorf("%d requests, want %d", n, test.posts)
			}
			if test.was != "" && service.cards[0].Status != test.ends {
				t.Errorf("the card is %s, want %s", service.cards[0].Status, test.ends)
			}
			if waited := service.clock.total() > 0; waited != test.waits || err == nil && lost != test.waits {
				t.Errorf("waited %s, a response was lost: %t, want %t", service.clock.total(), lost, test.waits)
			}
			if got := kindOf(err); got != test.fails || err == nil && status != string(test.ends)+test.tells {
				t.Errorf("ended %s with %q (%v), want %s%s with %q", status, got, err, test.ends, test.tells, test.fails)
			}
		})
	}
}

// change returns how a card ends, in the words of the table.
func change(t *testing.T, client *api.Client, wanted api.CardStatus, below usd.Amount) (string, bool, error) {
	t.Helper()
	const id = "card_1"
	var state api.CardState
	var err error
	switch {
	case wanted == api.StatusTerminated:
		result, err := client.TerminateCard(t.Context(), id)
		told := fmt.Sprintf("%s, returned %s, already %t", result.Status, result.ReturnedToWallet, result.AlreadyTerminated)
		return told, result.LostResponse, err
	case wanted == api.StatusFrozen:
		state, err = client.FreezeCard(t.Context(), id)
	case below > 0:
		state, err = client.UnfreezeCard(t.Context(), id, &below)
	default:
		state, err = client.UnfreezeCard(t.Context(), id, nil)
	}
	if err == nil && state.ID != id {
		t.Errorf("the response is about card %q", state.ID)
	}
	return string(state.Status), state.LostResponse, err
}

func TestRegisterWebhookAcrossFailures(t *testing.T) {
	t.Parallel()
	withoutSecret := undone(`201 {"id":"wh_1","url":"https://hooks.example.com","events":["*"]}`) // as the next one would be
	for name, test := range map[string]struct {
		faults    []fault
		posts     int
		duplicate bool
		fails     string
	}{
		"it works":             {posts: 1},
		"done, response lost":  {faults: []fault{lostButApplied}, posts: 2, duplicate: true},
		"not done, lost":       {faults: []fault{lostForGood}, posts: 2, duplicate: true},
		"refused":              {faults: []fault{refusal}, posts: 1, fails: "refused"},
		"lost, then refused":   {faults: []fault{lostButApplied, refusal}, posts: 2, fails: "unknown"},
		"lost, then 404":       {faults: []fault{lostButApplied, undone("404")}, posts: 2, fails: "unknown"},
		"lost again and again": {faults: []fault{lostForGood.forEver()}, posts: 5, fails: "unknown"},
		"without its secret":   {faults: []fault{withoutSecret}, posts: 1, fails: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(test.faults...)
			registration, err := service.client(t).RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com/v?token=abc", Events: []string{"*"}})
			if keys := service.keys(); len(keys) != test.posts || len(slices.Compact(keys)) != 1 {
				t.Errorf("requests with keys %q, want %d with one", keys, test.posts)
			}
			if got := kindOf(err); got != test.fails {
				t.Fatalf("%s (%v), want %s", got, err, test.fails)
			}
			if err != nil && (strings.Contains(err.Error(), "token") || api.IsNotFound(err)) {
				t.Errorf("the error repeats the query, or seems final: %v", err)
			}
			if err == nil && (registration.ID != "wh_1" || registration.Secret != "whsec_x" || registration.MayHaveDuplicate != test.duplicate) {
				t.Errorf("%v", registration)
			}
		})
	}
}

// An error says what was tried on what, and what kind of change is left open.
func TestUndecidedChangesSayWhatWasTried(t *testing.T) {
	t.Parallel()
	for call, test := range map[string]struct {
		kind      api.MutationKind
		operation string
	}{
		"issue":     {api.MutationIssue, `issue a card on BIN bin_1 with label "ads"`},
		"fund":      {api.MutationMove, "fund card card_1 with 5.00 USD"},
		"withdraw":  {api.MutationMove, "withdraw 5.00 USD from card card_1"},
		"freeze":    {api.MutationSetFrozen, "freeze card card_1"},
		"unfreeze":  {api.MutationSetFrozen, "unfreeze card card_1"},
		"terminate": {api.MutationTerminate, "terminate card card_1"},
		"register":  {api.MutationRegister, "register webhook https://hooks.example.com"},
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(lostForGood)
			if card := service.add(api.CardListItem{Balance: start}); call == "unfreeze" {
				card.Status = api.StatusFrozen
			}
			err := try(t.Context(), service.client(t, onlyOneTry), call)
			undecided, ok := errors.AsType[*api.UndecidedError](err)
			lost, isLost := errors.AsType[*api.RequestError](err)
			if !ok || !isLost {
				t.Fatalf("%+v", err)
			}
			same(t, "undecided", []any{undecided.Kind, undecided.Operation, undecided.Attempts, lost.Operation, lost.Method != ""}, fmt.Sprint([]any{test.kind, test.operation, 1, test.operation, true}))
			if strings.Contains(lost.Error(), "attempts") || !strings.HasPrefix(err.Error(), test.operation+": ") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Both the attempt and the verification may take all the time that a request may take.
func TestInterruptionLeavesTimeToLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		client := newClient(t, nil, func(c *api.Config) {
			c.Clock, c.RequestTimeout = nil, 30*time.Second
			c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				requests++
				select {
				case <-time.After(29 * time.Second):
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
				if r.Method == http.MethodPost {
					return nil, io.ErrUnexpectedEOF
				}
				return sandboxtest.Direct(respond(200, strings.Replace(cardBody, "active", "frozen", 1))).RoundTrip(r)
			})
		})
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		state, err := client.FreezeCard(ctx, "card_1")
		if err != nil || state.Status != api.StatusFrozen || requests != 2 {
			t.Errorf("%+v, %v after %d requests", state, err, requests)
		}
	})
}

func TestNothingIsSentAfterAnInterruption(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, call := range []string{"read", "freeze", "terminate", "fund", "issue", "register"} {
		service := steps(respond(200, cardBody))
		err := try(ctx, newClient(t, service), call)
		if lost, ok := errors.AsType[*api.RequestError](err); !errors.Is(err, context.Canceled) || ok && lost.Sent || len(service.requests()) != 0 {
			t.Errorf("%s: %v after %d requests", call, err, len(service.requests()))
		}
	}
}

// A connection that breaks when it is used again tempts net/http to repeat a
// request on its own; only the client may, after it has looked. So it is with one that
// is silent for longer than a request may take, and that costs one try its time.
func TestNothingIsSentAgainBehindTheClient(t *testing.T) {
	t.Parallel()
	hang := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // the body hangs
		<-r.Context().Done()
	}
	brief := func(c *api.Config) { c.RequestTimeout = 700 * time.Millisecond }
	for name, fails := range map[string]http.HandlerFunc{"breaks": drop, "hangs": hang} {
		good := respond(200, cardBody) // leaves a connection to be used again
		service := steps(good, fails, respond(200, strings.Replace(cardBody, "active", "frozen", 1)))
		client := newClient(t, service, brief)
		if _, err := client.GetCard(t.Context(), "card_1"); err != nil {
			t.Fatal(name, err)
		}
		state, err := client.FreezeCard(t.Context(), "card_1")
		got := service.requests()
		same(t, name, []any{err, state.Status, len(got), got[len(got)-1].Method}, "[<nil> frozen 3 GET]")
		service.then(fails, good)
		if _, err := newClient(t, service, brief).GetCard(t.Context(), "card_1"); err != nil || len(service.requests()) != 2 {
			t.Errorf("%s: %v after %d requests", name, err, len(service.requests()))
		}
	}
}
