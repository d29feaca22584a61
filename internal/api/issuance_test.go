package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	lostButDone   = fate{commit: now, answer: "drop"}
	lostForGood   = fate{commit: never, answer: "drop"}
	beforeTheWait = fate{commit: 10 * time.Second, answer: "drop"}
	afterTheWait  = fate{commit: 45 * time.Second, answer: "drop"}
	refusal       = fate{commit: never, answer: "400"}
	works         = fate{}
)

func request(label string) api.IssueCardRequest {
	return api.IssueCardRequest{BinID: "bin_1", Amount: 50 * usd.Dollar, Label: label}
}

func TestIssueCardAcrossFailures(t *testing.T) {
	t.Parallel()
	conflict := fate{commit: never, answer: "409"}
	tests := map[string]struct {
		fates       []fate
		idempotency string // the default is both honoured and ignored
		cards       int    // in the account afterwards
		posts       int
		recovered   bool
		duplicates  int
		fails       string // "refused" or "unknown"
		candidates  int
	}{
		"it works":                          {fates: []fate{works}, cards: 1, posts: 1},
		"done, answer lost":                 {fates: []fate{lostButDone}, cards: 1, posts: 1, recovered: true},
		"done, answer cut off":              {fates: []fate{{answer: "truncate"}}, cards: 1, posts: 1, recovered: true},
		"done, answered 500":                {fates: []fate{{answer: "500"}}, cards: 1, posts: 1, recovered: true},
		"done, answered 307":                {fates: []fate{{answer: "307"}}, cards: 1, posts: 1, recovered: true},
		"done a little later":               {fates: []fate{beforeTheWait}, cards: 1, posts: 1, recovered: true},
		"not done, answer lost":             {fates: []fate{lostForGood, works}, cards: 1, posts: 2},
		"not done, 500, 503, 408":           {fates: []fate{{commit: never, answer: "500"}, {commit: never, answer: "503"}, {commit: never, answer: "408"}, works}, cards: 1, posts: 4},
		"not done, then done, answers lost": {fates: []fate{lostForGood, lostButDone}, cards: 1, posts: 2, recovered: true},
		"never done":                        {fates: []fate{lostForGood, lostForGood, lostForGood, lostForGood, lostForGood}, posts: 5, fails: "unknown"},
		"refused":                           {fates: []fate{refusal}, posts: 1, fails: "refused"},
		"refused for pace":                  {fates: []fate{{commit: never, answer: "429"}, works}, cards: 1, posts: 2},
		"lost, then refused for pace":       {fates: []fate{lostForGood, {commit: never, answer: "429"}, works}, cards: 1, posts: 3},
		"lost, then refused":                {fates: []fate{lostForGood, refusal}, posts: 2, fails: "refused"},
		"lost, then often for pace":         {fates: append([]fate{lostForGood}, slices.Repeat([]fate{{commit: never, answer: "429"}}, 9)...), cards: 1, posts: 11},
		"late and lost, then refused":       {fates: []fate{afterTheWait, refusal}, cards: 1, posts: 2, recovered: true},
		"conflict that passes":              {fates: []fate{conflict, works}, cards: 1, posts: 2},
		"conflict that stays":               {fates: []fate{conflict, conflict}, posts: 2, fails: "refused"},
		"late, key honoured":                {fates: []fate{afterTheWait, works}, idempotency: "honoured", cards: 1, posts: 2},
		"late, conflict while in flight":    {fates: []fate{afterTheWait, works}, idempotency: "conflict", cards: 1, posts: 2, recovered: true},
		"late, key ignored":                 {fates: []fate{afterTheWait, works}, idempotency: "ignored", cards: 2, posts: 2, duplicates: 1},
		"late, key ignored, both lost":      {fates: []fate{afterTheWait, lostButDone}, idempotency: "ignored", cards: 2, posts: 2, fails: "unknown", candidates: 2},
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
					bank := newBank(test.fates...)
					bank.idempotency = mode
					old := bank.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
					bank.add(api.CardListItem{BinID: "bin_1", Label: "other", Balance: 50 * usd.Dollar})
					if generated {
						old.Label = "of another time"
					}
					req := request("ads")
					req.GeneratedLabel = generated
					issuance, err := bank.client(t).IssueCard(t.Context(), req)

					if got := len(bank.balances()) - 2; got != test.cards {
						t.Errorf("%d cards were issued, want %d", got, test.cards)
					}
					keys := bank.keys()
					if len(keys) != test.posts || len(slices.Compact(keys)) != 1 || keys[0] == "" {
						t.Errorf("requests with keys %q, want %d with one key", keys, test.posts)
					}
					var unknown *api.UnknownOutcomeError
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
						issuance.Recovered != test.recovered, len(issuance.PossibleDuplicates) != test.duplicates:
						t.Errorf("got %+v", issuance)
					}
				})
			}
		}
	}
}

// Creates that look alike in a list end with a card each, whatever is lost.
func TestIssueCardsThatLookAlike(t *testing.T) {
	t.Parallel()
	for name, fates := range map[string][]fate{
		"none lost":        nil,
		"one lost":         {works, works, works, lostButDone},
		"many lost":        {lostButDone, lostForGood, lostButDone, lostForGood, lostButDone, works, beforeTheWait},
		"the first, late":  {afterTheWait},
		"all are lost":     {lostButDone, lostButDone, lostButDone, lostButDone, lostButDone, lostButDone, lostButDone, lostButDone},
		"half never comes": {lostForGood, works, lostForGood, works, lostForGood, works, lostForGood, works},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const cards = 8
			bank := newBank(fates...)
			bank.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
			client := bank.client(t)
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
			if got := len(bank.balances()) - 1; got != cards {
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
	bank := newBank(fate{answer: "drop", before: together}, fate{commit: never, answer: "drop", before: together})
	client := bank.client(t)
	var wg sync.WaitGroup
	for _, owner := range []string{"a", "b"} {
		wg.Go(func() {
			req := request("ads")
			req.Metadata = map[string]string{"owner": owner}
			_, err := client.IssueCard(t.Context(), req)
			if unknown, ok := errors.AsType[*api.UnknownOutcomeError](err); !ok || len(unknown.Candidates) != 1 {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	if len(bank.keys()) != 2 || len(bank.balances()) != 1 {
		t.Errorf("%d requests, %d cards", len(bank.keys()), len(bank.balances()))
	}
}

func TestIssueCardFindsItsCardBehindManyOthers(t *testing.T) {
	t.Parallel()
	bank := newBank()
	for range 130 {
		bank.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
	}
	client := bank.client(t)
	if _, err := client.IssueCard(t.Context(), request("first")); err != nil {
		t.Fatal(err)
	}
	bank.fates = []fate{{answer: "drop", before: func() {
		for range 250 {
			bank.add(api.CardListItem{BinID: "bin_1", Label: "of somebody else", Balance: 50 * usd.Dollar})
		}
	}}}
	issuance, err := client.IssueCard(t.Context(), request("ads"))
	if err != nil || !issuance.Recovered || issuance.Card.ID != "card_382" {
		t.Errorf("%+v, %v", issuance, err)
	}
}

func TestIssueCardAndInterruption(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fate             fate
		cards            int
		recovered, fails bool
	}{
		"the answer arrives":           {fate: works, cards: 1},
		"the answer is lost":           {fate: lostButDone, cards: 1, recovered: true},
		"nothing is issued":            {fate: lostForGood, fails: true},
		"refused for pace, not issued": {fate: fate{commit: never, answer: "429"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			test.fate.before = interrupt
			bank := newBank(test.fate)
			issuance, err := bank.client(t).IssueCard(ctx, request("ads"))
			if (err != nil) != test.fails || issuance.Recovered != test.recovered {
				t.Errorf("%+v, %v", issuance, err)
			}
			if len(bank.balances()) != test.cards || len(bank.keys()) != 1 {
				t.Errorf("%d cards after %d requests", len(bank.balances()), len(bank.keys()))
			}
		})
	}
	t.Run("before anything is sent", func(t *testing.T) {
		t.Parallel()
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		bank := newBank()
		if _, err := bank.client(t).IssueCard(ctx, request("ads")); !errors.Is(err, context.Canceled) || len(bank.keys()) != 0 {
			t.Errorf("%v after %d requests", err, len(bank.keys()))
		}
	})
}

// Only a new card of this label and this load is taken.
func TestIssueCardTakesNobodyElsesCard(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, meanwhile []api.CardListItem
		limit             usd.Amount
		fails             bool
	}{
		"of another label": {meanwhile: []api.CardListItem{{BinID: "bin_1", Label: "adS", Balance: 50 * usd.Dollar}}},
		"of another load":  {meanwhile: []api.CardListItem{{BinID: "bin_1", Label: "ads", Balance: 50*usd.Dollar + 1}}},
		"of another limit": {limit: 70 * usd.Dollar, meanwhile: []api.CardListItem{{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar, SpendingLimit: 80 * usd.Dollar}}},
		"of another BIN":   {meanwhile: []api.CardListItem{{BinID: "bin_2", Label: "ads", Balance: 50 * usd.Dollar}}},
		"from before":      {before: []api.CardListItem{{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bank := newBank()
			for _, card := range test.before {
				bank.add(card)
			}
			lost := lostForGood
			lost.before = func() {
				for _, card := range test.meanwhile {
					bank.add(card)
				}
			}
			bank.fates = []fate{lost, works}
			req := request("ads")
			if test.limit > 0 {
				req.SpendingLimit = &test.limit
			}
			issuance, err := bank.client(t).IssueCard(t.Context(), req)
			if err != nil || issuance.Recovered || issuance.Card.ID != "card_2" || len(issuance.PossibleDuplicates) > 0 {
				t.Errorf("%+v, %v", issuance, err)
			}
		})
	}
}

// Cards from before that are no longer listed leave no border between old and
// new ones, and a card with a written label could be an old one.
func TestIssueCardStopsWhenItCannotTellNewFromOld(t *testing.T) {
	t.Parallel()
	bank := newBank()
	for range 130 {
		bank.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
	}
	lost := lostForGood
	lost.before = func() {
		bank.mu.Lock()
		defer bank.mu.Unlock()
		bank.cards = bank.cards[:1]
	}
	bank.fates = []fate{lost, works}
	_, err := bank.client(t).IssueCard(t.Context(), request("ads"))
	if kindOf(err) != "unknown" || len(bank.keys()) != 1 {
		t.Errorf("%v after %d requests", err, len(bank.keys()))
	}
}

func TestIssueCardReadsTheNewestCardsOnce(t *testing.T) {
	t.Parallel()
	bank := newBank()
	reads := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			reads++
		}
		bank.ServeHTTP(w, r)
	})
	client := newClient(t, handler)
	for range 3 {
		if _, err := client.IssueCard(t.Context(), request("ads")); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 {
		t.Errorf("%d reads for three cards, want 1", reads)
	}
}
