package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const cardID = "card_1"

var (
	errKilled = errors.New("the process was killed")
	errLost   = errors.New("the connection broke")
)

// service is how the model of the service treats requests.
type service struct {
	pageSize    int
	lagging     bool          // some readings are up to twelve seconds old
	clientAhead time.Duration // how far the client's clock is ahead
	fee         usd.Amount    // of 100 USD that come to the card, what the service takes
	keys        map[string]stored
	retention   time.Duration // of keys
	unread      *rand.Rand    // draws responses that do not say what was done; nil for none
}

func newService(k kind) service {
	s := service{keys: map[string]stored{}, retention: time.Hour}
	if k.honoured {
		s.retention = 24 * time.Hour
	}
	return s
}

// stored is the service's answer to a key.
type stored struct {
	at   time.Time
	body string
}

// Now is the time of the client, whose clock is not the service's.
func (l *life) Now() time.Time { return l.card.now.Add(l.service.clientAhead) }

// Wait lets time pass. What the client draws at random, between half and all of a power
// of two of 500 ms, is all of it, so that a life repeats exactly.
func (l *life) Wait(_ context.Context, d time.Duration) error {
	if l.run.killed {
		return errKilled
	}
	const unit = 500 * time.Millisecond
	l.card.later(unit << bits.Len64(uint64((d-1)/unit)))
	return nil
}

// ReadSnapshot shows the card as it is read page by page.
func (l *life) ReadSnapshot(ctx context.Context, id string, since reconcile.Record) (reconcile.Snapshot, error) {
	l.run.behind = l.lag()
	s := l.card.read(l.run.behind)
	first := slices.IndexFunc(s.Events, func(e reconcile.Event) bool {
		return since.Anchor == nil || since.Anchor.SideOf(e) == reconcile.BeforeAnchor
	})
	end := (first/l.service.pageSize + 1) * l.service.pageSize
	if s.More = first >= 0 && end <= len(s.Events); s.More {
		s.Events = s.Events[:end]
	}
	err := l.ReadBalance(ctx, id, &s)
	return s, err
}

// ReadBalance shows what the card holds.
func (l *life) ReadBalance(_ context.Context, _ string, s *reconcile.Snapshot) error {
	if l.run.killed {
		return errKilled
	}
	l.card.later(40 * time.Millisecond)
	s.Balance, s.At = l.card.shown(l.run.behind), l.card.now
	s.Status = string(api.StatusActive)
	return nil
}

// RoundTrip answers a request of the client, or loses it.
func (l *life) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.run.killed {
		return nil, errKilled
	}
	l.card.later(20 * time.Millisecond)
	switch name := path.Base(r.URL.Path); {
	case r.Method == http.MethodPost:
		return l.receive(r, name == "withdraw")
	case name == "transactions":
		l.run.behind = l.lag() // what answers now tells the balance too
		return l.respond(http.StatusOK, l.page(r))
	case name == "balance":
		return l.respond(http.StatusOK, `{"balance":1000,"currency":"USDT","pending_deposits":0,"cards_active":1,"cards_total_balance":0}`)
	}
	return l.respond(http.StatusOK, fmt.Sprintf(
		`{"id":%q,"bin_id":"bin","network":"visa","last4":"0000","status":"active","balance":%s,"spending_limit":5000,"label":"ads","created_at":"2026-01-01T00:00:00Z"}`,
		cardID, l.card.shown(l.run.behind)))
}

// page is one of the list of transactions.
func (l *life) page(r *http.Request) string {
	number, _ := strconv.Atoi(r.URL.Query().Get("page")) // the client's own
	skip, data := (number-1)*l.service.pageSize, make([]string, 0, l.service.pageSize)
	for i := len(l.card.events) - 1; i >= 0 && len(data) < l.service.pageSize; i-- {
		switch event := &l.card.events[i]; {
		case event.from.After(l.card.now.Add(-l.run.behind)):
		case skip > 0:
			skip--
		default:
			data = append(data, event.body())
		}
	}
	return `{"data":[` + strings.Join(data, ",") + `],"page":` + strconv.Itoa(number) + "}"
}

// body is the event as the service lists it.
func (e *listed) body() string {
	if e.text == "" {
		kinds := map[reconcile.Kind]string{
			reconcile.Authorization: "authorization", reconcile.Settlement: "settlement", reconcile.Refund: "refund", reconcile.Decline: "decline",
		}
		e.text = fmt.Sprintf(`{"id":%q,"card_id":%q,"type":%q,"amount":%s,"currency":"USD","fee":%s,"merchant":{"name":%q,"mcc":"7311"},"created_at":%q}`,
			e.ID, cardID, kinds[e.Kind], e.Amount, e.Fee, e.Merchant, e.At.Format(time.RFC3339Nano))
	}
	return e.text
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
	_, met := l.service.keys[key]
	// After a request of a killed run, a refusal is not the end of the movement, as the guide says.
	if !met && l.ledger.onTheWay == 0 && l.run.faulty && l.chance(5) {
		l.tell("%s is refused", body.Amount)
		return l.respond(http.StatusBadRequest, `{"error":"not_today","message":"no"}`)
	}
	l.checkOnce(body.Amount, met)
	l.checkAnswered(body.Amount)
	purpose := l.run.purpose
	move := func() (*http.Response, error) { return l.process(key, purpose, body.Amount) }
	accident := 99
	if l.run.faulty {
		accident = l.rng.IntN(12)
	}
	if l.run.faulty && l.biased && l.chance(30) {
		accident = 3 * l.rng.IntN(3) // it is killed
	}
	late := l.run.replica
	switch accident {
	case 0, 1, 2:
	case 3, 4, 5:
		_, _ = move()
	case 6, 7, 8:
		longest := 20 * time.Second // within the client's wait
		if l.kind.honoured && l.config.to == 0 || l.world != exact {
			longest = 50 * time.Minute // else the next plan may top up with another sum
		}
		late += l.span(longest)
		l.ledger.onTheWay++
		l.card.after(late, func() {
			l.ledger.onTheWay--
			_, _ = move()
		})
	case 9:
		if l.kind.honours || l.world != exact && l.run.purpose == reconcile.ForAmount { // the same amount that is held may not have fallen yet
			_, _ = move()
		}
		return l.answered(move)
	default:
		if l.run.faulty && l.service.unread != nil && l.service.unread.IntN(4) == 0 && !met {
			return l.answerUnread(move)
		}
		return l.answered(move)
	}
	l.run.killed = accident%3 == 0
	if late > 20*time.Second {
		l.ledger.facts[cameLate] = l.card.now.Add(late)
	}
	l.tell("%s is lost (%d), killed %t", body.Amount, accident, l.run.killed)
	return nil, errLost
}

// answered notes whether the service answers with a 2xx.
func (l *life) answered(move func() (*http.Response, error)) (*http.Response, error) {
	response, err := move()
	if err == nil && response.StatusCode == http.StatusOK {
		l.run.answered = true
	}
	return response, err
}

// answerUnread answers with a 2xx that does not say what was done. The money moves at once, while
// the client waits, after that, or never.
func (l *life) answerUnread(move func() (*http.Response, error)) (*http.Response, error) {
	rng := l.service.unread
	delays := []time.Duration{0, time.Duration(rng.Int64N(int64(25 * time.Second))), 40*time.Second + time.Duration(rng.Int64N(int64(50*time.Minute)))}
	when := rng.IntN(len(delays) + 1)
	switch {
	case when == 0:
		response, err := move()
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
	case when < len(delays):
		l.ledger.onTheWay++
		l.card.after(delays[when], func() {
			l.ledger.onTheWay--
			_, _ = move()
		})
		if delays[when] > 20*time.Second {
			l.ledger.facts[cameLate] = l.card.now.Add(delays[when])
		}
	}
	l.run.answered = true
	responses := []struct {
		status int
		body   string
	}{
		{http.StatusAccepted, `{"status":"processing"}`},
		{http.StatusNoContent, ""},
		{http.StatusOK, `{"status":"ok"}`},
		{http.StatusOK, `{"card_id":"card_1","card_bal`},
	}
	chosen := responses[rng.IntN(len(responses))]
	l.tell("answered with %d %s, to be moved in way %d", chosen.status, chosen.body, when)
	return l.respond(chosen.status, chosen.body)
}

// process moves money once for each key, as long as keys are kept.
func (l *life) process(key string, purpose reconcile.Purpose, delta usd.Amount) (*http.Response, error) {
	answer, met := l.service.keys[key]
	if met && l.kind.honours && l.card.now.Sub(answer.at) < l.service.retention {
		return l.respond(http.StatusOK, answer.body)
	}
	if l.card.balance+delta < 0 {
		return l.respond(http.StatusBadRequest, `{"error":"insufficient_balance","message":"the card holds less"}`)
	}
	received := l.received(delta)
	l.card.give(received)
	l.tell("moved %s to %s", delta, l.card.balance)
	if l.run.acting {
		return l.respond(http.StatusOK, l.answer())
	}
	l.ledger.enter(purpose, delta, received, l.card.now)
	l.service.keys[key] = stored{l.card.now, l.answer()}
	return l.respond(http.StatusOK, l.service.keys[key].body)
}

// received is what of a sum reaches the card.
func (l *life) received(sum usd.Amount) usd.Amount { return sum - max(0, sum)/100*l.service.fee }

func (l *life) answer() string {
	return fmt.Sprintf(`{"card_id":%q,"card_balance":%s,"wallet_balance":1000}`, cardID, l.card.balance)
}

func (l *life) respond(status int, body string) (*http.Response, error) {
	header := http.Header{"Date": {l.card.now.Format(http.TimeFormat)}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}
