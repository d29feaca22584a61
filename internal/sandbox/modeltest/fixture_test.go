package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// clients is how many clients there are.
const clients = 8

const (
	sharedWallet cents = 10_000_000_00
	ownWallet    cents = 1_500_00
)

// fixture is a sandbox on a file of its own, and the clients' common model.
type fixture struct {
	t     *testing.T
	ctx   context.Context
	seed  uint64
	trial int
	part  string // "own" or "shared"
	rng   *rand.Rand
	model *model

	server   *sandboxtest.Server
	receiver *sandboxtest.Receiver
	calls    *atomic.Int64
	seen     *coverage
	broken   atomic.Bool
	refusals []string // that a fault may answer with
}

// newFixture opens a sandbox whose clock only the control calls move. With
// quirky, responses may leave the contract.
func newFixture(t *testing.T, seed uint64, trial int, quirky bool, calls *atomic.Int64, seen *coverage) *fixture {
	t.Helper()
	s := &fixture{
		t: t, ctx: t.Context(), seed: seed, trial: trial, calls: calls, seen: seen, receiver: sandboxtest.NewReceiver(t, refuseSome()),
		rng:   rand.New(rand.NewPCG(seed, uint64(trial)<<8)),
		model: &model{now: time.Date(2026, 1, 28, 9, 30, 0, 0, time.UTC), quirks: usual()},
	}
	options := []contract.Option{contract.TolerateBadRequests()}
	s.refusals = []string{`{"status":429}`, `{"status":429,"body":{"error":"rate_limited","message":"injected"}}`}
	if quirky {
		s.refusals = []string{`{"status":503}`, `{"status":502,"body":"<html>bad gateway</html>"}`}
		options = append(options, contract.RequestsOnly())
	}
	s.server = sandboxtest.Start(t, sandboxtest.Stopped(s.model.now), s.receiver.Trusted, func(o *sandboxtest.Options) {
		o.InitialBalance = usd.Cents(int64(sharedWallet))
		o.Wrap = func(h http.Handler) http.Handler { return contract.Handler(t, h, options...) }
	})
	return s
}

// refuseSome turns one delivery in twelve away when it comes for the first time.
func refuseSome() http.HandlerFunc {
	var (
		mu      sync.Mutex
		calls   int
		arrived = map[string]bool{}
	)
	return func(w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		delivery := request.URL.Path + " " + request.Header.Get("X-Webhook-Id")
		again := arrived[delivery]
		arrived[delivery] = true
		if calls++; calls%12 == 0 && !again {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

func (s *fixture) name() string {
	return fmt.Sprintf("seed %d, trial %d, %s accounts", s.seed, s.trial, s.part)
}

// newClient is a client of the account that a key opens.
func (s *fixture) newClient(id int, a *account) *client {
	return &client{
		fixture: s, id: id, account: a, caller: s.server.As(a.key),
		rng: rand.New(rand.NewPCG(s.seed, uint64(s.trial)<<8+uint64(len(s.part))<<4+uint64(id)+1)),
	}
}

// must makes a call of the fixture's own, between the moves.
func (p *client) must(method, path, body string, want outcome) sandboxtest.Response {
	p.t.Helper()
	r := p.send(step{method: method, path: path, body: body}, "")
	if d := judge(r, want, p.model.notation(path)); len(d) > 0 {
		p.fail(d...)
	}
	return r
}

// begin gives each client an account of its own, or all of them the first one.
func (s *fixture) begin(part string) (all []*client) {
	s.part = part
	first := s.newClient(0, &account{key: s.server.Key, shared: part == "shared", seen: s.seen, wallet: sharedWallet, deposited: -sharedWallet})
	first.must(http.MethodPut, control+"/limits", mustJSON(noLimits()), found(noLimits()))
	for id := range clients {
		a := first.account
		if part == "own" {
			body := mustJSON(object{"state": "ready", "initial_balance": number(ownWallet)})
			made := first.must(http.MethodPost, control+"/accounts", body, outcome{status: http.StatusCreated, body: anything{}})
			key, _ := made.Body["api_key"].(string)
			a = &account{key: key, seen: s.seen, wallet: ownWallet, deposited: -ownWallet}
		}
		p := s.newClient(id, a)
		p.readAddresses()
		all = append(all, p)
	}
	if part == "shared" {
		s.share(all)
	}
	return all
}

func (p *client) readAddresses() {
	r := p.must(http.MethodGet, api+"/wallet/deposit-address", "", found(object{"data": anything{}}))
	p.account.addresses, _ = r.Body["data"].(list)
	if len(p.account.addresses) != 10 {
		p.fail("there are no ten deposit addresses")
	}
}

// share issues the card that everybody uses, and registers two endpoints.
func (s *fixture) share(all []*client) {
	host := all[0]
	o := order{bin: "bin_ads_visa_us", load: 100_000_00, label: "everybody's", categories: list{}, metadata: object{}}
	host.perform(step{method: http.MethodPost, path: api + "/cards", body: o.json(), want: func() outcome {
		return host.account.issue(s.model, nobody, o)
	}})
	if s.broken.Load() {
		return
	}
	for _, p := range all {
		p.common = host.account.cards[0]
	}
	for range 2 {
		if endpoint, possible := host.newEndpoint(); possible {
			host.perform(endpoint)
		}
	}
}

// round lets all clients make some moves at once.
func (s *fixture) round(all []*client, moves int) {
	var group sync.WaitGroup
	for _, p := range all {
		group.Go(func() { p.makeMoves(moves) })
	}
	group.Wait()
}

// letTimePass lets time pass, sometimes to the turn of a month.
func (s *fixture) letTimePass(p *client) {
	by := oneOf(p, time.Millisecond, time.Second, 4*time.Minute, 5*time.Minute, 23*time.Hour, 24*time.Hour, 100*time.Hour)
	if s.rng.IntN(5) == 0 {
		year, month, _ := s.model.now.Date()
		by = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Sub(s.model.now) - time.Duration(s.rng.IntN(2))*time.Millisecond
	}
	s.advance(p, max(by, time.Millisecond))
}

func (s *fixture) advance(p *client, by time.Duration) {
	s.model.now = s.model.now.Add(by)
	p.must(http.MethodPost, control+"/clock", fmt.Sprintf(`{"advance":%q}`, by), found(object{"now": stamp(s.model.now)}))
}

func usual() quirks {
	return quirks{
		Idempotency: "honoured", CardsPerPage: 100, CardsTotal: "present", WithdrawAmount: "honoured", TransactionsPerPage: "honoured",
		RepeatedState: "ok", TerminatedStatus: 400, FrozenMoney: "allowed", Amounts: "decimals",
	}
}

// view is how the service shows the quirks, those too that the model leaves alone.
func (q quirks) view() object {
	return object{
		"idempotency": q.Idempotency, "cards_per_page": q.CardsPerPage, "cards_total": q.CardsTotal, "withdraw_amount": q.WithdrawAmount,
		"transactions_per_page": q.TransactionsPerPage, "repeated_state": q.RepeatedState, "terminated_status": q.TerminatedStatus,
		"frozen_money": q.FrozenMoney, "amounts": q.Amounts,
		"error_body": "json", "retry_after": "seconds", "wallet_fields": list{"wallet_a_pay", "wallet_b_pay"},
		"balance": "less_holds", "card_values": "as_asked", "cards_hidden_seconds": 0,
		"transaction_period": "days", "transaction_signs": "unsigned", "challenge_status": "honoured",
		"wallet_decimals": 2, "timestamps": "utc", "empty_metadata": "object", "exp_year_digits": 4,
	}
}

// changeQuirks changes how the service behaves. What was answered before is not to be
// repeated: it may have been another way of repeating, or of writing amounts.
func (s *fixture) changeQuirks(all []*client) {
	for _, p := range all {
		p.last = nil
	}
	p := all[0]
	s.model.quirks = quirks{
		Idempotency:         oneOf(p, "honoured", "ignored", "conflict"),
		CardsPerPage:        oneOf(p, 100, 7),
		CardsTotal:          oneOf(p, "present", "absent"),
		WithdrawAmount:      oneOf(p, "honoured", "honoured", "ignored"),
		TransactionsPerPage: oneOf(p, "honoured", "ignored"),
		RepeatedState:       oneOf(p, "ok", "conflict"),
		TerminatedStatus:    oneOf(p, 400, 404, 409, 422),
		FrozenMoney:         oneOf(p, "allowed", "refused"),
		Amounts:             oneOf(p, "decimals", "plain", "strings"),
	}
	p.must(http.MethodPut, control+"/quirks", mustJSON(s.model.quirks), found(s.model.quirks.view()))
}

// reset empties the file, and sees that nothing is left.
func (s *fixture) reset() {
	s.model.now, s.model.quirks = time.Date(2026, 1, 28, 9, 30, 0, 0, time.UTC), usual()
	p := s.newClient(0, &account{key: s.server.Key, seen: s.seen, wallet: sharedWallet, deposited: -sharedWallet})
	p.must(http.MethodPost, control+"/reset", "", found(object{"now": stamp(s.model.now)}))
	for _, check := range []func() (step, bool){p.anyCards, p.anyTransactions, p.anyChallenges, p.anyWallet, p.readRequests, p.forgetRequests} {
		if call, possible := check(); possible {
			p.perform(call)
		}
	}
	p.must(http.MethodGet, control+"/deliveries", "", found(largeList(list{})))
	p.must(http.MethodGet, control+"/faults", "", found(object{"data": list{}}))
	p.checkLedger()
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own values
	}
	return string(text)
}
