package reconcile

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Seed is in the idempotency keys of a card's next movement. Random at first, it moves
// on by hashing, so that a run which repeats one that was killed has the same keys.
type Seed [8]byte

func newSeed() (s Seed) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// after is the seed once something was done.
func (s Seed) after(what string) (next Seed) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %s", s, what))
	copy(next[:], sum[:])
	return next
}

// Record is all that is remembered of a card's money. The zero Record is one that
// was lost: nothing moves by it until a stop has taken an anchor. Decide and After alone
// make one of another.
type Record struct {
	Anchor *Anchor
	Seed   Seed
	// HasKey says that nothing was stopped, refused or given up since the last movement
	// that was made: a late request of before that has another key.
	HasKey  bool
	Pending *Pending
	TopUps  TopUps
}

// Pending is a movement that was sent, and of which it is not known whether it took effect.
type Pending struct {
	Purpose  Purpose
	Delta    usd.Amount
	Before   usd.Amount // see Movement
	SentAt   time.Time  // the last attempt by the service's clock, to the second
	Answered bool       // the service says that it was made: it is not sent again
}

// Movement is the pending one, to be decided about.
func (p Pending) Movement() Movement {
	return Movement{Purpose: p.Purpose, Delta: p.Delta, Before: p.Before}
}

// IssuedRecord is that of a card that was issued with a load at a moment.
func IssuedRecord(load usd.Amount, at time.Time) Record {
	return Record{Seed: newSeed(), HasKey: true, Anchor: &Anchor{Balance: load, At: at.UTC().Truncate(time.Second), Last: load, Listed: true, New: true}}
}

// ImportedRecord is that of a card that holds a balance at a moment: whatever came
// up to that second is in it.
func ImportedRecord(balance usd.Amount, at time.Time) Record {
	return Record{Seed: newSeed(), HasKey: true, Anchor: &Anchor{Balance: balance, At: at.UTC().Truncate(time.Second).Add(time.Second)}}
}

// ReadRecord is that of a card of which nothing is known but a snapshot.
func ReadRecord(s Snapshot) Record {
	r := Record{Seed: newSeed(), HasKey: true, Anchor: s.Anchor()}
	r.Anchor.Unclear = s.Unclear != ""
	return r
}

// Key is the idempotency key of a movement on a card: the same in every run that
// tries it, until it is known to be made.
func (r Record) Key(card string, m Movement) string {
	const form = 4 // of the UUIDs that every other key is
	return uuid.NewHash(sha256.New(), uuid.Nil, fmt.Appendf(nil, "%s purpose %d moves %s from %s seed %x",
		card, m.Purpose, m.Delta, m.Before, r.Seed), form).String()
}

// Outcome is what became of a movement in a way that no reading decides.
type Outcome int

// The outcomes.
const (
	Lost    Outcome = iota // it may have been made: it stays pending
	Unread                 // the service says that it was made, and the card cannot be read
	NotMade                // it was sent, and a reading says that it was not made
	Refused                // by the service, for what was asked
	GivenUp                // by the user
)

// After is the record after an outcome, at a moment by the service's clock or by a
// reading of the card. A top-up that is given up counts, since it may have been made,
// and so does what came unexplained.
func (r Record) After(o Outcome, card Snapshot) Record {
	switch pending := r.Pending; o {
	case Lost, Unread:
		sent := *pending
		sent.SentAt, sent.Answered = card.At.UTC().Truncate(time.Second), o == Unread
		r.Pending = &sent
	case NotMade:
		r.Pending = nil
	case Refused: // which the service may repeat under the same key
		r.Pending, r.Seed, r.HasKey = nil, r.Seed.after(card.reading()), false
	case GivenUp:
		gain := Explain(r.Anchor, card, pending.Delta).Came
		if pending.Purpose == ForTopUp {
			gain = max(gain, pending.Delta)
		}
		return r.taken(card, gain)
	}
	return r
}

// Repeats reports whether a movement is the one that is pending, once more.
func (r Record) Repeats(m Movement) bool {
	return r.Pending != nil && r.Pending.Movement().is(m)
}

// sent is the record of a movement that may have been made since an anchor. What had
// come unexplained before that counts as topped up.
func (r Record) sent(m Movement, since *Anchor, at time.Time, gain usd.Amount) Record {
	r.TopUps = r.TopUps.add(MonthOf(at), gain)
	r.Anchor = since
	r.Pending = &Pending{Purpose: m.Purpose, Delta: m.Delta, Before: m.Before, SentAt: at.UTC().Truncate(time.Second)}
	return r
}

// stopped is the record after a movement was not sent. What may be a top-up beside it
// counts as topped up.
func (r Record) stopped(m Movement, s Snapshot, e Explanation) Record {
	gain := e.Gain()
	if m.MayHaveTopUp(e) {
		gain = e.Came
	}
	isLost := r.Anchor == nil
	if r = r.taken(s, gain); isLost {
		r.TopUps = TopUps{MonthOf(s.At), Unknown}
	}
	r.Anchor.Unclear = s.Unclear != ""
	return r
}

// taken is the record after what a card holds is taken as it is. What came unexplained
// counts as topped up.
func (r Record) taken(s Snapshot, gain usd.Amount) Record {
	r.TopUps = r.TopUps.add(MonthOf(s.At), gain)
	r.Anchor, r.Pending, r.Seed, r.HasKey = r.fresh(s), nil, r.Seed.after(s.reading()), false
	return r
}

// fresh is the anchor of a snapshot. Where a stop has said that the card's events
// cannot be read, it is still said.
func (r Record) fresh(s Snapshot) *Anchor {
	a := s.Anchor()
	a.Unclear = r.Anchor != nil && r.Anchor.Unclear && s.Unclear != ""
	return a
}

// madeBefore is the record after a movement turned out to be made before a snapshot.
// What came beside it counts as topped up, but for the plan's own top-up where the movement
// alone does not explain the card.
func (r Record) madeBefore(m Movement, now Snapshot, e Explanation) Record {
	anchor, beside, own := r.fresh(now), m.Beside(e), usd.Amount(0)
	if !e.shows() {
		own = min(m.TopUp, beside)
	}
	anchor.Balance -= own
	return r.made(m, anchor, now.At, beside-own)
}

// made is the record after a movement was made, by a moment. What came besides counts
// as topped up.
func (r Record) made(m Movement, anchor *Anchor, at time.Time, gain usd.Amount) Record {
	if m.Purpose == ForTopUp {
		gain += m.Delta
	}
	r.TopUps = r.TopUps.add(MonthOf(at), gain)
	r.Seed, r.HasKey, r.Pending = r.Seed.after(fmt.Sprintf("%d %s %s", m.Purpose, m.Delta, m.Before)), true, nil
	r.Anchor = anchor
	return r
}
