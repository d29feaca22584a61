package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	lostButApplied = fault{commit: now, response: "drop"}
	lostForGood    = fault{commit: never, response: "drop"}
	beforeTheWait  = fault{commit: 10 * time.Second, response: "drop"}
	afterTheWait   = fault{commit: 45 * time.Second, response: "drop"}
	afterTheLooks  = fault{commit: 75 * time.Second, response: "drop"} // at the lists of cards
	refusal        = fault{commit: never, response: "400"}
	works          = fault{}
)

func request(label string) api.IssueCardRequest {
	return api.IssueCardRequest{BinID: "bin_1", Amount: 50 * usd.Dollar, Label: label}
}

// leavesOpen reports whether a response leaves it open what became of the request.
func leavesOpen(f fault) bool { return f.response != "" && f.response != "400" && f.response != "429" }

func TestIssueCardAcrossFailures(t *testing.T) {
	t.Parallel()
	conflict := fault{commit: never, response: "409"}
	tests := map[string]struct {
		faults      []fault
		idempotency string // the default is both honoured and ignored
		cards       int    // in the account afterwards
		posts       int
		recovered   bool
		duplicates  int
		fails       string // "refused" or "unknown"
		candidates  int
	}{
		"it works":                            {faults: []fault{works}, cards: 1, posts: 1},
		"done, response lost":                 {faults: []fault{lostButApplied}, cards: 1, posts: 1, recovered: true},
		"done, response cut off":              {faults: []fault{{response: "truncate"}}, cards: 1, posts: 1, recovered: true},
		"done, answered 500":                  {faults: []fault{{response: "500"}}, cards: 1, posts: 1, recovered: true},
		"done, answered 307":                  {faults: []fault{{response: "307"}}, cards: 1, posts: 1, recovered: true},
		"done a little later":                 {faults: []fault{beforeTheWait}, cards: 1, posts: 1, recovered: true},
		"not done, response lost":             {faults: []fault{lostForGood, works}, cards: 1, posts: 2},
		"not done, 500, 503, 408":             {faults: []fault{{commit: never, response: "500"}, {commit: never, response: "503"}, {commit: never, response: "408"}, works}, cards: 1, posts: 4},
		"not done, then done, responses lost": {faults: []fault{lostForGood, lostButApplied}, cards: 1, posts: 2, recovered: true},
		"never done":                          {faults: []fault{lostForGood, lostForGood, lostForGood, lostForGood, lostForGood}, posts: 5, fails: "unknown"},
		"refused":                             {faults: []fault{refusal}, posts: 1, fails: "refused"},
		"refused for pace":                    {faults: []fault{{commit: never, response: "429"}, works}, cards: 1, posts: 2},
		"lost, then refused for pace":         {faults: []fault{lostForGood, {commit: never, response: "429"}, works}, cards: 1, posts: 3},
		"lost, then refused":                  {faults: []fault{lostForGood, refusal}, posts: 2, fails: "refused"},
		"lost, then often for pace":           {faults: append([]fault{lostForGood}, slices.Repeat([]fault{{commit: never, response: "429"}}, 9)...), cards: 1, posts: 11},
		"late and lost, then refused":         {faults: []fault{afterTheLooks, refusal}, cards: 1, posts: 2, recovered: true},
		"conflict that passes":                {faults: []fault{conflict, works}, cards: 1, posts: 2},
		"conflict that stays":                 {faults: []fault{conflict, conflict}, posts: 2, fails: "refused"},
		"listed after the wait":               {faults: []fault{afterTheWait}, cards: 1, posts: 1, recovered: true},
		"done, a gateway's 403":               {faults: []fault{{response: "403", html: true}}, cards: 1, posts: 1, recovered: true},
		"done, a gateway's 404":               {faults: []fault{{response: "404", html: true}}, cards: 1, posts: 1, recovered: true},
		"a gateway that stays":                {faults: slices.Repeat([]fault{{commit: never, response: "403", html: true}}, 5), posts: 5, fails: "unknown"},
		"late, key honoured":                  {faults: []fault{afterTheLooks, works}, idempotency: "honoured", cards: 1, posts: 2},
		"late, conflict while in flight":      {faults: []fault{afterTheLooks, works}, idempotency: "conflict", cards: 1, posts: 2, recovered: true},
		"late, key ignored":                   {faults: []fault{afterTheLooks, works}, idempotency: "ignored", cards: 2, posts: 2, duplicates: 1},
		"late, key ignored, both lost":        {faults: []fault{afterTheLooks, lostButApplied}, idempotency: "ignored", cards: 2, posts: 2, fails: "unknown", candidates: 2},
	}
	for name, test := range tests {
		modes := []string{"honoured", "ignored"}
		if test.idempotency != "" {
			modes = []string{test.idempotency}
		}
		for _, mode := range modes {
			for _, generated := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, key %s, generated label %t", name, mode, generated), func(t *testing.T) {
					t.Parallel()
					service := newFakeService(test.faults...)
					service.idempotency = mode
					old := service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
					service.add(api.CardListItem{BinID: "bin_1", Label: "other", Balance: 50 * usd.Dollar})
					if generated {
						old.Label = "of another time"
					}
					req := request("ads")
					req.GeneratedLabel = generated
					issuance, err := service.client(t).IssueCard(t.Context(), req)

					if got := len(service.balances()) - 2; got != test.cards {
						t.Errorf("%d cards were issued, want %d", got, test.cards)
					}
					keys := service.keys()
					if len(keys) != test.posts || len(slices.Compact(keys)) != 1 || keys[0] == "" {
						t.Errorf("requests with keys %q, want %d with one key", keys, test.posts)
					}
					var unknown *api.UndecidedError
					var refused *api.Error
					isUnknown := errors.As(err, &unknown)
					switch {
					case test.fails == "unknown":
						if !isUnknown || len(unknown.Candidates) != test.candidates {
							t.Errorf("error %v, want an unknown outcome with %d candidates", err, test.candidates)
						}
					case test.fails == "refused":
						if isUnknown || !errors.As(err, &refused) {
							t.Errorf("error %v, want a refusal", err)
						}
					case err != nil:
						t.Error(err)
					case issuance.Card.ID == "card_1", issuance.Card.ID == "card_2", issuance.Card.CreatedAt == "",
						issuance.Recovered != test.recovered, issuance.Adopted != (test.recovered && !generated),
						len(issuance.PossibleDuplicates) != test.duplicates, (issuance.Delay != nil) != slices.ContainsFunc(test.faults, leavesOpen):
						t.Errorf("got %+v", issuance)
					}
				})
			}
		}
	}
}

// A gateway's 404 after a lost response is no answer of the service.
func TestIssueCardAndGatewayAfterLostResponse(t *testing.T) {
	t.Parallel()
	service := newFakeService(lostButApplied)
	posts := 0
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if posts++; posts == 2 {
				respond(http.StatusNotFound, "<html>404</html>")(w, r)
				return
			}
		}
		service.ServeHTTP(w, r)
	}), on(service.clock), func(c *api.Config) { c.KeysHonoured = true })
	issuance, err := client.IssueCard(t.Context(), request("ads"))
	if err != nil || issuance.Card.ID != "card_1" || len(service.balances()) != 1 {
		t.Errorf("%+v, %v, %d cards", issuance, err, len(service.balances()))
	}
}

// What looks like a card is no duplicate of it where its request took effect once.
func TestIssueCardBesideOneThatLooksLikeIt(t *testing.T) {
	t.Parallel()
	for _, first := range []fault{{commit: never, response: "429"}, lostForGood} {
		service := newFakeService()
		first.before = func() { service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar}) }
		service.faults = []fault{first}
		client := service.client(t, func(c *api.Config) { c.KeysHonoured = first.response != "429" })
		issuance, err := client.IssueCard(t.Context(), request("ads"))
		if err != nil || issuance.Card.ID != "card_2" || len(issuance.PossibleDuplicates) > 0 {
			t.Errorf("%s: %+v, %v", first.response, issuance, err)
		}
	}
}

// A response about a card that was there before is an earlier one.
func TestIssueCardAndEarlierResponse(t *testing.T) {
	t.Parallel()
	for _, honoured := range []bool{false, true} {
		service := newFakeService()
		old := service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
		body, err := json.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		posts := 0
		client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				if posts++; posts == 1 {
					respond(http.StatusCreated, string(body))(w, r)
					return
				}
			}
			service.ServeHTTP(w, r)
		}), on(service.clock), func(c *api.Config) { c.KeysHonoured = honoured })
		issuance, err := client.IssueCard(t.Context(), request("ads"))
		if err != nil || issuance.Card.ID == old.ID || len(service.balances()) != 2 {
			t.Errorf("keys honoured %t: %+v, %v, %d cards", honoured, issuance, err, len(service.balances()))
		}
	}
}

// A refusal, as a gateway may make it up, hides no card that nobody else can have.
func TestIssueCardThatIsRefusedAndIssued(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"400", "403"} {
		service := newFakeService(fault{response: status, code: "forbidden"})
		req := request("tf-1")
		req.GeneratedLabel = true
		issuance, err := service.client(t).IssueCard(t.Context(), req)
		if err != nil || !issuance.Recovered || issuance.Card.ID != "card_1" || len(service.keys()) != 1 || service.clock.total() > 0 {
			t.Errorf("%s: %+v, %v", status, issuance, err)
		}
	}
}

// A response about another card of this run hides one that is there, or none.
func TestIssueCardAndAnothersResponse(t *testing.T) {
	t.Parallel()
	for _, honoured := range []bool{false, true} {
		for _, processed := range []bool{false, true} {
			service := newFakeService()
			var answers []*httptest.ResponseRecorder
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					service.ServeHTTP(w, r)
					return
				}
				answer := httptest.NewRecorder()
				if len(answers) != 1 || processed {
					service.ServeHTTP(answer, r)
				}
				if answers = append(answers, answer); len(answers) == 2 {
					answer = answers[0]
				}
				w.Header().Set("Date", service.clock.Now().UTC().Format(http.TimeFormat))
				respond(answer.Code, answer.Body.String())(w, r)
			}), on(service.clock), func(c *api.Config) { c.KeysHonoured = honoured })
			for n, label := range []string{"ads", "software"} {
				issuance, err := client.IssueCard(t.Context(), request(label))
				if err != nil || issuance.Card.Label != label || len(service.balances()) != n+1 || issuance.Recovered != (processed && n == 1) {
					t.Errorf("keys honoured %t, processed %t: %+v, %v, %d cards", honoured, processed, issuance, err, len(service.balances()))
				}
			}
		}
	}
}

// Creates that look alike in a list end with a card each, whatever is lost.
func TestIssueCardsThatLookAlike(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"none lost":        nil,
		"one lost":         {works, works, works, lostButApplied},
		"many lost":        {lostButApplied, lostForGood, lostButApplied, lostForGood, lostButApplied, works, beforeTheWait},
		"the first, late":  {afterTheLooks},
		"all are lost":     {lostButApplied, lostButApplied, lostButApplied, lostButApplied, lostButApplied, lostButApplied, lostButApplied, lostButApplied},
		"half never comes": {lostForGood, works, lostForGood, works, lostForGood, works, lostForGood, works},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const cards = 8
			service := newFakeService(faults...)
			service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
			client := service.client(t)
			ids := make([]string, cards)
			var wg sync.WaitGroup
			for i := range cards {
				wg.Go(func() {
					issuance, err := client.IssueCard(t.Context(), request("ads"))
					if err != nil || len(issuance.PossibleDuplicates) > 0 {
						t.Errorf("%+v, %v", issuance, err)
					}
					ids[i] = issuance.Card.ID
				})
			}
			wg.Wait()
			slices.Sort(ids)
			if len(slices.Compact(ids)) != cards || ids[0] == "card_1" {
				t.Errorf("the creates ended with %q", ids)
			}
			if got := len(service.balances()) - 1; got != cards {
				t.Errorf("%d cards were issued, want %d", got, cards)
			}
		})
	}
}

// Cards that look alike in a list but were asked for with other properties must
// not be taken for one another.
func TestIssueCardStopsBetweenDifferentCardsThatLookAlike(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	together := func() { both.Done(); both.Wait() }
	service := newFakeService(fault{response: "drop", before: together}, fault{commit: never, response: "drop", before: together})
	client := service.client(t)
	var wg sync.WaitGroup
	for _, owner := range []string{"a", "b"} {
		wg.Go(func() {
			req := request("ads")
			req.Metadata = map[string]string{"owner": owner}
			_, err := client.IssueCard(t.Context(), req)
			if unknown, ok := errors.AsType[*api.UndecidedError](err); !ok || len(unknown.Candidates) != 1 {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	if len(service.keys()) != 2 || len(service.balances()) != 1 {
		t.Errorf("%d requests, %d cards", len(service.keys()), len(service.balances()))
	}
}

// A card that comes late may be that of an issuance that is still reconciled,
// so only the last of them names what is left over.
func TestIssueCardNamesNoRivalsCardAsDuplicate(t *testing.T) {
	t.Parallel()
	for name, owners := range map[string][]string{"alike": {"a", "a"}, "with other properties": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Both are on their way together, and the late one is lost before the other.
			second, lost := make(chan struct{}), make(chan struct{})
			late := fault{commit: 140 * time.Second, response: "drop", before: func() { <-second }}
			other := fault{commit: never, response: "drop", before: func() { close(second); <-lost }}
			service := newFakeService(late, other)
			service.idempotency = "ignored"
			var first sync.Once
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					defer first.Do(func() { close(lost) })
				}
				service.ServeHTTP(w, r)
			}), on(service.clock))
			issuances := make([]api.Issuance, 2)
			var wg sync.WaitGroup
			for i, owner := range owners {
				wg.Go(func() {
					req := request("ads")
					req.Metadata = map[string]string{"owner": owner}
					var err error
					if issuances[i], err = client.IssueCard(t.Context(), req); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			ids := []string{issuances[0].Card.ID, issuances[1].Card.ID}
			for _, issuance := range issuances {
				for _, duplicate := range issuance.PossibleDuplicates {
					ids = append(ids, duplicate.ID)
				}
			}
			slices.Sort(ids)
			if !slices.Equal(ids, []string{"card_1", "card_2", "card_3"}) {
				t.Errorf("got %+v, want each of three cards once", issuances)
			}
		})
	}
}

func TestIssueCardFindsItsCardBehindManyOthers(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	for range 130 {
		service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
	}
	client := service.client(t)
	if _, err := client.IssueCard(t.Context(), request("first")); err != nil {
		t.Fatal(err)
	}
	service.faults = []fault{{response: "drop", before: func() {
		for range 250 {
			service.add(api.CardListItem{BinID: "bin_1", Label: "of somebody else", Balance: 50 * usd.Dollar})
		}
	}}}
	issuance, err := client.IssueCard(t.Context(), request("ads"))
	if err != nil || !issuance.Recovered || issuance.Card.ID != "card_382" {
		t.Errorf("%+v, %v", issuance, err)
	}
}

// The cards of this run that a list lacks can be nobody else's: none is read to
// find one whose response was lost, and none of them keeps it from being found.
func TestIssueCardFindsItsCardWhateverBecameOfOthers(t *testing.T) {
	t.Parallel()
	service := newFakeService(works, works, works, lostButApplied)
	client := service.client(t)
	reads := 0
	for n := range 3 {
		other := request("ads")
		other.BinID = "bin_2"
		if _, err := client.IssueCard(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		service.hooks[fmt.Sprintf("/cards/card_%d", n+1)] = func(w http.ResponseWriter, _ *http.Request) {
			reads++
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	mine := request("generated")
	mine.GeneratedLabel = true
	issuance, err := client.IssueCard(t.Context(), mine)
	if err != nil || issuance.Card.ID != "card_4" || !issuance.Recovered || reads > 0 {
		t.Errorf("%+v, %v after %d reads of other cards", issuance, err, reads)
	}
}

func TestIssueCardAndInterruption(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault            fault
		cards            int
		recovered, fails bool
	}{
		"the response arrives":         {fault: works, cards: 1},
		"the response is lost":         {fault: lostButApplied, cards: 1, recovered: true},
		"nothing is issued":            {fault: lostForGood, fails: true},
		"refused for pace, not issued": {fault: fault{commit: never, response: "429"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			test.fault.before = interrupt
			service := newFakeService(test.fault)
			issuance, err := service.client(t).IssueCard(ctx, request("ads"))
			if (err != nil) != test.fails || issuance.Recovered != test.recovered || err == nil && issuance.Card.CreatedAt == "" {
				t.Errorf("%+v, %v", issuance, err)
			}
			if len(service.balances()) != test.cards || len(service.keys()) != 1 {
				t.Errorf("%d cards after %d requests", len(service.balances()), len(service.keys()))
			}
		})
	}
	t.Run("a second card is left over", func(t *testing.T) {
		t.Parallel()
		ctx, interrupt := context.WithCancel(t.Context())
		service := newFakeService(afterTheLooks, fault{before: interrupt})
		service.idempotency = "ignored"
		issuance, err := service.client(t).IssueCard(ctx, request("ads"))
		if err != nil || len(issuance.PossibleDuplicates) != 1 {
			t.Errorf("%+v, %v", issuance, err)
		}
	})
	t.Run("before anything is sent", func(t *testing.T) {
		t.Parallel()
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		service := newFakeService()
		if _, err := service.client(t).IssueCard(ctx, request("ads")); !errors.Is(err, context.Canceled) || len(service.keys()) != 0 {
			t.Errorf("%v after %d requests", err, len(service.keys()))
		}
	})
}
