package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What becomes of the effect of a request.
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
	stays    bool   // so it goes on
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

type fakeCard struct {
	api.CardListItem
	CreatedAt string    `json:"created_at"`
	shown     time.Time // not before
}

// fakeService is a small account of the service that breaks as it is told.
type fakeService struct {
	clock       *fakeClock
	idempotency string        // "honoured", "ignored" or "conflict"
	ahead       time.Duration // of the Date, which a gateway writes, before the service's time
	hides       time.Duration // new cards
	forgets     bool          // terminated cards
	oldestFirst bool          // the lists of cards are
	fee         usd.Amount    // of an issuance, taken from the load
	books       time.Duration // after it the load is on a new card
	perPage     int           // of transactions; 0 honours the query
	repeats     bool          // page 1 of transactions, whichever is asked for

	mu      sync.Mutex
	wallet  usd.Amount
	cards   []*fakeCard
	history []map[string]any
	faults  []fault
	stored  map[string]http.HandlerFunc // responses by key
	late    []lateEffect
	posts   []string  // keys of changing requests, in order
	posted  time.Time // the last of them
	reads   []string  // paths of the others
	hooks   map[string]http.HandlerFunc
}

type lateEffect struct {
	due time.Time
	key string
	run func() http.HandlerFunc
}

func newFakeService(faults ...fault) *fakeService {
	return &fakeService{
		clock: newFakeClock(), idempotency: "honoured", wallet: 10_000 * usd.Dollar,
		faults: faults, stored: map[string]http.HandlerFunc{}, hooks: map[string]http.HandlerFunc{},
	}
}

// newAccount is a service with a card of 100 USD, and what is remembered of that.
func newAccount(t *testing.T, faults ...fault) (*fakeService, *fakeCard, *reconcile.Record) {
	t.Helper()
	service := newFakeService(faults...)
	card := service.add(api.CardListItem{BinID: "bin_1", Balance: start})
	service.spend(card, api.TransactionSettlement, usd.Dollar, 0) // of before
	return service, card, service.remembered(t, card)
}

func (b *fakeService) client(t *testing.T, options ...func(*api.Config)) *api.Client {
	t.Helper()
	return newClient(t, b, append([]func(*api.Config){on(b.clock)}, options...)...)
}

// remembered is the record of a card as it is now, a minute later.
func (b *fakeService) remembered(t *testing.T, card *fakeCard) *reconcile.Record {
	t.Helper()
	seen, _, err := mover(b.client(t)).Cards.ReadSnapshot(t.Context(), card.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.later(time.Minute)
	return &reconcile.Record{Anchor: seen.Anchor(), Seed: reconcile.Seed{1}, HasKey: true}
}

func (b *fakeService) later(by time.Duration) {
	b.clock.mu.Lock()
	defer b.clock.mu.Unlock()
	b.clock.now = b.clock.now.Add(by)
}

// add puts a card into the account.
func (b *fakeService) add(card api.CardListItem) *fakeCard {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.insert(card)
}

func (b *fakeService) insert(card api.CardListItem) *fakeCard {
	card.ID = fmt.Sprintf("card_%d", len(b.cards)+1)
	card.Status = cmp.Or(card.Status, api.StatusActive)
	added := &fakeCard{CardListItem: card, CreatedAt: b.clock.Now().UTC().Format(time.RFC3339), shown: b.clock.Now().Add(b.hides)}
	b.cards = append(b.cards, added)
	return added
}

// spend books a transaction on a card.
func (b *fakeService) spend(card *fakeCard, kind api.TransactionType, amount, fee usd.Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch kind {
	case api.TransactionAuthorization:
		card.Balance -= amount
	case api.TransactionRefund:
		card.Balance += amount
	}
	b.history = append(b.history, map[string]any{
		"id": fmt.Sprintf("txn_%d", len(b.history)+1), "card_id": card.ID, "type": kind, "amount": amount,
		"currency": "USD", "fee": fee, "merchant": map[string]string{"name": "m", "mcc": "7311"}, "created_at": b.clock.Now().UTC().Format(time.RFC3339),
	})
}

// odd writes a field of the last transaction in another form.
func (b *fakeService) odd(field string, value any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.history[len(b.history)-1][field] = value
}

// give puts money on a card as another hand would, or takes it.
func (b *fakeService) give(card *fakeCard, amount usd.Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	card.Balance += amount
}

// lag lets the service show a card as it is now for a while.
func (b *fakeService) lag(card *fakeCard, by time.Duration) {
	shown, until := *card, b.clock.Now().Add(by)
	b.hooks["/cards/"+card.ID] = func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.clock.Now().Before(until) {
			write(w, 200, shown)
			return
		}
		write(w, 200, *card)
	}
}

func (b *fakeService) balances() map[string]usd.Amount {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commitLate()
	all := map[string]usd.Amount{}
	for _, card := range b.cards {
		all[card.ID] = card.Balance
	}
	return all
}

func (b *fakeService) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.posts)
}

// commitLate lets effects happen whose time has come.
func (b *fakeService) commitLate() {
	b.late = slices.DeleteFunc(b.late, func(effect lateEffect) bool {
		isDue := !effect.due.After(b.clock.Now())
		if isDue {
			b.once(effect.key, effect.run)
		}
		return isDue
	})
}

// once runs an effect unless its key has been answered and keys are honoured.
func (b *fakeService) once(key string, run func() http.HandlerFunc) http.HandlerFunc {
	if reply, ok := b.stored[key]; ok && b.idempotency != "ignored" {
		return reply
	}
	reply := run()
	if reply == nil {
		return notFound
	}
	b.stored[key] = reply
	return reply
}

func (b *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", b.clock.Now().UTC().Add(b.ahead).Format(http.TimeFormat))
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	if r.Method != http.MethodGet {
		b.change(r, path)(w, r)
		return
	}
	b.mu.Lock()
	b.commitLate()
	b.reads = append(b.reads, path)
	hook := b.hooks[path]
	b.mu.Unlock()
	if hook != nil {
		hook(w, r)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.get(w, r, path)
}

// change processes a changing request as its fault has it, and returns the response.
func (b *fakeService) change(r *http.Request, path string) http.HandlerFunc {
	b.mu.Lock()
	var f fault
	if len(b.faults) > 0 {
		f = b.faults[0]
		if !f.stays {
			b.faults = b.faults[1:]
		}
	}
	key := r.Header.Get("X-Idempotency-Key")
	b.posts, b.posted = append(b.posts, key), b.clock.Now()
	b.mu.Unlock()
	if f.before != nil {
		f.before()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commitLate()
	effect := b.effect(r, path)
	reply := http.HandlerFunc(drop)
	inFlight := slices.ContainsFunc(b.late, func(e lateEffect) bool { return e.key == key })
	switch {
	case b.idempotency == "conflict" && inFlight:
		f.response = "409"
	case f.commit == now:
		reply = b.once(key, effect)
	case f.commit > 0:
		b.late = append(b.late, lateEffect{b.clock.Now().Add(f.commit), key, effect})
	}
	return f.responds(reply)
}

// responds returns the fault's response, or the service's own.
func (f fault) responds(own http.HandlerFunc) http.HandlerFunc {
	if broken, ok := map[string]http.HandlerFunc{"": own, "drop": drop, "reset": reset, "truncate": truncate}[f.response]; ok {
		return broken
	}
	first, body, _ := strings.Cut(f.response, " ")
	status, err := strconv.Atoi(first)
	if err != nil {
		panic(err)
	}
	if !strings.ContainsAny(body, "<{") {
		code := map[int]string{http.StatusConflict: "request_in_progress", http.StatusNotFound: "not_found"}[status]
		body = fmt.Sprintf(`{"error":%q,"message":"as the test wants it"}`, cmp.Or(body, code, "planned"))
	}
	return respond(status, body, "Location", "/elsewhere", "Retry-After", f.pause)
}

func (b *fakeService) get(w http.ResponseWriter, r *http.Request, path string) {
	query := r.URL.Query()
	selects := func(name, value string) bool { return query.Get(name) == "" || query.Get(name) == value }
	var found []any
	switch {
	case path == "/cards":
		for _, card := range slices.Backward(b.cards) {
			if b.shows(card) && selects("bin_id", card.BinID) && selects("status", string(card.Status)) {
				found = append(found, card.CardListItem)
			}
		}
		if b.oldestFirst {
			slices.Reverse(found)
		}
		writePage(w, r, found, 0, true)
	case path == "/transactions":
		for _, transaction := range slices.Backward(b.history) {
			if selects("card_id", fmt.Sprint(transaction["card_id"])) {
				found = append(found, transaction)
			}
		}
		if b.repeats {
			r.URL.RawQuery = ""
		}
		writePage(w, r, found, b.perPage, false)
	case path == "/wallet/balance":
		write(w, 200, map[string]any{"balance": b.wallet, "currency": "USDT"})
	case b.card(path) == nil:
		notFound(w, r)
	case strings.HasSuffix(path, "/details"):
		write(w, 200, map[string]any{"id": b.card(path).ID, "pan": planted, "cvv": "123", "exp_month": 1, "exp_year": 2031})
	default:
		write(w, 200, b.card(path))
	}
}

func (b *fakeService) shows(card *fakeCard) bool {
	return !b.clock.Now().Before(card.shown) && !(b.forgets && card.Status == api.StatusTerminated)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	respond(404, `{"error":"not_found","message":"no such card"}`)(w, r)
}

func (b *fakeService) card(path string) *fakeCard {
	id := strings.Split(path, "/")[2]
	for _, card := range b.cards {
		if card.ID == id && b.shows(card) {
			return card
		}
	}
	return nil
}

// effect returns what a changing request does and answers; nil where there is no card.
func (b *fakeService) effect(r *http.Request, path string) func() http.HandlerFunc {
	var body struct {
		BinID         string      `json:"bin_id"`
		Label         string      `json:"label"`
		URL           string      `json:"url"`
		Amount        usd.Amount  `json:"amount"`
		SpendingLimit *usd.Amount `json:"spending_limit"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	reply := func(status int, value any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { write(w, status, value) }
	}
	action := path[strings.LastIndex(path, "/")+1:]
	return func() http.HandlerFunc {
		switch {
		case path == "/webhooks":
			return reply(201, map[string]any{"id": "wh_1", "url": body.URL, "events": []string{"*"}, "secret": "whsec_x", "created_at": ""})
		case path == "/cards":
			limit := 5000 * usd.Dollar
			if body.SpendingLimit != nil {
				limit = *body.SpendingLimit
			}
			card := b.insert(api.CardListItem{BinID: body.BinID, Label: asLabel(body.Label), Balance: body.Amount - b.fee, SpendingLimit: limit})
			b.wallet -= body.Amount + usd.Dollar
			if loaded := card.Balance; b.books > 0 {
				card.Balance = 0
				book := func() http.HandlerFunc { card.Balance = loaded; return notFound }
				b.late = append(b.late, lateEffect{b.clock.Now().Add(b.books), card.ID, book})
			}
			return reply(201, *card)
		}
		card := b.card(path)
		switch {
		case card == nil:
			return nil
		case card.Status == api.StatusTerminated:
			return respond(400, `{"error":"card_terminated","message":"it is terminated"}`)
		case r.Method == http.MethodDelete:
			returned := card.Balance
			b.wallet += returned
			card.Status, card.Balance = api.StatusTerminated, 0
			return reply(200, map[string]any{"id": card.ID, "status": card.Status, "returned_to_wallet": returned})
		case action == "freeze", action == "unfreeze":
			card.Status = map[string]api.CardStatus{"freeze": api.StatusFrozen, "unfreeze": api.StatusActive}[action]
			return reply(200, map[string]any{"id": card.ID, "status": card.Status, "balance": card.Balance})
		case action == "withdraw":
			body.Amount = -body.Amount
		}
		card.Balance += body.Amount
		b.wallet -= body.Amount
		return reply(200, map[string]any{"card_id": card.ID, "card_balance": card.Balance, "wallet_balance": b.wallet})
	}
}

func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// writePage writes the page that is asked for, of so many entries where the service
// has its own idea.
func writePage(w http.ResponseWriter, r *http.Request, all []any, size int, total bool) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	asked, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	size = cmp.Or(size, asked, 25)
	low := min((max(number, 1)-1)*size, len(all))
	body := map[string]any{"data": all[low:min(low+size, len(all))], "page": number}
	if total {
		body["per_page"], body["total"] = size, len(all)
	}
	write(w, 200, body)
}
