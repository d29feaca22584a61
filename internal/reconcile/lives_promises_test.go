package reconcile_test

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// ledger knows what really happened to the money that Terraform was to move on a card.
type ledger struct {
	mark
	moved    [2]usd.Amount                  // by the service, for each purpose; amount and topped_up are to say the same
	topUps   map[reconcile.Month]usd.Amount // that have reached the card
	toppedUp time.Time                      // when the service last made a top-up
	onTheWay int                            // requests that the service has not taken yet

	// heldUp says that a stop or an undecided movement was reported since the service last moved money.
	heldUp bool
	// reported says that something about money was reported since the last audit.
	reported bool
	// unsavedTopUps are those of runs that failed since the last audit.
	unsavedTopUps usd.Amount
	// uncounted is how much of top-ups may be in no record: of killed runs, where a withdrawal hides
	// them or no movement follows that would count what came.
	uncounted usd.Amount
	// facts are what exceptions look at, and when each happened last.
	facts map[fact]time.Time
}

// mark is a moment of the ledger.
type mark struct {
	kept       usd.Amount // by the service, of what it moved
	overdrafts int        // how often a settlement took more than the card held
}

func newLedger(load usd.Amount) ledger {
	return ledger{
		moved:  [2]usd.Amount{reconcile.ForAmount: load},
		topUps: map[reconcile.Month]usd.Amount{},
		facts:  map[fact]time.Time{},
	}
}

// enter records that the service has moved money, and how much of it has reached the card.
func (g *ledger) enter(p reconcile.Purpose, delta, received usd.Amount, at time.Time) {
	g.moved[p] += delta
	g.kept += delta - received
	g.heldUp = false
	if p == reconcile.ForTopUp {
		g.topUps[reconcile.MonthOf(at)] += received
		g.toppedUp = at
	}
}

// departure is what the service has moved besides what the state says.
func (l *life) departure() usd.Amount {
	return l.departureFor(reconcile.ForAmount) + l.departureFor(reconcile.ForTopUp)
}

func (l *life) departureFor(p reconcile.Purpose) usd.Amount {
	return l.ledger.moved[p] - l.state.loaded(p)
}

// promise is one that can be observed, with the exceptions to it.
type promise struct {
	name       string
	exceptions []exception
}

// once: a movement that the service has made, and that the state does not have yet, is sent again only
// after a stop or an undecided movement was reported.
var once = promise{"sent once", []exception{
	{"round sums", roundSums},
	{"outweighed", outweighed},
	{"someone else", someoneElse},
	{"action before", actionBefore},
	{"late transaction", lateTransaction},
	{"late request", lateRequest},
	{"reads a replica", readsReplica},
	{"open before", openBefore},
	{"of an earlier month", ofAnEarlierMonth},
}}

// checkOnce checks a request as the service receives it.
func (l *life) checkOnce(delta usd.Amount, keyMet bool) {
	made := l.departureFor(l.run.purpose) == delta
	if !made || l.ledger.heldUp {
		return
	}
	if l.run.acting { // an action has no record of what was made before
		return
	}
	if keyMet && l.kind.honours { // the service does not move it again
		return
	}
	l.broken(once, delta, "%s is sent again, though it was made and nothing was reported", delta)
}

// checkAnswered checks that a movement is not sent again after a 2xx, whatever that says: not in the
// same run, and not by a state that knows of it.
func (l *life) checkAnswered(delta usd.Amount) {
	if l.run.acting {
		return
	}
	pending := reconcile.ParseRecord(cardID, l.state.record).Pending
	known := pending != nil && pending.Answered && pending.Purpose == l.run.purpose && pending.Delta == delta
	if l.run.answered || known {
		l.fail("%s is sent again after a 2xx", delta)
	}
}

// stoppedOnce: the same facts do not stop a movement twice.
var stoppedOnce = promise{"stopped once", []exception{
	{"stale reading", staleReading},
}}

// checkStoppedOnce checks what would be decided with the record that a stop has left.
func (l *life) checkStoppedOnce(next reconcile.Record, m reconcile.Movement, reason reconcile.Reason) {
	if reason == reconcile.NotShown { // the service has answered: nothing is sent until the card shows it
		return
	}
	again := reconcile.Ask(next, m, l.card.read(0), l.kind.honoured)
	switch again.Reason {
	case reconcile.NotDue, reconcile.IntoRange, reconcile.OverCap: // they do not ask what was made before
		return
	}
	if again.Verdict != reconcile.Send {
		l.broken(stoppedOnce, m.Delta, "stopped for reason %d, and then %d for %d", reason, again.Verdict, again.Reason)
	}
}

// toldOf: if the service has moved more or less than the state says, something was reported.
var toldOf = promise{"reported", []exception{
	{"not due any more", notDueAnyMore},
	{"round sums", roundSums},
	{"refill", refill},
}}

// exactly: in an exact world, the state says what the service has moved.
var exactly = promise{"exact", []exception{
	{"not due any more", notDueAnyMore},
	{"stopped on the way", stoppedOnTheWay},
	{"given up", givenUp},
	{"made half", madeHalf},
	{"refused to repeat", refusedToRepeat},
	{"behind left-over money", behindLeftOver},
	{"paid by the wallet", paidByWallet},
	{"open before", openBefore},
}}

// capped: top-ups add no more in a month than their cap.
var capped = promise{"capped", []exception{
	{"uncounted request", uncountedRequest},
	{"hidden top-up", hiddenTopUp},
}}

// audit compares the state with what happened. From then on it is taken as it is.
func (l *life) audit() {
	departure := l.departure()
	if departure != 0 {
		l.auditDeparture(departure)
	}
	for month, sum := range l.ledger.topUps {
		if l.config.limit > 0 && sum > l.config.limit+l.ledger.uncounted {
			l.broken(capped, sum, "topped up %s in month %d, and the cap is %s", sum, month, l.config.limit)
		}
	}
	l.forget()
	if departure != 0 || l.ledger.overdrafts > l.state.mark.overdrafts {
		l.note(leftOpen) // money may have moved that the next run does not know of
	}
	l.ledger.moved = [2]usd.Amount{l.state.amount, l.state.toppedUp}
	l.ledger.unsavedTopUps = 0
	l.ledger.reported = false
	l.earlier = nil
}

func (l *life) auditDeparture(departure usd.Amount) {
	if !l.ledger.reported {
		l.broken(toldOf, departure, "the state says %s and %s topped up, the service has moved %s more, and nothing was reported", l.state.amount, l.state.toppedUp, departure)
	}
	if l.world == exact {
		l.broken(exactly, departure, "the state says %s and %s topped up, and the service has moved %s more", l.state.amount, l.state.toppedUp, departure)
	}
	switch {
	case notDueAnyMore(l, departure):
		l.ledger.uncounted += departure
	case l.ledger.reported:
		l.departures++
	default:
		l.hidden++
	}
}

// excuse is how often an exception applied to a promise that did not hold.
type excuse struct{ times, alone int }

// broken records that a promise does not hold, which is a fault unless an exception applies.
func (l *life) broken(p promise, about usd.Amount, format string, args ...any) {
	var excuses []string
	for _, e := range p.exceptions {
		if e.applies(l, about) {
			excuses = append(excuses, p.name+", but "+e.name)
		}
	}
	if len(excuses) == 0 {
		l.fail(format, args...)
	}
	for _, name := range excuses {
		sum := l.excuses[name]
		sum.times++
		if len(excuses) == 1 {
			sum.alone++
		}
		l.excuses[name] = sum
	}
}
