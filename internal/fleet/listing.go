package fleet

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	// pageLifetime is how long unused pages are kept, and how long pages are kept if a card is read again.
	pageLifetime = time.Minute
	// maxPageLifetime is how long pages that are in use are kept after the last one has arrived. A CLI can take minutes to
	// read a large fleet.
	maxPageLifetime = 10 * time.Minute
	// manyCards is the number of wanted cards from which a fleet is assumed to be large.
	manyCards = 10
	// expectedMore is how many further cards readers of a large fleet are expected to want.
	expectedMore = 10
)

// presence says whether a listing contains a card.
type presence int

const (
	uncertain presence = iota // the pages that have arrived do not say, or cannot be relied on
	present
	absent // all pages have arrived, and none shows the card
)

// listing contains the cards of one status. The fleet's lock guards its contents. Callers of its methods hold the lock,
// except for fetchBatch, fetchFirst, fetchPages and fetchPage, which take it themselves.
type listing struct {
	fleet  *Fleet
	status api.CardStatus
	contents
}

// contents are discarded together when they are too old. The zero contents are too old.
type contents struct {
	renewedAt time.Time       // when the earlier contents were discarded
	arrivedAt time.Time       // when the last request for a page ended; equal to renewedAt until one has ended
	wanted    map[string]bool // the cards that readers have looked for
	spent     int             // the number of requests for pages and for uncertain cards
	fetch     *fetch          // the running fetch; nil for none

	cards        map[string]Card // by id
	disputed     map[string]bool // cards that pages show differently
	pages        int             // the number of pages; 0 while unknown
	size         int             // the number of cards on a full page
	total        int             // the number of cards, according to the first page
	repeated     bool            // whether pages have repeated a card
	totalsDiffer bool            // whether pages have different totals
	fetched      map[int]bool    // numbers of the pages that have arrived
	closed       bool            // whether fetching has stopped, because it failed or pages are inconsistent
}

// renew discards the contents if they are too old to look for a card. While a fetch is running, it keeps them, because
// the fetch adds its pages to them.
func (l *listing) renew(cardID string, now time.Time) {
	if l.fetch != nil {
		return
	}
	wereUnused := l.renewedAt.Before(l.fleet.inUseSince) // the pages were unused for pageLifetime since they were renewed
	tooOld := now.Sub(l.arrivedAt) >= maxPageLifetime
	readAgain := l.wanted[cardID]
	tooOldToReadAgain := readAgain && now.Sub(l.renewedAt) >= pageLifetime
	expired := wereUnused || tooOld || tooOldToReadAgain
	if !expired {
		return
	}
	l.contents = contents{
		renewedAt: now,
		arrivedAt: now,
		wanted:    map[string]bool{},
		cards:     map[string]Card{},
		disputed:  map[string]bool{},
		fetched:   map[int]bool{},
	}
}

// find looks for a card. It fetches pages, or waits for a running fetch, if that saves requests.
func (l *listing) find(ctx context.Context, cardID string) (Card, presence) {
	now := l.fleet.clock.Now()
	l.fleet.markUsed(now)
	l.renew(cardID, now)
	l.wanted[cardID] = true
	// After the client has written, a page may show a card as it was before the write.
	for ctx.Err() == nil && !l.fleet.source.HasWritten() {
		card, state := l.lookup(cardID)
		if state != uncertain {
			return card, state
		}
		if l.disputed[cardID] {
			break
		}
		if l.fetch == nil {
			started := l.fetchMore(ctx)
			if !started {
				break
			}
		}
		running := l.fetch
		running.wait(ctx, l.fleet)
		if running.skipped {
			break
		}
	}
	l.spent++ // for the request for the card itself
	return Card{}, uncertain
}

// lookup looks for a card on the pages that have arrived. A card on them is uncertain if pages show it differently, or
// with a status other than active or frozen. A card on none of them is uncertain until all pages have arrived, and then
// absent.
func (l *listing) lookup(cardID string) (Card, presence) {
	card, ok := l.cards[cardID]
	if !ok {
		if l.hasAllPages() {
			return Card{}, absent
		}
		return Card{}, uncertain
	}
	isLive := card.Status == api.StatusActive || card.Status == api.StatusFrozen
	if l.disputed[cardID] || !isLive {
		return Card{}, uncertain
	}
	return card, present
}

// missingPages returns the numbers of the pages that have not arrived. While the number of pages is unknown, there are
// none.
func (l *listing) missingPages() []int {
	var missing []int
	for number := 1; number <= l.pages; number++ {
		if !l.fetched[number] {
			missing = append(missing, number)
		}
	}
	return missing
}

// hasAllPages reports whether all pages have arrived. They may be from different moments.
func (l *listing) hasAllPages() bool { return l.pages > 0 && len(l.missingPages()) == 0 }

// isComplete reports whether the pages can be relied on to show all cards. If they repeat cards and show fewer than the
// total, the list has no fixed order. If their totals differ, cards may have moved from one page to another between the
// requests.
func (l *listing) isComplete() bool {
	if !l.hasAllPages() || l.totalsDiffer {
		return false
	}
	hasGaps := l.repeated && len(l.cards) < l.total
	return !hasGaps
}

// fetchMore starts to fetch missing pages, and reports true. If no page is missing, or if fetching has stopped or costs
// too many requests, it reports false.
func (l *listing) fetchMore(ctx context.Context) bool {
	if l.closed {
		return false
	}
	isLarge := l.fleet.wanted() >= manyCards
	wantsOneCard := len(l.wanted) == 1
	if wantsOneCard && !isLarge {
		l.start(ctx, l.fetchBatch)
		return true
	}
	if l.pages == 0 {
		l.start(ctx, l.fetchFirst)
		return true
	}
	missing := l.missingPages()
	if len(missing) == 0 || l.spent+len(missing) > l.budget(isLarge) {
		return false
	}
	fetchMissing := func(ctx context.Context) error { return l.fetchPages(ctx, missing) }
	l.start(ctx, fetchMissing)
	return true
}

// budget returns the largest number of requests that may be spent: about twice the number of wanted cards, each of
// which could be read with one request. The margin allows for cards that are wanted later. It is larger for a large
// fleet, because many more are likely to follow.
func (l *listing) budget(isLarge bool) int {
	margin := 1
	if isLarge {
		margin = expectedMore
	}
	return 2 * (len(l.wanted) + margin)
}

// addPage adds a page. It reports whether the pages seem consistent. For example, a page with cards must show new ones,
// because a service that does not support pages sends the same page again.
func (l *listing) addPage(number int, page api.CardPage) bool {
	if l.pages == 0 {
		counted := l.countPages(page)
		if !counted {
			return false
		}
	}
	wrongNumber := page.Page != 0 && page.Page != number
	cardsBefore := (number - 1) * l.size
	if wrongNumber || page.ExceedsTotal(cardsBefore) {
		return false
	}
	if len(page.Data) == 0 { // the pages end here, even if the total includes cards of other statuses
		l.pages = min(l.pages, number)
	}
	if page.Total != nil && *page.Total != l.total {
		l.totalsDiffer = true
	}
	l.fetched[number] = true
	added := l.addCards(page.Data)
	return added > 0 || len(page.Data) == 0
}

// countPages sets the size, the total and the number of pages from the first page. It reports false if it cannot
// determine the number, or if the total is too large.
func (l *listing) countPages(page api.CardPage) bool {
	cardsPerPage := page.FullPageSize()
	l.size = max(1, cardsPerPage) // the total is divided by it
	if page.Total == nil {
		return false
	}
	l.total = *page.Total
	if l.total > api.MaxListedCards {
		return false
	}
	if l.total > 0 && cardsPerPage == 0 {
		return false
	}
	pages := (l.total + l.size - 1) / l.size // rounded up
	l.pages = max(1, pages)
	if l.total == l.size { // the service may have sent the number of cards on this page as the total
		l.pages++
	}
	return true
}

// addCards adds the cards of a page. It returns the number of cards that are new.
func (l *listing) addCards(cards []api.CardListItem) int {
	added := 0
	for _, card := range cards {
		known, ok := l.cards[card.ID]
		if !ok {
			l.cards[card.ID] = l.fleet.asOfNow(card)
			added++
			continue
		}
		l.repeated = true
		if known.CardListItem != card {
			l.disputed[card.ID] = true
		}
	}
	return added
}

// discard removes all cards and prevents further fetches, because the pages are inconsistent.
func (l *listing) discard() {
	l.closed = true
	l.pages = 0
	clear(l.cards)
}

const (
	// batchWindow is how long the first reader waits for others to share a page with.
	batchWindow        = 20 * time.Millisecond
	maxConcurrentPages = 16
)

// fetch fetches pages for several readers. It is cancelled when the last reader that waits for it leaves. The reader
// that started it may leave earlier.
type fetch struct {
	cancel  context.CancelFunc
	done    chan struct{}
	waiters int
	skipped bool // whether it fetched no page, because no other card was wanted
}

// start starts a fetch in a goroutine. The caller holds the fleet's lock, but run is called without it.
func (l *listing) start(ctx context.Context, run func(context.Context) error) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &fetch{cancel: cancel, done: make(chan struct{})}
	l.fetch = f
	go func() {
		defer cancel()
		err := catchPanic(detached, run)
		l.fleet.mu.Lock()
		defer l.fleet.mu.Unlock()
		// An error is not reported: the readers request their cards one by one instead, and report errors of those
		// requests. A fetch that was cancelled may be repeated by a later reader.
		if err != nil && detached.Err() == nil {
			l.closed = true
		}
		l.fetch = nil
		close(f.done)
	}()
}

// catchPanic calls run. If run panics, catchPanic returns the panic as an error, so that a panic in the goroutine of a
// fetch does not end the process. Like any error of a fetch, it only closes the listing; see start.
func catchPanic(ctx context.Context, run func(context.Context) error) (err error) {
	defer crash.Catch(&err)
	return run(ctx)
}

// wait waits until the fetch is done or ctx ends. It unlocks the fleet while it waits.
func (f *fetch) wait(ctx context.Context, fleet *Fleet) {
	f.waiters++
	fleet.beginWait()
	fleet.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	fleet.mu.Lock()
	fleet.endWait()
	f.waiters--
	if f.waiters == 0 {
		f.cancel()
	}
}

// fetchBatch fetches the first page if readers want another card within batchWindow.
func (l *listing) fetchBatch(ctx context.Context) error {
	err := l.fleet.clock.Wait(ctx, batchWindow)
	if err != nil {
		return err
	}
	l.fleet.mu.Lock()
	wantsOneCard := len(l.wanted) == 1
	l.fetch.skipped = wantsOneCard
	l.fleet.mu.Unlock()
	if wantsOneCard {
		return nil
	}
	return l.fetchFirst(ctx)
}

func (l *listing) fetchFirst(ctx context.Context) error { return l.fetchPage(ctx, 1) }

// fetchPages fetches several pages concurrently. After an error, it fetches no more.
func (l *listing) fetchPages(ctx context.Context, numbers []int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentPages)
	for _, number := range numbers {
		group.Go(func() error {
			return catchPanic(ctx, func(ctx context.Context) error { return l.fetchPage(ctx, number) })
		})
	}
	return group.Wait()
}

// fetchPage fetches and adds a page, unless another page has shown that the list is shorter.
func (l *listing) fetchPage(ctx context.Context, number int) error {
	f := l.fleet
	f.mu.Lock()
	lastPage := max(1, l.pages) // there is a first page, even while the number of pages is unknown
	beyondEnd := number > lastPage
	f.mu.Unlock()
	if beyondEnd {
		return nil
	}
	page, err := f.source.ListCards(ctx, api.CardFilter{Status: l.status}, number, api.MaxPerPage)
	f.mu.Lock()
	defer f.mu.Unlock()
	l.spent++
	l.arrivedAt = f.clock.Now()
	if err != nil {
		return err
	}
	if l.closed { // other pages were inconsistent
		return nil
	}
	consistent := l.addPage(number, page)
	if !consistent {
		l.discard()
	}
	return nil
}
