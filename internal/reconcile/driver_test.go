package reconcile_test

import (
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The driver takes a movement through a model of the service in the steps of
// api's Client.Move, and keeps book of what was really moved.

const (
	wait      = 30 * time.Second // lets a late request take effect
	lookAgain = 5 * time.Second
	cardID    = "card_1"
)

// state is what Terraform keeps of a card.
type state struct {
	amount, toppedUp usd.Amount
	record           string
	// known are the commits that are in the sums, or that a message spoke of.
	known uint64
}

// commit is money that the service really moved.
type commit struct {
	m  reconcile.Movement
	at time.Time
}

// stored is the service's answer to a key.
type stored struct {
	at      time.Time
	balance usd.Amount
}

var (
	errKilled    = errors.New("killed")
	errStopped   = errors.New("stopped")
	errUndecided = errors.New("undecided")
	errRefused   = errors.New("refused")
)

// sight is what one look at the card tells.
type sight struct {
	since    *reconcile.Anchor
	s        reconcile.Snapshot
	e        reconcile.Explanation
	decision reconcile.Decision
}

// transfer is a movement on its way.
type transfer struct {
	*life
	m            reconcile.Movement
	record       reconcile.Record
	before       sight
	fresh, since *reconcile.Anchor
	mayHaveMoved bool // an attempt was lost
}

// move moves money once. The record is to be kept, but after a kill.
func (l *life) move(m reconcile.Movement, record reconcile.Record) (reconcile.Record, error) {
	moment := reconcile.BeforeSending
	if record.Pending != nil {
		l.letCommit(*record.Pending)
		moment = reconcile.WhilePending
	}
	l.movements++
	t := &transfer{life: l, m: m, record: record}
	t.before = t.look(moment, record.Anchor, nil)
	s, e, d := t.before.s, t.before.e, t.before.decision
	t.fresh, l.seen = s.Anchor(), e
	var in, out usd.Amount
	for _, c := range l.open() {
		in, out = in+max(0, c.m.Delta), out+min(0, c.m.Delta)
	}
	l.blurred = l.blurred || in != 0 && (out != 0 || e.Without > reconcile.HoldReleased || l.unexplainedSince(-1))
	t.since = t.fresh
	switch d.Verdict {
	case reconcile.SendKey:
		t.since = record.Anchor
	case reconcile.Send:
		if e.Without == reconcile.Unexplained && e.Anchored {
			l.warn("%s left over", e.Left)
		}
	case reconcile.Made:
		if record.Pending != nil {
			return t.made(record.PendingMade())
		}
		l.warn("made before")
		return t.made(record.MovedBefore(m, s, 0))
	case reconcile.Stop:
		l.stop(d.Reason)
		next := record.Stopped(s, e)
		again := reconcile.Decide(moment, reconcile.Explain(next.Anchor, s, m.Delta), m, reconcile.Policy{KeysHonoured: l.honoured})
		if again.Verdict != reconcile.Send && !slices.Contains([]reconcile.Reason{reconcile.NotDue, reconcile.IntoRange, reconcile.OverCap}, again.Reason) {
			l.fail(twice, "%+v", again)
		}
		return next, errStopped
	default:
		return record, errUndecided
	}
	return t.send()
}

// look reads until it can be decided, or the wait is over.
func (t *transfer) look(moment reconcile.Moment, since *reconcile.Anchor, answered *usd.Amount) sight {
	patience := wait
	if moment == reconcile.AnswerLost {
		patience = 3 * lookAgain
	}
	var before usd.Amount
	for waited := time.Duration(0); ; waited += lookAgain {
		s := t.card.read(since, t.page, t.lag())
		if s.Balance != before {
			waited, before = 0, s.Balance
		}
		s.Answered = answered
		seen := t.decide(moment, since, s, waited >= patience)
		if seen.decision.Verdict != reconcile.LookAgain {
			t.tell("%+v with %s of %s: with %d, without %d, left %s", seen.decision, s.Balance, t.card.balance, seen.e.With, seen.e.Without, seen.e.Left)
			return seen
		}
		t.card.later(lookAgain)
	}
}

func (t *transfer) decide(moment reconcile.Moment, since *reconcile.Anchor, s reconcile.Snapshot, waited bool) sight {
	explain := func(since *reconcile.Anchor) reconcile.Explanation {
		s := s
		if since == t.record.Anchor {
			s.Own = t.own
		}
		return reconcile.Explain(since, s, t.m.Delta)
	}
	seen := sight{since: since, s: s, e: explain(since)}
	e := seen.e
	if moment == reconcile.Answered && waited && e.With == reconcile.Unexplained {
		before := explain(t.record.Anchor)
		e.With, e.Without = before.With, before.Without
	}
	seen.decision = reconcile.Decide(moment, e, t.m, reconcile.Policy{KeysHonoured: t.honoured, OtherKey: !t.record.HasKey, Waited: waited})
	return seen
}

// letCommit gives what was sent a moment ago its time.
func (l *life) letCommit(p reconcile.Pending) {
	if left := wait - l.card.now.Sub(p.SentAt); left > 0 {
		l.card.later(left)
	}
}

// send sends until the outcome is known, or it cannot be.
func (t *transfer) send() (reconcile.Record, error) {
	key := t.record.Key(cardID, t.m)
	t.mayHaveMoved = t.since != t.fresh
	var sentAt time.Time
	for range 6 {
		sentAt = t.card.now
		answer, err := t.post(key, t.m)
		switch {
		case errors.Is(err, errKilled):
			return t.record, err
		case err == nil:
			return t.confirm(answer, sentAt)
		case errors.Is(err, errRefused) && !t.mayHaveMoved:
			return t.record.Refused(true), errRefused
		case t.honoured && !errors.Is(err, errRefused):
			t.mayHaveMoved = true
			t.card.later(time.Duration(t.rng.IntN(30)) * time.Second)
			continue
		}
		t.mayHaveMoved = true
		t.card.later(wait)
		after := t.look(reconcile.AnswerLost, t.since, nil)
		switch {
		case after.decision.Verdict == reconcile.Made:
			return t.moved(after, true)
		case after.decision.Verdict != reconcile.Send:
			return t.record.Undecided(t.m, t.since, t.before.e, sentAt), errUndecided
		case errors.Is(err, errRefused):
			return t.record.NotMade(), errRefused
		}
		if t.since != t.fresh {
			t.seen = after.e
		}
	}
	return t.record.Undecided(t.m, t.since, t.before.e, sentAt), errUndecided
}

// confirm reads the card after a success.
func (t *transfer) confirm(answer usd.Amount, sentAt time.Time) (reconcile.Record, error) {
	s := t.before.s
	now := t.card.read(t.fresh, t.page, t.lag())
	s.Balance, s.At, s.Answered = now.Balance, now.At, &answer
	seen := t.decide(reconcile.Answered, t.fresh, s, false)
	if seen.decision.Verdict == reconcile.LookAgain {
		seen = t.look(reconcile.Answered, t.fresh, &answer)
	}
	if seen.decision.Verdict == reconcile.Made {
		return t.moved(seen, false)
	}
	t.stop(seen.decision.Reason)
	return t.record.NotShown(t.before.s), errStopped
}

// moved takes in what the card shows.
func (t *transfer) moved(seen sight, recovered bool) (reconcile.Record, error) {
	var excess usd.Amount
	switch {
	case recovered:
		t.warn("its answer was lost")
	case seen.decision.Reason == reconcile.OtherAmount:
		excess = max(0, seen.e.Left-t.m.Delta) + t.before.e.Gain()
		t.warn("%s instead", seen.e.Left)
	}
	if seen.e.With != reconcile.Unexplained && seen.since == t.fresh {
		if t.since != t.fresh && t.before.e.Without == reconcile.Unexplained {
			t.warn("%s was there before", t.before.e.Left)
		}
		return t.made(t.record.Moved(t.m, t.before.s, t.before.e, seen.s.At))
	}
	if seen.decision.Reason == reconcile.LooksMade && !recovered {
		t.warn("made before")
	}
	return t.made(t.record.MovedBefore(t.m, seen.s, excess))
}

// made books a movement that the driver believes to be made.
func (t *transfer) made(next reconcile.Record) (reconcile.Record, error) {
	var sum usd.Amount
	isThere := false
	for _, c := range t.open() {
		sum += c.m.Delta
		isThere = isThere || c.m.Delta == t.m.Delta
	}
	switch {
	case sum == t.m.Delta, len(t.excused) > 0:
	case !isThere && !(t.named > 0 && (sum != 0 || t.unexplainedSince(1) || t.unexplainedSince(-1))):
		t.fail(lost, "%s is called made", t.m.Delta)
	case !isThere:
		t.excused[notOurs]++
	case isThere && t.named == 0 && !t.unexplainedSince(t.m.Delta-sum):
		if t.seen.Without == reconcile.Unexplained {
			t.fail(unnamed, "%s is called made, and %s was moved", t.m.Delta, sum)
		}
		t.excused[otherwise]++
	}
	t.now.known = t.all()
	t.now.book(t.m)
	return next, nil
}

func (s *state) book(m reconcile.Movement) {
	if m.Purpose == reconcile.ForTopUp {
		s.toppedUp += m.Delta
	} else {
		s.amount += m.Delta
	}
}

// post is a request to the service.
func (l *life) post(key string, m reconcile.Movement) (usd.Amount, error) {
	late := time.Duration(l.rng.IntN(17)) * time.Second
	switch fault := l.faults.pick(l.rng); fault {
	case killedBefore:
		return 0, errKilled
	case killedAfter, killedLate:
		if fault == killedAfter {
			late = 0
		}
		l.card.after(late, func() { _, _ = l.process(key, m) })
		l.card.later(0)
		return 0, errKilled
	case lostBefore:
		return 0, errors.New("lost")
	case lostAfter, lostLate:
		if fault == lostAfter {
			late = 0
		}
		l.card.after(late, func() { _, _ = l.process(key, m) })
		l.card.later(0)
		return 0, errors.New("lost")
	}
	return l.process(key, m)
}

// process is what the service does with a request.
func (l *life) process(key string, m reconcile.Movement) (usd.Amount, error) {
	if answer, ok := l.keys[key]; ok && l.honours && l.card.now.Sub(answer.at) < 24*time.Hour {
		l.tell("replayed %s", answer.balance)
		return answer.balance, nil
	}
	if l.card.balance+m.Delta < 0 {
		return 0, errRefused
	}
	l.judge(m)
	l.commits = append(l.commits, commit{m, l.card.now})
	if m.Purpose == reconcile.ForTopUp && l.limit > 0 {
		month := reconcile.MonthOf(l.card.now)
		if l.toppedUp[month] += m.Delta; l.toppedUp[month] > l.limit {
			if l.blurred {
				l.excused[blurredCap]++
			} else {
				l.fail(overCap, "%s of %s", l.toppedUp[month], l.limit)
			}
		}
	}
	l.card.give(m.Delta)
	if l.keys == nil {
		l.keys = map[string]stored{}
	}
	l.keys[key] = stored{l.card.now, l.card.balance}
	l.tell("moved %s to %s", m.Delta, l.card.balance)
	return l.card.balance, nil
}

func (l *life) all() uint64 { return 1<<len(l.commits) - 1 }

// open are the commits that neither the state's sums nor a message know.
func (l *life) open() (all []commit) {
	for left := l.all() &^ l.now.known; left != 0; left &= left - 1 {
		all = append(all, l.commits[bits.TrailingZeros64(left)])
	}
	return all
}

// What must never happen.
const (
	doubled = "doubled"
	lost    = "lost"
	unnamed = "unnamed"
	overCap = "over the month's cap"
	twice   = "stopped twice for the same facts"
)

// What is beyond the promise, and counted.
const (
	otherwise  = "another plan after a kill, and something else explains what was moved"
	notOurs    = "another hand, or another plan after a kill, moved as much, and it is called made, named"
	larger     = "a larger plan after a kill, named"
	partly     = "another plan after a kill, and part of what was moved is explained, named"
	spent      = "a withdrawal of as much as was spent, after a kill"
	opposite   = "something unexplained of the opposite sign hides what was moved"
	expired    = "a key that the service has forgotten, and something else explains what was moved"
	blurredCap = "the month's cap, after a state that was restored, or a kill and money that can be read otherwise"
	equal      = "another plan after a kill, or a state that was restored, and what was moved may be this one, named"
	misread    = "something unexplained, which the transactions allow to read otherwise, named"
)

// isOpen reports whether the same movement, with the same key, was made.
func (l *life) isOpen(m reconcile.Movement) bool {
	return slices.ContainsFunc(l.open(), func(c commit) bool {
		return c.m.Purpose == m.Purpose && c.m.Delta == m.Delta && c.m.Before == m.Before
	})
}

// judge tells whether the service is made to move the same money twice.
func (l *life) judge(m reconcile.Movement) {
	var same, other usd.Amount
	for _, c := range l.open() {
		if (c.m.Delta > 0) == (m.Delta > 0) {
			same += c.m.Delta
		} else {
			other += c.m.Delta
		}
	}
	size := func(a usd.Amount) usd.Amount { return max(a, -a) }
	e, named := l.seen, l.named > 0
	isExplained := e.Without != reconcile.Unexplained
	isRead := !isExplained && (e.Left > 0) == (same > 0) && size(e.Left) >= size(same)
	keyDecides := l.honoured && e.Recent
	switch {
	case same == 0, m.Purpose == reconcile.ForTopUp && e.Balance+m.Delta <= m.Range.To:
	case other != 0, l.unexplainedSince(-same):
		l.excused[opposite]++
	case m.Delta != same && isExplained:
		l.excused[otherwise]++
	case size(m.Delta) > size(same) && named && !keyDecides:
		l.excused[larger]++
	case m.Delta != same && named && !isRead:
		l.excused[partly]++
	case l.honoured && !e.Recent && isExplained:
		l.excused[expired]++
	case m.Delta < 0 && isExplained && e.With != reconcile.Unexplained && e.With < e.Without:
		l.excused[spent]++
	case keyDecides && e.With != reconcile.Unexplained && !l.isOpen(m):
		l.excused[equal]++
		l.unsaid = !isExplained
	case l.unexplainedSince(same) && !isRead && (named || isExplained):
		l.excused[misread]++
	default:
		l.fail(doubled, "%s is moved after %s", m.Delta, same)
	}
}

// unexplainedSince reports whether money moved in a direction since the state's
// anchor that no transaction explains.
func (l *life) unexplainedSince(direction usd.Amount) bool {
	if direction > 0 {
		return !l.lastUp.Before(l.anchored)
	}
	return !l.lastDown.Before(l.anchored)
}

// stop is a message that names what is there, so that a person can look.
func (l *life) stop(reason reconcile.Reason) {
	l.stops++
	l.warn("stopped for reason %d", reason)
	l.now.known = l.all()
}

func (l *life) warn(format string, args ...any) {
	l.named, l.unsaid = l.named+1, false
	l.warnings++
	l.tell("named: "+format, args...)
}

// fault is what may become of a request.
type fault int

const (
	killedBefore fault = iota
	killedAfter
	killedLate
	lostBefore
	lostAfter
	lostLate
	faultKinds
)

// faults are how often each happens in 1,000 requests.
type faults [faultKinds]int

func (f faults) pick(rng interface{ IntN(int) int }) fault {
	n := rng.IntN(1000)
	return fault(slices.IndexFunc(f[:], func(times int) bool { n -= times; return n < 0 }))
}
