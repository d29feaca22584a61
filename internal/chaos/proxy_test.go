//go:build unix

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	requestTakes = 20 * time.Millisecond
	// longestStreak bounds how many requests in a row of one run meet a fault.
	longestStreak = 4
)

// proxy stands between the clients and the service. Requests below /<run>/ come
// from that run and may meet a fault; all others pass.
type proxy struct {
	service http.Handler
	clock   serviceClock
	profile profile
	quiet   atomic.Bool // no more faults
	runs    sync.Map    // of *run, by name: their requests may meet faults

	mu       sync.Mutex
	r        *rand.Rand
	late     []lateRequest
	orphans  []string        // responses to creates that came when the run that asked was killed
	accepted map[string]bool // paths of cards of which a movement was accepted only
	counts   map[string]int  // by kind of call and fault
	mutating int
	shown    map[string]shownResponse // by address, where reads lag
	underWay atomic.Int64             // mutating requests that are not answered
}

type shownResponse struct {
	lag      time.Duration // for how long it may be shown again
	at       time.Time
	response *httptest.ResponseRecorder
}

// serviceClock is the time of the service.
type serviceClock interface {
	Now() time.Time
	advance(d time.Duration)
}

type lateRequest struct {
	due     time.Time
	request *http.Request
	caller  *run
}

// run is what the proxy knows of one run of a pipeline.
type run struct {
	name      string
	killed    atomic.Bool
	calm      atomic.Bool // meets no fault for a while
	killAt    int         // the number of the mutating request at which it is killed; 0 for never
	mutating  int
	streak    int
	interrupt func()
	kill      func()
}

// startProxied starts a service behind a proxy.
func startProxied(t *testing.T, seed uint64, clock serviceClock, profile profile) (*proxy, *sandboxtest.Server) {
	t.Helper()
	p := &proxy{
		clock: clock, profile: profile, r: rand.New(rand.NewPCG(seed, 2)),
		accepted: map[string]bool{}, counts: map[string]int{}, shown: map[string]shownResponse{},
	}
	service := sandboxtest.Start(t, func(o *sandboxtest.Options) {
		o.Options = sandbox.Options{Path: ":memory:", InitialBalance: 100_000_000 * usd.Dollar, Clock: clock.Now}
		o.Wrap = func(service http.Handler) http.Handler {
			p.service = service
			return p
		}
	})
	service.Unlimited()
	balance := map[bool]string{false: "less_holds", true: "settled"}[profile.settled]
	service.AddQuirks(map[string]any{"idempotency": profile.idempotency, "balance": balance})
	return p, service
}

func authorize(service *sandboxtest.Server, card string, amount, fee usd.Amount, merchant string) sandboxtest.Response {
	return service.Post("/_sandbox/authorizations", map[string]any{
		"card_id": card, "amount": amount, "fee": fee, "merchant": map[string]string{"name": merchant, "mcc": "7311"},
	})
}

func statusOf(service *sandboxtest.Server, id string) string {
	return service.Get("/cards/" + id).OK(http.StatusOK).Text("status")
}

func balanceOf(service *sandboxtest.Server, id string) usd.Amount {
	return amountOf(service.Get("/cards/" + id).OK(http.StatusOK).Body["balance"])
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	known, ok := p.runs.Load(name)
	if !ok {
		p.service.ServeHTTP(w, r)
		return
	}
	caller, _ := known.(*run)
	if caller.killed.Load() {
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r = copyOf(r, body)
	r.URL.Path = "/" + rest
	r.RequestURI = r.URL.RequestURI()
	if mutates(r) {
		p.underWay.Add(1)
		defer p.underWay.Add(-1)
	}
	p.clock.advance(requestTakes)
	p.deliverLate(p.clock.Now())
	p.serve(w, r, body, p.choose(r, body, caller), caller)
}

// choose draws what becomes of a request, and notes it.
func (p *proxy) choose(r *http.Request, body []byte, caller *run) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := none
	if !p.quiet.Load() && !caller.calm.Load() {
		f = p.profile.draw(p.r, kind(r))
	}
	if caller.streak++; f == none || caller.streak > longestStreak {
		f, caller.streak = none, 0
	}
	if f == acceptedOnly && isShared(body) {
		f = none
	}
	if mutates(r) {
		p.mutating++
		if caller.calm.Load() {
			return none
		}
		if caller.mutating++; caller.mutating == caller.killAt && !p.quiet.Load() {
			f = pick(p.r, killBefore, killAfter, killLate, killLate)
		}
	}
	if f == late || f == killLate {
		due := p.clock.Now().Add(time.Duration(p.r.Int64N(int64(p.profile.longest))))
		p.late = append(p.late, lateRequest{due, copyOf(r, body), caller})
	}
	if f == acceptedOnly && (kind(r) == "fund" || kind(r) == "withdraw") {
		p.accepted[path.Dir(r.URL.Path)] = true
	}
	p.counts[kind(r)+", "+string(f)]++
	return f
}

// isShared reports whether a card is asked for with the label that all pipelines use. If the
// service only accepts that, the card of another pipeline is found by the label and adopted,
// with a warning.
func isShared(body []byte) bool { return bytes.Contains(body, []byte(`"label":"`+sharedLabel+`"`)) }

// isAcceptedOnly reports, once, whether a movement on a card was accepted and never made.
func (p *proxy) isAcceptedOnly(card string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for one := range p.accepted {
		if path.Base(one) == card {
			delete(p.accepted, one)
			return true
		}
	}
	return false
}

func copyOf(r *http.Request, body []byte) *http.Request {
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	return again
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request, body []byte, f fault, caller *run) {
	switch f {
	case killBefore, killAfter, killLate:
		caller.killed.Store(true)
		caller.kill()
	case interrupted:
		caller.interrupt()
	}
	switch f {
	case none, interrupted:
		p.respond(w, p.forward(r))
	case stale:
		p.respond(w, p.lately(r))
	case oldAnswer:
		before := p.forward(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path.Dir(r.URL.Path)}, Header: r.Header})
		p.respond(w, withBalanceOf(before, p.forward(r)))
	case repeated:
		p.forward(copyOf(r, body))
		p.respond(w, p.forward(r))
	case cutOff:
		response := p.forward(r)
		response.Body.Truncate(response.Body.Len() / 2)
		p.respond(w, response)
	default:
		answer, answered := answers()[f]
		if answer.processed || f == lostAfter || f == killAfter {
			p.forward(r)
		}
		if !answered {
			panic(http.ErrAbortHandler)
		}
		if f == rateLimited {
			w.Header().Set("Retry-After", "3")
		}
		w.Header()["Date"] = nil // not the service's time
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body)
	}
}

func (p *proxy) forward(r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	p.service.ServeHTTP(recorder, r)
	if p.profile.lag > 0 && r.Method == http.MethodGet && recorder.Code == http.StatusOK {
		again := httptest.NewRecorder()
		again.Body = bytes.NewBuffer(bytes.Clone(recorder.Body.Bytes()))
		p.mu.Lock()
		known, ok := p.shown[r.URL.String()]
		if !ok {
			known.lag = time.Duration(p.r.Int64N(int64(p.profile.lag)))
		}
		p.shown[r.URL.String()] = shownResponse{known.lag, p.clock.Now(), again}
		p.mu.Unlock()
	}
	return recorder
}

// lately is what an address has shown some seconds ago, or shows now.
func (p *proxy) lately(r *http.Request) *httptest.ResponseRecorder {
	p.mu.Lock()
	known, now := p.shown[r.URL.String()], p.clock.Now()
	p.mu.Unlock()
	if known.response == nil || now.Sub(known.at) > known.lag {
		return p.forward(r)
	}
	again := httptest.NewRecorder()
	again.Code, again.Body = known.response.Code, bytes.NewBuffer(bytes.Clone(known.response.Body.Bytes()))
	again.Header().Set("Content-Type", "application/json")
	again.Header().Set("Date", now.Format(http.TimeFormat))
	return again
}

// withBalanceOf is the response to a movement with the balance that a card showed.
func withBalanceOf(card, moved *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	var shown, fields map[string]json.RawMessage
	if json.Unmarshal(card.Body.Bytes(), &shown) != nil || json.Unmarshal(moved.Body.Bytes(), &fields) != nil || fields["card_balance"] == nil {
		return moved
	}
	fields["card_balance"] = shown["balance"]
	body, _ := json.Marshal(fields) // as it was read
	moved.Body = bytes.NewBuffer(body)
	return moved
}

func (p *proxy) respond(w http.ResponseWriter, response *httptest.ResponseRecorder) {
	if date, err := http.ParseTime(response.Header().Get("Date")); err == nil {
		response.Header().Set("Date", date.Add(p.profile.ahead).Format(http.TimeFormat))
	}
	for name, values := range response.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()) // the caller may be gone
}

// deliverLate lets the service process the late requests whose time has come.
func (p *proxy) deliverLate(now time.Time) {
	p.mu.Lock()
	var due, waiting []lateRequest
	for _, one := range p.late {
		if one.due.After(now) {
			waiting = append(waiting, one)
		} else {
			due = append(due, one)
		}
	}
	p.late = waiting
	p.mu.Unlock()
	for _, one := range due {
		response := p.forward(one.request)
		isNew := response.Code == http.StatusCreated && response.Header().Get("Idempotent-Replayed") == ""
		if isNew && kind(one.request) == "create" && one.caller.killed.Load() {
			p.mu.Lock()
			p.orphans = append(p.orphans, response.Body.String())
			p.mu.Unlock()
		}
	}
}

// awaits reports whether a request for a card is late.
func (p *proxy) awaits(card string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.late, func(one lateRequest) bool { return strings.Contains(one.request.URL.Path, card) })
}

// isOrphan reports whether a card was issued when the run that asked for it was killed.
func (p *proxy) isOrphan(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.orphans, func(response string) bool { return strings.Contains(response, id) })
}

// calm ends all faults, and lets an hour pass in which everything late arrives.
func (p *proxy) calm() {
	p.clock.advance(time.Hour)
	p.deliverLate(p.clock.Now())
	p.quiet.Store(true)
}

// clock is the time of the service and of all clients. It moves only when
// somebody waits for something.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var errKilled = errors.New("the process was killed")

// runClock is the clock of one run: a killed process waits no more.
type runClock struct {
	*clock
	killed *atomic.Bool
}

// Wait lets time pass. What is drawn at random, between half and all of a power of two
// of 500 ms, is all of it, so that a seed repeats exactly.
func (c runClock) Wait(ctx context.Context, d time.Duration) error {
	if c.killed.Load() {
		return errKilled
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	const unit = 500 * time.Millisecond
	c.advance(unit << bits.Len64(uint64((d-1)/unit)))
	return nil
}
