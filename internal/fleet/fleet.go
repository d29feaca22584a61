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

// Source is what a fleet needs of the client.
type Source interface {
	ListCards(ctx context.Context, filter api.CardFilter, page, size int) (api.CardPage, error)
	GetCard(ctx context.Context, id string) (api.CardSummary, error)
	HasWritten() bool
	ServiceTime() time.Time
	Clock() ratelimit.Clock
}

// Card is a card as it was at a moment, by the service's clock.
type Card struct {
	api.CardListItem
	AsOf time.Time
}

// Fleet is the cards of an account as its lists show them. It is safe for concurrent use.
type Fleet struct {
	source Source
	clock  ratelimit.Clock

	mu             sync.Mutex // guards the listings too
	active, frozen *listing

	found   atomic.Bool         // a card that was looked for is there
	asking  *semaphore.Weighted // guards unknown, also while a card is asked for
	unknown error               // of the first card that no list had, as none that was looked for

	inUseSince, usedAt time.Time
	waiting            int // readers that wait for a response
}

// New returns a fleet that has read nothing yet.
func New(source Source) *Fleet {
	f := &Fleet{source: source, clock: source.Clock(), asking: semaphore.NewWeighted(1)}
	f.active = &listing{fleet: f, status: api.StatusActive}
	f.frozen = &listing{fleet: f, status: api.StatusFrozen}
	return f
}

// Read reads one card of which the status at the last read is known. The
// reads of many cards at the same time share pages of the card list, so that
// refreshing a fleet costs about as many requests as it has pages. A page may be
// ten minutes old, though only a card's first reading is older than a minute, and
// is never used after the client's first write. That a card is terminated or not there is
// only ever said by a request for that card; where complete lists have none of the cards
// that were looked for, the first such response is that of the others too.
func (f *Fleet) Read(ctx context.Context, id string, last api.CardStatus) (Card, error) {
	card, known := f.find(ctx, id, last)
	if known == present {
		f.found.Store(true)
		return card, nil
	}
	var summary api.CardSummary
	var err error
	f.mu.Lock()
	unlisted := known == absent && f.active.isWhole() && f.frozen.isWhole()
	f.wait(func() { summary, err = f.get(ctx, id, unlisted) })
	f.mu.Unlock()
	return f.asOfNow(summary.CardListItem), err
}

func (f *Fleet) get(ctx context.Context, id string, unlisted bool) (card api.CardSummary, err error) {
	if unlisted && !f.HasFound() {
		if err := f.asking.Acquire(ctx, 1); err != nil {
			return card, err
		}
		defer f.asking.Release(1)
		if f.unknown != nil && !f.HasFound() {
			return card, f.unknown
		}
	}
	card, err = f.source.GetCard(ctx, id)
	switch {
	case err == nil:
		f.found.Store(true)
	case unlisted && !f.HasFound() && transport.IsNotFound(err):
		f.unknown = err
	}
	return card, err
}

// HasFound reports whether a card that was looked for is there.
func (f *Fleet) HasFound() bool { return f.found.Load() }

// find looks in the listing of the card's last status, and in the other one when
// the first is complete without it.
func (f *Fleet) find(ctx context.Context, id string, last api.CardStatus) (Card, presence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first, second := f.active, f.frozen
	switch last {
	case api.StatusActive:
	case api.StatusFrozen:
		first, second = second, first
	default:
		return Card{}, uncertain
	}
	card, known := first.find(ctx, id)
	if known == absent {
		card, known = second.find(ctx, id)
	}
	return card, known
}

// wait unlocks the fleet for as long as a reader waits for a response, which counts as
// use of the pages: with a small share of the limits it takes minutes.
func (f *Fleet) wait(response func()) {
	f.waiting++
	f.mu.Unlock()
	response()
	f.mu.Lock()
	f.waiting--
	f.usedAt = f.clock.Now()
}

// use notes that cards are looked for.
func (f *Fleet) use(now time.Time) {
	if f.waiting == 0 && now.Sub(f.usedAt) >= pageLifetime {
		f.inUseSince = now
	}
	f.usedAt = now
}

// asked counts the cards that were looked for as long as the listings are kept.
func (f *Fleet) asked() int { return len(f.active.asked) + len(f.frozen.asked) }

func (f *Fleet) asOfNow(card api.CardListItem) Card { return Card{card, f.source.ServiceTime()} }
