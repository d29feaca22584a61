// Package fleet reads many cards at once: the reads of one refresh share pages of the card list.
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

// Card is a card and the time at which it was read.
type Card struct {
	api.CardListItem
	AsOf time.Time // by the service's clock
}

// Fleet reads the cards of an account. It is safe for concurrent use.
type Fleet struct {
	source Source
	clock  ratelimit.Clock

	mu     sync.Mutex // guards the listings, inUseSince, usedAt and waiting
	active *listing
	frozen *listing

	inUseSince time.Time // when the pages were first used, or used again after a pause of at least pageLifetime
	usedAt     time.Time // the last use of the pages
	waiting    int       // the number of readers that wait for a response

	found atomic.Bool // whether any card was found

	// notFound is the service's error for a card that is neither in complete lists nor found by its id. As long as no card
	// was found, it is returned for other unlisted cards too, without requesting them.
	notFound     error
	notFoundLock *semaphore.Weighted // guards notFound; requestUnlisted holds it during its request
}

// New returns a fleet that has read nothing yet.
func New(source Source) *Fleet {
	f := &Fleet{source: source, clock: source.Clock(), notFoundLock: semaphore.NewWeighted(1)}
	f.active = &listing{fleet: f, status: api.StatusActive}
	f.frozen = &listing{fleet: f, status: api.StatusFrozen}
	return f
}

// Read returns a card, given its status at the last read. Concurrent reads share pages of the card list, so the card
// may have been read some minutes ago: its AsOf says when. After the client's first write, no page is used.
//
// Lists do not show that a card is terminated or missing. If they lack the card, Read requests it. But if the lists are
// complete and no card has been found so far, Read may return the error for an earlier missing card.
func (f *Fleet) Read(ctx context.Context, cardID string, lastStatus api.CardStatus) (Card, error) {
	card, state := f.find(ctx, cardID, lastStatus)
	if state == present {
		f.found.Store(true)
		return card, nil
	}
	summary, err := f.request(ctx, cardID, state)
	if err != nil {
		return Card{}, err
	}
	return f.asOfNow(summary.CardListItem), nil
}

// request requests the card itself, unless Read may return the error for an earlier missing card instead. The pages
// count as used until request returns.
func (f *Fleet) request(ctx context.Context, cardID string, state presence) (api.CardSummary, error) {
	f.mu.Lock()
	listsComplete := f.active.isComplete() && f.frozen.isComplete()
	unlisted := state == absent && listsComplete
	f.beginWait()
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.endWait()
	}()
	if unlisted && !f.HasFound() {
		return f.requestUnlisted(ctx, cardID)
	}
	card, err := f.source.GetCard(ctx, cardID)
	if err == nil {
		f.found.Store(true)
	}
	return card, err
}

// requestUnlisted requests a card that no list contains. If an earlier one was missing, and still no card was found, it
// returns the error for the earlier one instead.
func (f *Fleet) requestUnlisted(ctx context.Context, cardID string) (api.CardSummary, error) {
	err := f.notFoundLock.Acquire(ctx, 1)
	if err != nil {
		return api.CardSummary{}, err
	}
	defer f.notFoundLock.Release(1)
	if f.notFound != nil && !f.HasFound() {
		return api.CardSummary{}, f.notFound
	}
	card, err := f.source.GetCard(ctx, cardID)
	if err == nil {
		f.found.Store(true)
	} else if transport.IsNotFound(err) && !f.HasFound() {
		f.notFound = err
	}
	return card, err
}

// HasFound reports whether any card was found.
func (f *Fleet) HasFound() bool { return f.found.Load() }

// find looks for a card in the listing of its last status. If all pages of that listing have arrived without the card,
// find looks in the other one. While a listing waits for pages, it unlocks f.mu.
func (f *Fleet) find(ctx context.Context, cardID string, lastStatus api.CardStatus) (Card, presence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first, second *listing
	switch lastStatus {
	case api.StatusActive:
		first = f.active
		second = f.frozen
	case api.StatusFrozen:
		first = f.frozen
		second = f.active
	default: // the listings are of active and frozen cards
		return Card{}, uncertain
	}
	card, state := first.find(ctx, cardID)
	if state == absent {
		card, state = second.find(ctx, cardID)
	}
	return card, state
}

// beginWait notes that a reader waits for a response. The pages count as used until endWait, because a response can take
// minutes if the client has a small share of the rate limits. The caller holds f.mu.
func (f *Fleet) beginWait() { f.waiting++ }

// endWait ends what beginWait began. The caller holds f.mu.
func (f *Fleet) endWait() {
	f.waiting--
	f.usedAt = f.clock.Now()
}

// markUsed notes that a reader looks for a card. If the pages were unused for pageLifetime, it sets inUseSince, so that
// the listings discard them. The caller holds f.mu.
func (f *Fleet) markUsed(now time.Time) {
	if f.waiting == 0 && now.Sub(f.usedAt) >= pageLifetime {
		f.inUseSince = now
	}
	f.usedAt = now
}

// wanted returns how many cards readers have looked for in the listings. A card that they looked for in both counts
// twice. The caller holds f.mu.
func (f *Fleet) wanted() int { return len(f.active.wanted) + len(f.frozen.wanted) }

// asOfNow returns a card that was read just now.
func (f *Fleet) asOfNow(card api.CardListItem) Card {
	return Card{CardListItem: card, AsOf: f.source.ServiceTime()}
}
