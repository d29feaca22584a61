package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const cardID = "card_1"

var (
	errKilled = errors.New("the process was killed")
	errLost   = errors.New("the connection broke")
)

// stored is the service's answer to a key.
type stored struct {
	at   time.Time
	body string
}

// Now is the time of the client, whose clock is not the service's.
func (l *life) Now() time.Time { return l.card.now.Add(l.ahead) }

// Wait lets time pass. What the client draws at random, between half and all of a power
// of two of 500 ms, is all of it, so that a life repeats exactly.
func (l *life) Wait(_ context.Context, d time.Duration) error {
	if l.killed {
		return errKilled
	}
	const unit = 500 * time.Millisecond
	l.card.later(unit << bits.Len64(uint64((d-1)/unit)))
	return nil
}

// RoundTrip answers a request of the client, or loses it.
func (l *life) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.killed {
		return nil, errKilled
	}
	l.card.later(20 * time.Millisecond)
	switch name := path.Base(r.URL.Path); {
	case r.Method == http.MethodPost:
		return l.receive(r, name == "withdraw")
	case name == "transactions":
		l.behind = l.lag() // what answers now tells the balance too
		return l.respond(http.StatusOK, l.page(r))
	case name == "balance":
		return l.respond(http.StatusOK, `{"balance":1000,"currency":"USDT","pending_deposits":0,"cards_active":1,"cards_total_balance":0}`)
	}
	return l.respond(http.StatusOK, fmt.Sprintf(
		`{"id":%q,"bin_id":"bin","network":"visa","last4":"0000","status":"active","balance":%s,"spending_limit":5000,"label":"ads","created_at":"2026-01-01T00:00:00Z"}`,
		cardID, l.card.read(l.behind).Balance))
}

// page is one of the list of transactions.
func (l *life) page(r *http.Request) string {
	names := map[reconcile.Kind]string{
		reconcile.Authorization: "authorization", reconcile.Settlement: "settlement", reconcile.Refund: "refund", reconcile.Decline: "decline",
	}
	events := l.card.read(l.behind).Events
	number, _ := strconv.Atoi(r.URL.Query().Get("page")) // the client's own
	low := min(len(events), (number-1)*l.pageSize)
	data := []any{}
	for _, e := range events[low:min(len(events), low+l.pageSize)] {
		data = append(data, map[string]any{
			"id": e.ID, "card_id": cardID, "type": names[e.Kind], "amount": e.Amount, "currency": "USD", "fee": e.Fee,
			"merchant": map[string]string{"name": e.Merchant, "mcc": "7311"}, "created_at": e.At,
		})
	}
	body, err := json.Marshal(map[string]any{"data": data, "page": number})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// receive takes a movement. Where accidents happen it may be lost on either way, come
// late or twice, and the client may die.
func (l *life) receive(r *http.Request, withdraws bool) (*http.Response, error) {
	var body struct {
		Amount usd.Amount `json:"amount"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	if withdraws {
		body.Amount = -body.Amount
	}
	key := r.Header.Get("X-Idempotency-Key")
	// Behind what a killed run sent a refusal is no end of it, as the guide says.
	if _, met := l.keys[key]; !met && l.onTheWay == 0 && l.faulty && l.chance(5) {
		l.tell("%s is refused", body.Amount)
		return l.respond(http.StatusBadRequest, `{"error":"not_today","message":"no"}`)
	}
	move := func() (*http.Response, error) { return l.process(key, body.Amount) }
	accident := 99
	if l.faulty {
		accident = l.rng.IntN(12)
	}
	switch accident {
	case 0, 1, 2:
	case 3, 4, 5:
		_, _ = move()
	case 6, 7, 8:
		longest := 20 * time.Second // within the client's wait
		if l.honoured && l.to == 0 || !l.strict {
			longest = 50 * time.Minute // else the next plan may top up with another sum
		}
		l.onTheWay++
		l.card.after(l.span(longest), func() {
			l.onTheWay--
			_, _ = move()
		})
	case 9:
		if l.honours || !l.strict && !l.toppingUp { // as much as is held may not have fallen yet
			_, _ = move()
		}
		return move()
	default:
		return move()
	}
	l.killed = accident%3 == 0
	l.tell("%s is lost (%d), killed %t", body.Amount, accident, l.killed)
	return nil, errLost
}

// process moves money once for each key, as long as keys are kept.
func (l *life) process(key string, delta usd.Amount) (*http.Response, error) {
	if answer, ok := l.keys[key]; ok && l.honours && l.card.now.Sub(answer.at) < l.retention {
		return l.respond(http.StatusOK, answer.body)
	}
	if l.card.balance+delta < 0 {
		return l.respond(http.StatusBadRequest, `{"error":"insufficient_balance","message":"the card holds less"}`)
	}
	l.card.give(delta)
	l.tell("moved %s to %s", delta, l.card.balance)
	if l.acting {
		return l.respond(http.StatusOK, l.answer())
	}
	l.moved += delta
	if l.toppingUp {
		l.toppedIn[reconcile.MonthOf(l.card.now)] += delta
	}
	l.keys[key] = stored{l.card.now, l.answer()}
	return l.respond(http.StatusOK, l.keys[key].body)
}

func (l *life) answer() string {
	return fmt.Sprintf(`{"card_id":%q,"card_balance":%s,"wallet_balance":1000}`, cardID, l.card.balance)
}

func (l *life) respond(status int, body string) (*http.Response, error) {
	header := http.Header{"Date": {l.card.now.Format(http.TimeFormat)}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}
