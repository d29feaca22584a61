package api

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Config says which service a client talks to, as whom, and how patiently.
type Config = transport.Config

// Client talks to the service as one account. It is safe for concurrent use;
// its limits and what it has lately written are shared by all calls.
type Client struct {
	*transport.Client

	clock     ratelimit.Clock
	started   time.Time
	cardLocks lockTable
	issues    issueTracker
	recent    recent
	// transactionForm is how the service has last answered a list of transactions.
	transactionForm atomic.Int32
}

// New returns a client. Its error is a *ConfigError.
func New(config Config) (*Client, error) {
	c := &Client{}
	c.cardLocks.locks = map[string]*semaphore.Weighted{}
	c.recent.cards = map[string]recentCard{}
	c.issues.locks.locks = map[string]*semaphore.Weighted{}
	c.issues.baselines = map[string]*baseline{}
	c.issues.undecided = map[string]bool{}
	c.issues.requested = map[string]bool{}
	var err error
	c.Client, err = transport.New(config)
	if err != nil {
		return nil, err
	}
	c.clock = c.Clock()
	c.started = c.clock.Now()
	return c, nil
}

// lockTable has one lock for each name. Waiting for a lock ends with the context, and
// those who wait are served in order.
type lockTable struct {
	mu    sync.Mutex
	locks map[string]*semaphore.Weighted
}

// lock waits for the lock of a name and returns the function that gives it back.
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

// LockCard waits until no other call of this client moves money on a card or terminates it.
// From then on the card may have another status than this process gave it last, since the
// service freezes cards that hold too little.
func (c *Client) LockCard(ctx context.Context, id string) (unlock func(), err error) {
	unlock, err = c.cardLocks.lock(ctx, id)
	if err == nil {
		c.recent.update(id, func(card *recentCard) { card.status = "" })
	}
	return unlock, err
}

// What a service may show late.
const (
	// NewCardGrace is how long a card that somebody has issued is not called gone.
	NewCardGrace = 10 * time.Minute
	// shownWithin is how long a service may take to show, and to list, a new card.
	shownWithin = time.Minute
	// statusShownWithin is shorter, since others may change a status too.
	statusShownWithin = 10 * time.Second
)

// recent is what was lately written to cards, as far as this process knows, and the
// service may not show yet.
type recent struct {
	mu    sync.Mutex
	cards map[string]recentCard
}

type recentCard struct {
	issued   *CardListItem // by this process
	newUntil time.Time     // by when the service shows it at all

	status      CardStatus // that this process gave it; "" when nothing is expected
	statusUntil time.Time
}

func (r *recent) of(id string) recentCard {
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

// claim takes a card for one issuance, and reports whether no other has it.
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

// newCards are the live cards of this process that the service may not show yet, newest first.
func (r *recent) newCards(now time.Time) []CardListItem {
	r.mu.Lock()
	defer r.mu.Unlock()
	var cards []CardListItem
	for _, card := range slices.SortedFunc(maps.Values(r.cards), func(a, b recentCard) int { return b.newUntil.Compare(a.newUntil) }) {
		if card.issued != nil && now.Before(card.newUntil) {
			cards = append(cards, *card.issued)
		}
	}
	return cards
}

// shows reports whether a response shows the status that this process last gave to a card. A
// termination is final, whoever made it.
func (r *recent) shows(card CardSummary, now time.Time) bool {
	known := r.of(card.ID)
	return card.Status == StatusTerminated || known.status == "" || known.status == card.Status || !now.Before(known.statusUntil)
}
