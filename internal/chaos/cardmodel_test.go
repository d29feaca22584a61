//go:build unix

package chaos_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const modelCard = "card_model"

// cardModel is a service with one card, which differs from others in all that
// its document leaves open. It is an http.RoundTripper.
type cardModel struct {
	clock *clock
	r     *rand.Rand

	holdsIn   bool // holds lower the balance
	feesIn    bool // fees are taken from the card
	retention time.Duration
	strict    bool
	small     bool // amounts are few, so that purchases add up to movements

	held         usd.Amount // by open authorizations
	balance      usd.Amount // without regard to holds
	moved        usd.Amount // for Terraform, in all
	transactions []*modelTransaction
	answered     map[string]answer
	late         []lateMovement

	faulty bool
	killed atomic.Bool
}

type answer struct {
	at   time.Time
	body string
}

type lateMovement struct {
	due   time.Time
	key   string
	delta usd.Amount
}

type modelTransaction struct {
	ID        string     `json:"id"`
	Card      string     `json:"card_id"`
	Type      string     `json:"type"`
	Amount    usd.Amount `json:"amount"`
	Currency  string     `json:"currency"`
	Fee       usd.Amount `json:"fee"`
	Merchant  merchant   `json:"merchant"`
	CreatedAt time.Time  `json:"created_at"`

	listed time.Time // it is not shown before
	ended  bool      // of an authorization: settled or released; of a settlement: refunded
}

type merchant struct {
	Name string `json:"name"`
	MCC  string `json:"mcc"`
}

func newCardModel(r *rand.Rand, load usd.Amount, honoured, strict, small bool) *cardModel {
	m := &cardModel{clock: newClock(), r: r, balance: load, strict: strict, small: small, answered: map[string]answer{}, holdsIn: r.IntN(2) == 0, feesIn: r.IntN(2) == 0}
	if honoured {
		m.retention = 24 * time.Hour
	} else if r.IntN(2) == 0 {
		m.retention = time.Hour // honoured, and the client is not told
	}
	return m
}

func (m *cardModel) begin(faulty bool) {
	m.faulty = faulty
	m.killed.Store(false)
}

// shown is the balance that the service answers.
func (m *cardModel) shown() usd.Amount {
	if m.holdsIn {
		return m.balance - m.held
	}
	return m.balance
}

// happen lets the outside scenario act on the card.
func (m *cardModel) happen(tell func(string, ...any)) {
	m.clock.advance(time.Duration(m.r.IntN(300)) * time.Second)
	open, settled := m.last("authorization"), m.last("settlement")
	switch n := m.r.IntN(12); {
	case n < 5:
		t := m.add("authorization", m.price(), fmt.Sprint("shop ", len(m.transactions)))
		m.held += t.Amount
		tell("authorization of %s", t.Amount)
	case n < 8 && open != nil:
		amount := open.Amount
		if m.r.IntN(3) == 0 {
			amount = usd.Cents(1 + m.r.Int64N(int64(amount)))
		}
		open.ended = true
		m.held -= open.Amount
		m.balance -= m.add("settlement", amount, open.Merchant.Name).Amount
		tell("settlement of %s with %s", open.Amount, amount)
	case n < 9 && settled != nil:
		settled.ended = true
		m.balance += m.add("refund", settled.Amount, settled.Merchant.Name).Amount
		tell("refund of %s", settled.Amount)
	case n < 10 && open != nil && !m.strict:
		open.ended = true
		m.held -= open.Amount
		tell("release of %s", open.Amount)
	case n < 11 && !m.strict:
		amount := m.price()
		m.balance += amount
		tell("a hand moves %s", amount)
	}
}

// price is of so many possible ones that purchases do not add up to a movement by
// chance, or of few.
func (m *cardModel) price() usd.Amount {
	if !m.small {
		return usd.Cents(1 + m.r.Int64N(100_000_00))
	}
	return usd.Amount(1+m.r.IntN(12)) * usd.Dollar
}

func (m *cardModel) add(kind string, amount usd.Amount, shop string) *modelTransaction {
	now := m.clock.Now()
	t := &modelTransaction{
		ID: fmt.Sprint("txn_", len(m.transactions)), Card: modelCard, Type: kind, Amount: amount, Currency: "USD",
		Merchant: merchant{shop, "7311"}, CreatedAt: now, listed: now,
	}
	if m.r.IntN(4) == 0 && kind != "refund" {
		t.Fee = usd.Cents(int64(1 + m.r.IntN(9)))
	}
	if m.feesIn {
		m.balance -= t.Fee
	}
	if !m.strict && m.r.IntN(5) == 0 {
		t.listed = now.Add(time.Duration(m.r.IntN(600)) * time.Second)
	}
	m.transactions = append(m.transactions, t)
	return t
}

// last returns an open transaction of a type, nil where there is none.
func (m *cardModel) last(kind string) *modelTransaction {
	for _, t := range m.transactions {
		if t.Type == kind && !t.ended {
			return t
		}
	}
	return nil
}

// RoundTrip answers a request, or loses it.
func (m *cardModel) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.killed.Load() {
		return nil, errKilled
	}
	m.clock.advance(requestTakes)
	m.land()
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/transactions"):
		return m.respond(m.listTransactions())
	case strings.HasSuffix(path, "/wallet/balance"):
		return m.respond(`{"balance":1000,"currency":"USDT","pending_deposits":0,"cards_active":1,"cards_total_balance":0}`)
	case r.Method == http.MethodGet:
		return m.respond(fmt.Sprintf(`{"id":%q,"bin_id":"bin","network":"visa","last4":"0000","status":"active","balance":%s,"spending_limit":5000,"label":"ads","created_at":"2026-01-01T00:00:00Z"}`,
			modelCard, m.shown()))
	}
	return m.receive(r)
}

// receive takes a movement, which may be lost on either way.
func (m *cardModel) receive(r *http.Request) (*http.Response, error) {
	var body struct {
		Amount usd.Amount `json:"amount"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	delta := body.Amount
	if strings.HasSuffix(r.URL.Path, "/withdraw") {
		delta = -delta
	}
	key := r.Header.Get("X-Idempotency-Key")
	lost := errors.New("the connection broke")
	what := 99
	if m.faulty {
		what = m.r.IntN(12)
	}
	switch {
	case what == 0, what == 1:
		m.killed.Store(what == 1)
		return nil, lost
	case what == 2, what == 3:
		m.move(key, delta)
		m.killed.Store(what == 3)
		return nil, lost
	case what == 4, what == 5:
		longest := 20 * time.Second
		if m.retention >= 24*time.Hour || !m.strict {
			longest = 50 * time.Minute
		}
		m.late = append(m.late, lateMovement{m.clock.Now().Add(time.Duration(m.r.Int64N(int64(longest)))), key, delta})
		m.killed.Store(what == 5)
		return nil, lost
	case what == 6 && (!m.strict || m.retention > 0):
		m.move(key, delta)
	}
	return m.respond(m.move(key, delta))
}

// land lets late movements happen whose time has come.
func (m *cardModel) land() {
	waiting := m.late[:0]
	for _, one := range m.late {
		if one.due.After(m.clock.Now()) {
			waiting = append(waiting, one)
			continue
		}
		m.move(one.key, one.delta)
	}
	m.late = waiting
}

// move moves money once for each key, as long as keys are kept.
func (m *cardModel) move(key string, delta usd.Amount) string {
	if known, ok := m.answered[key]; ok && m.clock.Now().Sub(known.at) < m.retention {
		return known.body
	}
	m.balance += delta
	m.moved += delta
	body := fmt.Sprintf(`{"card_id":%q,"card_balance":%s,"wallet_balance":1000}`, modelCard, m.shown())
	m.answered[key] = answer{m.clock.Now(), body}
	return body
}

// listTransactions lists those that are shown already, newest first: a late one
// comes among those that are known.
func (m *cardModel) listTransactions() string {
	shown := []*modelTransaction{}
	for _, t := range slices.Backward(m.transactions) {
		if !t.listed.After(m.clock.Now()) {
			shown = append(shown, t)
		}
	}
	data, err := json.Marshal(map[string]any{"data": shown, "page": 1})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (m *cardModel) respond(body string) (*http.Response, error) {
	header := http.Header{"Date": {m.clock.Now().Format(http.TimeFormat)}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewBufferString(body))}, nil
}
