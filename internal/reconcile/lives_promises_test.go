package reconcile_test

import (
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// ledger knows what really happened to the money that Terraform was to move on a card.
type ledger struct {
	mark
	moved    [2]usd.Amount                  // by the service, for each purpose, as amount and topped_up say it
	topUps   map[reconcile.Month]usd.Amount // that have reached the card
	onTheWay int                            // requests that the service has not yet taken

	// heldUp says that a stop or an undecided movement was reported since the service last moved money.
	heldUp bool
	// reported says that, since the last audit, something was reported about money.
	reported bool
	// unsavedTopUps are those of runs that failed since the last audit.
	unsavedTopUps usd.Amount
	// uncounted is how much of top-ups may be in no record, since nothing shows them.
	uncounted usd.Amount
	// facts are what happened that no promise covers.
	facts map[fact]bool
}

// mark is a moment of the ledger.
type mark struct {
	silent int        // how often money has come that no transaction shows
	kept   usd.Amount // by the service, of what it moved
}

func newLedger(load usd.Amount) ledger {
	return ledger{
		moved:  [2]usd.Amount{reconcile.ForAmount: load},
		topUps: map[reconcile.Month]usd.Amount{}, facts: map[fact]bool{},
	}
}

// enter takes in that the service has moved money, and how much of it has reached the card.
func (g *ledger) enter(p reconcile.Purpose, delta, received usd.Amount, month reconcile.Month) {
	g.moved[p] += delta
	g.kept += delta - received
	g.heldUp = false
	if p == reconcile.ForTopUp {
		g.topUps[month] += received
	}
}

// walletPays takes in that a settlement took more than the card held.
func (g *ledger) walletPays() {
	g.note(walletPaid)
	g.reported = true
	g.silent += 2
}

func (g *ledger) note(f fact) { g.facts[f] = true }

// departure is what the service has moved besides what the state says.
func (l *life) departure() usd.Amount {
	return l.departureFor(reconcile.ForAmount) + l.departureFor(reconcile.ForTopUp)
}

func (l *life) departureFor(p reconcile.Purpose) usd.Amount {
	return l.ledger.moved[p] - l.state.has(p)
}

// once promises that a movement which the service has made, and which the state does not have yet,
// is not sent again before something was reported.
var once = promise{"sent once", []exception{
	{"acting", acting},
	{"heldUp", heldUp},
	{"hasRoundSums", hasRoundSums},
	{"planDiverged", planDiverged},
	{"comesSilently", comesSilently},
	{"readsReplica", readsReplica},
	{"wentTheOtherWay", wentTheOtherWay},
	{"keptByService", keptByService},
	{"someoneElse", someoneElse},
	{"actionBefore", actionBefore},
	{"lateTransaction", lateTransaction},
	{"oddlySettled", oddlySettled},
	{"lateRequest", lateRequest},
	{"doubledRequest", doubledRequest},
}}

func (l *life) checkOnce(delta usd.Amount, keyMet bool) {
	if keyMet && l.kind.honours { // the service does not move it again
		return
	}
	if l.departureFor(l.run.purpose) == delta {
		l.breaks(once, delta, "%s is sent again, though it was made and nothing was said of that", delta)
	}
}

// saidOnce promises that the same facts do not stop a movement twice.
var saidOnce = promise{"stopped once", []exception{
	{"lagging", lagging},
	{"readsReplica", readsReplica},
	{"someoneElse", someoneElse},
	{"actionBefore", actionBefore},
	{"lateTransaction", lateTransaction},
	{"oddlySettled", oddlySettled},
	{"lateRequest", lateRequest},
	{"doubledRequest", doubledRequest},
}}

func (l *life) checkSaidOnce(next reconcile.Record, m reconcile.Movement, reason reconcile.Reason) {
	if reason == reconcile.NotShown { // the service has answered: nothing is sent until the card shows it
		return
	}
	again := reconcile.Ask(next, m, l.card.read(0), reconcile.Policy{KeysHonoured: l.kind.honoured})
	switch again.Reason {
	case reconcile.NotDue, reconcile.IntoRange, reconcile.OverCap: // which are no questions of what was made
	default:
		if again.Verdict != reconcile.Send {
			l.breaks(saidOnce, m.Delta, "stopped for reason %d, and then %d for %d", reason, again.Verdict, again.Reason)
		}
	}
}

// reported promises that what the service has moved besides what the state says was reported.
var reported = promise{"reported", []exception{
	{"notDueAnyMore", notDueAnyMore},
	{"hasRoundSums", hasRoundSums},
	{"isRefill", isRefill},
}}

// exactly promises that the state says what the service has moved, where no one else moves money and
// each transaction is listed at once.
var exactly = promise{"exact", []exception{
	{"notExact", notExact},
	{"notDueAnyMore", notDueAnyMore},
	{"planDiverged", planDiverged},
	{"stoppedOnTheWay", stoppedOnTheWay},
}}

// capped promises that top-ups add no more in a month than their cap.
var capped = promise{"capped", []exception{
	{"notExact", notExact},
}}

// audit compares the state with what happened. From then on it is taken as it is.
func (l *life) audit() {
	departure := l.departure()
	if departure != 0 {
		l.auditDeparture(departure)
	}
	for month, sum := range l.ledger.topUps {
		if l.config.limit > 0 && sum > l.config.limit+l.ledger.uncounted {
			l.breaks(capped, sum, "topped up %s in month %d, and the cap is %s", sum, month, l.config.limit)
		}
	}
	l.ledger.carry(departure != 0 || comesSilently(l, 0))
	l.ledger.moved = [2]usd.Amount{l.state.amount, l.state.toppedUp}
	l.ledger.unsavedTopUps = 0
	l.ledger.reported = false
	l.earlier = nil
}

func (l *life) auditDeparture(departure usd.Amount) {
	if notDueAnyMore(l, departure) {
		l.ledger.uncounted += departure
	} else if l.ledger.reported {
		l.named++
	} else {
		l.hidden++
	}
	if !l.ledger.reported {
		l.breaks(reported, departure, "the state says %s and %s topped up, the service has moved %s more, and nothing was said of that", l.state.amount, l.state.toppedUp, departure)
	}
	l.breaks(exactly, departure, "the state says %s and %s topped up, and the service has moved %s more", l.state.amount, l.state.toppedUp, departure)
}

// promise is one that can be observed, and the exceptions that explain why it need not hold.
type promise struct {
	name       string
	exceptions []exception
}

// exception is a reason why a promise about an amount need not hold in a life.
type exception struct {
	name    string
	applies func(l *life, about usd.Amount) bool
}

// excuse is how often an exception applied to a promise that did not hold.
type excuse struct{ times, alone int }

// breaks takes in that a promise does not hold. It is a fault unless an exception applies.
func (l *life) breaks(p promise, about usd.Amount, format string, args ...any) {
	var names []string
	for _, e := range p.exceptions {
		if e.applies(l, about) {
			names = append(names, p.name+", "+e.name)
		}
	}
	if len(names) == 0 {
		l.fail(format, args...)
	}
	for _, name := range names {
		e := l.excuses[name]
		e.times++
		if len(names) == 1 {
			e.alone++
		}
		l.excuses[name] = e
	}
}
