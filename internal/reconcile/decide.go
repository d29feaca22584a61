package reconcile

// Moment is when it is decided about a movement.
type Moment int

// The moments. After BeforeSending the record has it pending.
const (
	BeforeSending Moment = iota + 1
	WhilePending         // an earlier run sent it, and never learnt what became of it
	AnswerLost           // it was sent, and how that ended is not known
	Answered             // the service says that it was made, or that it has met its key before
)

// Policy is what else a decision depends on.
type Policy struct {
	KeysHonoured bool // the service counts requests of one key once
	KeyRefused   bool // by the service, which has met it before
	Waited       bool // looking again has shown no more
}

// Question is what is to be decided about a movement, by Ask or Then and a reading.
type Question struct {
	Moment   Moment
	Movement Movement
	Record   Record // after it was sent: that it is pending
	Policy   Policy
	Card     Snapshot    // as it was read
	Since    Explanation // of that, since the record's anchor; once answered, since the reading before
	Longer   Explanation // once answered: since the anchor before it was sent
	Sent     *Decision   // by which this run has sent it; nil before that
}

// Ask is the question before a movement is sent, perhaps once more.
func Ask(r Record, m Movement, keysHonoured bool) Question {
	q := Question{Moment: BeforeSending, Movement: m, Record: r, Policy: Policy{KeysHonoured: keysHonoured}}
	if r.Pending != nil {
		q.Moment = WhilePending
	}
	return q
}

// Then is the question at a moment after the movement was sent by a decision.
func (d Decision) Then(moment Moment) Question {
	return Question{Moment: moment, Movement: d.Movement, Record: d.Next(), Policy: Policy{KeysHonoured: d.Policy.KeysHonoured}, Sent: &d}
}

// Anchor is the oldest that the card is compared with.
func (q Question) Anchor() *Anchor {
	if q.Moment == Answered {
		return q.Sent.Record.Anchor
	}
	return q.Record.Anchor
}

// Read decides by a reading of the card.
func (q Question) Read(card Snapshot, waited bool) Decision {
	q.Card, q.Policy.Waited = card, waited
	q.Since = q.explain(q.Anchor())
	if q.Moment == Answered {
		q.Longer, q.Since = q.Since, q.explain(q.Sent.Record.fresh(q.Sent.Card))
	}
	return Decide(q)
}

func (q Question) explain(since *Anchor) Explanation {
	card := q.Card
	if q.Sent != nil && since != q.Sent.Record.Anchor { // it has what other calls have moved
		card.Own = 0
	}
	return Explain(since, card, q.Movement.Delta)
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

// Decision is a verdict and its reason.
type Decision struct {
	Question
	Verdict Verdict
	Reason  Reason
}

// Decide is the one place where it is decided whether money is sent.
func Decide(q Question) Decision {
	d := Decision{Question: q}
	d.Verdict, d.Reason = q.judge()
	return d
}

// Next is the record by a decision: of a movement that is sent, that it is pending.
func (d Decision) Next() Record {
	q, r, m, e, verdict := d.Question, d.Record, d.Movement, d.Since, d.Verdict
	if q.Moment == Answered && verdict != Undecided { // it is not pending any more
		r = q.Sent.Record
	}
	switch {
	case verdict == Send:
		return r.sent(m, r.fresh(q.Card), q.Card.At, e.Gain())
	case verdict == SendKey:
		return r.sent(m, r.Anchor, q.Card.At, 0)
	case verdict == Stop && q.Moment == Answered:
		return r.stopped(m, q.Card, q.Longer)
	case verdict == Stop:
		return r.stopped(m, q.Card, e)
	case verdict == Undecided && q.Moment == Answered:
		return r.After(Unread, q.Card)
	case verdict != Made:
		return r
	case d.Reason == MadeBefore:
		return r.madeBefore(m, q.Card, q.Longer)
	case d.Reason == OtherAmount:
		return r.made(m, r.fresh(q.Card), q.Card.At, max(0, e.Left-m.Delta)+q.Sent.Since.Gain())
	case q.Moment == Answered:
		return r.made(m, r.fresh(q.Sent.Card).plus(m.Delta), q.Card.At, q.Sent.Since.Gain())
	case q.Moment == BeforeSending:
		return r.madeBefore(m, q.Card, e)
	}
	anchor := r.Anchor.plus(m.Delta)
	anchor.Balance += e.Own
	return r.made(m, anchor, q.Card.At, 0)
}

// judge is the table in CONTRIBUTING: the first row that fits.
func (q Question) judge() (Verdict, Reason) {
	e, m := q.Since, q.Movement
	kept := q.Policy.KeysHonoured && e.Recent && q.Record.HasKey
	made := e.With >= AsSettled && e.Without == Unexplained && e.Hidden == ""
	sameWay := e.Left != 0 && (e.Left > 0) == m.IsFund()

	switch q.Moment {
	case WhilePending, AnswerLost:
		isAnswered := q.Record.Pending != nil && q.Record.Pending.Answered
		switch {
		case made:
			return Made, LooksMade
		case e.Without != Unexplained && e.With == Unexplained && e.Hidden == "" && !isAnswered:
			return Send, Explained
		case q.Moment == WhilePending && kept && !isAnswered:
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
		case q.Policy.KeyRefused:
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
