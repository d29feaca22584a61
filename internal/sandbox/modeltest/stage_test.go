package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// players is how many clients there are.
const players = 8

const (
	sharedWallet cents = 10_000_000_00
	ownWallet    cents = 1_500_00
)

// stage is a sandbox on a file of its own, and the players' common world.
type stage struct {
	t     *testing.T
	ctx   context.Context
	seed  uint64
	round int
	part  string // "own" or "shared"
	rng   *rand.Rand
	world *world

	url            string
	firstKey       string
	shared, single *http.Client // the second takes a new connection for each call
	receiver       *receiver
	calls          *atomic.Int64
	seen           *sightings
	broken         atomic.Bool
	refusals       []string // that a fault may answer with
}

// openStage opens a sandbox whose clock only the control calls move. With
// quirky, answers may leave the contract.
func openStage(t *testing.T, seed uint64, round int, quirky bool, calls *atomic.Int64, seen *sightings) *stage {
	t.Helper()
	s := &stage{
		t: t, ctx: t.Context(), seed: seed, round: round, calls: calls, seen: seen, receiver: newReceiver(),
		rng:    rand.New(rand.NewPCG(seed, uint64(round)<<8)),
		world:  &world{now: time.Date(2026, 1, 28, 9, 30, 0, 0, time.UTC), quirks: usual()},
		shared: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * players}},
		single: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	start := s.world.now
	box, err := sandbox.Open(t.Context(), sandbox.Options{
		Path: filepath.Join(t.TempDir(), "sandbox.db"), InitialBalance: usd.Cents(int64(sharedWallet)),
		Clock: func() time.Time { return start }, WebhookCA: s.receiver.authority(),
	})
	if err != nil {
		t.Fatal(err)
	}
	options := []contract.Option{contract.TolerateBadRequests()}
	s.refusals = []string{`{"status":429}`, `{"status":429,"body":{"error":"rate_limited","message":"ordered"}}`}
	if quirky {
		s.refusals = []string{`{"status":503}`, `{"status":502,"body":"<html>bad gateway</html>"}`}
		options = append(options, contract.RequestsOnly())
	}
	server := httptest.NewServer(contract.Handler(t, box.Handler(), options...))
	s.url, s.firstKey = server.URL, box.APIKey()
	t.Cleanup(func() {
		s.shared.CloseIdleConnections()
		server.Close()
		if err := box.Close(); err != nil {
			t.Error(err)
		}
		s.receiver.server.Close()
	})
	return s
}

func (s *stage) name() string {
	return fmt.Sprintf("%s=%d, round %d, %s accounts", seedVariable, s.seed, s.round, s.part)
}

// newPlayer is a player of the account that a key opens.
func (s *stage) newPlayer(id int, a *account) *player {
	return &player{
		stage: s, id: id, account: a, caller: caller{s.url, a.key, s.shared},
		rng: rand.New(rand.NewPCG(s.seed, uint64(s.round)<<8+uint64(len(s.part))<<4+uint64(id)+1)),
	}
}

// must makes a call of the stage's own, between the moves.
func (p *player) must(method, path, body string, want outcome) reply {
	p.t.Helper()
	r := p.send(step{method: method, path: path, body: body}, "")
	if d := r.judge(want, p.world.notation(path)); len(d) > 0 {
		p.fail(d...)
	}
	return r
}

// begin gives each player an account of its own, or all of them the first one.
func (s *stage) begin(part string) (all []*player) {
	s.part = part
	first := s.newPlayer(0, &account{key: s.firstKey, shared: part == "shared", seen: s.seen, wallet: sharedWallet, deposited: -sharedWallet})
	first.must(http.MethodPut, control+"/limits", mustJSON(noLimits()), found(noLimits()))
	for id := range players {
		a := first.account
		if part == "own" {
			body := mustJSON(object{"state": "ready", "initial_balance": number(ownWallet)})
			made := first.must(http.MethodPost, control+"/accounts", body, outcome{status: http.StatusCreated, body: anything{}})
			key, _ := made.body["api_key"].(string)
			a = &account{key: key, seen: s.seen, wallet: ownWallet, deposited: -ownWallet}
		}
		p := s.newPlayer(id, a)
		p.readAddresses()
		all = append(all, p)
	}
	if part == "shared" {
		s.share(all)
	}
	return all
}

func (p *player) readAddresses() {
	r := p.must(http.MethodGet, api+"/wallet/deposit-address", "", found(object{"data": anything{}}))
	p.account.addresses, _ = r.body["data"].(list)
	if len(p.account.addresses) != 10 {
		p.fail("there are no ten deposit addresses")
	}
}

// share issues the card that everybody uses, and registers two endpoints.
func (s *stage) share(all []*player) {
	host := all[0]
	o := order{bin: "bin_ads_visa_us", load: 100_000_00, label: "everybody's", categories: list{}, metadata: object{}}
	host.perform(step{method: http.MethodPost, path: api + "/cards", body: o.json(), want: func() outcome {
		return host.account.issue(s.world, nobody, o)
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

// act lets all players make some moves at once.
func (s *stage) act(all []*player, moves int) {
	var group sync.WaitGroup
	for _, p := range all {
		group.Go(func() { p.play(moves) })
	}
	group.Wait()
}

// pass lets time pass, sometimes to the turn of a month.
func (s *stage) pass(p *player) {
	by := oneOf(p, time.Millisecond, time.Second, 4*time.Minute, 5*time.Minute, 23*time.Hour, 24*time.Hour, 100*time.Hour)
	if s.rng.IntN(5) == 0 {
		year, month, _ := s.world.now.Date()
		by = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Sub(s.world.now) - time.Duration(s.rng.IntN(2))*time.Millisecond
	}
	s.advance(p, max(by, time.Millisecond))
}

func (s *stage) advance(p *player, by time.Duration) {
	s.world.now = s.world.now.Add(by)
	p.must(http.MethodPost, control+"/clock", fmt.Sprintf(`{"advance":%q}`, by), found(object{"now": stamp(s.world.now)}))
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
	}
}

// turn changes how the service behaves. What was answered before is not to be
// repeated: it may have been another way of repeating, or of writing amounts.
func (s *stage) turn(all []*player) {
	for _, p := range all {
		p.last = nil
	}
	p := all[0]
	s.world.quirks = quirks{
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
	p.must(http.MethodPut, control+"/quirks", mustJSON(s.world.quirks), found(s.world.quirks.view()))
}

// reset empties the file, and sees that nothing is left.
func (s *stage) reset() {
	s.world.now, s.world.quirks = time.Date(2026, 1, 28, 9, 30, 0, 0, time.UTC), usual()
	p := s.newPlayer(0, &account{key: s.firstKey, seen: s.seen, wallet: sharedWallet, deposited: -sharedWallet})
	p.must(http.MethodPost, control+"/reset", "", found(object{"now": stamp(s.world.now)}))
	for _, check := range []func() (step, bool){p.anyCards, p.anyTransactions, p.anyChallenges, p.anyWallet, p.readRequests, p.forgetRequests} {
		if call, possible := check(); possible {
			p.perform(call)
		}
	}
	p.must(http.MethodGet, control+"/deliveries", "", found(object{"data": list{}}))
	p.must(http.MethodGet, control+"/faults", "", found(object{"data": list{}}))
	p.checkBooks()
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own values
	}
	return string(text)
}
