package reconcile_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// life is one card from its issue on, with Terraform, the service and the world.
type life struct {
	kind
	ordinary bool // nothing fails, and no other hand moves money
	rng      *rand.Rand
	card     *account
	keys     map[string]stored
	commits  []commit
	page     int
	lagging  bool
	lists    bool // purchases are listed late
	faults   faults

	target           usd.Amount // amount in the configuration
	below, to        usd.Amount // of top_up
	limit            usd.Amount // a month; 0 for none
	toppedUp         map[reconcile.Month]usd.Amount
	held             usd.Amount // by open authorizations, where the balance falls at settlement
	now              state      // what a run works on, and keeps unless it is killed
	saved            []state
	own              usd.Amount // moved by this process's actions
	anchored         time.Time  // the state's anchor
	lastUp, lastDown time.Time  // money that no transaction explains
	named            int        // messages of this run
	unsaid           bool       // one is due yet
	movements        int
	stops, warnings  int
	failures         map[string]string
	excused          map[string]int
	blurred          bool                  // what was moved cannot be told apart
	seen             reconcile.Explanation // by which the movement was sent
	story            []string
	tells            bool
}

func (l *life) tell(format string, args ...any) {
	if l.tells {
		l.story = append(l.story, l.card.now.Format("02 15:04:05 ")+fmt.Sprintf(format, args...))
	}
}

func (l *life) fail(what, format string, args ...any) {
	if l.failures == nil {
		l.failures = map[string]string{}
	}
	l.failures[what] = fmt.Sprintf(format, args...)
	l.tell(what+": "+format, args...)
}

func (l *life) chance(percent int) bool { return l.rng.IntN(100) < percent }

// span is up to a duration.
func (l *life) span(d time.Duration) time.Duration { return time.Duration(l.rng.Int64N(int64(d))) }

// sum is one of the sums that people like, or any other.
func (l *life) sum(liked int) usd.Amount {
	round := []usd.Amount{5, 10, 10, 15, 20, 20, 25, 30, 40, 50, 50, 60}
	if l.chance(liked) {
		return round[l.rng.IntN(len(round))] * dollar
	}
	return usd.Amount(100 + l.rng.IntN(6000))
}

// lag is how far what is read may be behind.
const lag = 12 * time.Second

func (l *life) lag() time.Duration {
	if l.lagging && l.chance(30) {
		return l.span(lag)
	}
	return 0
}

func newLife(k kind, number uint64) *life {
	l := &life{kind: k, excused: map[string]int{}, toppedUp: map[reconcile.Month]usd.Amount{}, rng: rand.New(rand.NewPCG(number, 7))}
	l.ordinary = l.chance(50)
	l.target = usd.Amount(100+50*l.rng.IntN(5)) * dollar
	l.card = newAccount(l.target)
	l.card.asSettled, l.card.takesFees = k.asSettled, k.fees
	l.page = []int{25, 100}[l.rng.IntN(2)]
	if l.chance(40) {
		l.below = usd.Amount(30+10*l.rng.IntN(5)) * dollar
		l.to = l.below + usd.Amount(20+10*l.rng.IntN(6))*dollar
		if l.chance(50) {
			l.limit = usd.Amount(60+20*l.rng.IntN(6)) * dollar
		}
	}
	if !l.ordinary {
		l.lagging, l.lists = l.chance(50), l.chance(50)
		l.faults = faults{15, 40, 15, 30, 40, 20}
	}
	l.now = state{amount: l.target, record: reconcile.IssuedRecord(l.target, l.card.now).Text(cardID)}
	l.card.later(l.span(time.Hour))
	return l
}

// live is a few runs of Terraform, with the world between them.
func (l *life) live() {
	for range 2 + l.rng.IntN(3) {
		l.world()
		switch {
		case l.ordinary:
		case l.chance(4) && len(l.saved) > 0:
			l.now, l.blurred = l.saved[l.rng.IntN(len(l.saved))], true
			l.tell("an earlier state again")
		case l.chance(1):
			l.now.record = "lost"
		}
		if l.chance(70) {
			l.change()
		}
		for range 4 { // people apply until it works
			if l.apply() {
				break
			}
			l.card.later(wait + l.span(10*time.Minute))
			if l.chance(20) {
				l.change()
			}
		}
	}
}

// change writes another amount into the configuration.
func (l *life) change() {
	delta := l.sum(70)
	if l.chance(45) {
		delta = -delta
	}
	if l.target+delta > 0 {
		l.target += delta
	}
}

// world is what others do until the next run.
func (l *life) world() {
	for range l.rng.IntN(5) {
		l.card.later(l.span(2 * 24 * time.Hour))
		l.purchase()
	}
	if l.chance(40) {
		l.card.later(l.span(5 * 24 * time.Hour))
	} else {
		l.card.later(wait + l.span(time.Hour))
	}
	if l.chance(1) {
		l.unexplained(-usd.Amount(1 + l.rng.IntN(99))) // an odd fee
	}
	if !l.ordinary && l.chance(5) {
		delta := l.sum(70)
		if l.chance(50) && delta <= l.card.balance {
			delta = -delta
		}
		l.unexplained(delta) // another hand
	}
}

func (l *life) unexplained(delta usd.Amount) {
	l.card.give(delta)
	if delta == 0 {
		return
	}
	l.tell("unexplained %s to %s", delta, l.card.balance)
	l.noteUnexplained(delta)
}

func (l *life) noteUnexplained(delta usd.Amount) {
	switch {
	case delta > 0:
		l.lastUp = l.card.now
	case delta < 0:
		l.lastDown = l.card.now
	}
}

func (l *life) purchase() {
	c, amount := l.card, l.sum(25)
	fee := usd.Amount(0)
	if l.chance(10) {
		fee = 25
	}
	merchant := fmt.Sprint("m", l.rng.IntN(3))
	if amount+fee > c.balance-l.held {
		c.happen(reconcile.Event{Kind: reconcile.Decline, Amount: amount, Merchant: merchant}, 0)
		return
	}
	happen := func(k reconcile.Kind, sum, fee, effect usd.Amount) {
		c.happen(reconcile.Event{Kind: k, Amount: sum, Fee: fee, Merchant: merchant}, effect)
		if l.lists {
			c.events[len(c.events)-1].from = c.now.Add(l.span(25 * time.Second))
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
		effect := hold - sum
		if effect < -c.balance { // the rest comes from the wallet
			effect = -c.balance
			l.lastUp, l.lastDown = c.now, c.now
		}
		happen(reconcile.Settlement, sum, 0, effect)
	}
	done := l.span(4 * 24 * time.Hour)
	switch way := l.rng.IntN(100); {
	case way < l.released:
		c.after(done, func() {
			ends()
			l.unexplained(hold)
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
			c.after(done, func() {
				happen(reconcile.Settlement, part, 0, max(effect, -c.balance))
				l.lastUp, l.lastDown = c.now, c.now
			})
			done += l.span(2 * 24 * time.Hour)
		}
	}
	if l.chance(6) {
		c.after(done+l.span(5*24*time.Hour), func() { happen(reconcile.Refund, amount, 0, amount) })
	}
}

// apply is one run: refresh, plan, apply. It reports whether all is as configured.
func (l *life) apply() bool {
	begin := l.now
	record := reconcile.ParseRecord(cardID, l.now.record)
	if record.Pending == nil { // else what was said of it stands
		l.named = 0
	}
	l.unsaid, l.own = false, 0
	l.anchored = time.Time{}
	if record.Anchor != nil {
		l.anchored = record.Anchor.At.Add(-lag)
	}
	l.tell("apply: %s of %s, topped up %s, card %s, open %v", l.now.amount, l.target, l.now.toppedUp, l.card.balance, l.open())
	record, err := l.run(record)
	if errors.Is(err, errKilled) {
		l.tell("killed")
		l.now = begin
		return false
	}
	l.now.record = record.Text(cardID)
	if errors.Is(err, errUndecided) { // the error names it
		l.named++
	}
	if l.unsaid && err == nil {
		l.fail(unnamed, "moved under another key after the same")
	}
	if !l.ordinary {
		l.saved = append(l.saved, begin)
	}
	return err == nil
}

func (l *life) run(record reconcile.Record) (reconcile.Record, error) {
	balance := l.refresh(record)
	if record.Pending != nil && !l.honoured {
		record = l.resolve(record)
	}
	month := reconcile.MonthOf(l.card.now)
	movements := l.plan(balance, record, month)
	if record.Pending != nil {
		switch {
		case len(movements) == 0:
			l.warn("given up")
			l.now.known = l.all()
			return record.GivenUp(l.card.read(nil, l.page, l.lag())), nil
		case !l.honoured || movements[0].Delta != record.Pending.Delta || movements[0].Purpose != record.Pending.Purpose:
			if l.chance(50) {
				l.target = l.now.amount
			}
			return record, errUndecided
		}
	}
	l.card.later(time.Second + l.span(time.Minute))     // a person reads the plan
	if delta := l.sum(70); !l.ordinary && l.chance(4) { // an action before the update
		if l.chance(40) && delta <= l.card.balance {
			delta = -delta
		}
		l.own = delta
		l.card.give(delta)
		l.noteUnexplained(delta) // for another run
		l.tell("an action moves %s to %s", delta, l.card.balance)
	}
	token := record.Token
	for _, m := range movements {
		record.Token = token
		if m.Purpose == reconcile.ForTopUp && l.limit > 0 {
			m.Range.Limit, m.Range.Had = &l.limit, record.TopUps
		}
		anchor := record.Anchor
		var err error
		if record, err = l.move(m, record); err != nil {
			return record, err
		}
		if record.Anchor != anchor {
			l.own = 0
		}
	}
	return record, nil
}

// refresh reads the card until it is not stale.
func (l *life) refresh(record reconcile.Record) usd.Amount {
	for range 7 {
		s := l.card.read(nil, l.page, l.lag())
		if !reconcile.Explain(record.Anchor, reconcile.Snapshot{Balance: s.Balance, At: s.At}, 0).Stale {
			return s.Balance
		}
		l.card.later(lookAgain)
	}
	return l.card.balance
}

// resolve finds out what became of a pending movement, without sending.
func (l *life) resolve(record reconcile.Record) reconcile.Record {
	m := record.Pending.Movement()
	l.letCommit(*record.Pending)
	t := &transfer{life: l, m: m, record: record}
	switch seen := t.look(reconcile.AnswerLost, record.Anchor, nil); seen.decision.Verdict {
	case reconcile.Made:
		record, _ = t.made(record.PendingMade())
	case reconcile.Send:
		record = record.NotMade()
	}
	return record
}

func (l *life) plan(balance usd.Amount, record reconcile.Record, month reconcile.Month) (all []reconcile.Movement) {
	delta := l.target - l.now.amount
	if after := balance + delta; delta < 0 && (after < 0 || l.below > 0 && after < l.below) {
		l.target = l.now.amount // the plan refuses it
		return nil
	}
	if delta != 0 {
		m := reconcile.Movement{Purpose: reconcile.ForAmount, Delta: delta, Before: l.now.amount}
		if delta < 0 && l.to > 0 {
			m.Range = &reconcile.Range{Below: l.below, To: l.to}
		}
		all = append(all, m)
	}
	if after := balance + delta; l.to > 0 && after < l.below {
		topUp := l.to - after
		if l.limit > 0 {
			topUp = min(topUp, record.TopUps.Left(l.limit, month))
		}
		if topUp > 0 {
			all = append(all, reconcile.Movement{
				Purpose: reconcile.ForTopUp, Delta: topUp, Before: l.now.toppedUp,
				Range: &reconcile.Range{Below: l.below, To: l.to},
			})
		}
	}
	return all
}
