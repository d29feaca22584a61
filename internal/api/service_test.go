package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
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
	commit   time.Duration // now, never, or as much later
	response string        // "", "drop", "reset", "truncate", or a status
	html     bool          // of a gateway, without the service's words
	code     string        // in place of the usual one
	before   func()        // runs first
}

type fakeCard struct {
	api.CardListItem
	CreatedAt string `json:"created_at"`
}

// service is a small account of the service that breaks as it is told.
type fakeService struct {
	clock       *fakeClock
	idempotency string // "honoured", "ignored" or "conflict"

	mu       sync.Mutex
	wallet   usd.Amount
	cards    []*fakeCard
	history  []map[string]any
	webhooks int
	faults   []fault
	stored   map[string]func(http.ResponseWriter)
	late     []lateEffect
	posts    []string // keys of changing requests, in order
	hooks    map[string]http.HandlerFunc
}

type lateEffect struct {
	due time.Time
	key string
	run func() func(http.ResponseWriter)
}

func newFakeService(faults ...fault) *fakeService {
	return &fakeService{
		clock: newFakeClock(), idempotency: "honoured", wallet: 10_000 * usd.Dollar,
		faults: faults, stored: map[string]func(http.ResponseWriter){}, hooks: map[string]http.HandlerFunc{},
	}
}

func (b *fakeService) client(t *testing.T, options ...func(*api.Config)) *api.Client {
	t.Helper()
	return newClient(t, b, append([]func(*api.Config){on(b.clock)}, options...)...)
}

// add puts a card into the account.
func (b *fakeService) add(card api.CardListItem) *fakeCard {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.insert(card)
}

func (b *fakeService) insert(card api.CardListItem) *fakeCard {
	card.ID = fmt.Sprintf("card_%d", len(b.cards)+1)
	card.Status = api.StatusActive
	added := &fakeCard{CardListItem: card, CreatedAt: b.clock.Now().UTC().Format(time.RFC3339)}
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
	waiting := b.late[:0]
	for _, effect := range b.late {
		switch {
		case effect.due.After(b.clock.Now()):
			waiting = append(waiting, effect)
		default:
			b.once(effect.key, effect.run)
		}
	}
	b.late = waiting
}

// once runs an effect unless its key has been answered and keys are honoured.
func (b *fakeService) once(key string, run func() func(http.ResponseWriter)) func(http.ResponseWriter) {
	if reply, ok := b.stored[key]; ok && b.idempotency != "ignored" {
		return reply
	}
	reply := run()
	b.stored[key] = reply
	return reply
}

func (b *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", b.clock.Now().UTC().Format(http.TimeFormat))
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	if r.Method == http.MethodGet {
		b.mu.Lock()
		b.commitLate()
		hook := b.hooks[path]
		b.mu.Unlock()
		if hook != nil {
			hook(w, r)
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.get(w, r, path)
		return
	}
	b.mu.Lock()
	var f fault
	if len(b.faults) > 0 {
		f, b.faults = b.faults[0], b.faults[1:]
	}
	key := r.Header.Get("X-Idempotency-Key")
	b.posts = append(b.posts, key)
	b.mu.Unlock()
	if f.before != nil {
		f.before()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commitLate()
	effect := b.effect(r, path)
	var reply func(http.ResponseWriter)
	inFlight := slices.ContainsFunc(b.late, func(e lateEffect) bool { return e.key == key })
	switch {
	case b.idempotency == "conflict" && inFlight:
		f.response = "409"
	case f.commit == now:
		reply = b.once(key, effect)
	case f.commit > 0:
		b.late = append(b.late, lateEffect{b.clock.Now().Add(f.commit), key, effect})
	}
	switch status, err := strconv.Atoi(f.response); {
	case err == nil:
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		if f.html {
			_, _ = io.WriteString(w, "<html><h1>Go away</h1></html>")
			return
		}
		code := map[int]string{http.StatusConflict: "request_in_progress", http.StatusNotFound: "not_found"}[status]
		_, _ = fmt.Fprintf(w, `{"error":%q,"message":"as the test wants it"}`, cmp.Or(f.code, code, "planned"))
	case f.response == "reset":
		reset(w)
	case f.response == "truncate":
		truncate(`{"id":"card_1","status":"active"}`)(w, r)
	case f.response == "drop" || reply == nil:
		panic(http.ErrAbortHandler)
	default:
		reply(w)
	}
}

func (b *fakeService) get(w http.ResponseWriter, r *http.Request, path string) {
	query := r.URL.Query()
	switch {
	case path == "/cards":
		var found []any
		for _, card := range slices.Backward(b.cards) {
			if query.Get("bin_id") == "" || card.BinID == query.Get("bin_id") {
				found = append(found, card.CardListItem)
			}
		}
		writePage(w, r, found, true)
	case path == "/transactions":
		var found []any
		for _, transaction := range slices.Backward(b.history) {
			if transaction["card_id"] == query.Get("card_id") {
				found = append(found, transaction)
			}
		}
		writePage(w, r, found, false)
	case path == "/wallet/balance":
		write(w, 200, map[string]any{"balance": b.wallet, "currency": "USDT"})
	default:
		if card := b.card(path); card != nil {
			write(w, 200, card)
			return
		}
		write(w, 404, map[string]string{"error": "not_found", "message": "no such card"})
	}
}

func (b *fakeService) card(path string) *fakeCard {
	id := strings.Split(path, "/")[2]
	for _, card := range b.cards {
		if card.ID == id {
			return card
		}
	}
	return nil
}

// effect returns what a changing request does and answers.
func (b *fakeService) effect(r *http.Request, path string) func() func(http.ResponseWriter) {
	var body struct {
		BinID         string      `json:"bin_id"`
		Label         string      `json:"label"`
		URL           string      `json:"url"`
		Amount        usd.Amount  `json:"amount"`
		SpendingLimit *usd.Amount `json:"spending_limit"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	reply := func(status int, value any) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { write(w, status, value) }
	}
	action := path[strings.LastIndex(path, "/")+1:]
	return func() func(http.ResponseWriter) {
		switch {
		case path == "/webhooks":
			b.webhooks++
			return reply(201, map[string]any{"id": fmt.Sprintf("wh_%d", b.webhooks), "url": body.URL, "events": []string{"*"}, "secret": "whsec_x", "created_at": ""})
		case path == "/cards":
			limit := 5000 * usd.Dollar
			if body.SpendingLimit != nil {
				limit = *body.SpendingLimit
			}
			card := b.insert(api.CardListItem{BinID: body.BinID, Label: body.Label, Balance: body.Amount, SpendingLimit: limit})
			b.wallet -= body.Amount + usd.Dollar
			return reply(201, *card)
		}
		card := b.card(path)
		switch {
		case card == nil:
			return reply(404, map[string]string{"error": "not_found", "message": "no such card"})
		case card.Status == api.StatusTerminated:
			return reply(400, map[string]string{"error": "card_terminated", "message": "it is terminated"})
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

func writePage(w http.ResponseWriter, r *http.Request, all []any, total bool) {
	number, size := 1, 25
	if n, err := strconv.Atoi(r.URL.Query().Get("page")); err == nil {
		number = n
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("per_page")); err == nil {
		size = n
	}
	low := min((number-1)*size, len(all))
	body := map[string]any{"data": all[low:min(low+size, len(all))], "page": number}
	if total {
		body["per_page"], body["total"] = size, len(all)
	}
	write(w, 200, body)
}
