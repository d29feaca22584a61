package reconcile

// Moment is when it is decided about a movement.
type Moment int

// The moments. From WhilePending on, the record has the movement pending.
const (
	BeforeSending Moment = iota + 1
	WhilePending         // an earlier run sent it, and never learned what became of it
	AnswerLost           // it was sent, and how that ended is not known
	Answered             // the service says that it was made, or that it has seen its key before
)

// Policy is what a decision depends on besides the card and the record.
type Policy struct {
	KeysHonoured bool // the service counts requests with one key once
	Waited       bool // looking again has shown no more
}

// Question is all that the table looks at.
type Question struct {
	Moment        Moment
	Movement      Movement
	Record        Record
	Policy        Policy
	KeySeenBefore bool        // the service refused the key, which it has seen before; once answered
	Since         Explanation // since the record's anchor; once answered, since the reading before it was sent
	Longer        Explanation // once answered: since the anchor before it was sent
}

// Verdict is what is to be done.
type Verdict int

// The verdicts.
const (
	Undecided Verdict = iota // it cannot be told, and nothing may be sent
	LookAgain                // read the card again after a while
	Stop                     // send nothing this time; the snapshot is the next anchor
	Made                     // it was made: send nothing
	Send                     // it was not made
	SendKey                  // it may have been made: the service counts its key once
)

// Reason is the row of the table by which it was decided.
type Reason int

// The reasons, in the table's order.
const (
	NoReason    Reason = iota
	BehindLast         // what is shown is from before the last movement, or that was undone
	OverCap            // a top-up that passes the month's cap, with what may have come
	LooksMade          // made, and nothing else explains the balance
	NotDue             // the card is not under the top-up's range
	Unreadable         // what could not be read may be the movement
	KeyDecides         // it may have been made under the same key
	LooksEither        // made or not, the balance may be explained
	IntoRange          // a withdrawal that the next top-up would load again
	Explained          // the balance is explained without it
	LeftOver           // unexplained money that may be the movement
	OtherMoney         // unexplained money that is not
	MadeBefore         // the service says that it was made, and it was made before it was sent
	OtherAmount        // the service moved another amount
	NotShown           // the service says that it was made, and the card does not show it
)

// Decision is what is to be done about a movement, and why.
type Decision struct {
	Verdict  Verdict
	Reason   Reason
	Movement Movement
	Card     Snapshot    // as it was read
	Since    Explanation // of the card; see Question
	Before   Record      // that it was decided by
	Record   Record      // to be kept from now on; of a movement that is to be sent, that it is pending
}

// Ask decides about a movement before it is sent: for the first time, or once more where the
// record has it pending.
func Ask(r Record, m Movement, card Snapshot, p Policy) Decision {
	moment := BeforeSending
	if r.Pending != nil {
		moment = WhilePending
	}
	d := Decision{Movement: m, Card: card, Since: Explain(r.Anchor, card, m.Delta), Before: r, Record: r}
	d.Verdict, d.Reason = Decide(Question{Moment: moment, Movement: m, Record: r, Policy: p, Since: d.Since})

	switch d.Verdict {
	case Send:
		d.Record = r.sent(m, r.fresh(card), card.At, d.Since.Gain())
	case SendKey:
		d.Record = r.sent(m, r.Anchor, card.At, 0)
	case Stop:
		d.Record = r.stopped(m, card, d.Since)
	case Made:
		if moment == WhilePending {
			d.Record = r.madeSince(m, d.Since, card.At)
		} else {
			d.Record = r.madeBefore(m, card, d.Since)
		}
	}
	return d
}

// Resolve decides what became of a record's pending movement, which is not sent again. The verdict
// is Send where it was not made.
func Resolve(r Record, card Snapshot, waited bool) Decision {
	d := decideLost(r, r.Pending.Movement(), card, waited)
	if d.Verdict == Send {
		d.Record = r.NotMade()
	}
	return d
}

// AfterLost decides what became of a movement that was sent by a decision, and whose response was
// lost. The verdict is Send where it was not made.
func (d Decision) AfterLost(card Snapshot, waited bool) Decision {
	if d.Verdict == Send { // the new anchor has what other calls have moved
		card.Own = 0
	}
	return decideLost(d.Record, d.Movement, card, waited)
}

func decideLost(r Record, m Movement, card Snapshot, waited bool) Decision {
	d := Decision{Movement: m, Card: card, Since: Explain(r.Anchor, card, m.Delta), Before: r, Record: r}
	d.Verdict, d.Reason = Decide(Question{Moment: AnswerLost, Movement: m, Record: r, Policy: Policy{Waited: waited}, Since: d.Since})
	if d.Verdict == Made {
		d.Record = r.madeSince(m, d.Since, card.At)
	}
	return d
}

// AfterAnswer decides what the card shows of a movement that was sent by a decision, and that the
// service says it made, or whose key it has seen before.
func (d Decision) AfterAnswer(card Snapshot, waited, keySeenBefore bool) Decision {
	m := d.Movement
	before := d.Before
	fresh := before.fresh(d.Card)
	sinceSent := card
	sinceSent.Own = 0 // the reading before it was sent has what other calls have moved
	longer := Explain(before.Anchor, card, m.Delta)
	next := Decision{Movement: m, Card: card, Since: Explain(fresh, sinceSent, m.Delta), Before: d.Record, Record: d.Record}
	next.Verdict, next.Reason = Decide(Question{
		Moment: Answered, Movement: m, Record: d.Record, Policy: Policy{Waited: waited},
		KeySeenBefore: keySeenBefore, Since: next.Since, Longer: longer,
	})

	switch next.Verdict {
	case Undecided:
		next.Record = d.Record.Unread(card.At)
	case Stop:
		next.Record = before.stopped(m, card, longer)
	case Made:
		switch next.Reason {
		case MadeBefore:
			next.Record = before.madeBefore(m, card, longer)
		case OtherAmount:
			excess := max(0, next.Since.Left-m.Delta)
			next.Record = before.made(m, before.fresh(card), card.At, excess+d.Since.Gain())
		default:
			next.Record = before.made(m, fresh.plus(m.Delta), card.At, d.Since.Gain())
		}
	}
	return next
}

// Decide is the one place where it is decided whether money is sent. It is the table in
// CONTRIBUTING: the first row that fits.
func Decide(q Question) (Verdict, Reason) {
	e, m := q.Since, q.Movement
	kept := q.Policy.KeysHonoured && e.Recent && q.Record.HasKey
	made := e.With >= AsSettled && e.Without == Unexplained && e.Hidden == ""
	sameWay := e.Left != 0 && (e.Left > 0) == m.IsFund()

	switch q.Moment {
	case WhilePending, AnswerLost:
		answered := q.Record.Pending != nil && q.Record.Pending.Answered
		switch {
		case made:
			return Made, LooksMade
		case e.Without != Unexplained && e.With == Unexplained && e.Hidden == "" && !answered:
			return Send, Explained
		case q.Moment == WhilePending && kept && !answered:
			return SendKey, KeyDecides
		}
		return q.again(Undecided, LooksEither)
	case Answered:
		switch {
		case e.shows():
			return Made, LooksMade
		case sameWay && e.Echoed:
			return q.again(Made, OtherAmount)
		case q.Longer.shows() || m.MayHaveTopUp(q.Longer):
			return q.again(Made, MadeBefore)
		case q.KeySeenBefore:
			return q.again(Stop, NotShown)
		}
		return q.again(Undecided, NotShown)
	case BeforeSending:
		return q.beforeSending(kept, made)
	}
	return Undecided, NoReason
}

func (q Question) beforeSending(kept, made bool) (Verdict, Reason) {
	e, m := q.Since, q.Movement
	either := e.Without != Unexplained && (e.With >= e.Without || m.IsFund() && e.With >= AsSettled) ||
		e.Without == Unexplained && e.With == HoldReleased || m.MayHaveTopUp(e)
	intoRange := !m.IsFund() && m.Range != nil && e.Balance+m.Delta < m.Range.Below
	half := m.IsFund() && 2*e.Came >= m.Delta || !m.IsFund() && 2*e.Left <= m.Delta

	switch {
	case (e.Stale || e.Undone) && !made:
		return q.again(Stop, BehindLast)
	case m.Purpose == ForTopUp && m.Range != nil && m.Range.Limit != nil && e.Gain()+m.Delta > q.Record.TopUps.Left(*m.Range.Limit, e.Month):
		return q.again(Stop, OverCap)
	case made:
		return q.again(Made, LooksMade)
	case m.Purpose == ForTopUp && m.Range != nil && e.Balance >= m.Range.Below:
		return Stop, NotDue
	case e.Hidden != "":
		return Stop, Unreadable
	case either && kept:
		return SendKey, KeyDecides
	case either && q.Policy.KeysHonoured && q.Record.HasKey && e.Without != Unexplained && e.With <= e.Without && !intoRange:
		return q.again(Send, LooksEither)
	case either:
		return q.again(Stop, LooksEither)
	case intoRange:
		return Stop, IntoRange
	case e.Without == HoldReleased: // or something that is not listed yet
		return q.again(Send, Explained)
	case e.Without != Unexplained:
		return Send, Explained
	case half:
		return q.again(Stop, LeftOver)
	}
	return q.again(Send, OtherMoney)
}

// again looks once more, and decides when that has shown no more.
func (q Question) again(verdict Verdict, reason Reason) (Verdict, Reason) {
	if !q.Policy.Waited {
		verdict = LookAgain
	}
	return verdict, reason
}
