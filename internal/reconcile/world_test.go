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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func (l *life) chance(percent int) bool { return l.rng.IntN(100) < percent }

// span is up to a duration.
func (l *life) span(d time.Duration) time.Duration { return time.Duration(l.rng.Int64N(int64(d))) }

// dollars are at least so many, and a few steps more, on a larger scale where sums are
// to be told apart.
func (l *life) dollars(least, step, steps int) usd.Amount {
	sum := usd.Amount(least+step*l.rng.IntN(steps)) * dollar
	if !l.round {
		sum *= 1000
	}
	return sum
}

// sum is one that people like, or any, of so many that they do not add up to another
// one by chance.
func (l *life) sum(liked int) usd.Amount {
	switch {
	case !l.round:
		return usd.Amount(1 + l.rng.Int64N(60_000_00))
	case l.chance(liked):
		return usd.Amount([]int{5, 10, 10, 15, 20, 20, 25, 30, 40, 50, 50, 60}[l.rng.IntN(12)]) * dollar
	}
	return usd.Amount(100 + l.rng.Int64N(60_00))
}

// lag is how far what is read is behind.
func (l *life) lag() time.Duration {
	if l.lagging && l.chance(30) {
		return l.replica + l.span(12*time.Second)
	}
	return l.replica
}

// world is what others do until the next run.
func (l *life) world() {
	purchases, apart := l.rng.IntN(5), 2*24*time.Hour
	if l.busy {
		purchases, apart = 30*purchases, 5*time.Hour
	}
	for range purchases {
		l.card.later(l.span(apart))
		l.purchase()
	}
	if l.chance(40) {
		l.card.later(l.span(5 * 24 * time.Hour))
	} else {
		l.card.later(30*time.Second + l.span(time.Hour))
	}
	if !l.strict && l.chance(1) {
		l.card.give(-usd.Amount(1 + l.rng.IntN(99))) // an odd fee
		l.excused = true
	}
	if !l.ordinary && !l.strict && l.chance(10) {
		delta := l.sum(70)
		if l.chance(50) && delta <= l.card.balance {
			delta = -delta
		}
		l.tell("another hand moves %s", delta)
		l.excused = true
		l.card.give(delta)
	}
}

// change writes another amount into the configuration.
func (l *life) change() {
	delta, lowers := l.sum(70), 45
	if l.biased {
		lowers = 10
	}
	if l.chance(lowers) {
		delta = -delta
	}
	if l.target+delta > 0 {
		l.target += delta
	}
}

// purchase is one at some merchant. Where nothing may be left unclear, each has a merchant of
// its own: which of several authorizations a settlement of another amount ends is told nowhere.
func (l *life) purchase() {
	c, amount := l.card, l.sum(25)
	if asMuch := l.target - l.amount; asMuch > 0 && l.strict && l.chance(40) {
		amount = asMuch
	}
	fee := usd.Amount(0)
	if l.chance(10) {
		fee = 25
	}
	l.purchases++
	merchant := fmt.Sprint("m", l.rng.IntN(3))
	if !l.round {
		merchant = fmt.Sprint("m", l.purchases)
	}
	if amount+fee > c.balance-l.held {
		c.happen(reconcile.Event{Kind: reconcile.Decline, Amount: amount, Merchant: merchant}, 0)
		return
	}
	happen := func(k reconcile.Kind, sum, fee, effect usd.Amount) {
		c.happen(reconcile.Event{Kind: k, Amount: sum, Fee: fee, Merchant: merchant}, effect)
		if !l.ordinary && !l.strict && l.chance(20) {
			c.events[len(c.events)-1].from = c.now.Add(l.span(10 * time.Minute))
			l.excused = true
		}
		l.tell("kind %d of %s, to %s", k, sum, c.balance)
	}
	hold := amount
	if c.asSettled {
		hold = 0
	}
	happen(reconcile.Authorization, amount, fee, -hold)
	l.held += amount - hold
	ends := func() { l.held -= amount - hold }
	settle := func(sum usd.Amount) {
		ends()
		if sum-hold > c.balance { // the wallet pays the rest
			l.loose, l.spoke = true, true
			l.untold += 2
		}
		happen(reconcile.Settlement, sum, 0, max(hold-sum, -c.balance))
	}
	done := l.span(4 * 24 * time.Hour)
	way := l.rng.IntN(100)
	l.excused = l.excused || way >= 85 // what it ends tells nobody
	if l.strict {
		way %= 85
	}
	switch {
	case way < l.released:
		c.after(done, func() {
			ends()
			c.give(hold)
			l.untold++
			l.tell("a hold of %s is released, to %s", hold, c.balance)
		})
	case way < 75:
		c.after(done, func() { settle(amount) })
	case way < 85: // less
		c.after(done, func() { settle(amount - amount/usd.Amount(2+l.rng.IntN(8))) })
	case way < 90: // a tip
		c.after(done, func() { settle(amount + amount/usd.Amount(4+l.rng.IntN(8))) })
	case way < 92: // two parts, of which only the second ends the hold
		c.after(done, ends)
		for _, part := range []usd.Amount{amount / 3, amount - amount/3} {
			effect := -part
			if hold > 0 {
				effect = 0
			}
			c.after(done, func() { happen(reconcile.Settlement, part, 0, max(effect, -c.balance)) })
			done += l.span(2 * 24 * time.Hour)
		}
	}
	if l.chance(6) {
		c.after(done+l.span(5*24*time.Hour), func() { happen(reconcile.Refund, amount, 0, amount) })
	}
}

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

// ReadSnapshot shows the card as it is read page by page.
func (l *life) ReadSnapshot(ctx context.Context, id string, since *reconcile.Anchor) (reconcile.Snapshot, api.CardStatus, error) {
	l.behind = l.lag()
	s := l.card.read(l.behind)
	first := slices.IndexFunc(s.Events, func(e reconcile.Event) bool { return since == nil || since.SideOf(e) == reconcile.Before })
	end := (first/l.pageSize + 1) * l.pageSize
	if s.More = first >= 0 && end <= len(s.Events); s.More {
		s.Events = s.Events[:end]
	}
	status, err := l.ReadBalance(ctx, id, &s)
	return s, status, err
}

// ReadBalance shows what the card holds.
func (l *life) ReadBalance(_ context.Context, _ string, s *reconcile.Snapshot) (api.CardStatus, error) {
	if l.killed {
		return "", errKilled
	}
	l.card.later(40 * time.Millisecond)
	s.Balance, s.At = l.card.shown(l.behind), l.card.now
	return api.StatusActive, nil
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
		cardID, l.card.shown(l.behind)))
}

// page is one of the list of transactions.
func (l *life) page(r *http.Request) string {
	number, _ := strconv.Atoi(r.URL.Query().Get("page")) // the client's own
	skip, data := (number-1)*l.pageSize, make([]string, 0, l.pageSize)
	for i := len(l.card.events) - 1; i >= 0 && len(data) < l.pageSize; i-- {
		switch event := &l.card.events[i]; {
		case event.from.After(l.card.now.Add(-l.behind)):
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
	_, met := l.keys[key]
	// Behind what a killed run sent a refusal is no end of it, as the guide says.
	if !met && l.onTheWay == 0 && l.faulty && l.chance(5) {
		l.tell("%s is refused", body.Amount)
		return l.respond(http.StatusBadRequest, `{"error":"not_today","message":"no"}`)
	}
	beside, came := l.departure()-body.Amount, l.departure()-(l.kept-l.state.kept)
	isHidden := beside != 0 && (beside > 0) != (body.Amount > 0) || (came > 0) != (body.Amount > 0) // by what went the other way
	isMade := l.departureOf(l.purpose) == body.Amount && !isHidden && !(met && l.honours)
	if isMade && !l.told && !l.acting && !l.round && !l.loose && !l.hides() && !l.excused && l.replica == 0 {
		l.fail("%s is sent again, though it was made and nothing was said of that", body.Amount)
	}
	purpose := l.purpose
	move := func() (*http.Response, error) { return l.process(key, purpose, body.Amount) }
	accident := 99
	if l.faulty {
		accident = l.rng.IntN(12)
	}
	if l.faulty && l.biased && l.chance(30) {
		accident = 3 * l.rng.IntN(3) // it is killed
	}
	late := l.replica
	switch accident {
	case 0, 1, 2:
	case 3, 4, 5:
		_, _ = move()
	case 6, 7, 8:
		longest := 20 * time.Second // within the client's wait
		if l.honoured && l.to == 0 || !l.strict {
			longest = 50 * time.Minute // else the next plan may top up with another sum
		}
		late += l.span(longest)
		l.onTheWay++
		l.card.after(late, func() {
			l.onTheWay--
			_, _ = move()
		})
	case 9:
		if l.honours || !l.strict && l.purpose == reconcile.ForAmount { // as much as is held may not have fallen yet
			_, _ = move()
			l.excused = l.excused || !l.honours
		}
		return move()
	default:
		return move()
	}
	l.killed = accident%3 == 0
	l.excused = l.excused || late > 20*time.Second
	l.tell("%s is lost (%d), killed %t", body.Amount, accident, l.killed)
	return nil, errLost
}

// process moves money once for each key, as long as keys are kept.
func (l *life) process(key string, purpose reconcile.Purpose, delta usd.Amount) (*http.Response, error) {
	if answer, ok := l.keys[key]; ok && l.honours && l.card.now.Sub(answer.at) < l.retention {
		return l.respond(http.StatusOK, answer.body)
	}
	if l.card.balance+delta < 0 {
		return l.respond(http.StatusBadRequest, `{"error":"insufficient_balance","message":"the card holds less"}`)
	}
	l.card.give(l.comes(delta))
	l.tell("moved %s to %s", delta, l.card.balance)
	if l.acting {
		return l.respond(http.StatusOK, l.answer())
	}
	l.moved[purpose] += delta
	l.kept += delta - l.comes(delta)
	l.told = false
	if purpose == reconcile.ForTopUp {
		l.toppedIn[reconcile.MonthOf(l.card.now)] += l.comes(delta)
	}
	l.keys[key] = stored{l.card.now, l.answer()}
	return l.respond(http.StatusOK, l.keys[key].body)
}

// comes is what a sum comes to on the card.
func (l *life) comes(sum usd.Amount) usd.Amount { return sum - max(0, sum)/100*l.fee }

func (l *life) answer() string {
	return fmt.Sprintf(`{"card_id":%q,"card_balance":%s,"wallet_balance":1000}`, cardID, l.card.balance)
}

func (l *life) respond(status int, body string) (*http.Response, error) {
	header := http.Header{"Date": {l.card.now.Format(http.TimeFormat)}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}
