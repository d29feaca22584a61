package fleet

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	// pageLifetime is how long pages that nobody uses are kept, and how long a
	// card may be read from them again.
	pageLifetime = time.Minute
	// longestPageLifetime bounds pages in use, waited for or not: a CLI may take
	// minutes to come to the last of 10,000 cards.
	longestPageLifetime = 10 * time.Minute
	// Missing pages are fetched when all requests together then stay below about
	// twice what the cards asked for would cost alone. The margin is small for a
	// few cards, which may be all, and larger for many, which go on.
	many = 10
)

type presence int

const (
	uncertain presence = iota // ask for the card itself
	present
	absent // the listing is complete without it
)

// listing is what is known of the cards of one status. Its contents are
// guarded by the fleet's lock, which callers of its methods hold.
type listing struct {
	fleet  *Fleet
	status api.CardStatus
	contents
}

// contents are forgotten together when a page's lifetime is over.
type contents struct {
	fetchedAt time.Time
	arrivedAt time.Time       // the last page
	asked     map[string]bool // cards looked for
	spent     int             // requests made for them: pages, and cards of their own
	fetch     *fetch

	cards    map[string]Card
	disputed map[string]bool // seen twice, with different content
	pages    int             // 0 while unknown
	size     int             // of a full one
	total    int             // cards, by the first page
	repeated bool            // pages have shown a card again
	changed  bool            // pages have different totals
	fetched  map[int]bool    // by number
	closed   bool            // no more pages: one has failed, or they cannot be relied on
}

// renew forgets what is too old before a card is looked for. While pages are in use they
// may be old, but not for a card that is read again.
func (l *listing) renew(id string) {
	now := l.fleet.clock.Now()
	l.fleet.use(now)
	isOver := l.fetchedAt.Before(l.fleet.inUseSince) ||
		now.Sub(l.arrivedAt) >= longestPageLifetime ||
		now.Sub(l.fetchedAt) >= pageLifetime && l.asked[id]
	if l.fetch != nil || !isOver {
		return
	}
	l.contents = contents{
		fetchedAt: now, arrivedAt: now, asked: map[string]bool{},
		cards: map[string]Card{}, disputed: map[string]bool{}, fetched: map[int]bool{},
	}
}

// find returns the card, and waits for pages where fetching them is worth it.
func (l *listing) find(ctx context.Context, id string) (Card, presence) {
	f := l.fleet
	l.renew(id)
	l.asked[id] = true
	for ctx.Err() == nil && !f.source.HasWritten() {
		card, known := l.lookup(id)
		if known != uncertain {
			return card, known
		}
		if l.disputed[id] || l.fetch == nil && !l.fetchMore(ctx) {
			break
		}
		fetch := l.fetch
		fetch.wait(ctx, f)
		if fetch.single {
			break
		}
	}
	l.spent++
	return Card{}, uncertain
}

// lookup decides from what is known already. A status that is neither active
// nor frozen is for the card itself to tell.
func (l *listing) lookup(id string) (Card, presence) {
	card, ok := l.cards[id]
	switch {
	case ok && !l.disputed[id] && (card.Status == api.StatusActive || card.Status == api.StatusFrozen):
		return card, present
	case !ok && l.hasPages():
		return Card{}, absent
	}
	return Card{}, uncertain
}

func (l *listing) missing() int { return l.pages - len(l.fetched) }

// hasPages reports whether all pages are there. They may still be of different moments.
func (l *listing) hasPages() bool { return l.pages > 0 && l.missing() == 0 }

// isWhole reports whether no card of the list can be missing. Pages that repeat cards, and
// show fewer than are counted, have no fixed order. Pages with different totals are of
// different moments: a card may have moved from one to another.
func (l *listing) isWhole() bool {
	isShort := l.repeated && len(l.cards) < l.total
	return l.hasPages() && !l.changed && !isShort
}

// fetchMore starts fetching the pages that are missing, unless that costs too much.
func (l *listing) fetchMore(ctx context.Context) bool {
	missing := l.missing()
	margin := 1
	if l.fleet.asked() >= many {
		margin = many
	}
	switch {
	case l.closed:
		return false
	case l.fleet.asked() < many && len(l.asked) == 1:
		l.start(ctx, l.fetchBatch)
	case l.pages == 0:
		l.start(ctx, l.fetchFirst)
	case missing > 0 && l.spent+missing <= 2*(len(l.asked)+margin):
		l.start(ctx, l.fetchMissing())
	default:
		return false
	}
	return true
}

// addPage adds a page, and learns from the first how many there are. An empty one is the
// last: a total may be of cards of every status. It reports whether pages can be relied
// on: they are what was asked for, and have no more than is counted. A service that does
// not know pages sends the same one again.
func (l *listing) addPage(number int, page api.CardPage) bool {
	if l.pages == 0 {
		size, total := page.Size(), page.Total
		l.size = max(1, size)
		if total != nil {
			l.total = *total
		}
		if total == nil || size == 0 && *total > 0 || *total > api.MaxListedCards {
			return false
		}
		l.pages = max(1, (*total+size-1)/l.size)
		if *total == l.size { // which may be the page's own
			l.pages++
		}
	}
	if page.Page != 0 && page.Page != number || page.IsBeyond((number-1)*l.size) {
		return false
	}
	if len(page.Data) == 0 {
		l.pages = min(l.pages, number)
	}
	if page.Total != nil && *page.Total != l.total {
		l.changed = true
	}
	l.fetched[number] = true
	maps.DeleteFunc(l.fetched, func(number int, _ bool) bool { return number > l.pages })
	return l.add(page.Data) || len(page.Data) == 0
}

func (l *listing) add(cards []api.CardListItem) (news bool) {
	for _, card := range cards {
		known, ok := l.cards[card.ID]
		if ok {
			l.repeated = true
		}
		switch {
		case !ok:
			l.cards[card.ID], news = l.fleet.asOfNow(card), true
		case known.CardListItem != card:
			l.disputed[card.ID] = true
		}
	}
	return news
}

func (l *listing) discard() {
	l.closed, l.pages = true, 0
	clear(l.cards)
}

const (
	// batchWindow is how long the first read waits for others to share a page with.
	batchWindow = 20 * time.Millisecond
	pagesAtOnce = 16
)

// fetch gets pages for several readers. It does not end with the reader who
// happened to start it, but with the last one who waits for it.
type fetch struct {
	cancel  context.CancelFunc
	done    chan struct{}
	waiters int
	single  bool // nobody joined the batch, so no page was fetched
}

// start runs a fetch on the side. The fleet is locked here, but not in run.
func (l *listing) start(ctx context.Context, run func(context.Context) error) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &fetch{cancel: cancel, done: make(chan struct{})}
	l.fetch = f
	go func() {
		defer cancel()
		err := func() (err error) {
			defer crash.Catch(&err)
			return run(detached)
		}()
		l.fleet.mu.Lock()
		defer l.fleet.mu.Unlock()
		if err != nil && detached.Err() == nil {
			l.closed = true
		}
		l.fetch = nil
		close(f.done)
	}()
}

// wait lets go of the fleet until the fetch is done or ctx ends.
func (f *fetch) wait(ctx context.Context, fleet *Fleet) {
	f.waiters++
	fleet.wait(func() {
		select {
		case <-f.done:
		case <-ctx.Done():
		}
	})
	f.waiters--
	if f.waiters == 0 {
		f.cancel()
	}
}

func (l *listing) fetchBatch(ctx context.Context) error {
	if err := l.fleet.clock.Wait(ctx, batchWindow); err != nil {
		return err
	}
	l.fleet.mu.Lock()
	single := len(l.asked) == 1
	l.fetch.single = single
	l.fleet.mu.Unlock()
	if single {
		return nil
	}
	return l.fetchFirst(ctx)
}

func (l *listing) fetchFirst(ctx context.Context) error { return l.fetchPage(ctx, 1) }

// fetchMissing is made and started with the fleet locked; of an earlier fetch
// that was interrupted some pages may have arrived.
func (l *listing) fetchMissing() func(context.Context) error {
	var missing []int
	for number := 1; number <= l.pages; number++ {
		if !l.fetched[number] {
			missing = append(missing, number)
		}
	}
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(pagesAtOnce)
		for _, number := range missing {
			group.Go(func() (err error) {
				defer crash.Catch(&err)
				return l.fetchPage(ctx, number)
			})
		}
		return group.Wait()
	}
}

// fetchPage gets one page, unless the list has ended before, and adds it. After a write
// nobody uses it any more.
func (l *listing) fetchPage(ctx context.Context, number int) error {
	f := l.fleet
	f.mu.Lock()
	ended := number > max(1, l.pages)
	f.mu.Unlock()
	if ended {
		return nil
	}
	page, err := f.source.ListCards(ctx, api.CardFilter{Status: l.status}, number, api.MaxPerPage)
	f.mu.Lock()
	defer f.mu.Unlock()
	l.spent++
	l.arrivedAt = f.clock.Now()
	if err == nil && !l.closed && !l.addPage(number, page) {
		l.discard()
	}
	return err
}
