// Package fleet reads many cards at once: the reads of one refresh share pages of
// the card list.
package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Source is the part of the client that a fleet needs.
type Source interface {
	ListCards(ctx context.Context, filter api.CardFilter, page, size int) (api.CardPage, error)
	GetCard(ctx context.Context, id string) (api.CardSummary, error)
	HasWritten() bool
	ServiceTime() time.Time
	Clock() ratelimit.Clock
}

// Card is a card as it was at a time of the service's clock.
type Card struct {
	api.CardListItem
	AsOf time.Time
}

// Fleet reads the cards of an account. It is safe for concurrent use.
type Fleet struct {
	source Source
	clock  ratelimit.Clock

	mu     sync.Mutex // guards the listings and the fields below them
	active *listing
	frozen *listing

	inUseSince time.Time
	usedAt     time.Time
	waiting    int // readers that wait for a response

	found atomic.Bool // whether any card was found

	// The first error of a card that complete lists do not have, while no card was found. It
	// stands for the errors of the other cards.
	asking   *semaphore.Weighted // guards notFound, and is held while a card is requested
	notFound error
}

// New returns a fleet that has read nothing yet.
func New(source Source) *Fleet {
	f := &Fleet{source: source, clock: source.Clock(), asking: semaphore.NewWeighted(1)}
	f.active = &listing{fleet: f, status: api.StatusActive}
	f.frozen = &listing{fleet: f, status: api.StatusFrozen}
	return f
}

// Read reads a card whose status at the last read is known. Concurrent reads share pages of the
// card list, so that refreshing a fleet costs about as many requests as the list has pages.
//
// A page may be up to ten minutes old, but a card that is read again comes from a page of the
// last minute. After the client's first write no page is used.
//
// Only a request for the card itself can report that it is terminated or missing. If complete
// lists have none of the cards so far, the first such response stands for the others too.
func (f *Fleet) Read(ctx context.Context, id string, last api.CardStatus) (Card, error) {
	card, state := f.find(ctx, id, last)
	if state == present {
		f.found.Store(true)
		return card, nil
	}
	summary, err := f.request(ctx, id, state)
	return f.asOfNow(summary.CardListItem), err
}

// request requests the card itself. The time that this takes counts as use of the pages.
func (f *Fleet) request(ctx context.Context, id string, state presence) (api.CardSummary, error) {
	f.mu.Lock()
	unlisted := state == absent && f.active.isComplete() && f.frozen.isComplete()
	f.beginWait()
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.endWait()
	}()
	if unlisted && !f.HasFound() {
		return f.requestUnlisted(ctx, id)
	}
	card, err := f.source.GetCard(ctx, id)
	if err == nil {
		f.found.Store(true)
	}
	return card, err
}

// requestUnlisted requests a card that no list has, unless an earlier one was already reported
// as missing.
func (f *Fleet) requestUnlisted(ctx context.Context, id string) (api.CardSummary, error) {
	err := f.asking.Acquire(ctx, 1)
	if err != nil {
		return api.CardSummary{}, err
	}
	defer f.asking.Release(1)
	if f.notFound != nil && !f.HasFound() {
		return api.CardSummary{}, f.notFound
	}
	card, err := f.source.GetCard(ctx, id)
	if err == nil {
		f.found.Store(true)
	} else if transport.IsNotFound(err) && !f.HasFound() {
		f.notFound = err
	}
	return card, err
}

// HasFound reports whether any card was found.
func (f *Fleet) HasFound() bool { return f.found.Load() }

// find looks in the listing of the card's last status. If that is complete without the card, find
// looks in the other one.
func (f *Fleet) find(ctx context.Context, id string, last api.CardStatus) (Card, presence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first, second *listing
	switch last {
	case api.StatusActive:
		first = f.active
		second = f.frozen
	case api.StatusFrozen:
		first = f.frozen
		second = f.active
	default:
		return Card{}, uncertain
	}
	card, state := first.find(ctx, id)
	if state == absent {
		card, state = second.find(ctx, id)
	}
	return card, state
}

// beginWait notes that a reader waits for a response. Until endWait, the pages count as used: with
// a small share of the rate limits, a response can take minutes.
func (f *Fleet) beginWait() { f.waiting++ }

func (f *Fleet) endWait() {
	f.waiting--
	f.usedAt = f.clock.Now()
}

// use notes that a card is looked for.
func (f *Fleet) use(now time.Time) {
	if f.waiting == 0 && now.Sub(f.usedAt) >= pageLifetime {
		f.inUseSince = now
	}
	f.usedAt = now
}

// wanted returns the number of cards that were looked for since the pages were last discarded.
func (f *Fleet) wanted() int { return len(f.active.wanted) + len(f.frozen.wanted) }

func (f *Fleet) asOfNow(card api.CardListItem) Card {
	return Card{CardListItem: card, AsOf: f.source.ServiceTime()}
}
