package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// When a request takes effect.
const (
	now   = time.Duration(0)
	never = time.Duration(-1)
)

// fault is what becomes of one changing request: when it takes effect, and what
// the caller gets to see. A zero fault is a service that works.
type fault struct {
	commit time.Duration // now, never, or as much later
	// response is "", "drop", "reset", "truncate", or a status, which a code may
	// follow, or a body.
	response string
	pause    string // of Retry-After
	stays    bool   // all later requests meet it, too
	before   func() // runs first
}

var (
	lostButApplied = fault{commit: now, response: "drop"}
	lostForGood    = fault{commit: never, response: "drop"}
	beforeTheWait  = fault{commit: 10 * time.Second, response: "drop"}
	afterTheWait   = fault{commit: 45 * time.Second, response: "drop"}
	afterTheLooks  = fault{commit: 75 * time.Second, response: "drop"} // at the lists of cards
	refusal        = undone("400")
	works          = fault{}
)

// undone is a response to a request that was not processed.
func undone(response string) fault { return fault{commit: never, response: response} }

func (f fault) forEver() fault {
	f.stays = true
	return f
}

// definition is the fault as the sandbox takes it, for one request.
func (f fault) definition(method, path string) map[string]any {
	definition := map[string]any{"method": method, "path": path, "when": "before", "then": f.then()}
	if f.commit == now {
		definition["when"] = "after"
	}
	if f.commit > 0 {
		definition["when"], definition["later_seconds"] = "later", int(f.commit.Seconds())
	}
	return definition
}

func (f fault) then() any {
	switch f.response {
	case "", "reset": // which the service itself does to the connection
		return "pass"
	case "drop", "truncate":
		return f.response
	}
	first, body, _ := strings.Cut(f.response, " ")
	status := sandboxtest.Must(strconv.Atoi(first))
	if strings.Contains(body, "{") {
		return map[string]any{"status": status, "body": json.RawMessage(body)}
	}
	if strings.Contains(body, "<") {
		return map[string]any{"status": status, "body": body}
	}
	code := map[int]string{http.StatusConflict: "request_in_progress", http.StatusNotFound: "not_found"}[status]
	return map[string]any{"status": status, "body": map[string]string{"error": cmp.Or(body, code, "planned"), "message": "as the test wants it"}}
}

// service is a sandbox on the client's clock, with a list of faults for the changing requests, in
// their order. Its cards are called card_1, card_2 and so on.
type service struct {
	clock   *fakeClock
	sandbox *sandboxtest.Client // what happens at the service without the client
	names   *sandboxtest.Names
	front   http.Handler  // the sandbox behind all that rewrites it
	ahead   time.Duration // of the Date, which a gateway writes, before the service's time
	noDate  bool          // responses have no Date

	turn sync.Mutex // of changing requests, so that each meets its own fault

	mu     sync.Mutex
	faults []fault
	posts  []string  // keys of changing requests, in order
	posted time.Time // the last of them
	reads  []string  // paths of the others
	hooks  map[string]http.HandlerFunc

	authorization, settlement string                    // the last ones, by id
	transaction               string                    // the last one
	edits                     map[string]map[string]any // of transactions, by their ids
}

func newService(t *testing.T, faults ...fault) *service {
	t.Helper()
	s := &service{
		clock: newFakeClock(), faults: faults, hooks: map[string]http.HandlerFunc{}, edits: map[string]map[string]any{},
	}
	var behind http.Handler
	box := sandboxtest.Start(t, func(o *sandboxtest.Options) {
		o.Path, o.Direct, o.Clock, o.InitialBalance = ":memory:", true, s.clock.Now, 1_000_000*usd.Dollar
		o.Wrap = func(handler http.Handler) http.Handler {
			behind = handler
			return handler
		}
	})
	box.Unlimited()
	s.sandbox, s.names = box.Client, sandboxtest.NewNames(box.Client)
	s.front = s.names.Handler(behind)
	s.idempotency("honoured")
	return s
}

// idempotency sets what the service does with a key that comes again: "honoured", "ignored" or
// "conflict".
func (s *service) idempotency(mode string) {
	s.sandbox.Quirks(map[string]any{"idempotency": mode})
}

// newAccount is a service with a card of 100 USD, and what is remembered of that.
func newAccount(t *testing.T, faults ...fault) (*service, string, *reconcile.Record) {
	t.Helper()
	s := newService(t, faults...)
	card := s.add(api.CardListItem{BinID: "bin_1", Balance: start + 50*usd.Dollar})
	s.spend(card, api.TransactionAuthorization, 43*usd.Dollar)
	s.spend(card, api.TransactionSettlement, 43*usd.Dollar) // which may be refunded
	s.spend(card, api.TransactionAuthorization, 7*usd.Dollar)
	return s, card, s.remembered(t, card)
}

func (s *service) client(t *testing.T, options ...func(*api.Config)) *api.Client {
	t.Helper()
	return newClient(t, s, append([]func(*api.Config){on(s.clock), s.withKey}, options...)...)
}

func (s *service) withKey(c *api.Config) { c.APIKey = transport.Secret(s.sandbox.Key) }

// remembered is the record of a card as it is now, a minute later.
func (s *service) remembered(t *testing.T, card string) *reconcile.Record {
	t.Helper()
	seen, err := mover(s.client(t)).Cards.ReadSnapshot(t.Context(), card, reconcile.Record{})
	if err != nil {
		t.Fatal(err)
	}
	s.later(time.Minute)
	return &reconcile.Record{Anchor: seen.Anchor(), Seed: reconcile.Seed{1}, HasKey: true}
}

func (s *service) later(by time.Duration) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.now = s.clock.now.Add(by)
}

// add puts a card into the account and returns its name. The load is at least 50 USD.
func (s *service) add(card api.CardListItem) string {
	load := max(card.Balance, 50*usd.Dollar)
	body := map[string]any{
		"bin_id": s.names.IDs(cmp.Or(card.BinID, "bin_1")), "amount": json.Number(load.String()), "label": card.Label.Raw(),
		"allowed_categories": []string{"advertising"},
	}
	if card.SpendingLimit > 0 {
		body["spending_limit"] = json.Number(card.SpendingLimit.String())
	}
	id := s.sandbox.Post("/cards", body).OK(http.StatusCreated).Text("id")
	name := s.names.Names(id)
	if card.Balance > 0 && card.Balance < load {
		s.give(name, card.Balance-load)
	}
	if card.Status == api.StatusFrozen {
		s.sandbox.Freeze(id)
	}
	if card.Status == api.StatusTerminated {
		s.sandbox.Terminate(id)
	}
	return name
}

// spend books a transaction on a card. A settlement is of its last authorization, and a refund of
// its last settlement; what the sandbox does not know is a decline of another type.
func (s *service) spend(card string, kind api.TransactionType, amount usd.Amount) {
	id := s.names.IDs(card)
	switch kind {
	case api.TransactionAuthorization:
		s.authorization = s.sandbox.Authorize(id, amount.String(), "7311").Transaction()
		s.transaction = s.authorization
	case api.TransactionSettlement:
		s.settlement = s.sandbox.Settle(s.authorization, amount.String()).Transaction()
		s.transaction = s.settlement
	case api.TransactionRefund:
		s.transaction = s.sandbox.Refund(s.settlement, amount.String()).Transaction()
	default:
		s.transaction = s.sandbox.Authorize(id, amount.String(), "5411").Transaction() // no advertising
		if kind != api.TransactionDecline {
			s.odd("type", kind)
		}
	}
}

// odd writes a field of the last transaction in another form.
func (s *service) odd(field string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.edits) == 0 {
		s.front = sandboxtest.EditList(s.front, "/transactions", s.edited)
	}
	if s.edits[s.transaction] == nil {
		s.edits[s.transaction] = map[string]any{}
	}
	s.edits[s.transaction][field] = value
}

func (s *service) edited(all []map[string]any) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, transaction := range all {
		id, _ := transaction["id"].(string)
		maps.Copy(transaction, s.edits[id])
	}
	return all
}

// give moves money to a card without the client, or takes it.
func (s *service) give(card string, amount usd.Amount) {
	direction := "/fund"
	if amount < 0 {
		direction, amount = "/withdraw", -amount
	}
	if amount != 0 {
		s.sandbox.Post("/cards/"+s.names.IDs(card)+direction, map[string]any{"amount": json.Number(amount.String())}).OK(http.StatusOK)
	}
}

// lag has the service show a card as it is now for a while.
func (s *service) lag(card string, by time.Duration) {
	until := s.clock.Now().Add(by)
	shown := []byte(s.names.Names(s.sandbox.Get("/cards/" + s.names.IDs(card)).Raw))
	s.front = sandboxtest.Lag(s.front, "/cards/"+card, shown, func() bool { return s.clock.Now().Before(until) })
}

// fromNowOn edits the cards that are issued from now on, by what has passed since.
func (s *service) fromNowOn(edit func(card map[string]any, age time.Duration) bool) {
	before := s.balances()
	s.front = sandboxtest.EditCards(s.front, func(card map[string]any) bool {
		name, _ := card["id"].(string)
		if _, old := before[name]; old {
			return true
		}
		issued := s.sandbox.Get("/cards/" + s.names.IDs(name))
		if issued.Status == http.StatusNotFound {
			return true // a fault's own card
		}
		created := sandboxtest.Must(time.Parse(time.RFC3339, issued.Text("created_at")))
		return edit(card, s.clock.Now().Sub(created))
	})
}

// hide shows no new card for a while.
func (s *service) hide(by time.Duration) {
	s.fromNowOn(func(_ map[string]any, age time.Duration) bool { return age >= by })
}

// hideUpTo shows none of the first cards but the very first.
func (s *service) hideUpTo(last int) {
	s.front = sandboxtest.EditCards(s.front, func(card map[string]any) bool {
		name, _ := card["id"].(string)
		number := sandboxtest.Must(strconv.Atoi(strings.TrimPrefix(name, "card_")))
		return number == 1 || number > last
	})
}

// charge takes a fee from the load of new cards, and books what is left after a while.
func (s *service) charge(fee usd.Amount, books time.Duration) {
	s.fromNowOn(func(card map[string]any, age time.Duration) bool {
		number, _ := card["balance"].(json.Number)
		balance := sandboxtest.Must(usd.Parse(number.String()))
		if age < books {
			balance = fee
		}
		card["balance"] = json.Number((balance - fee).String())
		return true
	})
}

// forget shows no terminated card.
func (s *service) forget() {
	s.front = sandboxtest.EditCards(s.front, func(card map[string]any) bool { return card["status"] != string(api.StatusTerminated) })
}

// card returns a card as the service shows it to the client.
func (s *service) card(name string) (card api.CardSummary) {
	s.sandbox.Get("/cards/" + s.names.IDs(name)).Into(&card)
	card.ID, card.BinID = name, s.names.Names(card.BinID)
	return card
}

func (s *service) balance(card string) usd.Amount { return s.card(card).Balance }

func (s *service) balances() map[string]usd.Amount {
	all := map[string]usd.Amount{}
	for number := 1; ; number++ {
		page := s.sandbox.Get(fmt.Sprintf("/cards?per_page=100&page=%d", number)).OK(http.StatusOK).Data()
		for _, card := range page {
			id, _ := card["id"].(string)
			balance, _ := card["balance"].(json.Number)
			all[s.names.Names(id)] = sandboxtest.Must(usd.Parse(balance.String()))
		}
		if len(page) < 100 {
			return all
		}
	}
}

func (s *service) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.dated(s.read).ServeHTTP(w, r)
		return
	}
	f := s.nextFault(r)
	if f.before != nil {
		f.before()
	}
	changed := s.dated(func(w http.ResponseWriter, r *http.Request) { s.change(w, r, f) })
	if f.response == "reset" {
		changed.ServeHTTP(httptest.NewRecorder(), r)
		reset(w, r)
		return
	}
	changed.ServeHTTP(w, r)
}

func (s *service) dated(handler http.HandlerFunc) http.Handler {
	return sandboxtest.Rewrite(handler, func(_ *http.Request, response *httptest.ResponseRecorder) {
		response.Header().Set("Date", s.clock.Now().UTC().Add(s.ahead).Format(http.TimeFormat))
		if s.noDate {
			response.Header()["Date"] = nil
		}
	})
}

func (s *service) read(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	s.mu.Lock()
	s.reads = append(s.reads, path)
	hook := s.hooks[path]
	s.mu.Unlock()
	if hook == nil {
		hook = s.front.ServeHTTP
	}
	hook(w, r)
}

// nextFault counts a changing request, and returns its fault.
func (s *service) nextFault(r *http.Request) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = append(s.posts, r.Header.Get(sandboxtest.IdempotencyKey))
	s.posted = s.clock.Now()
	if len(s.faults) == 0 {
		return works
	}
	f := s.faults[0]
	if !f.stays {
		s.faults = s.faults[1:]
	}
	return f
}

// change has the sandbox process a request as its fault has it.
func (s *service) change(w http.ResponseWriter, r *http.Request, f fault) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if f.response != "" || f.commit != now {
		path := s.names.IDs(strings.TrimPrefix(r.URL.Path, "/api/v1"))
		s.sandbox.Fault(f.definition(r.Method, path))
		defer s.sandbox.Delete("/_sandbox/faults")
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", f.pause)
	}
	s.front.ServeHTTP(w, r)
}
