package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// toldOf says in the words of the tables how an issuance ended.
func toldOf(issuance api.Issuance, err error) string {
	text := "issued " + issuance.Card.ID
	open, isOpen := errors.AsType[*transport.UndecidedError](err)
	switch {
	case isOpen:
		text = fmt.Sprintf("unknown, %d candidates", len(open.Candidates))
	case err != nil:
		text = kindOf(err)
	case issuance.How == api.Found:
		text = "found " + issuance.Card.ID
	}
	for _, duplicate := range issuance.PossibleDuplicates {
		text += ", and " + duplicate.ID
	}
	return text
}

// alike is the card of request("ads") as another's.
func alike() api.CardListItem {
	return api.CardListItem{BinID: "bin_1", Label: asLabel("ads"), Balance: 50 * usd.Dollar}
}

func TestIssueCardAcrossFailures(t *testing.T) {
	t.Parallel()
	// Two cards are there before.
	const issued, found, refused, unknown, open = "issued card_3", "found card_3", "refused", "unknown, 0 candidates", "unknown, 1 candidates"
	tests := map[string]struct {
		faults      []fault
		idempotency string // the default is both honoured and ignored
		fee         usd.Amount
		books       time.Duration
		cards       int // in the account afterwards; 0 is as the end says
		posts       int // 0 is one for each fault
		ends        string
		written     string // the end with a written label, where it is another
	}{
		"it works":                            {faults: []fault{works}, ends: issued},
		"done, response lost":                 {faults: []fault{lostButApplied}, ends: found},
		"done, response cut off":              {faults: []fault{{response: "truncate"}}, ends: found},
		"done, answered 500":                  {faults: []fault{{response: "500"}}, ends: found},
		"done, answered 307":                  {faults: []fault{{response: "307"}}, ends: found},
		"done a little later":                 {faults: []fault{beforeTheWait}, ends: found},
		"not done, 500, 503, 408":             {faults: []fault{undone("500"), undone("503"), undone("408"), works}, ends: issued},
		"not done, then done, responses lost": {faults: []fault{lostForGood, lostButApplied}, ends: found},
		"never done":                          {faults: []fault{lostForGood.forEver()}, posts: 5, ends: unknown},
		"refused":                             {faults: []fault{refusal}, ends: refused},
		"refused for its rate":                {faults: []fault{undone("429"), works}, ends: issued},
		"lost, then refused":                  {faults: []fault{lostForGood, refusal}, ends: refused},
		"lost, then often for its rate":       {faults: append([]fault{lostForGood}, slices.Repeat([]fault{undone("429")}, 9)...), posts: 11, ends: issued},
		"late and lost, then refused":         {faults: []fault{afterTheLooks, refusal}, ends: found},
		"conflict that passes":                {faults: []fault{undone("409"), works}, ends: issued},
		"conflict that stays":                 {faults: []fault{undone("409"), undone("409")}, ends: refused},
		"listed after the wait":               {faults: []fault{afterTheWait}, ends: found},
		"done, a gateway's 403":               {faults: []fault{{response: "403 <html>"}}, ends: found},
		"done, a gateway's 404":               {faults: []fault{{response: "404 <html>"}}, ends: found},
		"a gateway that stays":                {faults: []fault{undone("403 <html>").forEver()}, posts: 5, ends: unknown},
		"late, key honoured":                  {faults: []fault{afterTheLooks, works}, idempotency: "honoured", ends: issued},
		"late, conflict while in flight":      {faults: []fault{afterTheLooks, works}, idempotency: "conflict", ends: found},
		"late, key ignored":                   {faults: []fault{afterTheLooks, works}, idempotency: "ignored", ends: "issued card_3, and card_4"},
		"late, key ignored, both lost":        {faults: []fault{afterTheLooks, lostButApplied}, idempotency: "ignored", cards: 2, ends: "unknown, 2 candidates"},
		"done for a fee, lost":                {faults: []fault{lostButApplied}, fee: usd.Dollar, ends: found, written: open},
		"not done for a fee, lost":            {faults: []fault{lostForGood, works}, fee: usd.Dollar, ends: issued},
		"done for a fee, late, key ignored":   {faults: []fault{afterTheLooks, works}, fee: usd.Dollar, idempotency: "ignored", ends: "issued card_3, and card_4"},
		"booked a little later":               {faults: []fault{lostButApplied}, books: 45 * time.Second, ends: found},
		"booked after the looks":              {faults: []fault{lostButApplied}, books: 75 * time.Second, ends: found, written: open},
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
					service := newService(t, test.faults...)
					service.idempotency(mode)
					old, want := alike(), test.ends
					if generated {
						old.Label = asLabel("of another time")
					} else {
						want = cmp.Or(test.written, want)
					}
					service.add(old)
					service.add(api.CardListItem{BinID: "bin_1", Label: asLabel("other"), Balance: 50 * usd.Dollar})
					service.charge(test.fee, test.books)
					req := request("ads")
					req.GeneratedLabel = generated
					issuance, err := service.client(t).IssueCard(t.Context(), req)
					if got := toldOf(issuance, err); got != want {
						t.Errorf("%s (%v), want %s", got, err, want)
					}
					cards, posts := cmp.Or(test.cards, strings.Count(test.ends, "card_")), cmp.Or(test.posts, len(test.faults))
					if made := len(service.balances()) - 2; made != cards {
						t.Errorf("%d cards were issued, want %d", made, cards)
					}
					if keys := service.keys(); len(keys) != posts || len(slices.Compact(keys)) != 1 || keys[0] == "" {
						t.Errorf("requests with keys %q, want %d with one key", keys, posts)
					}
					isOpen := func(f fault) bool { return f.response != "" && f.response != "400" && f.response != "429" }
					if err == nil && (issuance.Card.CreatedAt == "" || issuance.How.LostResponse() != slices.ContainsFunc(test.faults, isOpen)) {
						t.Errorf("%+v, a response was lost: %t", issuance.Card, issuance.How.LostResponse())
					}
				})
			}
		}
	}
}

// A response about another card, of before or of this run, hides one that is there, or
// none, whatever its label. Nothing is sent after it, whether keys are honoured or not.
func TestIssueCardAndAnothersResponse(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"of before", "of before, alike", "of this run"} {
		for _, honoured := range []bool{false, true} {
			for _, commit := range []time.Duration{now, never} {
				service := newService(t)
				client := service.client(t, func(c *api.Config) { c.KeysHonoured = honoured })
				if other != "of this run" {
					service.add(alike())
				} else if _, err := client.IssueCard(t.Context(), request("ads")); err != nil {
					t.Fatal(err)
				}
				issued := sandboxtest.Must(json.Marshal(service.card("card_1")))
				service.faults = []fault{{commit: commit, response: "201 " + string(issued)}}
				label := map[bool]string{true: "ads", false: "software"}[other == "of before, alike"]
				want, cards := "found card_2", 2
				if commit == never {
					want, cards = "unknown, 0 candidates", 1
				}
				issuance, err := client.IssueCard(t.Context(), request(label))
				got, isLabelled := toldOf(issuance, err), issuance.Card.Label.Raw() == label
				if got != want || isLabelled != (err == nil) || len(service.balances()) != cards || len(service.keys()) > 2 {
					t.Errorf("%s, keys honoured %t, %s: %s (%v), want %s of %d cards", other, honoured, commit, got, err, want, len(service.balances()))
				}
			}
		}
	}
}

// Only a new card of this label, this load and this limit is taken, where that is
// certain: cards from before that are no longer listed leave no border between old and
// new ones, and a card with a written label could be an old one. A gateway's 404 after a
// lost response is none of the service; a refusal that speaks of the key tells of no card
// that can be seen; one that a gateway makes up hides no card that nobody else can have.
// The clock of a gateway is not the service's. What looks like the card is no duplicate
// where its request took effect once, and an interruption keeps nobody from learning what
// became of the last request.
func TestIssueCardAmongOthers(t *testing.T) {
	t.Parallel()
	with := func(change func(*api.CardListItem)) []api.CardListItem {
		card := alike()
		change(&card)
		return []api.CardListItem{card}
	}
	limit := func(amount usd.Amount) []api.CardListItem {
		return with(func(c *api.CardListItem) { c.SpendingLimit = amount })
	}
	labelled := func(label string) []api.CardListItem {
		return with(func(c *api.CardListItem) { c.Label = asLabel(label) })
	}
	const seventy = 70 * usd.Dollar
	const issued, none, open = "issued card_2", "unknown, 0 candidates", "unknown, 1 candidates"
	one, lost, done := []api.CardListItem{alike()}, []fault{lostForGood, works}, []fault{lostButApplied}
	many, strangers := slices.Repeat(one, 130), slices.Repeat(labelled("of somebody else"), 250)
	elsewhere := with(func(c *api.CardListItem) { c.BinID = "bin_2" })
	charged := with(func(c *api.CardListItem) { c.Balance -= usd.Dollar })
	for name, test := range map[string]struct {
		before, meanwhile []api.CardListItem // there before, and come with the first request
		faults            []fault
		limit             usd.Amount
		ahead             time.Duration
		generated         bool
		unreadable        bool // what came cannot be read for itself
		vanish            bool // what was there before, but for a card of another label
		honoured          bool
		interrupted       bool // at the last request
		ends              string
		cards, posts      int // 0 is one card where it is issued, or found by a written label, and a request for each fault
	}{
		"of another label":                        {faults: lost, meanwhile: labelled("adZ"), ends: issued},
		"in other letters":                        {faults: lost, meanwhile: labelled("adS"), ends: open, posts: 1},
		"of a lower limit":                        {faults: lost, limit: seventy, meanwhile: limit(60 * usd.Dollar), ends: open, posts: 1},
		"that cannot be read":                     {faults: lost, meanwhile: slices.Repeat(one, 2), unreadable: true, ends: "unknown, 2 candidates", posts: 1},
		"of another load":                         {faults: lost, meanwhile: charged, ends: open, posts: 1},
		"beside its own load":                     {faults: done, meanwhile: charged, ends: "found card_2"},
		"of another BIN":                          {faults: lost, meanwhile: elsewhere, ends: issued},
		"from before":                             {faults: lost, before: one, ends: issued},
		"beside its own":                          {faults: done, limit: seventy, meanwhile: limit(seventy - usd.Cent), ends: "found card_2"},
		"from before, behind many of another BIN": {faults: lost, before: append(one[:1:1], slices.Repeat(elsewhere, 120)...), ends: "issued card_122"},
		// A label that is nobody else's tells, though the service has lowered the limit.
		"of its own label, that cannot be read": {faults: lost, limit: seventy, meanwhile: limit(60 * usd.Dollar), generated: true, unreadable: true, ends: "found card_1", posts: 1},
		"behind many others":                    {faults: done, before: many, meanwhile: strangers, ends: "found card_381"},
		"all vanish":                            {faults: done, before: many, vanish: true, ends: none, cards: 1},
		"all vanish, its own label":             {faults: done, before: many, vanish: true, generated: true, ends: "found card_131", cards: 1},

		"a gateway's 404, then the card":    {faults: append(done[:1:1], undone("404 <html>"), works), honoured: true, ends: "issued card_1"},
		"a key that was used at once":       {faults: []fault{{response: "409 duplicate_request"}}, ends: "found card_1"},
		"a key of somebody else":            {faults: []fault{undone("409 duplicate_request")}, ends: none},
		"a key that was used":               {faults: []fault{lostForGood, undone("409 duplicate_request")}, honoured: true, ends: none, posts: 2},
		"issued, and refused by 400":        {faults: []fault{{response: "400 forbidden"}}, generated: true, ends: "found card_1", cards: 1},
		"issued, and refused by 403":        {faults: []fault{{response: "403 forbidden"}}, generated: true, ends: "found card_1", cards: 1},
		"before it was asked for":           {faults: done, ahead: 15 * time.Second, ends: open, cards: 1},
		"beside one, refused for its rate":  {faults: []fault{undone("429"), works}, meanwhile: one, ends: issued, posts: 2},
		"beside one, lost":                  {faults: lost, honoured: true, meanwhile: one, ends: issued},
		"interrupted, answered":             {faults: []fault{works}, interrupted: true, ends: "issued card_1"},
		"interrupted, lost":                 {faults: done, interrupted: true, ends: "found card_1"},
		"interrupted, not done":             {faults: lost, interrupted: true, ends: none, posts: 1},
		"interrupted, refused for its rate": {faults: []fault{undone("429")}, interrupted: true, ends: "refused"},
		"interrupted, issued twice":         {faults: []fault{afterTheLooks, works}, interrupted: true, ends: "issued card_1, and card_2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			service := newService(t, slices.Clone(test.faults)...)
			service.ahead = test.ahead
			if !test.honoured {
				service.idempotency("ignored")
			}
			for i, card := range test.before {
				if test.vanish && i == 0 {
					card.Label = asLabel("of another time")
				}
				service.add(card)
			}
			others := 0
			service.faults[0].before = func() {
				if test.vanish {
					service.hideUpTo(len(test.before))
				}
				for _, card := range test.meanwhile {
					if added := service.add(card); test.unreadable {
						service.hooks["/cards/"+added] = respond(500, "")
					}
				}
				others = len(service.balances())
			}
			if test.posts = cmp.Or(test.posts, len(test.faults)); strings.HasPrefix(test.ends, "issued") || strings.HasPrefix(test.ends, "found") && !test.generated {
				test.cards = strings.Count(test.ends, "card_")
			}
			if arrives := service.faults[test.posts-1].before; test.interrupted {
				service.faults[test.posts-1].before = func() {
					interrupt()
					if arrives != nil {
						arrives()
					}
				}
			}
			req := request("ads")
			if req.GeneratedLabel = test.generated; test.limit > 0 {
				req.SpendingLimit = &test.limit
			}
			issuance, err := service.client(t, func(c *api.Config) { c.KeysHonoured = test.honoured }).IssueCard(ctx, req)
			card := issuance.Card
			if got := toldOf(issuance, err); got != test.ends {
				t.Errorf("%s (%v), want %s", got, err, test.ends)
			}
			if err == nil && (card.Balance != req.Amount || card.Status != api.StatusActive || card.CreatedAt == "" && !test.unreadable) {
				t.Errorf("the card is %+v", card)
			}
			cards, posts, waited := len(service.balances())-others, len(service.keys()), service.clock.total()
			if cards != test.cards || posts != test.posts || test.generated && others == 0 && waited > 0 {
				t.Errorf("%d cards after %d requests and %s, want %d after %d", cards, posts, waited, test.cards, test.posts)
			}
		})
	}
}

// A 201 is one answer: a foreign one is not believed, the load is read, and what the
// service drops or changes of a label is nobody else's.
func TestIssueCardIsReadAfterItsResponse(t *testing.T) {
	t.Parallel()
	const card = `201 {"id":"card_9","bin_id":"bin_1","status":"active","balance":50,"spending_limit":100,"label":`
	for name, test := range map[string]struct {
		response string
		shows    usd.Amount // on the card afterwards; 0: as it is
		late     time.Duration
		hides    time.Duration
		ends     string
		balance  usd.Amount
		waits    bool
	}{
		"as it says":              {ends: "issued card_1", balance: 50 * usd.Dollar},
		"with less":               {shows: 40 * usd.Dollar, ends: "issued card_1", balance: 40 * usd.Dollar, waits: true},
		"with its load alone":     {response: "60", shows: 50 * usd.Dollar, ends: "issued card_1", balance: 50 * usd.Dollar},
		"with less by both":       {response: "60", shows: 60 * usd.Dollar, ends: "issued card_1", balance: 60 * usd.Dollar},
		"shown late":              {hides: 20 * time.Second, ends: "issued card_1", balance: 50 * usd.Dollar, waits: true},
		"never shown":             {hides: time.Hour, ends: "issued card_1", balance: 50 * usd.Dollar, waits: true},
		"of another label":        {response: card + `"other"}`, ends: "found card_1", balance: 50 * usd.Dollar, waits: true},
		"of another BIN":          {response: strings.Replace(card, "bin_1", "bin_2", 1) + `"ads"}`, ends: "found card_1", balance: 50 * usd.Dollar, waits: true},
		"in other letters":        {response: card + `"ADS"}`, ends: "issued card_9", balance: 50 * usd.Dollar},
		"with spaces, on the BIN": {response: strings.Replace(card, "bin_1", "BIN_1", 1) + `" ads"}`, ends: "issued card_9", balance: 50 * usd.Dollar},
		"without its label":       {response: card + `""}`, ends: "issued card_9", balance: 50 * usd.Dollar},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, works)
			service.hide(test.hides)
			if service.faults[0].response = test.response; test.response == "60" {
				service.faults[0].response = card[:len(card)-len(`,"label":`)] + `,"label":"ads"}`
				service.faults[0].response = strings.NewReplacer("card_9", "card_1", `"balance":50`, `"balance":60`).Replace(service.faults[0].response)
			}
			if test.shows > 0 {
				service.hooks["/cards/card_1"] = func(w http.ResponseWriter, _ *http.Request) {
					shown := service.card("card_1")
					shown.Balance = test.shows
					write(w, 200, shown)
				}
			}
			if strings.HasSuffix(test.ends, "card_9") {
				service.hooks["/cards/card_9"] = respond(200, strings.TrimPrefix(test.response, "201 "))
			}
			issuance, err := service.client(t).IssueCard(t.Context(), request("ads"))
			waited := service.clock.total()
			if got := toldOf(issuance, err); got != test.ends || issuance.Card.Balance != test.balance || waited > 0 != test.waits || waited > time.Minute || len(service.keys()) != 1 {
				t.Errorf("%s (%v) with %s after %s, want %s with %s", got, err, issuance.Card.Balance, waited, test.ends, test.balance)
			}
		})
	}
}

// The card of a request's own 201 is taken though the service has rewritten its label. Anything
// else is another's: a label that is cut too short, or that another card has, or another load.
func TestIssueCardWithARewrittenLabel(t *testing.T) {
	t.Parallel()
	const long = "campaign 2026 spring, north america"
	const cut = "campaign 2026 spring"
	for name, test := range map[string]struct {
		label, shown string
		balance      string // in the response; empty is the load
		created      string
		before       string // the label of a card that is there before
		earlier      string // the label of an earlier issuance of this process
		taken        bool
	}{
		"as it is":              {label: "Bed & Bath", shown: "Bed & Bath", taken: true},
		"escaped":               {label: "Bed & Bath", shown: "Bed &amp; Bath", taken: true},
		"composed":              {label: "Cafe\u0301 EU", shown: "Caf\u00e9 EU", taken: true},
		"decomposed":            {label: "Caf\u00e9 EU", shown: "Cafe\u0301 EU", taken: true},
		"another width":         {label: "ads \uff11\uff12", shown: "ads 12", taken: true},
		"folded":                {label: "Stra\u00dfe", shown: "STRASSE", taken: true},
		"cut":                   {label: long, shown: cut, taken: true},
		"cut behind a space":    {label: "campaign 2026 march in America", shown: "campaign 2026 march ", taken: true},
		"cut too short":         {label: long, shown: cut[:19]},
		"padded, and too short": {label: long, shown: cut[:8] + strings.Repeat(" ", 30)},
		"cut, and another's":    {label: long, shown: cut, before: cut},
		"cut, and asked before": {label: long, shown: cut, earlier: cut},
		"longer":                {label: cut, shown: long},
		"another label":         {label: long, shown: "campaign 2026 spring, south america"},
		"another load":          {label: "Bed & Bath", shown: "Bed &amp; Bath", balance: "40"},
		"an old card":           {label: "Bed & Bath", shown: "Bed &amp; Bath", created: "2026-02-28T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t)
			if test.before != "" {
				card := alike()
				card.Label = asLabel(test.before)
				service.add(card)
			}
			client := service.client(t)
			if test.earlier != "" {
				_, err := client.IssueCard(t.Context(), request(test.earlier))
				if err != nil {
					t.Fatal(err)
				}
			}
			must(t, client, "wallet") // which tells the service's time
			body := fmt.Sprintf(`{"id":"card_9","bin_id":"bin_1","status":"active","balance":%s,"spending_limit":100,"label":%q,"created_at":%q}`,
				cmp.Or(test.balance, "50"), test.shown, cmp.Or(test.created, "2026-03-01T12:00:00Z"))
			service.faults = []fault{undone("201 " + body)}
			service.hooks["/cards/card_9"] = respond(200, body)
			posts := len(service.keys())
			issuance, err := client.IssueCard(t.Context(), request(test.label))
			taken := err == nil && issuance.Card.ID == "card_9"
			if taken != test.taken || len(service.keys()) != posts+1 {
				t.Errorf("taken: %t (%v) after %d requests", taken, err, len(service.keys())-posts)
			}
		})
	}
}

// A list that begins with the oldest cards is read to its end before anything is sent
// again; the cards behind those from before are as old, unless they are new by the clock.
func TestIssueCardInListsThatAreNotNewestFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, alike  int // cards from before of another label, and of this one
		newestFirst bool
		faults      []fault
		generated   bool
		noDate      bool // the service's time is not known
		ends        string
		soon        bool // found as soon as it is looked for
	}{
		"lost, behind a few":          {old: 9, faults: []fault{lostButApplied}, ends: "found card_10", soon: true},
		"lost":                        {old: 15, faults: []fault{lostButApplied}, ends: "found card_16"},
		"lost, generated":             {old: 150, faults: []fault{lostButApplied}, generated: true, ends: "found card_151"},
		"lost, behind one of its own": {old: 150, alike: 1, faults: []fault{lostButApplied}, ends: "found card_152"},
		"not done":                    {old: 150, alike: 1, faults: []fault{lostForGood, works}, ends: "issued card_152"},
		"lost, no time":               {old: 15, faults: []fault{lostButApplied}, noDate: true, ends: "unknown, 0 candidates"},
		"lost, no time, many cards":   {old: 150, faults: []fault{lostButApplied}, noDate: true, ends: "unknown, 0 candidates"},
		"not done, newest first":      {old: 150, alike: 1, newestFirst: true, faults: []fault{lostForGood, works}, ends: "issued card_152"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, test.faults...)
			service.noDate = test.noDate
			other := alike()
			other.Label = asLabel("other")
			before := append(slices.Repeat([]api.CardListItem{other}, test.old), slices.Repeat([]api.CardListItem{alike()}, test.alike)...)
			if test.newestFirst { // so that the one of its own is on the second page
				slices.Reverse(before)
			}
			for _, card := range before {
				service.add(card)
			}
			if !test.newestFirst {
				service.front = sandboxtest.OldestFirst(service.front)
			}
			service.later(time.Hour)
			req := request("ads")
			req.GeneratedLabel = test.generated
			issuance, err := service.client(t).IssueCard(t.Context(), req)
			cards, waited := service.balances(), service.clock.total()
			if got := toldOf(issuance, err); got != test.ends || len(cards) != test.old+test.alike+1 || test.soon && waited > 30*time.Second {
				t.Errorf("%s (%v) of %d cards after %s, want %s", got, err, len(cards), waited, test.ends)
			}
		})
	}
}

// Creates that look alike in a list end with a card each, whatever is lost.
func TestIssueCardsThatLookAlike(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"one lost":         {works, works, works, lostButApplied},
		"many lost":        {lostButApplied, lostForGood, lostButApplied, lostForGood, lostButApplied, works, beforeTheWait},
		"the first, late":  {afterTheLooks},
		"all are lost":     slices.Repeat([]fault{lostButApplied}, 8),
		"half never comes": slices.Repeat([]fault{lostForGood, works}, 4),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, faults...)
			service.add(alike())
			client := service.client(t)
			ids := make([]string, 8)
			var wg sync.WaitGroup
			for i := range ids {
				wg.Go(func() {
					issuance, err := client.IssueCard(t.Context(), request("ads"))
					if err != nil || len(issuance.PossibleDuplicates) > 0 {
						t.Errorf("%+v, %v", issuance, err)
					}
					ids[i] = issuance.Card.ID
				})
			}
			wg.Wait()
			want := []string{"card_2", "card_3", "card_4", "card_5", "card_6", "card_7", "card_8", "card_9"}
			if slices.Sort(ids); !slices.Equal(ids, want) || len(service.balances()) != 9 {
				t.Errorf("of %d cards the creates ended with %q", len(service.balances()), ids)
			}
		})
	}
}

// Two issuances of one label with different loads, of which responses are lost, never pay
// for more cards than were asked for, and never end with each other's card.
func TestIssueCardsOfOneLabelAndOtherLoads(t *testing.T) {
	t.Parallel()
	done, not := lostButApplied, lostForGood
	for _, lost := range [][]fault{{done, done}, {done, not}, {not, done}, {not, not}} {
		for _, fee := range []usd.Amount{0, usd.Dollar, 20 * usd.Dollar} { // the last leaves one with the load of the other
			for _, books := range []time.Duration{0, 45 * time.Second, 75 * time.Second} {
				service := newService(t, slices.Clone(lost)...)
				service.idempotency("ignored")
				service.charge(fee, books)
				ends := issueTogether(t, service.client(t), "a", "rich")
				cards := service.balances()
				text := fmt.Sprintf("%d cards, %q, of %+v with a fee of %s, booked after %s", len(cards), ends, lost, fee, books)
				if len(cards) > 2 || ends[0] == ends[1] && strings.Contains(text, "card_") {
					t.Error(text)
				}
				exact := fee == 0 && books == 0
				for i, load := range []usd.Amount{50 * usd.Dollar, 70 * usd.Dollar} {
					_, id, _ := strings.Cut(ends[i], " ")
					if exact && cards[id] != load {
						t.Error(text)
					}
				}
			}
		}
	}
}

// issueTogether issues a card for each owner at the same time, for a rich one with more, and
// for one of another label with that.
func issueTogether(t *testing.T, client *api.Client, owners ...string) []string {
	t.Helper()
	ends := make([]string, len(owners))
	var wg sync.WaitGroup
	for i, owner := range owners {
		wg.Go(func() {
			req := request("ads")
			if req.Metadata = map[string]string{"owner": owner}; owner == "rich" {
				req.Amount = 70 * usd.Dollar
			}
			if owner == "another label" {
				req.Label = owner
			}
			ends[i] = toldOf(client.IssueCard(t.Context(), req))
		})
	}
	wg.Wait()
	return ends
}

// Of cards with one label, one is issued after the other, so that each lost response is
// decided before the next request. Cards with different labels do not wait for each other.
func TestIssuancesOfOneLabelTakeTurns(t *testing.T) {
	t.Parallel()
	service := newService(t, lostButApplied, works)
	ends := issueTogether(t, service.client(t), "a", "b")
	slices.Sort(ends)
	same(t, "one label", []any{ends, len(service.keys()), len(service.balances())}, "[[found card_1 issued card_2] 2 2]")

	var both sync.WaitGroup
	both.Add(2)
	together := func() { both.Done(); both.Wait() }
	service = newService(t, fault{response: "drop", before: together}, fault{commit: never, response: "drop", before: together})
	ends = issueTogether(t, service.client(t), "a", "another label")
	for i := range ends {
		ends[i], _, _ = strings.Cut(ends[i], " ") // either may be issued first
	}
	slices.Sort(ends)
	same(t, "two labels", []any{ends, len(service.keys()), len(service.balances())}, "[[found issued] 3 2]")
}

// After an issuance that stays undecided nothing with its label is issued in this run: a
// card that comes late could not be told from the new one.
func TestIssueCardAfterAnUndecidedOne(t *testing.T) {
	t.Parallel()
	service := newService(t, append(slices.Repeat([]fault{lostForGood}, 5), works)...)
	client := service.client(t)
	first := toldOf(client.IssueCard(t.Context(), request("ads")))
	_, err := client.IssueCard(t.Context(), request(" ads"))
	same(t, "both", []any{first, errors.Is(err, api.ErrLabelUndecided), len(service.keys())}, "[unknown, 0 candidates true 5]")
	other := toldOf(client.IssueCard(t.Context(), request("other")))
	same(t, "of another label", other, "issued card_1")
}

// After a 201 nothing is sent again, also where it is about the card of an earlier issuance
// with the same label, and the own one is listed late.
func TestIssueCardAfterAResponseAboutAnEarlierOne(t *testing.T) {
	t.Parallel()
	const earlier = `201 {"id":"card_1","bin_id":"bin_1","status":"active","balance":50,"spending_limit":5000,"label":"ads"}`
	for name, test := range map[string]struct {
		faults []fault
		posts  int
	}{
		"at once":          {[]fault{{response: earlier}}, 1},
		"after a lost one": {[]fault{lostForGood, undone(earlier)}, 2},
	} {
		service := newService(t)
		client := service.client(t)
		first := toldOf(client.IssueCard(t.Context(), request("ads")))
		if first != "issued card_1" {
			t.Fatal(first)
		}
		service.hide(time.Hour)
		service.faults = test.faults
		got := toldOf(client.IssueCard(t.Context(), request("ads")))
		keys := service.keys()[1:]
		if got != "unknown, 0 candidates" || len(keys) != test.posts || len(slices.Compact(keys)) != 1 {
			t.Errorf("%s: %s after requests with %q; the cards hold %v", name, got, keys, service.balances())
		}
	}
}
