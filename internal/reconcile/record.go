package reconcile

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Token is random. It is in the idempotency keys of a card's next movements, and
// is renewed when they are known to be made or refused, so that the same movement
// later has another key.
type Token [8]byte

// NewToken returns a token that was never used.
func NewToken() (t Token) {
	_, _ = rand.Read(t[:]) // never fails
	return t
}

// Record is all that is remembered of a card's money. The zero Record is one that
// was lost: nothing moves by it until a stop has taken an anchor.
type Record struct {
	Anchor *Anchor
	Token  Token
	// HasKey says that what was made since the anchor was made under the token: a late
	// request of a run before a stop or a refusal was not.
	HasKey  bool
	Pending *Pending
	TopUps  TopUps
}

// Pending is a movement that was sent, and of which it is not known whether it
// took effect.
type Pending struct {
	Purpose Purpose
	Delta   usd.Amount
	Before  usd.Amount // see Movement
	SentAt  time.Time  // the last attempt by the service's clock, to the second
}

// Movement is the pending one, to be decided about.
func (p Pending) Movement() Movement {
	return Movement{Purpose: p.Purpose, Delta: p.Delta, Before: p.Before}
}

// IssuedRecord is that of a card that was issued with a load at a moment.
func IssuedRecord(load usd.Amount, at time.Time) Record {
	return Record{Token: NewToken(), HasKey: true, Anchor: &Anchor{Balance: load, At: at.UTC().Truncate(time.Second), Last: load, Listed: true, New: true}}
}

// ImportedRecord is that of a card that holds a balance at a moment: whatever came
// up to that second is in it.
func ImportedRecord(balance usd.Amount, at time.Time) Record {
	return Record{Token: NewToken(), HasKey: true, Anchor: &Anchor{Balance: balance, At: at.UTC().Truncate(time.Second).Add(time.Second)}}
}

// Key is the idempotency key of a movement on a card: the same in every run that
// tries it, until it is known to be made.
func (r Record) Key(card string, m Movement) string {
	const form = 4 // of the UUIDs that every other key is
	return uuid.NewHash(sha256.New(), uuid.Nil, fmt.Appendf(nil, "%s purpose %d moves %s from %s token %x",
		card, m.Purpose, m.Delta, m.Before, r.Token), form).String()
}

// Stopped is the record after a movement was not sent: what the card holds now is
// taken as it is. What came unexplained, or may be a top-up beside it, counts as topped up.
func (r Record) Stopped(m Movement, s Snapshot, e Explanation) Record {
	gain := e.Gain()
	if m.MayHaveTopUp(e) {
		gain = e.Came
	}
	r.TopUps = r.TopUps.add(MonthOf(s.At), gain)
	if !e.Anchored {
		r.TopUps = TopUps{MonthOf(s.At), Unknown}
	}
	r.Anchor, r.Pending, r.Token, r.HasKey = s.Anchor(), nil, NewToken(), false
	r.Anchor.Unclear = s.Unclear != ""
	return r
}

// Fresh is the anchor of a snapshot. Where a stop has said that the card's events
// cannot be read, it is still said.
func (r Record) Fresh(s Snapshot) *Anchor {
	a := s.Anchor()
	a.Unclear = r.Anchor != nil && r.Anchor.Unclear && s.Unclear != ""
	return a
}

// NotShown is the record after the service said that a movement was made, and
// the card, as it was read before, did not show it. It may be made all the same.
func (r Record) NotShown(before Snapshot) Record {
	r.TopUps = r.TopUps.add(MonthOf(before.At), Explain(r.Anchor, before, 0).Gain())
	r.Anchor, r.Pending, r.Token, r.HasKey = r.Fresh(before), nil, NewToken(), false
	return r
}

// Refused is the record after a movement was refused: the service may repeat that
// under the same key.
func (r Record) Refused() Record {
	r.Pending, r.Token, r.HasKey = nil, NewToken(), false
	return r
}

// Undecided is the record after a movement was sent at a moment and may have been
// made since an anchor. What had come unexplained before a new one, by an
// explanation, counts as topped up.
func (r Record) Undecided(m Movement, since *Anchor, e Explanation, sentAt time.Time) Record {
	if since != r.Anchor {
		r.TopUps = r.TopUps.add(MonthOf(since.At), e.Gain())
	}
	r.Anchor = since
	r.Pending = &Pending{Purpose: m.Purpose, Delta: m.Delta, Before: m.Before, SentAt: sentAt.UTC().Truncate(time.Second)}
	return r
}

// NotMade is the record after a pending movement turned out not to be made.
func (r Record) NotMade() Record {
	r.Pending = nil
	return r
}

// Moved is the record after a movement was made, by a moment, on a card that held a
// snapshot. What had come unexplained before it counts as topped up.
func (r Record) Moved(m Movement, before Snapshot, e Explanation, by time.Time) Record {
	return r.made(r.Fresh(before).plus(m.Delta), m, MonthOf(by), e.Gain())
}

// MovedBefore is the record after a movement turned out to be made before a
// snapshot, and an excess beside it.
func (r Record) MovedBefore(m Movement, now Snapshot, excess usd.Amount) Record {
	return r.made(r.Fresh(now), m, MonthOf(now.At), max(0, excess))
}

// PendingMade is the record after the pending movement turned out to be made.
func (r Record) PendingMade() Record {
	m := r.Pending.Movement()
	return r.made(r.Anchor.plus(m.Delta), m, MonthOf(r.Pending.SentAt.Add(StaleFor)), 0)
}

func (r Record) made(anchor *Anchor, m Movement, month Month, gain usd.Amount) Record {
	if m.Purpose == ForTopUp {
		gain += m.Delta
	}
	r.Anchor, r.Pending, r.Token, r.HasKey, r.TopUps = anchor, nil, NewToken(), true, r.TopUps.add(month, gain)
	return r
}

// GivenUp is the record after a pending movement was given up. A top-up counts,
// since it may have been made, and so does what came unexplained.
func (r Record) GivenUp(s Snapshot) Record {
	gain := Explain(r.Anchor, s, 0).Gain()
	if r.Pending.Purpose == ForTopUp {
		gain = max(gain, r.Pending.Delta)
	}
	r.TopUps = r.TopUps.add(MonthOf(s.At), gain)
	r.Anchor, r.Pending, r.Token, r.HasKey = r.Fresh(s), nil, NewToken(), false
	return r
}

// Month is a UTC calendar month: twelve times the year, and the months before it.
type Month int

// MonthOf is the month of a moment; 0 of the zero time.
func MonthOf(at time.Time) Month {
	if at.IsZero() {
		return 0
	}
	at = at.UTC()
	return Month(12*at.Year() + int(at.Month()) - 1)
}

// First is the first day of the month.
func (m Month) First() time.Time {
	return time.Date(int(m)/12, time.Month(int(m)%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// TopUps is what top-ups, or what may be them, have added in a month.
type TopUps struct {
	Month Month
	Sum   usd.Amount // Unknown when it is not known
}

// Unknown is more than any cap.
const Unknown = usd.Max

func (t TopUps) add(month Month, sum usd.Amount) TopUps {
	if sum == 0 {
		return t
	}
	if month > t.Month {
		t = TopUps{Month: month}
	}
	t.Sum = min(t.Sum+sum, Unknown)
	return t
}

// Left is what a cap leaves for a month. Without a month it is that of the record.
func (t TopUps) Left(limit usd.Amount, month Month) usd.Amount {
	if month > t.Month {
		return limit
	}
	return max(0, limit-t.Sum)
}
