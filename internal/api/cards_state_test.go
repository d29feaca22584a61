package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestCardStateAcrossFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		was    api.CardStatus
		faults []fault
		wanted api.CardStatus
		below  usd.Amount // threshold of auto-freeze
		posts  int
		ends   api.CardStatus
		fails  string // "refused", "unknown" or "not found"
		waits  bool
	}{
		"freeze":                               {was: api.StatusActive, faults: []fault{works}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusFrozen},
		"freeze a frozen card":                 {was: api.StatusFrozen, faults: []fault{refusal}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusFrozen},
		"freeze a frozen card, 409":            {was: api.StatusFrozen, faults: []fault{{commit: never, response: "409"}}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusFrozen},
		"freeze refused":                       {was: api.StatusActive, faults: []fault{refusal}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusActive, fails: "refused"},
		"freeze, 409 that passes":              {was: api.StatusActive, faults: []fault{{commit: never, response: "409"}, works}, wanted: api.StatusFrozen, posts: 2, ends: api.StatusFrozen, waits: true},
		"freeze a terminated card":             {was: api.StatusTerminated, faults: []fault{works}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusTerminated, fails: "refused"},
		"freeze a terminated card, 409":        {was: api.StatusTerminated, faults: []fault{{commit: never, response: "409"}}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusTerminated, fails: "refused"},
		"freeze done, response lost":           {was: api.StatusActive, faults: []fault{lostButApplied}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusFrozen, waits: true},
		"freeze not done, lost":                {was: api.StatusActive, faults: []fault{lostForGood, works}, wanted: api.StatusFrozen, posts: 2, ends: api.StatusFrozen, waits: true},
		"freeze never done":                    {was: api.StatusActive, faults: []fault{lostForGood, lostForGood, lostForGood, lostForGood, lostForGood}, wanted: api.StatusFrozen, posts: 5, ends: api.StatusActive, fails: "unknown", waits: true},
		"unfreeze":                             {was: api.StatusFrozen, faults: []fault{works}, wanted: api.StatusActive, posts: 1, ends: api.StatusActive},
		"unfreeze an active card":              {was: api.StatusActive, faults: []fault{refusal}, wanted: api.StatusActive, posts: 1, ends: api.StatusActive},
		"unfreeze done, response lost":         {was: api.StatusFrozen, faults: []fault{lostButApplied}, wanted: api.StatusActive, posts: 1, ends: api.StatusActive, waits: true},
		"unfreeze lost, frozen by the service": {was: api.StatusFrozen, faults: []fault{lostForGood}, wanted: api.StatusActive, below: start + 1, posts: 1, ends: api.StatusFrozen, waits: true},
		"unfreeze lost, balance suffices":      {was: api.StatusFrozen, faults: []fault{lostForGood, works}, wanted: api.StatusActive, below: start, posts: 2, ends: api.StatusActive, waits: true},
		"unfreeze refused below the threshold": {was: api.StatusFrozen, faults: []fault{refusal}, wanted: api.StatusActive, below: start + 1, posts: 1, ends: api.StatusFrozen, fails: "refused"},
		"terminate":                            {was: api.StatusActive, faults: []fault{works}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusTerminated},
		"terminate again":                      {was: api.StatusTerminated, faults: []fault{works}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusTerminated},
		"terminate again, 404":                 {was: api.StatusTerminated, faults: []fault{{commit: never, response: "404"}}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusTerminated},
		"terminate again, 409":                 {was: api.StatusTerminated, faults: []fault{{commit: never, response: "409"}}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusTerminated},
		"terminate again, 422":                 {was: api.StatusTerminated, faults: []fault{{commit: never, response: "422"}}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusTerminated},
		"terminate done, lost":                 {was: api.StatusActive, faults: []fault{lostButApplied}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusTerminated, waits: true},
		"terminate not done, lost":             {was: api.StatusFrozen, faults: []fault{{commit: never, response: "500"}, works}, wanted: api.StatusTerminated, posts: 2, ends: api.StatusTerminated, waits: true},
		"terminate refused":                    {was: api.StatusActive, faults: []fault{refusal}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusActive, fails: "refused"},
		"freeze, a gateway's 404":              {was: api.StatusActive, faults: []fault{{response: "404", html: true}}, wanted: api.StatusFrozen, posts: 1, ends: api.StatusFrozen},
		"freeze, a gateway's 404, not done":    {was: api.StatusActive, faults: []fault{{commit: never, response: "404", html: true}, works}, wanted: api.StatusFrozen, posts: 2, ends: api.StatusFrozen, waits: true},
		"terminate, a gateway's 404, not done": {was: api.StatusActive, faults: []fault{{commit: never, response: "404", html: true}, works}, wanted: api.StatusTerminated, posts: 2, ends: api.StatusTerminated, waits: true},
		"terminate what is not there":          {faults: []fault{works}, wanted: api.StatusTerminated, posts: 1, fails: "not found"},
		"terminate what is not there, 500":     {faults: []fault{{commit: never, response: "500"}}, wanted: api.StatusTerminated, posts: 1, fails: "not found", waits: true},
		"freeze what is not there":             {faults: []fault{works}, wanted: api.StatusFrozen, posts: 1, fails: "not found"},
		"terminate with a bad key":             {was: api.StatusActive, faults: []fault{{commit: never, response: "401"}}, wanted: api.StatusTerminated, posts: 1, ends: api.StatusActive, fails: "refused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(test.faults...)
			id := "card_1"
			if test.was != "" {
				service.add(api.CardListItem{Balance: start}).Status = test.was
			}
			client := service.client(t)
			status, delay, err := change(t, client, id, test.wanted, test.below)

			if n := len(service.keys()); n != test.posts {
				t.Errorf("%d requests, want %d", n, test.posts)
			}
			if test.was != "" && service.cards[0].Status != test.ends {
				t.Errorf("the card is %s, want %s", service.cards[0].Status, test.ends)
			}
			if waited := service.clock.total() > 0; waited != test.waits {
				t.Errorf("waited %s, want waiting %t", service.clock.total(), test.waits)
			}
			if err == nil && (delay != nil) != test.waits {
				t.Errorf("the delay is %+v", delay)
			}
			if got := kindOf(err); got != test.fails || err == nil && status != test.ends {
				t.Errorf("ended %s with %q (%v), want %s with %q", status, got, err, test.ends, test.fails)
			}
		})
	}
}

// kindOf sorts the errors of a change.
func kindOf(err error) string {
	_, unknown := errors.AsType[*api.UndecidedError](err)
	switch {
	case err == nil:
		return ""
	case unknown:
		return "unknown"
	case api.IsNotFound(err):
		return "not found"
	}
	return "refused"
}

func change(t *testing.T, client *api.Client, id string, wanted api.CardStatus, below usd.Amount) (api.CardStatus, *api.Delay, error) {
	t.Helper()
	if wanted == api.StatusTerminated {
		result, err := client.TerminateCard(t.Context(), id)
		return result.Status, result.Delay, err
	}
	var state api.CardState
	var err error
	switch {
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
	return state.Status, state.Delay, err
}

func TestTerminationTellsWhatItKnows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault fault
		was   api.CardStatus
		want  api.Termination
	}{
		"the response came":    {works, api.StatusActive, api.Termination{ReturnedToWallet: start}},
		"the response is lost": {lostButApplied, api.StatusActive, api.Termination{Recovered: true}},
		"it was sent again":    {lostForGood, api.StatusActive, api.Termination{ReturnedToWallet: start}},
		"it was terminated":    {works, api.StatusTerminated, api.Termination{AlreadyTerminated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(test.fault)
			service.add(api.CardListItem{Balance: start}).Status = test.was
			test.want.ID, test.want.Status = "card_1", api.StatusTerminated
			got, err := service.client(t).TerminateCard(t.Context(), "card_1")
			if (got.Delay != nil) != leavesOpen(test.fault) {
				t.Errorf("the delay is %+v", got.Delay)
			}
			got.Delay = nil
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func TestRegisterWebhookAcrossFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults    []fault
		posts     int
		duplicate bool
		fails     string
	}{
		"it works":             {faults: []fault{works}, posts: 1},
		"done, response lost":  {faults: []fault{lostButApplied, works}, posts: 2, duplicate: true},
		"not done, lost":       {faults: []fault{lostForGood, works}, posts: 2, duplicate: true},
		"refused":              {faults: []fault{refusal}, posts: 1, fails: "refused"},
		"lost, then refused":   {faults: []fault{lostButApplied, refusal}, posts: 2, fails: "unknown"},
		"lost, then 404":       {faults: []fault{lostButApplied, {commit: never, response: "404"}}, posts: 2, fails: "unknown"},
		"lost again and again": {faults: []fault{lostForGood, lostForGood, lostForGood, lostForGood, lostForGood}, posts: 5, fails: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(test.faults...)
			registration, err := service.client(t).RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com/v?token=abc", Events: []string{"*"}})
			if n := len(service.keys()); n != test.posts {
				t.Errorf("%d requests, want %d", n, test.posts)
			}
			switch {
			case test.fails == "":
				if err != nil || registration.ID != "wh_1" || registration.Secret != "whsec_x" || registration.MayHaveDuplicate != test.duplicate {
					t.Errorf("%v, %v", registration, err)
				}
			case kindOf(err) != test.fails, api.IsNotFound(err):
				t.Errorf("error %v, want %s", err, test.fails)
			case strings.Contains(err.Error(), "token"):
				t.Errorf("the error repeats the query: %v", err)
			}
			for _, key := range service.keys() {
				if key != service.keys()[0] {
					t.Errorf("keys %q", service.keys())
				}
			}
		})
	}
}

// An error says what was tried on what, and what kind of change is left open.
func TestUndecidedChangesSayWhatWasTried(t *testing.T) {
	t.Parallel()
	for operation, test := range map[string]struct {
		kind api.MutationKind
		call func(context.Context, *api.Client) error
	}{
		`issue a card on BIN bin_1 with label "ads"`: {api.MutationIssue, func(ctx context.Context, c *api.Client) error {
			_, err := c.IssueCard(ctx, request("ads"))
			return err
		}},
		"fund card card_1 with 5.00 USD": {api.MutationMove, func(ctx context.Context, c *api.Client) error {
			_, err := c.Move(ctx, move("card_1", step, nil))
			return err
		}},
		"withdraw 5.00 USD from card card_1": {api.MutationMove, func(ctx context.Context, c *api.Client) error {
			_, err := c.Move(ctx, move("card_1", -step, nil))
			return err
		}},
		"freeze card card_1": {api.MutationSetFrozen, func(ctx context.Context, c *api.Client) error {
			_, err := c.FreezeCard(ctx, "card_1")
			return err
		}},
		"unfreeze card card_2": {api.MutationSetFrozen, func(ctx context.Context, c *api.Client) error {
			_, err := c.UnfreezeCard(ctx, "card_2", nil)
			return err
		}},
		"terminate card card_1": {api.MutationTerminate, func(ctx context.Context, c *api.Client) error {
			_, err := c.TerminateCard(ctx, "card_1")
			return err
		}},
		"register webhook https://hooks.example.com": {api.MutationRegister, func(ctx context.Context, c *api.Client) error {
			_, err := c.RegisterWebhook(ctx, api.WebhookRequest{URL: "https://hooks.example.com/v"})
			return err
		}},
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(lostForGood)
			service.add(api.CardListItem{Balance: start})
			service.add(api.CardListItem{Balance: start}).Status = api.StatusFrozen
			err := test.call(t.Context(), service.client(t, func(c *api.Config) { c.MaxRetries = 0 }))
			undecided, ok := errors.AsType[*api.UndecidedError](err)
			if !ok || undecided.Kind != test.kind || undecided.Operation != operation || undecided.Attempts != 1 {
				t.Fatalf("%+v", err)
			}
			if lost, ok := errors.AsType[*api.RequestError](err); !ok || lost.Operation != operation || lost.Method == "" || !strings.HasPrefix(err.Error(), operation+": ") || strings.Contains(lost.Error(), "attempts") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A response without the secret would come again with the next endpoint.
func TestRegisterWebhookWithoutSecret(t *testing.T) {
	t.Parallel()
	service := &script{steps: []http.HandlerFunc{respond(201, `{"id":"wh_1","url":"https://hooks.example.com","events":["*"]}`)}}
	_, err := newClient(t, service).RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com", Events: []string{"*"}})
	if n := len(service.requests()); n != 1 || kindOf(err) != "unknown" || !strings.Contains(err.Error(), "secret") {
		t.Errorf("after %d requests: %v", n, err)
	}
}

// slowService answers each request after a time, and breaks off the responses to
// those that change something.
type slowService struct {
	takes    time.Duration
	requests int
}

func (s *slowService) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests++
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if r.Method == http.MethodPost {
		return nil, io.ErrUnexpectedEOF
	}
	recorder := httptest.NewRecorder()
	_, _ = recorder.WriteString(strings.Replace(cardBody, "active", "frozen", 1))
	return recorder.Result(), nil
}

// Both the attempt and the verification may take all the time that a request may take.
func TestInterruptionLeavesTimeToLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &slowService{takes: 29 * time.Second}
		client, err := api.New(api.Config{
			BaseURL: "https://cards.example.com/api/v1", APIKey: testKey, Transport: service,
			RequestTimeout: 30 * time.Second, CommitWait: 30 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		state, err := client.FreezeCard(ctx, "card_1")
		if err != nil || state.Status != api.StatusFrozen || service.requests != 2 {
			t.Errorf("%+v, %v after %d requests", state, err, service.requests)
		}
	})
}

func TestNothingIsSentAfterAnInterruption(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for name, call := range map[string]func(*api.Client) error{
		"read":      func(c *api.Client) error { _, err := c.GetCard(ctx, "card_1"); return err },
		"freeze":    func(c *api.Client) error { _, err := c.FreezeCard(ctx, "card_1"); return err },
		"terminate": func(c *api.Client) error { _, err := c.TerminateCard(ctx, "card_1"); return err },
		"fund":      func(c *api.Client) error { _, err := c.Move(ctx, move("card_1", step, nil)); return err },
		"register": func(c *api.Client) error {
			_, err := c.RegisterWebhook(ctx, api.WebhookRequest{URL: "https://hooks.example.com", Events: []string{"*"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &script{steps: []http.HandlerFunc{respond(200, cardBody)}}
			err := call(newClient(t, service))
			if lost, ok := errors.AsType[*api.RequestError](err); !errors.Is(err, context.Canceled) || ok && lost.Sent || len(service.requests()) != 0 {
				t.Errorf("%v after %d requests", err, len(service.requests()))
			}
		})
	}
}

// A connection that breaks when it is used again tempts net/http to repeat a
// request on its own; only the client may, after it has looked.
func TestNothingIsSentAgainBehindTheClient(t *testing.T) {
	t.Parallel()
	service := &script{steps: []http.HandlerFunc{
		respond(200, cardBody), // leaves a connection to be used again
		drop,
		respond(200, strings.Replace(cardBody, "active", "frozen", 1)),
	}}
	client := newClient(t, service)
	if _, err := client.GetCard(t.Context(), "card_1"); err != nil {
		t.Fatal(err)
	}
	state, err := client.FreezeCard(t.Context(), "card_1")
	got := service.requests()
	if err != nil || state.Status != api.StatusFrozen || len(got) != 3 || got[2].Method != http.MethodGet {
		t.Errorf("%+v, %v after %d requests", state, err, len(got))
	}
}
