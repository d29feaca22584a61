package reconcile_test

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// fact is something that happened and that no promise covers.
type fact int

// The facts that count for the rest of a life.
const (
	someoneMoved     fact = iota // someone else moved money on the card, or the service took an odd fee
	actionMoved                  // an action moved money
	listedLate                   // a transaction was listed up to ten minutes late
	oddSettlement                // a tip, a settlement in two parts, or an authorization that never ends
	cameLate                     // a request took effect more than 20 seconds after it was sent
	cameTwice                    // a request came twice, and the service does not look at keys
	stoppedMeanwhile             // a stop was reported while a request was on its way
)

// The facts that count until the next audit.
const (
	gaveUp               fact = iota + 100 // a pending movement was given up, or not moved on
	failedHalfway                          // a run made the first of two movements and failed at the second
	refusedAfterFailure                    // after a failed run, the plan refused a withdrawal
	killedBehindLeftOver                   // a withdrawal's run was killed, which had found money that no transaction explains
	walletPaid                             // a settlement took more than the card held, and the wallet paid the rest
	carried                                // the audit found a departure, or money that came silently
)

var diverging = []fact{gaveUp, failedHalfway, refusedAfterFailure, killedBehindLeftOver, walletPaid, carried}

// diverged reports whether one of the facts that count until the next audit has happened.
func (g *ledger) diverged() bool {
	return slices.ContainsFunc(diverging, func(f fact) bool { return g.facts[f] })
}

// carry begins the time until the next audit.
func (g *ledger) carry(open bool) {
	for _, f := range diverging {
		g.facts[f] = false
	}
	g.facts[carried] = open
}

func acting(l *life, _ usd.Amount) bool { return l.run.acting }

func heldUp(l *life, _ usd.Amount) bool { return l.ledger.heldUp }

func hasRoundSums(l *life, _ usd.Amount) bool { return l.world.hasRoundSums() }

func notExact(l *life, _ usd.Amount) bool { return l.world != exact }

func planDiverged(l *life, _ usd.Amount) bool { return l.ledger.diverged() }

func comesSilently(l *life, _ usd.Amount) bool { return l.ledger.silent > l.state.mark.silent+1 }

func readsReplica(l *life, _ usd.Amount) bool { return l.run.replica > 0 }

func lagging(l *life, _ usd.Amount) bool { return l.service.lagging }

func wentTheOtherWay(l *life, delta usd.Amount) bool {
	beside := l.departure() - delta
	return beside != 0 && (beside > 0) != (delta > 0)
}

func keptByService(l *life, delta usd.Amount) bool {
	came := l.departure() - (l.ledger.kept - l.state.mark.kept)
	return (came > 0) != (delta > 0)
}

func someoneElse(l *life, _ usd.Amount) bool { return l.ledger.facts[someoneMoved] }

func actionBefore(l *life, _ usd.Amount) bool { return l.ledger.facts[actionMoved] }

func lateTransaction(l *life, _ usd.Amount) bool { return l.ledger.facts[listedLate] }

func oddlySettled(l *life, _ usd.Amount) bool { return l.ledger.facts[oddSettlement] }

func lateRequest(l *life, _ usd.Amount) bool { return l.ledger.facts[cameLate] }

func doubledRequest(l *life, _ usd.Amount) bool { return l.ledger.facts[cameTwice] }

func stoppedOnTheWay(l *life, _ usd.Amount) bool { return l.ledger.facts[stoppedMeanwhile] }

func notDueAnyMore(l *life, departure usd.Amount) bool {
	return departure > 0 && departure <= l.ledger.unsavedTopUps
}

// isRefill: a sum is one that purchases add up to, as what fills the card to an old balance is:
// nobody tells it from money that they have never taken.
func isRefill(l *life, sum usd.Amount) bool {
	const most = 1 << 12
	sums := []usd.Amount{0}
	for _, e := range slices.Backward(l.card.events) {
		if e.Kind == reconcile.Authorization && len(sums) < most {
			for _, other := range sums {
				sums = append(sums, other+e.Amount)
			}
		}
	}
	return l.world != exact && slices.Contains(sums, sum)
}
