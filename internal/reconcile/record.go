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

// Lost is the record of a pending movement that was sent, the last time at a moment by the
// service's clock, and that may have been made: it stays pending.
func (r Record) Lost(at time.Time) Record { return r.pendingSince(at, false) }

// Unread is the record of a pending movement that the service says it made, where the card does
// not show it or cannot be read: it stays pending, and is not sent again.
func (r Record) Unread(at time.Time) Record { return r.pendingSince(at, true) }

func (r Record) pendingSince(at time.Time, answered bool) Record {
	pending := *r.Pending
	pending.SentAt = at.UTC().Truncate(time.Second)
	pending.Answered = answered
	r.Pending = &pending
	return r
}

// NotMade is the record of a movement that was sent, and that a reading says was not made.
func (r Record) NotMade() Record {
	r.Pending = nil
	return r
}

// Refused is the record of a movement that the service refused for what was asked, on a card
// as it was read before: the next request has another key, since the service may repeat its
// answer under the same one.
func (r Record) Refused(card Snapshot) Record {
	r.Pending = nil
	r.Seed = r.Seed.after(card.reading())
	r.HasKey = false
	return r
}

// GivenUp is the record of a pending movement that the user has given up. A top-up that is
// given up counts, since it may have been made, and so does what came unexplained.
func (r Record) GivenUp(card Snapshot) Record {
	gain := Explain(r.Anchor, card, r.Pending.Delta).Came
	if r.Pending.Purpose == ForTopUp {
		gain = max(gain, r.Pending.Delta)
	}
	return r.taken(card, gain)
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

// madeSince is the record after a pending movement turned out to be made since the anchor.
func (r Record) madeSince(m Movement, e Explanation, at time.Time) Record {
	anchor := r.Anchor.plus(m.Delta)
	anchor.Balance += e.Own
	return r.made(m, anchor, at, 0)
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
