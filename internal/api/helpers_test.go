package api_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	testKey  = "sk_live_0123456789ab.tail9"
	cardBody = `{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":50.00,"spending_limit":100.00,"label":"ads","created_at":"2026-03-01T12:00:00Z"}`
)

// fakeClock moves only when somebody waits.
type fakeClock struct {
	mu      sync.Mutex
	now     time.Time
	waited  time.Duration
	longest time.Duration       // wait
	after   func(time.Duration) // runs at the end of each wait
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.waited += d
	c.longest = max(c.longest, d)
	c.mu.Unlock()
	if c.after != nil {
		c.after(d)
	}
	return nil
}

func (c *fakeClock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// newClient returns a client of handler over real HTTP, on a clock that does
// not wait. Without a handler the options say what it talks to.
func newClient(t *testing.T, handler http.Handler, options ...func(*api.Config)) *api.Client {
	t.Helper()
	config := api.Config{
		BaseURL:        "https://cards.example.com/api/v1",
		APIKey:         testKey,
		RequestTimeout: 5 * time.Second,
		MaxRetries:     transport.DefaultMaxRetries,
		Clock:          newFakeClock(),
	}
	if handler != nil {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		config.BaseURL = server.URL + "/api/v1"
	}
	for _, option := range options {
		option(&config)
	}
	client := sandboxtest.Must(api.New(config))
	t.Cleanup(func() {
		isIdle(t, client, config.Clock)
		movers.Delete(client)
	})
	return client
}

var movers sync.Map // by client

// mover returns the one mover of a client.
func mover(client *api.Client) *transfer.Mover {
	known, _ := movers.LoadOrStore(client, transfer.New(client))
	m, _ := known.(*transfer.Mover)
	return m
}

// isIdle checks what holds of every client in the end: nothing is in flight, no lock and
// no slot is held, and nothing was waited for longer than for the limit of an hour.
func isIdle(t *testing.T, client *api.Client, clock ratelimit.Clock) {
	t.Helper()
	held := api.Held(client)
	for end := time.Now().Add(time.Minute); len(held) > 0 && time.Now().Before(end); held = api.Held(client) {
		time.Sleep(time.Millisecond) // calls that were given up end by themselves
	}
	if len(held) > 0 {
		t.Errorf("the client still holds %v", held)
	}
	if fake, ok := clock.(*fakeClock); ok && fake.longest > time.Hour+time.Second {
		t.Errorf("the client waited for %s at once", fake.longest)
	}
}

func on(clock ratelimit.Clock) func(*api.Config) {
	return func(c *api.Config) { c.Clock = clock }
}

func keysHonoured(c *api.Config) { c.KeysHonoured = true }

func onlyOneTry(c *api.Config) { c.MaxRetries = 0 }

func unlimited(c *api.Config) {
	c.Limits = ratelimit.Limits{RequestsPerMinute: 1 << 20, RequestsPerHour: 1 << 20, CreatesPerMinute: 1 << 20, DetailsPerMinute: 1 << 20}
}

func request(label string) api.IssueCardRequest {
	return api.IssueCardRequest{BinID: "bin_1", Amount: 50 * usd.Dollar, Label: label}
}

// try makes a call of the client, about card_1 where it is about a card.
func try(ctx context.Context, c *api.Client, name string) (err error) {
	const id = "card_1"
	switch name {
	case "read":
		_, err = c.GetCard(ctx, id)
	case "details":
		_, err = c.CardDetails(ctx, id)
	case "list":
		_, err = c.ListCards(ctx, api.CardFilter{}, 1, api.MaxPerPage)
	case "cards":
		err = lastError(c.Cards(ctx, api.CardFilter{}))
	case "bins":
		_, err = c.Bins(ctx)
	case "wallet":
		_, err = c.WalletBalance(ctx)
	case "addresses":
		_, err = c.DepositAddresses(ctx, "")
	case "challenges":
		_, err = c.Challenges(ctx, "pending")
	case "transactions":
		for transaction, failed := range c.Transactions(ctx, api.TransactionFilter{}) {
			if err = failed; err == nil && transaction.Problem != "" {
				err = errors.New(transaction.Problem)
			}
		}
	case "issue":
		_, err = c.IssueCard(ctx, request("ads"))
	case "issue apart": // with a label of its own
		_, err = c.IssueCard(ctx, request(rand.Text()))
	case "fund":
		_, err = mover(c).Move(ctx, id, by(step), nil)
	case "withdraw":
		_, err = mover(c).Move(ctx, id, by(-step), nil)
	case "freeze":
		_, err = c.FreezeCard(ctx, id)
	case "unfreeze":
		_, err = c.UnfreezeCard(ctx, id, nil)
	case "terminate":
		_, err = c.TerminateCard(ctx, id)
	case "register":
		_, err = c.RegisterWebhook(ctx, api.WebhookRequest{URL: "https://hooks.example.com/v?token=abc", Events: []string{"*"}})
	default:
		panic("no call is named " + name)
	}
	return err
}

// must makes calls of the client that have to succeed.
func must(t *testing.T, c *api.Client, calls ...string) {
	t.Helper()
	for _, call := range calls {
		if err := try(t.Context(), c, call); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// said is the error of a read that is answered like this.
func said(t *testing.T, status int, body string, options ...func(*api.Config)) string {
	t.Helper()
	options = append(options, onlyOneTry, func(c *api.Config) { c.Transport = sandboxtest.Direct(respond(status, body)) })
	return try(t.Context(), newClient(t, nil, options...), "read").Error()
}

// inError is the body of an error with a message.
func inError(message string) string {
	return string(sandboxtest.Must(json.Marshal(map[string]string{"error": "x", "message": message})))
}

// same compares in text what came with what was wanted, so that a failure shows which
// part differs.
func same(t *testing.T, name string, got any, want string) {
	t.Helper()
	if text := fmt.Sprintf("%+v", got); text != want {
		t.Errorf("%s: %s, want %s", name, text, want)
	}
}

func lastError[T any](all func(func(T, error) bool)) (last error) {
	all(func(_ T, err error) bool { last = err; return true })
	return last
}

// kindOf sorts the errors of a change.
func kindOf(err error) string {
	_, unknown := errors.AsType[*transport.UndecidedError](err)
	switch {
	case err == nil:
		return ""
	case unknown:
		return "unknown"
	case transport.IsNotFound(err):
		return "not found"
	}
	return "refused"
}

// roundTrip is a transport without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// script answers the nth request by its nth step, and the last step for ever.
type script struct {
	mu    sync.Mutex
	steps []http.HandlerFunc
	got   []*http.Request
}

func steps(steps ...http.HandlerFunc) *script { return &script{steps: steps} }

// then begins another script, as often as that is said, and forgets the requests.
func (s *script) then(steps ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps, s.got = steps, nil
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.got = append(s.got, r)
	step := s.steps[min(len(s.got), len(s.steps))-1]
	s.mu.Unlock()
	step(w, r)
}

func (s *script) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// respond is a step that writes a status and a body.
func respond(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// notFound is a step that knows no card.
func notFound(w http.ResponseWriter, r *http.Request) {
	respond(404, `{"error":"not_found","message":"no such card"}`)(w, r)
}

// write writes a status and a value as JSON.
func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// drop is a step that breaks the connection.
func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// reset breaks the connection without a goodbye, as a router does that has lost it.
func reset(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// truncate is a step that breaks off in the middle of the body.
func truncate(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "4096")
	_, _ = w.Write([]byte(cardBody[:len(cardBody)/2]))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// asLabel is a label as the service tells it.
func asLabel(text string) transport.Label { return transport.NewLabel(text) }
