package reconcile

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Seed is part of the idempotency key of a card's next movement. The seed of a new record is random. A later one is a
// hash of the one before and of what has happened since, so that a run that repeats a killed one can compute the same
// keys.
type Seed [8]byte

func newSeed() Seed {
	var s Seed
	_, _ = rand.Read(s[:]) // it never returns an error
	return s
}

// after returns the next seed, a hash of this one and of a text that describes what has happened since.
func (s Seed) after(text string) Seed {
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %s", s, text))
	return Seed(sum[:len(s)])
}

// Record is what the provider remembers about the money of a card. The zero Record stands for a lost or damaged one:
// it has no anchor, so no money moves until a stop has set one.
type Record struct {
	Anchor *Anchor
	Seed   Seed
	// HasKey says that every request since the last movement that was made had a key from this Seed. It is false after
	// a movement was stopped, refused or given up, because a request with another key may still arrive.
	HasKey  bool
	Pending *Pending
	TopUps  TopUps
}

// Pending is a movement that may have been sent and made.
type Pending struct {
	Purpose      Purpose
	Delta        usd.Amount
	LoadedBefore usd.Amount // see Movement
	SentAt       time.Time  // of the last attempt, or soon before or after it; by the service's clock, to the second
	Answered     bool       // the service says that it was made, so it is not sent again
}

// Movement returns the pending movement, without its Range and TopUp, which a record does not keep.
func (p Pending) Movement() Movement {
	return Movement{Purpose: p.Purpose, Delta: p.Delta, LoadedBefore: p.LoadedBefore}
}

// IssuedRecord returns the record of a card that was issued with a load at a moment.
func IssuedRecord(load usd.Amount, at time.Time) Record {
	return Record{
		Seed:   newSeed(),
		HasKey: true,
		Anchor: &Anchor{Balance: load, At: toSecond(at), Last: load, Listed: true, New: true},
	}
}

// ImportedRecord returns the record of an imported card from its balance at a moment. Transactions up to the end of
// that second count as included in the balance.
func ImportedRecord(balance usd.Amount, at time.Time) Record {
	return Record{
		Seed:   newSeed(),
		HasKey: true,
		Anchor: &Anchor{Balance: balance, At: toSecond(at).Add(time.Second)},
	}
}

// RecordFrom returns a new record whose anchor is a snapshot.
func RecordFrom(s Snapshot) Record {
	r := Record{Seed: newSeed(), HasKey: true, Anchor: s.Anchor()}
	r.Anchor.Unclear = s.Unclear != ""
	return r
}

// toSecond returns a moment with the precision that records keep.
func toSecond(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }

// Key returns the idempotency key of a movement on a card. The key stays the same until the record has another Seed.
func (r Record) Key(card string, m Movement) string {
	const version = 4 // of random UUIDs, whose form the hash gets
	name := fmt.Appendf(nil, "%s purpose %d moves %s from %s seed %x", card, m.Purpose, m.Delta, m.LoadedBefore, r.Seed)
	return uuid.NewHash(sha256.New(), uuid.Nil, name, version).String()
}

// Lost returns the record of a pending movement that may have been made. It stays pending. The time is that of the last
// attempt, by the service's clock.
func (r Record) Lost(at time.Time) Record {
	const answered = false
	return r.pendingSince(at, answered)
}

// Unread returns the record of a pending movement that the service says was made, although the card does
// not show it or cannot be read. It stays pending. The time is by the service's clock.
func (r Record) Unread(at time.Time) Record {
	const answered = true
	return r.pendingSince(at, answered)
}

func (r Record) pendingSince(at time.Time, answered bool) Record {
	pending := *r.Pending
	pending.SentAt = toSecond(at)
	pending.Answered = answered
	r.Pending = &pending
	return r
}

// NotMade returns the record after a reading of the card has shown that the movement was not made.
func (r Record) NotMade() Record {
	r.Pending = nil
	return r
}

// Refused returns the record of a movement that the service refused, for a reason other than its key. The
// snapshot is the reading before the request. The next request has a new key, since the service may repeat its
// response to the old one.
func (r Record) Refused(card Snapshot) Record {
	r.Pending = nil
	r.Seed = r.Seed.after(card.reading())
	r.HasKey = false
	return r
}

// GivenUp returns the record of a pending movement that the user has given up. Unexplained money counts
// as topped up. For a top-up, at least its amount counts, because it may have been made.
func (r Record) GivenUp(card Snapshot) Record {
	gain := Explain(r.Anchor, card, r.Pending.Delta).MaxArrived
	if r.Pending.Purpose == ForTopUp {
		gain = max(gain, r.Pending.Delta)
	}
	return r.restarted(card, gain)
}

// Repeats reports whether a movement is the pending one.
func (r Record) Repeats(m Movement) bool {
	return r.Pending != nil && r.Pending.Movement().isSameRequest(m)
}

// sent returns the record of a movement that is about to be sent, and may be made from then on. The
// anchor does not include it. gain is unexplained money from before it, which counts as topped up.
func (r Record) sent(m Movement, anchor *Anchor, at time.Time, gain usd.Amount) Record {
	r.TopUps = r.TopUps.add(MonthOf(at), gain)
	r.Anchor = anchor
	r.Pending = &Pending{Purpose: m.Purpose, Delta: m.Delta, LoadedBefore: m.LoadedBefore, SentAt: toSecond(at)}
	return r
}

// stopped returns the record after a stop. Money that may be a top-up counts as topped up.
func (r Record) stopped(m Movement, s Snapshot, e Explanation) Record {
	gain := e.Gain()
	if m.MayHaveTopUp(e) {
		gain = e.MaxArrived
	}
	stopped := r.restarted(s, gain)
	// If the events cannot be read now, the balance alone decides until they can be read again.
	stopped.Anchor.Unclear = s.Unclear != ""
	if r.Anchor == nil { // what top-ups have added is unknown
		stopped.TopUps = TopUps{Month: MonthOf(s.At), Sum: Unknown}
	}
	return stopped
}

// restarted returns a record with a snapshot as its anchor, nothing pending, and a new seed, so that the next
// movement has a new key. gain is unexplained money, which counts as topped up.
func (r Record) restarted(s Snapshot, gain usd.Amount) Record {
	return Record{
		Anchor: r.anchorAt(s),
		Seed:   r.Seed.after(s.reading()),
		HasKey: false, // a request with an earlier key may still arrive
		TopUps: r.TopUps.add(MonthOf(s.At), gain),
	}
}

// anchorAt returns the anchor for a snapshot. It is Unclear if the previous one was and the card's events
// still cannot be read.
func (r Record) anchorAt(s Snapshot) *Anchor {
	a := s.Anchor()
	a.Unclear = r.Anchor != nil && r.Anchor.Unclear && s.Unclear != ""
	return a
}

// madeBefore returns the record of a movement that was made before a snapshot. Money beyond the movement that
// may be a top-up counts as topped up. If the movement alone does not explain the balance, that money may include
// the top-up of the same plan. This part does not count yet, because the decision about that top-up counts it.
func (r Record) madeBefore(m Movement, now Snapshot, e Explanation) Record {
	possibleTopUp := m.possibleTopUp(e)
	topUp := usd.Amount(0) // the part of it that may be the top-up of the same plan
	if !e.shows() {
		topUp = min(m.TopUp, possibleTopUp)
	}
	anchor := r.anchorAt(now)
	anchor.Balance -= topUp // so that the decision about the top-up finds it
	return r.made(m, anchor, now.At, possibleTopUp-topUp)
}

// madeSince returns the record of a pending movement that was made since the anchor.
func (r Record) madeSince(m Movement, e Explanation, at time.Time) Record {
	anchor := r.Anchor.plus(m.Delta)
	anchor.Balance += e.MovedByOtherCalls // a new anchor includes it
	return r.made(m, anchor, at, 0)
}

// made returns the record of a movement that was made at a time or before it. gain is other unexplained money, which
// counts as topped up in the month of that time. So does the movement if it is a top-up.
func (r Record) made(m Movement, anchor *Anchor, at time.Time, gain usd.Amount) Record {
	if m.Purpose == ForTopUp {
		gain += m.Delta
	}
	return Record{
		Anchor: anchor,
		Seed:   r.Seed.after(fmt.Sprintf("%d %s %s", m.Purpose, m.Delta, m.LoadedBefore)),
		HasKey: true,
		TopUps: r.TopUps.add(MonthOf(at), gain),
	}
}
