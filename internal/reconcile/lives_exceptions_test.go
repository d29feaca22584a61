package reconcile_test

import (
	"maps"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// exception is a reason why a promise about an amount need not hold in a life.
type exception struct {
	name    string
	applies func(l *life, about usd.Amount) bool
}

// roundSums: where sums are round, a purchase may be of the same amount as a movement.
func roundSums(l *life, _ usd.Amount) bool { return l.world.hasRoundSums() }

// refill: a top-up of a run that was killed gave back just what purchases took, so that the card
// looks as if neither had happened.
func refill(l *life, sum usd.Amount) bool {
	const most = 1 << 12
	sums := []usd.Amount{0}
	for _, e := range slices.Backward(l.card.events) {
		if (e.Kind == reconcile.Authorization || e.Kind == reconcile.Settlement) && len(sums) < most {
			for _, other := range sums {
				sums = append(sums, other+e.Amount)
			}
		}
	}
	return slices.Contains(sums, sum)
}

// outweighed: what else the service has moved, or kept for itself, leaves nothing of the movement on
// the card.
func outweighed(l *life, delta usd.Amount) bool {
	change := l.departure() - (l.ledger.kept - l.state.mark.kept)
	return change == 0 || (change > 0) != (delta > 0)
}

// someoneElse: someone else has moved money on the card since the anchor, which may look like the
// movement or hide it.
func someoneElse(l *life, _ usd.Amount) bool { return l.sinceAnchor(someoneMoved) }

// actionBefore: an action has moved money since the anchor, which is in no record.
func actionBefore(l *life, _ usd.Amount) bool { return l.sinceAnchor(actionMoved) }

// lateTransaction: a transaction since the anchor was listed late, so that a reading lacked it.
func lateTransaction(l *life, _ usd.Amount) bool { return l.sinceAnchor(listedLate) }

// lateRequest: a request since the anchor took effect later than the client waits for that.
func lateRequest(l *life, _ usd.Amount) bool { return l.sinceAnchor(cameLate) }

// readsReplica: this run reads a replica that is behind by up to five minutes.
func readsReplica(l *life, _ usd.Amount) bool { return l.run.replica > 0 }

// staleReading: the stop was decided by a reading that may have been behind.
func staleReading(l *life, _ usd.Amount) bool { return l.service.lagging || l.run.replica > 0 }

// notDueAnyMore: the top-up of a failed run was made, and the next plan saw that the card had
// enough.
func notDueAnyMore(l *life, departure usd.Amount) bool {
	return departure > 0 && departure <= l.ledger.unsavedTopUps
}

// stoppedOnTheWay: a stop was reported while an earlier request was still on its way, and both
// were made.
func stoppedOnTheWay(l *life, _ usd.Amount) bool { return l.happened(stoppedMeanwhile) }

// givenUp: the user gave up a pending movement that was made.
func givenUp(l *life, _ usd.Amount) bool { return l.happened(gaveUp) }

// madeHalf: a run failed at the second of two movements, so that the next plan was another one.
func madeHalf(l *life, _ usd.Amount) bool { return l.happened(failedHalfway) }

// refusedToRepeat: a withdrawal was made by a run that failed, and the next plan refused it since
// the card had too little left.
func refusedToRepeat(l *life, _ usd.Amount) bool { return l.happened(refusedAfterFailure) }

// behindLeftOver: a run was killed in a withdrawal that followed unexplained money, and a plan
// cannot tell the two from a smaller sum that came.
func behindLeftOver(l *life, _ usd.Amount) bool { return l.happened(killedBehindLeftOver) }

// paidByWallet: a settlement took more than the card held, and no transaction says how much of
// it the wallet paid.
func paidByWallet(l *life, _ usd.Amount) bool { return l.happened(walletPaid) }

// openBefore: the audit before this one left something open.
func openBefore(l *life, _ usd.Amount) bool { return l.happened(leftOpen) }

// ofAnEarlierMonth: the top-up that was made is of an earlier month and in the anchor of the state's
// record, and the card needs another one now.
func ofAnEarlierMonth(l *life, _ usd.Amount) bool {
	if l.run.purpose != reconcile.ForTopUp || reconcile.MonthOf(l.ledger.toppedUp) == reconcile.MonthOf(l.card.now) {
		return false
	}
	anchor := reconcile.ParseRecord(cardID, l.state.record).Anchor
	return anchor != nil && anchor.At.After(l.ledger.toppedUp)
}

// uncountedRequest: a request took effect after the run that sent it, whose record did not count it.
func uncountedRequest(l *life, _ usd.Amount) bool { return l.happened(cameLate) }

// hiddenTopUp: a transaction that was listed late, or money that someone else took, hid a part of a
// top-up, which no record counts.
func hiddenTopUp(l *life, _ usd.Amount) bool {
	return l.happened(listedLate) || l.happened(someoneMoved)
}

// fact is something that exceptions look at.
type fact int

// The facts that are remembered.
const (
	someoneMoved fact = iota // someone else moved money on the card, or the service took an odd fee
	actionMoved
	listedLate // a transaction was listed up to ten minutes late
	cameLate   // a request took effect more than 20 seconds after it was sent
)

// The facts that are forgotten at an audit.
const (
	gaveUp fact = iota + 100
	failedHalfway
	refusedAfterFailure
	killedBehindLeftOver
	walletPaid
	leftOpen
	stoppedMeanwhile
)

// note remembers that a fact has happened now.
func (l *life) note(f fact) { l.ledger.facts[f] = l.card.now }

// happened reports whether a fact is remembered.
func (l *life) happened(f fact) bool {
	_, happened := l.ledger.facts[f]
	return happened
}

// sinceAnchor reports whether a fact may have happened since the reading that is the anchor of the
// state's record.
func (l *life) sinceAnchor(f fact) bool {
	at, happened := l.ledger.facts[f]
	if !happened {
		return false
	}
	const oldestReading = 5*time.Minute + 12*time.Second
	anchor := reconcile.ParseRecord(cardID, l.state.record).Anchor
	return anchor == nil || at.After(anchor.At.Add(-oldestReading))
}

// planDiverged reports whether the next plan may be another one than that of a run before.
func (l *life) planDiverged() bool {
	return slices.ContainsFunc([]fact{gaveUp, failedHalfway, refusedAfterFailure, killedBehindLeftOver, walletPaid, leftOpen}, l.happened)
}

// forget ends the time since the last audit.
func (l *life) forget() {
	maps.DeleteFunc(l.ledger.facts, func(f fact, _ time.Time) bool { return f >= gaveUp })
}
