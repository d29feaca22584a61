package api

import (
	"context"
	"slices"
	"sync"
	"time"
)

// RefreshedCard is a card as it was at a moment, by the service's clock.
type RefreshedCard struct {
	CardListItem
	AsOf time.Time
}

// RefreshCard reads one card of which the status at the last read is known. The
// reads of many cards at the same time share pages of the card list, so that
// refreshing a fleet costs about as many requests as it has pages. A page may be
// ten minutes old, though only a card's first reading is older than a minute, and
// is never used after this client's first write. That a card
// is terminated or not there is only ever said by a request for that card. Before
// that is made, check (nil for none) may say that it is of no use, with an error;
// it is told whether complete lists of the active and frozen cards lack the card.
func (c *Client) RefreshCard(ctx context.Context, id string, last CardStatus, check func(ctx context.Context, unlisted bool) error) (RefreshedCard, error) {
	card, known := c.fleet.find(ctx, id, last)
	if known == present {
		return card, nil
	}
	if check != nil {
		if err := check(ctx, known == absent); err != nil {
			return RefreshedCard{}, err
		}
	}
	var summary CardSummary
	var err error
	c.fleet.mu.Lock()
	c.fleet.wait(func() { summary, err = c.GetCard(ctx, id) })
	c.fleet.mu.Unlock()
	return RefreshedCard{summary.CardListItem, c.serviceTime()}, err
}

// LabelledAlike returns the live cards with a label that the pages of this refresh
// show, as far as they were read. It makes no call.
func (c *Client) LabelledAlike(label string) []CardListItem {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	label = CanonicalLabel(label)
	return slices.Concat(c.fleet.active.labels[label], c.fleet.frozen.labels[label])
}

// fleet is the cards of an account as the lists of active and of frozen cards
// show them.
type fleet struct {
	client *Client
	mu     sync.Mutex // guards the listings too
	active *listing
	frozen *listing

	inUseSince, usedAt time.Time // by the fleet's own time

	waiting      int // readers that wait for a response
	waitingSince time.Time
	waited       time.Duration
}

func newFleet(c *Client) *fleet {
	f := &fleet{client: c}
	f.active = &listing{fleet: f, status: StatusActive}
	f.frozen = &listing{fleet: f, status: StatusFrozen}
	return f
}

// wait unlocks the fleet for as long as a reader waits for a response.
func (f *fleet) wait(response func()) {
	if f.waiting == 0 {
		f.waitingSince = f.client.clock.Now()
	}
	f.waiting++
	f.mu.Unlock()
	response()
	f.mu.Lock()
	if f.waiting--; f.waiting == 0 {
		f.waited += f.client.clock.Now().Sub(f.waitingSince)
	}
}

// now is the fleet's own time, which stands still while readers wait: with a
// small share of the limits that takes minutes, and what has arrived would be
// thrown away before they could read it.
func (f *fleet) now() time.Time {
	now := f.client.clock.Now()
	if f.waiting > 0 {
		now = f.waitingSince
	}
	return now.Add(-f.waited)
}

// use notes that cards are looked for.
func (f *fleet) use() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Sub(f.usedAt) >= pageLifetime {
		f.inUseSince = now
	}
	f.usedAt = now
}

// find looks in the listing of the card's last status, and in the other one when
// the first is complete without it.
func (f *fleet) find(ctx context.Context, id string, last CardStatus) (RefreshedCard, presence) {
	f.use()
	first, second := f.active, f.frozen
	switch last {
	case StatusActive:
	case StatusFrozen:
		first, second = second, first
	default:
		return RefreshedCard{}, uncertain
	}
	card, known := first.find(ctx, id)
	if known == absent {
		card, known = second.find(ctx, id)
	}
	return card, known
}

// asked counts the cards that were looked for as long as the listings are kept.
func (f *fleet) asked() int { return len(f.active.asked) + len(f.frozen.asked) }
