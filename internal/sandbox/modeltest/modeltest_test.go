// Package modeltest_test lets random clients loose on the sandbox and compares
// all that it says with a model of its own, which knows nothing of its code.
package modeltest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	moves = flag.Int("model.moves", usualMoves, "moves at the least")
	seed  = flag.Uint64("model.seed", 1, "the seed")
)

const (
	movesPerRound  = 60 // between which the clock moves and everything is compared
	roundsPerPart  = 8  // between two resets
	movesPerTrial  = 2 * roundsPerPart * movesPerRound
	enoughMoves    = 6 * movesPerTrial // to see everything
	accountsAtOnce = 3

	api     = "/api/v1"
	control = "/_sandbox"

	firstWallet cents = 10_000_000_00
	otherWallet cents = 1_500_00
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// TestSandboxAgainstModel makes thousands of random moves on a few accounts: all
// calls of the API and of the control surface, with faults, repetitions, quirks and
// moves of the clock. Each response is compared with the model, and the ledger after
// each change. After a round everything is: balances, every list, the log of
// requests; at the end of a part the events, as they arrived at an HTTPS endpoint.
//
// A trial is a new file, which is reset once. A seed repeats a run.
func TestSandboxAgainstModel(t *testing.T) {
	t.Parallel()
	moves := *moves
	if testing.Short() {
		moves = movesPerTrial
	}
	var mu sync.Mutex
	seen := map[string]int{}
	see := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen[what]++
	}
	t.Cleanup(func() { // a run that never sees a rule at work has not tested it
		t.Log(seen)
		for _, what := range rules() {
			if seen[what] == 0 && !t.Failed() && moves >= enoughMoves {
				t.Errorf("in all these moves there was never: %s", what)
			}
		}
	})
	for trial := range (moves + movesPerTrial - 1) / movesPerTrial {
		t.Run(fmt.Sprintf("seed %d, trial %d", *seed, trial), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, rand.New(rand.NewPCG(*seed, uint64(trial))), trial%2 == 1, see)
			for range 2 {
				f.part()
			}
		})
	}
}

// rules are what enoughMoves cannot miss.
func rules() []string {
	return []string{
		"card.created", "card.frozen", "card.unfrozen", "card.terminated", "card.funded", "transaction.authorized", "transaction.settled",
		"transaction.declined", "transaction.refunded", "3ds.challenge", "deposit.pending", "deposit.confirmed",
		"decline card_frozen", "decline card_terminated", "decline insufficient_funds", "decline category_not_allowed",
		"decline spending_limit_exceeded", "error invalid_request", "error not_found", "error insufficient_funds",
		"error insufficient_card_balance", "error card_frozen", "error card_terminated", "error card_active",
		"auto-freeze", "loss", "given to the wallet", "repeated",
		`fault before "drop"`, `fault before "truncate"`, `fault after "drop"`, `fault after "truncate"`,
		`fault before {"status":429}`, `fault after {"status":429}`, `fault before {"status":503}`, `fault after {"status":503}`,
	}
}

// fixture is a sandbox on a file of its own, whose clock only control calls move.
type fixture struct {
	world *world

	t        *testing.T
	rng      *rand.Rand
	quirky   bool // responses may leave the contract
	server   *sandboxtest.Server
	receiver *sandboxtest.Receiver
	calls    int
	players  []*player
}

func newFixture(t *testing.T, rng *rand.Rand, quirky bool, see func(string)) *fixture {
	t.Helper()
	begin := time.Date(2026, 1, 28, 9, 30, 0, 0, time.UTC)
	f := &fixture{
		world: &world{now: begin, quirks: usualQuirks(), see: see},
		t:     t, rng: rng, quirky: quirky, receiver: sandboxtest.NewReceiver(t, refuseSome()),
	}
	options := []contract.Option{contract.TolerateBadRequests()}
	if quirky {
		options = append(options, contract.RequestsOnly())
	}
	f.server = sandboxtest.Start(t, sandboxtest.Stopped(begin), f.receiver.Trusted, func(o *sandboxtest.Options) {
		o.InitialBalance = usd.Amount(firstWallet)
		o.Wrap = func(h http.Handler) http.Handler { return contract.Handler(t, h, options...) }
	})
	return f
}

// refuseSome turns one delivery in twelve away when it comes for the first time.
func refuseSome() http.HandlerFunc {
	var mu sync.Mutex
	calls, arrived := 0, map[string]bool{}
	return func(w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		delivery := request.URL.Path + " " + request.Header.Get("X-Webhook-Id")
		if calls++; calls%12 == 0 && !arrived[delivery] {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		arrived[delivery] = true
	}
}

// part plays on an empty file, and leaves it empty.
func (f *fixture) part() {
	first := f.newPlayer(f.server.Key, firstWallet)
	f.players = []*player{first}
	first.put("/limits", noLimits())
	for len(f.players) < accountsAtOnce {
		opened := &chosen{prefix: "sk_live_sandbox_"}
		first.call(http.MethodPost, control+"/accounts", object{"state": "ready", "initial_balance": otherWallet},
			created(object{"account_id": &chosen{prefix: "acct_"}, "api_key": opened}))
		f.players = append(f.players, f.newPlayer(opened.text, otherWallet))
	}
	for _, p := range f.players {
		p.addresses, _ = p.send(http.MethodGet, api+"/wallet/deposit-address", "", "").Body["data"].(list)
	}
	for range roundsPerPart {
		for range movesPerRound {
			oneOf(f, f.players...).move()
		}
		f.letTimePass()
		if f.quirky {
			f.changeQuirks()
		}
		for _, p := range f.players {
			p.review()
		}
	}
	for _, p := range f.players {
		f.settleDeliveries(p)
		p.reviewEvents()
	}
	f.world.now, f.world.quirks = time.Date(2026, 1, 28, 9, 30, 0, 0, time.UTC), usualQuirks()
	nobody := f.newPlayer(f.server.Key, firstWallet)
	nobody.call(http.MethodPost, control+"/reset", nil, found(object{"now": stamp(f.world.now)}))
	nobody.review()
	nobody.call(http.MethodGet, control+"/deliveries", nil, found(largeList[object](nil, 1)))
	nobody.forgetRequests()
}

// put sets what all accounts meet.
func (p *player) put(path string, settings object) {
	p.call(http.MethodPut, control+path, settings, found(settings))
}

func noLimits() object {
	return object{"requests_per_minute": 0, "requests_per_hour": 0, "creates_per_minute": 0, "details_per_minute": 0}
}

// changeQuirks changes how the service behaves. What was answered before is not to be
// repeated: it may have been another way of repeating, or of writing amounts.
func (f *fixture) changeQuirks() {
	f.world.quirks = usualQuirks()
	for _, quirk := range []list{
		{"idempotency", "honoured", "ignored", "conflict"},
		{"cards_per_page", 100, 7},
		{"cards_total", "present", "absent"},
		{"withdraw_amount", "honoured", "honoured", "ignored"},
		{"transactions_per_page", "honoured", "ignored"},
		{"repeated_state", "ok", "conflict"},
		{"terminated_status", 400, 404, 409, 422},
		{"frozen_money", "allowed", "refused"},
		{"amounts", "decimals", "plain", "strings"},
	} {
		f.world.quirks[quirk[0].(string)] = oneOf(f, quirk[1:]...)
	}
	for _, p := range f.players {
		p.last = nil
	}
	f.players[0].put("/quirks", f.world.quirks)
}

// letTimePass lets time pass, sometimes to the turn of a month.
func (f *fixture) letTimePass() {
	by := oneOf(f, time.Millisecond, time.Second, 4*time.Minute, 5*time.Minute, 23*time.Hour, 24*time.Hour, 100*time.Hour)
	if f.rng.IntN(4) == 0 {
		year, month, _ := f.world.now.Date()
		by = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Sub(f.world.now) - time.Duration(f.rng.IntN(2))*time.Millisecond
	}
	f.advance(max(by, time.Millisecond))
}

func (f *fixture) advance(by time.Duration) {
	f.world.now = f.world.now.Add(by)
	f.players[0].call(http.MethodPost, control+"/clock", object{"advance": by.String()}, found(object{"now": stamp(f.world.now)}))
}

// settleDeliveries waits until all events have arrived, and moves the clock for
// those that were turned away at first.
func (f *fixture) settleDeliveries(p *player) {
	for {
		next := ""
		sandboxtest.Eventually(f.t, func() bool {
			next = ""
			for _, d := range p.deliveries() {
				at, _ := d["next_try_at"].(string)
				if next = max(next, at); at != "" && at <= stamp(f.world.now) {
					return false
				}
			}
			return true
		})
		if next == "" {
			return
		}
		at := sandboxtest.Must(time.Parse(time.RFC3339, next))
		f.advance(at.Sub(f.world.now))
	}
}

// oneOf draws an element.
func oneOf[T any](f *fixture, all ...T) T { return all[f.rng.IntN(len(all))] }

// largeList is a page of a control call's list.
func largeList[T any](all []T, number int) object {
	views := list{}
	for _, one := range all[min(len(all), (number-1)*1000):min(len(all), number*1000)] {
		views = append(views, one)
	}
	return object{"data": views, "page": number, "per_page": 1000, "total": len(all)}
}

// review compares the whole account.
func (p *player) review() {
	p.checkLedger()
	p.call(http.MethodGet, api+"/cards?per_page=100", nil, p.listCards(filter{number: 1, size: 100}))
	for number := 1; number <= len(p.transactions)/25+1; number++ {
		path := fmt.Sprintf("%s/transactions?per_page=25&page=%d", api, number)
		p.call(http.MethodGet, path, nil, p.listTransactions(filter{number: number, size: 25}))
	}
	for _, status := range []string{"pending", "approved", "failed", "expired"} {
		p.call(http.MethodGet, api+"/3ds?status="+status, nil, p.listChallenges(status))
	}
	p.call(http.MethodGet, api+"/wallet/balance", nil, p.balance())
	p.call(http.MethodGet, control+"/faults", nil, found(object{"data": list{}}))
	for number := 1; number <= len(p.requests)/1000+1; number++ {
		p.call(http.MethodGet, fmt.Sprintf("%s/requests?page=%d", control, number), nil, found(largeList(p.requests, number)))
	}
}

func (p *player) deliveries() (all []object) {
	for number := 1; len(all) == (number-1)*1000; number++ {
		r := p.send(http.MethodGet, fmt.Sprintf("%s/deliveries?page=%d", control, number), "", "")
		all = append(all, r.Data()...)
	}
	return all
}

// reviewEvents compares what arrived at each endpoint with what should have happened, in order.
func (p *player) reviewEvents() {
	arrived := map[string]sandboxtest.Event{}
	for _, e := range p.receiver.Events() {
		arrived[e.Path+" "+e.ID()] = e
	}
	deliveries := p.deliveries()
	for _, h := range p.hooks {
		own := slices.DeleteFunc(slices.Clone(deliveries), func(d object) bool { return d["webhook_id"] != h.id.text })
		if len(own) != len(h.expected) {
			p.fail("an endpoint for %v was told %d events, want %d", h.events, len(own), len(h.expected))
		}
		for i, want := range h.expected {
			id, _ := own[i]["event_id"].(string)
			e := arrived[h.path+" "+id]
			expected := object{"id": id, "type": want.kind, "created_at": want.created, "data": want.data}
			if d := difference("event", expected, e.Payload(), want.notation); d != "" || !e.SignedWith(h.secret.text) || own[i]["type"] != want.kind {
				p.fail("delivery %v did not arrive as it should: %s", own[i], d)
			}
		}
	}
}
