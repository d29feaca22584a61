package reconcile

import "github.com/vcard/terraform-provider-vcard/internal/usd"

// Moment is when it is decided about a movement.
type Moment int

// The moments.
const (
	BeforeSending Moment = iota + 1
	WhilePending         // an earlier run sent it, and never learnt what became of it
	AnswerLost           // it was sent, and how that ended is not known
	Answered             // the service says that it was made
)

// Purpose is what money is moved for. A plan may make one movement for each.
type Purpose byte

// The purposes.
const (
	ForAmount Purpose = iota
	ForTopUp
)

// Movement is money to be moved between the wallet and a card, once.
type Movement struct {
	Purpose Purpose
	Delta   usd.Amount // not 0: funded above zero, withdrawn below
	Before  usd.Amount // what the state says was loaded for the purpose so far
	Range   *Range     // nil without top-ups
}

// MayHaveTopUp reports whether what may have come to the card may be a fund and the
// top-up of the same run, which would have been due. A balance that is less the holds
// and explained is believed.
func (m Movement) MayHaveTopUp(e Explanation) bool {
	return m.isTopUpDue(e, m.Delta) && e.Without < LessHolds
}

// isTopUpDue reports whether more may have come than a fund, and the card would have
// been under its range before that, with a sum.
func (m Movement) isTopUpDue(e Explanation, with usd.Amount) bool {
	before := e.Balance - e.Came - e.Refunded
	return m.Purpose == ForAmount && m.Range != nil && 0 < m.Delta && m.Delta < e.Came && before+with < m.Range.Below
}

// Beside is what may have come with a fund that was made.
func (m Movement) Beside(e Explanation) usd.Amount {
	if m.MayHaveTopUp(e) {
		return e.Came - m.Delta
	}
	return 0
}

// Found is what may be the movement or hold it: what is left over or, for a fund, the
// most that may have come.
func (m Movement) Found(e Explanation, why Reason) usd.Amount {
	if why == LeftOver && m.Delta > 0 && !m.MayHaveTopUp(e) {
		return e.Came
	}
	return e.Left
}

// Range is what top-ups keep a card in.
type Range struct {
	Below, To usd.Amount
	// Limit is what top-ups may add in a month; nil without a cap.
	Limit *usd.Amount
	Had   TopUps
}

// permits reports whether a top-up may be sent though it may have been made.
func (r *Range) permits(e Explanation, delta usd.Amount) bool {
	return r != nil && e.Balance+delta <= r.To && r.isUnderCap(e, delta)
}

// isUnderCap reports whether a top-up stays within the month's cap, with what may
// have been made.
func (r *Range) isUnderCap(e Explanation, delta usd.Amount) bool {
	return r == nil || r.Limit == nil || e.Gain()+delta <= r.Had.Left(*r.Limit, e.Month)
}

// Policy is what else a decision depends on.
type Policy struct {
	KeysHonoured bool // the service counts requests of one key once
	Waited       bool // looking again has shown no more
	OtherKey     bool // what was made since the anchor was made under another key than it has now
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
	NoReason Reason = iota
	RecordLost
	JustMoved   // what is shown may be from before the last movement
	NotDue      // the card is not under the top-up's range
	InRange     // a top-up that does no harm twice
	OverCap     // a top-up that passes the month's cap, with what may have come
	Unreadable  // what could not be read may be the movement
	KeyDecides  // it may have been made under the same key
	LooksMade   // made, and nothing else explains the balance
	LooksBoth   // made or not, the balance is explained
	LooksHeld   // made, if a hold was released
	Explained   // the balance is explained without it
	IntoRange   // a withdrawal that the next top-up would load again
	LeftOver    // unexplained money that may be the movement
	OtherMoney  // unexplained money that is not
	NotShown    // the service says that it was made, and the card does not show it
	OtherAmount // the service moved another amount
)

// Decision is a verdict and its reason.
type Decision struct {
	Verdict Verdict
	Reason  Reason
}

// Decide is the one place where it is decided whether money is sent. It is the
// table in CONTRIBUTING: the first row that fits.
func Decide(moment Moment, e Explanation, m Movement, p Policy) Decision {
	kept := p.KeysHonoured && e.Recent
	keyDecides := kept && !p.OtherKey
	made := e.With >= AsSettled && e.Without == Unexplained
	withTopUp := m.MayHaveTopUp(e)
	both := e.Without != Unexplained && (e.With >= e.Without || m.Delta > 0 && e.With >= AsSettled || withTopUp)
	held := e.With == HoldReleased && e.Without == Unexplained
	intoRange := m.Delta < 0 && m.Range != nil && e.Balance+m.Delta < m.Range.Below
	sameWay := e.Left > 0 && m.Delta > 0 || e.Left < 0 && m.Delta < 0
	nearly := m.Delta.Abs() - m.Delta.Abs()/10 // less a fee

	switch moment {
	case WhilePending, AnswerLost:
		switch {
		case moment == WhilePending && keyDecides:
			return Decision{SendKey, KeyDecides}
		case e.Hidden != "":
			return again(p, Undecided, Unreadable)
		case made:
			return Decision{Made, LooksMade}
		case e.Without != Unexplained && e.With == Unexplained:
			return Decision{Send, Explained}
		case moment == WhilePending && kept && e.With == Unexplained && !sameWay:
			return again(p, SendKey, KeyDecides) // its own, as no other can have brought that
		}
		return again(p, Undecided, LooksBoth)
	case Answered:
		switch {
		case e.With != Unexplained && e.With >= min(e.Without, AsSettled): // else it is an earlier answer again
			return Decision{Made, LooksMade}
		case sameWay && e.Echoed:
			return again(p, Made, OtherAmount)
		}
		return again(p, Stop, NotShown)
	case BeforeSending:
	default:
		return Decision{}
	}

	switch {
	case !e.Anchored:
		return Decision{Stop, RecordLost}
	case e.Stale && !p.Waited:
		return Decision{LookAgain, JustMoved}
	case m.Purpose == ForTopUp && m.Range != nil && e.Balance >= m.Range.Below:
		return Decision{Stop, NotDue}
	case m.Purpose == ForTopUp && m.Range.permits(e, m.Delta):
		return Decision{Send, InRange}
	case !m.Range.isUnderCap(e, m.Delta):
		return again(p, Stop, OverCap)
	case e.Hidden != "" && keyDecides:
		return Decision{SendKey, Unreadable}
	case e.Hidden != "":
		return Decision{Stop, Unreadable}
	case keyDecides && (made || both || held):
		return Decision{SendKey, KeyDecides}
	case made:
		return again(p, Made, LooksMade)
	case both && p.KeysHonoured && !p.OtherKey && e.With <= e.Without && !intoRange:
		return again(p, Send, LooksBoth)
	case both:
		return again(p, Stop, LooksBoth)
	case held:
		return Decision{Stop, LooksHeld}
	case e.Without != Unexplained && intoRange:
		return Decision{Stop, IntoRange}
	case e.Without == HoldReleased: // or something that is not listed yet
		return again(p, Send, Explained)
	case e.Without != Unexplained:
		return Decision{Send, Explained}
	case m.isTopUpDue(e, 0) || sameWay && (kept || nearly <= e.Left.Abs()):
		return again(p, Stop, LeftOver)
	case intoRange:
		return Decision{Stop, IntoRange}
	}
	return again(p, Send, OtherMoney)
}

// again looks once more, and decides when that has shown no more.
func again(p Policy, verdict Verdict, reason Reason) Decision {
	if !p.Waited {
		verdict = LookAgain
	}
	return Decision{verdict, reason}
}
