package reconcile

import "github.com/vcard/terraform-provider-vcard/internal/usd"

// Moment is when a decision about a movement is made.
type Moment int

// The moments. From WhilePending on, the record has the movement pending.
const (
	BeforeSending Moment = iota + 1
	WhilePending         // an earlier run sent it without learning the outcome, and this run may send it again
	AnswerLost           // it was sent, its response was lost, and only the outcome is in question
	Answered             // the service says that it was made, or refuses its key because it has seen it before
)

// Verdict says what to do about a movement.
type Verdict int

// The verdicts.
const (
	Undecided Verdict = iota // the outcome is unknown: send nothing
	LookAgain                // read the card again after a while
	Stop                     // send nothing this time; the snapshot is the next anchor
	Made                     // it was made: send nothing
	Send                     // it was not made
	SendKey                  // it may have been made: send it under the same key, which the service executes once
)

// Reason is the row of the table that a verdict comes from.
type Reason int

// The reasons. Up to OtherMoney, they are in the order of the table.
const (
	NoReason    Reason = iota
	BehindLast         // the card is shown as before the last movement, or that was undone
	OverCap            // with unexplained money counted, the top-up exceeds the month's cap
	LooksMade          // it was made, and nothing else explains the balance
	NotDue             // the card is not below the top-up's range
	Unreadable         // what could not be read may be the movement
	KeyDecides         // it may have been made, under the same key
	LooksEither        // the balance may be explained with it and without it
	IntoRange          // the next top-up would load what is withdrawn again
	Explained          // the balance is explained without it
	LeftOver           // unexplained money may be the movement
	OtherMoney         // unexplained money is not the movement
	MadeBefore         // the service says that it was made, and it was made before it was sent
	OtherAmount        // the service moved another amount
	NotShown           // the service says that it was made, and the card does not show it
)

// Decision says what to do about a movement, why, and what that was decided from.
type Decision struct {
	Verdict Verdict
	Reason  Reason
	Record  Record // the record to keep; a movement that will be sent is pending in it

	Moment         Moment
	Movement       Movement
	RecordBefore   Record      // the record so far
	Card           Snapshot    // as it was read
	KeysHonoured   bool        // the service executes requests with the same key once
	KeySeenBefore  bool        // once answered: the service refused the key because it has seen it before
	Evidence       Explanation // of the reading, since the record's anchor; once answered, since the reading before sending
	LongerEvidence Explanation // once answered: since the anchor before sending
}

// LeftOver returns the change of the balance before the movement that nothing explains, or 0.
func (d Decision) LeftOver() usd.Amount {
	if d.Evidence.Without != Unexplained {
		return 0
	}
	return d.Evidence.Remainder
}

// UnexplainedMoney returns the unexplained money that may be the movement or include it. For a fund that
// stops because of such money, it is the most that any interpretation allows, and otherwise the least.
func (d Decision) UnexplainedMoney() usd.Amount {
	if d.Reason == LeftOver && d.Movement.IsFund() {
		return d.Evidence.MaxArrived
	}
	return d.Evidence.Remainder
}

// Ask decides whether to send a movement, or to send it again if it is pending in the record. Keys are
// honoured if the service executes requests with the same key once.
func Ask(r Record, m Movement, card Snapshot, keysHonoured bool) Decision {
	moment := BeforeSending
	if r.Pending != nil {
		moment = WhilePending
	}
	d := Decision{
		Record:       r,
		Moment:       moment,
		Movement:     m,
		RecordBefore: r,
		Card:         card,
		KeysHonoured: keysHonoured,
		Evidence:     Explain(r.Anchor, card, m.Delta),
	}
	d.Verdict, d.Reason = Decide(d)

	switch d.Verdict {
	case Send:
		d.Record = r.sent(m, r.anchorAt(card), card.At, d.Evidence.Gain())
	case SendKey:
		d.Record = r.sent(m, r.Anchor, card.At, 0)
	case Stop:
		d.Record = r.stopped(m, card, d.Evidence)
	case Made:
		if moment == WhilePending {
			d.Record = r.madeSince(m, d.Evidence, card.At)
		} else {
			d.Record = r.madeBefore(m, card, d.Evidence)
		}
	}
	return d
}

// Resolve decides whether a record's pending movement was made, for a run that does not send it again.
// The verdict Send means that it was not made.
func Resolve(r Record, card Snapshot) Decision {
	d := decideLost(r, r.Pending.Movement(), card)
	if d.Verdict == Send {
		d.Record = r.NotMade()
	}
	return d
}

// AfterLost decides whether the movement was made after it was sent and its response was lost. The
// verdict Send means that it was not made.
func (d Decision) AfterLost(card Snapshot) Decision {
	if d.Verdict == Send { // the new anchor includes what other calls have moved
		card.MovedByOtherCalls = 0
	}
	return decideLost(d.Record, d.Movement, card)
}

func decideLost(r Record, m Movement, card Snapshot) Decision {
	d := Decision{Record: r, Moment: AnswerLost, Movement: m, RecordBefore: r, Card: card, Evidence: Explain(r.Anchor, card, m.Delta)}
	d.Verdict, d.Reason = Decide(d)
	if d.Verdict == Made {
		d.Record = r.madeSince(m, d.Evidence, card.At)
	}
	return d
}

// AfterAnswer decides whether the card shows the movement after the service said that it was made, or
// that it has seen its key before.
func (d Decision) AfterAnswer(card Snapshot, keySeenBefore bool) Decision {
	m := d.Movement
	before := d.RecordBefore
	anchor := before.anchorAt(d.Card)
	sinceSent := card
	sinceSent.MovedByOtherCalls = 0 // the reading before sending includes what other calls have moved
	next := Decision{
		Record:         d.Record,
		Moment:         Answered,
		Movement:       m,
		RecordBefore:   d.Record,
		Card:           card,
		KeySeenBefore:  keySeenBefore,
		Evidence:       Explain(anchor, sinceSent, m.Delta),
		LongerEvidence: Explain(before.Anchor, card, m.Delta),
	}
	next.Verdict, next.Reason = Decide(next)

	switch next.Verdict {
	case Undecided:
		next.Record = d.Record.Unread(card.At)
	case Stop:
		next.Record = before.stopped(m, card, next.LongerEvidence)
	case Made:
		switch next.Reason {
		case MadeBefore:
			next.Record = before.madeBefore(m, card, next.LongerEvidence)
		case OtherAmount:
			excess := max(0, next.Evidence.Remainder-m.Delta)
			next.Record = before.made(m, before.anchorAt(card), card.At, excess+d.Evidence.Gain())
		default:
			next.Record = before.made(m, anchor.plus(m.Delta), card.At, d.Evidence.Gain())
		}
	}
	return next
}

// Decide returns the verdict and the reason of the first row of the table in CONTRIBUTING that fits. If keys are
// honoured, package transport repeats a request whose response was lost under the same key without asking.
func Decide(d Decision) (Verdict, Reason) {
	switch d.Moment {
	case BeforeSending:
		return d.beforeSending()
	case WhilePending, AnswerLost:
		return d.afterSending()
	case Answered:
		return d.onceAnswered()
	}
	return Undecided, NoReason
}

func (d Decision) afterSending() (Verdict, Reason) {
	e := d.Evidence
	answered := d.RecordBefore.Pending != nil && d.RecordBefore.Pending.Answered
	without := e.Without != Unexplained && e.With == Unexplained && e.Hidden == ""
	if e.made() {
		return Made, LooksMade
	}
	if without && !answered {
		return Send, Explained
	}
	if d.Moment == WhilePending && d.keyKept() && !answered {
		return SendKey, KeyDecides
	}
	return d.again(Undecided, LooksEither)
}

func (d Decision) onceAnswered() (Verdict, Reason) {
	e, m := d.Evidence, d.Movement
	sameDirection := e.Remainder != 0 && (e.Remainder > 0) == m.IsFund()
	if e.shows() {
		return Made, LooksMade
	}
	if sameDirection && e.Echoed {
		return d.again(Made, OtherAmount)
	}
	if d.LongerEvidence.shows() || m.MayHaveTopUp(d.LongerEvidence) {
		return d.again(Made, MadeBefore)
	}
	if d.KeySeenBefore {
		return d.again(Stop, NotShown)
	}
	return d.again(Undecided, NotShown)
}

func (d Decision) beforeSending() (Verdict, Reason) {
	e, m := d.Evidence, d.Movement
	either := e.explainsEither(m) || m.MayHaveTopUp(e)
	intoRange := !m.IsFund() && m.Range != nil && e.Balance+m.Delta < m.Range.Below
	sureOfKey := d.keyHonoured() && e.Without != Unexplained && e.With <= e.Without && !intoRange

	switch {
	case (e.Stale || e.Undone) && !e.made():
		return d.again(Stop, BehindLast)
	case d.isOverCap():
		return d.again(Stop, OverCap)
	case e.made():
		return d.again(Made, LooksMade)
	case m.Purpose == ForTopUp && m.Range != nil && e.Balance >= m.Range.Below:
		return Stop, NotDue
	case e.Hidden != "":
		return Stop, Unreadable
	case either && d.keyKept():
		return SendKey, KeyDecides
	case either && sureOfKey:
		return d.again(Send, LooksEither)
	case either:
		return d.again(Stop, LooksEither)
	case intoRange:
		return Stop, IntoRange
	case e.Without == HoldReleased: // or something that is not listed yet
		return d.again(Send, Explained)
	case e.Without != Unexplained:
		return Send, Explained
	case e.leavesHalf(m):
		return d.again(Stop, LeftOver)
	}
	return d.again(Send, OtherMoney)
}

// again returns LookAgain until the card has been read again for long enough, and then the verdict.
func (d Decision) again(verdict Verdict, reason Reason) (Verdict, Reason) {
	if !d.Card.Waited {
		return LookAgain, reason
	}
	return verdict, reason
}

// keyHonoured reports whether the service executes the movement's key once, as long as it keeps the key.
func (d Decision) keyHonoured() bool { return d.KeysHonoured && d.RecordBefore.HasKey }

// keyKept reports whether, in addition, the service still keeps a key that was used since the anchor.
func (d Decision) keyKept() bool { return d.keyHonoured() && d.Evidence.Recent }

// isOverCap reports whether a top-up may exceed the month's cap, counting unexplained money.
func (d Decision) isOverCap() bool {
	m := d.Movement
	if m.Purpose != ForTopUp || m.Range == nil || m.Range.Limit == nil {
		return false
	}
	return d.Evidence.Gain()+m.Delta > d.RecordBefore.TopUps.Left(*m.Range.Limit, d.Evidence.Month)
}
