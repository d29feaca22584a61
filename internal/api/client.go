package api

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Config is the configuration of a client.
type Config = transport.Config

// Client calls the service as one account. It is safe for concurrent use. All calls share its limits and its
// record of recent changes.
type Client struct {
	*transport.Client

	clock     ratelimit.Clock
	startedAt time.Time // when New made this client, by clock
	cardLocks lockTable
	issues    issueTracker
	recent    recent
	// transactionForm is the index in transactionForms of the form to try first.
	transactionForm atomic.Int32
}

// New returns a client. Its error is a *transport.ConfigError.
func New(config Config) (*Client, error) {
	c := &Client{}
	c.cardLocks = newLockTable()
	c.recent.cards = map[string]recentCard{}
	c.issues.locks = newLockTable()
	c.issues.baselines = map[string]*baseline{}
	c.issues.undecided = map[string]bool{}
	c.issues.requested = map[string]bool{}
	var err error
	c.Client, err = transport.New(config)
	if err != nil {
		return nil, err
	}
	c.clock = c.Clock()
	c.startedAt = c.clock.Now()
	return c, nil
}

// newKey is the argument of Begin for a new, random idempotency key.
const newKey = ""

// cardCall returns a call about one card. If the id cannot be that of a card, the call fails without a request. If the
// card is so new that the service may not show it yet, a request that does not find it is retried. The subpath is
// empty or starts with a slash.
func (c *Client) cardCall(operation, method, id, subpath string) *transport.Call {
	known := c.recent.get(id)
	call := &transport.Call{
		Card:      id,
		NewUntil:  known.newUntil,
		Operation: operation,
		Method:    method,
		Path:      "/cards/" + url.PathEscape(id) + subpath,
	}
	if !mayBeCardID(id) {
		// At most 40 characters of the id are shown.
		call.Invalid = fmt.Errorf("%.40q is not a card id; card ids look like card_… and are shown in the dashboard", id)
	}
	return call
}

// lockTable has one lock for each name.
type lockTable struct {
	mu    sync.Mutex
	locks map[string]*semaphore.Weighted
}

func newLockTable() lockTable {
	return lockTable{locks: map[string]*semaphore.Weighted{}}
}

// lock waits for the lock of a name, until the context ends. It returns the function that releases the lock.
func (t *lockTable) lock(ctx context.Context, name string) (unlock func(), err error) {
	t.mu.Lock()
	lock := t.locks[name]
	if lock == nil {
		lock = semaphore.NewWeighted(1)
		t.locks[name] = lock
	}
	t.mu.Unlock()
	err = lock.Acquire(ctx, 1)
	if err != nil {
		return nil, err
	}
	return func() { lock.Release(1) }, nil
}

// LockCard locks a card for an operation that may move its money. It waits until the card is not locked, or until ctx
// ends, and returns the function that releases the lock. It also forgets the status that this process set last,
// because a movement may make the service freeze the card.
func (c *Client) LockCard(ctx context.Context, id string) (unlock func(), err error) {
	unlock, err = c.cardLocks.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	c.recent.update(id, func(card *recentCard) { card.status = "" })
	return unlock, nil
}

// These durations allow for a service that shows a change late.
const (
	// NewCardGrace is the age below which a card may still be hidden: a read that does not find it does not prove
	// that it is missing.
	NewCardGrace = 10 * time.Minute
	// shownWithin is how long this client waits for the service to show a new card or a termination.
	shownWithin = time.Minute
	// statusShownWithin is how long this client waits for the service to show that a card was frozen or unfrozen. It
	// is short, because others may change the status, too.
	statusShownWithin = 10 * time.Second
)

// recent records what the service may not show yet.
type recent struct {
	mu    sync.Mutex
	cards map[string]recentCard // by id
}

// recentCard is what this process knows about a card.
type recentCard struct {
	issued   *CardListItem // the card, if it was claimed for an issuance of this process
	newUntil time.Time     // until then, the service may not find the card

	status      CardStatus // the status that this process set, or "" if no status is expected
	statusUntil time.Time  // until then, the service may still show an earlier status
}

func (r *recent) get(id string) recentCard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cards[id]
}

func (r *recent) update(id string, change func(*recentCard)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	card := r.cards[id]
	change(&card)
	r.cards[id] = card
}

// claim marks a card as the result of one of this process's issuances. It reports false if the card was claimed before.
func (r *recent) claim(card CardListItem, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.cards[card.ID]
	if known.issued != nil {
		return false
	}
	known.issued = &card
	known.newUntil = now.Add(shownWithin)
	r.cards[card.ID] = known
	return true
}

// newCards returns the cards that this process issued and that the service may not show yet, normally newest first.
func (r *recent) newCards(now time.Time) []CardListItem {
	r.mu.Lock()
	defer r.mu.Unlock()
	newestFirst := func(a, b recentCard) int { return b.newUntil.Compare(a.newUntil) }
	var cards []CardListItem
	for _, card := range slices.SortedFunc(maps.Values(r.cards), newestFirst) {
		if card.issued != nil && now.Before(card.newUntil) {
			cards = append(cards, *card.issued)
		}
	}
	return cards
}

// mayBeCurrent reports whether the status of a card that was read may be the current one. For some time after this
// process has set a status, another one is probably outdated, unless it is a termination, which is final.
func (r *recent) mayBeCurrent(card CardSummary, now time.Time) bool {
	known := r.get(card.ID)
	expectsStatus := known.status != "" && now.Before(known.statusUntil)
	if !expectsStatus {
		return true
	}
	return card.Status == known.status || card.Status == StatusTerminated
}
