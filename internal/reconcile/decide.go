package reconcile

import "github.com/vcard/terraform-provider-vcard/internal/usd"

// Moment is when a decision about a movement is made.
type Moment int

// The moments. With WhilePending and AnswerLost, the movement is pending in the record.
const (
	BeforeSending Moment = iota + 1
	WhilePending         // an earlier run may have sent the movement, and this run may send it again
	AnswerLost           // the movement was sent, and only its outcome is in question
	Answered             // the service says that the movement was made, or refused its key as already used
)

// Verdict says what to do about a movement.
type Verdict int

// The verdicts.
const (
	Undecided Verdict = iota // the outcome is unknown: send nothing
	LookAgain                // read the card again after a while
	Stop                     // send nothing this time; the record's next anchor is the snapshot
	Made                     // the movement was made: send nothing
	Send                     // send the movement: it seems not to have been made, or its key prevents a second execution
	SendKey                  // send the movement under the same key: it may have been made, and the service honours keys
)

// Reason says why a verdict was given.
type Reason int

// The reasons.
const (
	NoReason    Reason = iota
	BehindLast         // the card looks as it did before earlier movements: the reading is stale, or they were undone
	OverCap            // with unexplained money counted, the top-up exceeds the month's cap
	LooksMade          // the card shows the movement
	NotDue             // the card is not below the top-up's range
	Unreadable         // what could not be read may be the movement
	KeyDecides         // the movement may have been made, and the service recognizes its key
	LooksEither        // the reading does not show whether the movement was made
	IntoRange          // the next top-up would reload what is withdrawn
	Explained          // the balance is explained without the movement
	LeftOver           // unexplained money may be the movement: the money is at least half of it
	OtherMoney         // unexplained money is not the movement: the money is less than half of it, or went in the other direction
	MadeBefore         // an earlier request seems to have made the movement, not the one that was answered
	OtherAmount        // the service seems to have moved another amount
	NotShown           // the card does not show the movement, although the service answered; see Answered
)

// Decision says what to do about a movement and why, with the facts that it is based on.
type Decision struct {
	Verdict Verdict
	Reason  Reason
	Record  Record // the record to keep; with Send or SendKey from Ask, the movement is pending in it

	Moment         Moment
	Movement       Movement
	RecordBefore   Record      // the record before this decision
	Card           Snapshot    // as it was read
	KeysHonoured   bool        // the service executes requests with the same key only once
	KeySeenBefore  bool        // once answered: the service refused the key as already used
	Evidence       Explanation // of the reading, since the record's anchor; once answered, since the reading before sending
	LongerEvidence Explanation // once answered: of the reading, since the anchor that the record had before sending
}

// LeftOver returns the unexplained change of the balance before the movement, or 0 if the balance is explained without
// the movement.
func (d Decision) LeftOver() usd.Amount {
	if d.Evidence.Without != Unexplained {
		return 0
	}
	return d.Evidence.Remainder
}

// UnexplainedMoney returns the unexplained money to report. For a fund with the reason LeftOver, that is the amount
// that was compared with the fund.
func (d Decision) UnexplainedMoney() usd.Amount {
	if d.Reason == LeftOver && d.Movement.IsFund() {
		return d.Evidence.MaxArrived
	}
	return d.Evidence.Remainder
}

// Ask decides whether to send a movement, or to send it again if it is pending in the record. No other
// movement may be pending. keysHonoured says that the service executes requests with the same key only once.
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

	// With any other verdict, the record stays as it is.
	switch d.Verdict {
	case Send:
		d.Record = r.sent(m, r.anchorAt(card), card.At, d.Evidence.Gain())
	case SendKey: // the reading may include the movement, so the anchor stays, and no unexplained money counts yet
		const gain usd.Amount = 0
		d.Record = r.sent(m, r.Anchor, card.At, gain)
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

// Resolve decides whether the pending movement of a record was made. The verdict Send means that it was not made. The
// record must have a pending movement.
func Resolve(r Record, card Snapshot) Decision {
	d := decideLost(r, r.Pending.Movement(), card)
	if d.Verdict == Send {
		d.Record = r.NotMade()
	}
	return d
}

// AfterLost decides whether the movement was made, after its response was lost. The verdict Send means that it was not
// made.
func (d Decision) AfterLost(card Snapshot) Decision {
	if d.Verdict == Send { // the new anchor includes what other calls have moved
		card.MovedByOtherCalls = 0
	}
	return decideLost(d.Record, d.Movement, card)
}

// decideLost decides whether a pending movement was made. The verdict Send means that it was not made.
func decideLost(r Record, m Movement, card Snapshot) Decision {
	d := Decision{
		Record:       r,
		Moment:       AnswerLost,
		Movement:     m,
		RecordBefore: r,
		Card:         card,
		Evidence:     Explain(r.Anchor, card, m.Delta),
	}
	d.Verdict, d.Reason = Decide(d)
	if d.Verdict == Made {
		d.Record = r.madeSince(m, d.Evidence, card.At)
	}
	return d
}

// AfterAnswer decides whether the card shows the movement after the service said that it was made, or
// refused its key as already used.
func (d Decision) AfterAnswer(card Snapshot, keySeenBefore bool) Decision {
	m := d.Movement
	before := d.RecordBefore
	anchor := before.anchorAt(d.Card) // the reading before sending
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

	gainBefore := d.Evidence.Gain() // unexplained money from before sending; the top-ups of before do not include it yet
	// With LookAgain, the movement stays pending.
	switch next.Verdict {
	case Undecided:
		next.Record = d.Record.Unread(card.At)
	case Stop:
		next.Record = before.stopped(m, card, next.LongerEvidence)
	case Made:
		switch next.Reason {
		case MadeBefore:
			next.Record = before.madeBefore(m, card, next.LongerEvidence)
		case OtherAmount: // what the card holds beyond the movement counts as topped up
			excess := max(0, next.Evidence.Remainder-m.Delta)
			next.Record = before.made(m, before.anchorAt(card), card.At, excess+gainBefore)
		default:
			next.Record = before.made(m, anchor.plus(m.Delta), card.At, gainBefore)
		}
	}
	return next
}

// Decide returns the verdict and the reason according to the table in CONTRIBUTING. It does not decide about the
// attempts of one request: if keys are honoured, package transport repeats a request with the same key by itself.
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
	if e.made() {
		return Made, LooksMade
	}
	answered := d.RecordBefore.Pending != nil && d.RecordBefore.Pending.Answered
	if answered { // so it is not sent again
		return d.again(Undecided, LooksEither)
	}
	explainedOnlyWithout := e.With == Unexplained && e.Without != Unexplained
	if explainedOnlyWithout && e.Hidden == "" {
		return Send, Explained
	}
	if d.Moment == WhilePending && d.keyKept() {
		return SendKey, KeyDecides
	}
	return d.again(Undecided, LooksEither)
}

func (d Decision) onceAnswered() (Verdict, Reason) {
	e := d.Evidence
	m := d.Movement
	if e.shows() {
		return Made, LooksMade
	}
	var sameDirection bool // the unexplained money went in the movement's direction
	if m.IsFund() {
		sameDirection = e.Remainder > 0
	} else {
		sameDirection = e.Remainder < 0
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

// beforeSending decides with the first case that applies. The cases are in the order of the table's rows.
func (d Decision) beforeSending() (Verdict, Reason) {
	e := d.Evidence
	m := d.Movement
	either := e.explainsEither(m) || m.MayHaveTopUp(e)
	atLeastAsLikelyWithout := e.Without != Unexplained && e.Without >= e.With
	endsBelowRange := m.Range != nil && e.Balance+m.Delta < m.Range.Below
	intoRange := endsBelowRange && !m.IsFund()
	showsEarlierBalance := e.Stale || e.Undone

	switch {
	case showsEarlierBalance && !e.made():
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
	case either && d.keyHonoured() && atLeastAsLikelyWithout && !intoRange:
		return d.again(Send, LooksEither)
	case either:
		return d.again(Stop, LooksEither)
	case intoRange:
		return Stop, IntoRange
	case e.Without == HoldReleased: // what looks like a released hold may be a transaction that is not listed yet
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

// keyHonoured reports whether the service honours keys, and any earlier request for the movement had the same key as
// the next one.
func (d Decision) keyHonoured() bool { return d.KeysHonoured && d.RecordBefore.HasKey }

// keyKept reports whether keyHonoured is true and the anchor is recent enough for the service to still keep that key.
func (d Decision) keyKept() bool { return d.keyHonoured() && d.Evidence.Recent }

// isOverCap reports whether a top-up may exceed the month's cap, counting unexplained money.
func (d Decision) isOverCap() bool {
	m := d.Movement
	if m.Purpose != ForTopUp || m.Range == nil || m.Range.Limit == nil {
		return false
	}
	return d.Evidence.Gain()+m.Delta > d.RecordBefore.TopUps.Left(*m.Range.Limit, d.Evidence.Month)
}
