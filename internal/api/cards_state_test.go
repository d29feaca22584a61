package api_test

import (
	"cmp"
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
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
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
	other := undone(`200 {"id":"card_2","status":"frozen","balance":100}`)
	later := func(s api.CardStatus) fault {
		return fault{commit: 20 * time.Second, response: still(s).response, stays: true}
	}
	wants := map[string]api.CardStatus{"freeze": frozen, "unfreeze": active, "terminate": terminated}
	type row struct {
		absent bool
		was    api.CardStatus // the default is frozen to be unfrozen, else active
		faults []fault
		below  usd.Amount     // threshold of auto-freeze
		posts  int            // 0 is one
		ends   api.CardStatus // the default is as it is wanted
		tells  string         // of a termination
		fails  string         // "refused", "unknown" or "not found"
		lost   bool           // a response was, of a call that succeeded
		waits  bool
		keys   bool // are honoured
		forget bool // the service does terminated cards
	}
	tests := map[string]row{
		"freeze":                                {},
		"freeze, and it says active":            {faults: []fault{still(active)}, ends: active, fails: "unknown", waits: true},
		"freeze, done later":                    {faults: []fault{later(active)}, waits: true},
		"freeze, done later, keys honoured":     {faults: []fault{later(active)}, waits: true, keys: true},
		"freeze refused":                        {faults: []fault{refusal}, ends: active, fails: "refused"},
		"freeze, 409 that passes":               {faults: []fault{undone("409")}, posts: 2, waits: true, lost: true},
		"freeze a terminated card":              {was: terminated, ends: terminated, fails: "refused"},
		"freeze a terminated card, 409":         {was: terminated, faults: []fault{undone("409")}, ends: terminated, fails: "refused"},
		"freeze done, response lost":            {faults: []fault{lostButApplied}, lost: true},
		"freeze not done, lost":                 {faults: []fault{lostForGood}, posts: 2, waits: true, lost: true},
		"freeze done late, lost":                {faults: []fault{beforeTheWait}, waits: true, lost: true},
		"freeze never done":                     {faults: []fault{lostForGood.forEver()}, posts: 5, ends: active, fails: "unknown", waits: true},
		"freeze, a gateway's 404":               {faults: []fault{{response: "404 <html>"}}},
		"freeze, a gateway's 404, not done":     {faults: []fault{hidden}, posts: 2, waits: true, lost: true},
		"freeze what is not there":              {absent: true, fails: "not found"},
		"unfreeze":                              {},
		"unfreeze, and it says frozen":          {faults: []fault{still(frozen)}, below: start, ends: frozen},
		"unfreeze, and it says frozen yet":      {faults: []fault{{response: still(frozen).response}}},
		"unfreeze, and it is another card's":    {faults: []fault{other}, ends: frozen, fails: "unknown", waits: true},
		"unfreeze done, response lost":          {faults: []fault{lostButApplied}, lost: true},
		"unfreeze lost, frozen by the service":  {faults: []fault{lostForGood}, below: start + usd.Cent, ends: frozen, waits: true, lost: true},
		"unfreeze lost, balance suffices":       {faults: []fault{lostForGood}, below: start, posts: 2, waits: true, lost: true},
		"unfreeze refused below the threshold":  {faults: []fault{refusal}, below: start + usd.Cent, ends: frozen, fails: "refused"},
		"terminate":                             {tells: returned},
		"terminate, and it says active":         {faults: []fault{still(active)}, ends: active, fails: "unknown", waits: true},
		"terminate done, and it says active":    {faults: []fault{{response: still(active).response}}, tells: recovered},
		"terminate done, lost":                  {faults: []fault{lostButApplied}, tells: recovered, lost: true},
		"terminate not done, lost":              {was: frozen, faults: []fault{undone("500")}, posts: 2, tells: returned, waits: true, lost: true},
		"terminate, done later, keys honoured":  {faults: []fault{later(active)}, tells: recovered, waits: true, keys: true},
		"terminate, and it stays":               {faults: []fault{undone(`200 {"id":"card_1","status":"terminated","returned_to_wallet":100}`)}, ends: active, fails: "unknown", waits: true},
		"terminate, 404, and it is there":       {faults: []fault{undone("404")}, ends: active, fails: "unknown"},
		"terminate and forget":                  {tells: returned, forget: true},
		"terminate and forget, lost":            {faults: []fault{lostButApplied}, fails: "not found", forget: true},
		"terminate and forget, a gateway's 404": {faults: []fault{{response: "404 <html>"}}, fails: "not found", forget: true},
		"terminate refused":                     {faults: []fault{refusal}, ends: active, fails: "refused"},
		"terminate, a gateway's 404, not done":  {faults: []fault{hidden}, posts: 2, tells: returned, waits: true, lost: true},
		"terminate what is not there":           {absent: true, fails: "not found"},
		"terminate what is not there, 500":      {absent: true, faults: []fault{undone("500")}, fails: "not found"},
		"terminate with a bad key":              {faults: []fault{undone("401")}, ends: active, fails: "refused"},
	}
	for call, wanted := range wants { // of a card that is so already
		for _, response := range []string{"400", "404", "409", "422"} {
			test := row{was: wanted, faults: []fault{undone(response)}}
			if wanted == terminated {
				test.tells = already
			}
			tests[call+" what is so already, "+response] = test
		}
	}
	for name, test := range tests {
		call, _, _ := strings.Cut(strings.ReplaceAll(name, ",", ""), " ")
		wanted := wants[call]
		if test.was == "" && wanted == active {
			test.was = frozen
		}
		test.was, test.ends, test.posts = cmp.Or(test.was, active), cmp.Or(test.ends, wanted), cmp.Or(test.posts, 1)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, test.faults...)
			if test.forget {
				service.forget()
			}
			if !test.absent {
				service.add(api.CardListItem{Balance: start, Status: test.was})
			}
			status, lost, err := change(t, service.client(t, func(c *api.Config) { c.KeysHonoured = test.keys }), wanted, test.below)
			if n := len(service.keys()); n != test.posts {
				t.Errorf("%d requests, want %d", n, test.posts)
			}
			if !test.absent && service.card("card_1").Status != test.ends {
				t.Errorf("the card is %s, want %s", service.card("card_1").Status, test.ends)
			}
			waited := service.clock.total()
			if waited > 0 != test.waits || err == nil && lost != test.lost {
				t.Errorf("waited %s, a response was lost: %t", waited, lost)
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
		told := fmt.Sprintf("%s, returned %s, already %t", result.Status, result.ReturnedToWallet, result.How == api.AlreadyDone)
		return told, result.How.LostResponse(), err
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
	return string(state.Status), state.How.LostResponse(), err
}

func TestRegisterWebhookAcrossFailures(t *testing.T) {
	t.Parallel()
	withoutSecret := undone(`201 {"id":"wh_1","url":"https://hooks.example.com","events":["*"]}`) // as the next one would be
	for name, test := range map[string]struct {
		faults   []fault
		posts    int
		honoured bool
		lost     bool
		fails    string
	}{
		"it works":             {posts: 1},
		"done, response lost":  {faults: []fault{lostButApplied}, posts: 2, lost: true},
		"done, key honoured":   {faults: []fault{lostButApplied}, posts: 2, honoured: true, lost: true},
		"not done, lost":       {faults: []fault{lostForGood}, posts: 2, lost: true},
		"refused":              {faults: []fault{refusal}, posts: 1, fails: "refused"},
		"lost, then refused":   {faults: []fault{lostButApplied, refusal}, posts: 2, fails: "unknown"},
		"lost, then 404":       {faults: []fault{lostButApplied, undone("404")}, posts: 2, fails: "unknown"},
		"lost again and again": {faults: []fault{lostForGood.forEver()}, posts: 5, fails: "unknown"},
		"without its secret":   {faults: []fault{withoutSecret}, posts: 1, fails: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, test.faults...)
			client := service.client(t, func(c *api.Config) { c.KeysHonoured = test.honoured })
			registration, err := client.RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com/v?token=abc", Events: []string{"*"}})
			if keys := service.keys(); len(keys) != test.posts || len(slices.Compact(keys)) != 1 {
				t.Errorf("requests with keys %q, want %d with one", keys, test.posts)
			}
			if got := kindOf(err); got != test.fails {
				t.Fatalf("%s (%v), want %s", got, err, test.fails)
			}
			if err != nil && (strings.Contains(err.Error(), "token") || transport.IsNotFound(err)) {
				t.Errorf("the error repeats the query, or seems final: %v", err)
			}
			registered := strings.HasPrefix(registration.ID, "wh_") && strings.HasPrefix(registration.Secret.Reveal(), "whsec_")
			if err == nil && (!registered || registration.How.LostResponse() != test.lost) {
				t.Errorf("%v", registration)
			}
		})
	}
}

// An error says what was tried on what, and what kind of change is left open.
func TestUndecidedChangesSayWhatWasTried(t *testing.T) {
	t.Parallel()
	for call, test := range map[string]struct {
		kind      transport.MutationKind
		operation string
	}{
		"issue":     {transport.MutationIssue, `issue a card on BIN bin_1 with label "ads"`},
		"fund":      {transport.MutationMove, "fund card card_1 with 5.00 USD"},
		"withdraw":  {transport.MutationMove, "withdraw 5.00 USD from card card_1"},
		"freeze":    {transport.MutationSetFrozen, "freeze card card_1"},
		"unfreeze":  {transport.MutationSetFrozen, "unfreeze card card_1"},
		"terminate": {transport.MutationTerminate, "terminate card card_1"},
		"register":  {transport.MutationRegister, "register webhook https://hooks.example.com"},
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			service := newService(t, lostForGood)
			card := api.CardListItem{Balance: start}
			if call == "unfreeze" {
				card.Status = api.StatusFrozen
			}
			service.add(card)
			err := try(t.Context(), service.client(t, onlyOneTry), call)
			undecided, ok := errors.AsType[*transport.UndecidedError](err)
			lost, isLost := errors.AsType[*transport.RequestError](err)
			if !ok || !isLost {
				t.Fatalf("%+v", err)
			}
			same(t, "undecided", []any{undecided.Kind, undecided.Operation, lost.Operation, lost.Method != ""}, fmt.Sprint([]any{test.kind, test.operation, test.operation, true}))
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

// After an interruption no attempt starts, with either setting. What was in flight is looked for
// once, and only a registration, which nothing shows, stays unknown.
func TestNoAttemptStartsAfterAnInterruption(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"issue", "fund", "withdraw", "freeze", "terminate", "register"} {
		for _, honoured := range []bool{false, true} {
			for made, arrives := range map[bool]fault{true: lostButApplied, false: lostForGood.forEver()} {
				t.Run(fmt.Sprintf("%s, keys honoured %t, made %t", call, honoured, made), func(t *testing.T) {
					t.Parallel()
					ctx, interrupt := context.WithCancel(t.Context())
					defer interrupt()
					service := newService(t, arrives)
					service.faults[0].before = interrupt
					service.add(api.CardListItem{BinID: "bin_1", Balance: start})
					err := try(ctx, service.client(t, func(c *api.Config) { c.KeysHonoured = honoured }), call)
					want := "unknown"
					if made && call != "register" {
						want = ""
					}
					if kindOf(err) != want || len(service.keys()) != 1 {
						t.Errorf("%v after %d requests, want %q", err, len(service.keys()), want)
					}
				})
			}
		}
	}
}

func TestNothingIsSentAfterAnInterruption(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, call := range []string{"read", "freeze", "terminate", "fund", "issue", "register"} {
		service := steps(respond(200, cardBody))
		err := try(ctx, newClient(t, service), call)
		if lost, ok := errors.AsType[*transport.RequestError](err); !errors.Is(err, context.Canceled) || ok && lost.Sent ||
			len(service.requests()) != 0 {
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
		must(t, client, "read")
		state, err := client.FreezeCard(t.Context(), "card_1")
		got := service.requests()
		same(t, name, []any{err, state.Status, len(got), got[len(got)-1].Method}, "[<nil> frozen 3 GET]")
		service.then(fails, good)
		if _, err := newClient(t, service, brief).GetCard(t.Context(), "card_1"); err != nil || len(service.requests()) != 2 {
			t.Errorf("%s: %v after %d requests", name, err, len(service.requests()))
		}
	}
}
