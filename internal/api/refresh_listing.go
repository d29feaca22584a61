package api

import (
	"context"
	"time"
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
	smallMargin = 2
	largeMargin = 20
	many        = 10
)

// presence is what a listing says of a card.
type presence int

const (
	uncertain presence = iota // ask for the card itself
	present
	absent // the listing is complete without it
)

// listing is what is known of the cards of one status. Its contents are guarded
// by the fleet's lock.
type listing struct {
	fleet  *fleet
	status CardStatus
	contents
}

// contents are forgotten together when a page's lifetime is over.
type contents struct {
	fetchedAt time.Time       // by the fleet's own time
	arrivedAt time.Time       // the last page, by the client's clock
	asked     map[string]bool // cards looked for
	spent     int             // requests made for them: pages, and cards of their own
	fetch     *fetch

	cards    map[string]RefreshedCard
	labels   map[string][]CardListItem
	disputed map[string]bool // seen twice, with different content
	pages    int             // 0 while unknown
	fetched  map[int]bool    // by number
	closed   bool            // no more pages: one has failed, or they cannot be relied on
}

// find returns the card, and waits for pages where fetching them is worth it.
func (l *listing) find(ctx context.Context, id string) (RefreshedCard, presence) {
	f := l.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); l.fetch == nil && l.isOver(id, now) {
		l.contents = contents{
			fetchedAt: now, arrivedAt: f.client.clock.Now(), asked: map[string]bool{},
			cards: map[string]RefreshedCard{}, labels: map[string][]CardListItem{}, disputed: map[string]bool{}, fetched: map[int]bool{},
		}
	}
	l.asked[id] = true
	for ctx.Err() == nil && !f.client.HasWritten() {
		card, known := l.lookup(id)
		if known != uncertain {
			return card, known
		}
		if l.disputed[id] || l.fetch == nil && !l.fetchMore(ctx) {
			break
		}
		if single := l.fetch.wait(ctx, f); single {
			break
		}
	}
	l.spent++
	return RefreshedCard{}, uncertain
}

// isOver reports whether the pages are forgotten before a card is looked for.
// While they are in use they may be old, but not for a card that is read again.
func (l *listing) isOver(id string, now time.Time) bool {
	return l.fetchedAt.Before(l.fleet.inUseSince) ||
		l.fleet.client.clock.Now().Sub(l.arrivedAt) >= longestPageLifetime ||
		now.Sub(l.fetchedAt) >= pageLifetime && l.asked[id]
}

// lookup decides from what is known already. A status that is neither active
// nor frozen is for the card itself to tell.
func (l *listing) lookup(id string) (RefreshedCard, presence) {
	card, ok := l.cards[id]
	switch {
	case ok && !l.disputed[id] && (card.Status == StatusActive || card.Status == StatusFrozen):
		return card, present
	case !ok && l.pages > 0 && l.missing() == 0:
		return RefreshedCard{}, absent
	}
	return RefreshedCard{}, uncertain
}

// missing is how many of the pages have not arrived.
func (l *listing) missing() int { return l.pages - len(l.fetched) }

// fetchMore starts fetching the pages that are missing, unless that costs too much.
func (l *listing) fetchMore(ctx context.Context) bool {
	missing := l.missing()
	margin := smallMargin
	if l.fleet.asked() >= many {
		margin = largeMargin
	}
	switch {
	case l.closed:
		return false
	case l.fleet.asked() < many && len(l.asked) == 1:
		l.start(ctx, l.fetchBatch)
	case l.pages == 0:
		l.start(ctx, l.fetchFirst)
	case missing > 0 && l.spent+missing <= 2*len(l.asked)+margin:
		l.start(ctx, l.fetchMissing(l.pages))
	default:
		return false
	}
	return true
}

// addFirst adds page 1 and learns from it how many pages there are. It reports
// whether pages can be relied on at all.
func (l *listing) addFirst(page CardPage) bool {
	if page.Total == nil {
		return false
	}
	size := page.size()
	if size == 0 && *page.Total > 0 {
		return false
	}
	l.pages = max(1, (*page.Total+size-1)/max(1, size))
	return l.add(1, page)
}

// add adds a page. It reports whether it is what was asked for: a service that
// does not know pages sends the same one again.
func (l *listing) add(number int, page CardPage) bool {
	if page.Page != 0 && page.Page != number {
		return false
	}
	news := len(page.Data) == 0
	asOf := l.fleet.client.serviceTime()
	for _, card := range page.Data {
		known, ok := l.cards[card.ID]
		switch {
		case !ok:
			l.cards[card.ID], news = RefreshedCard{card, asOf}, true
			if label := CanonicalLabel(card.Label); label != "" {
				l.labels[label] = append(l.labels[label], card)
			}
		case known.CardListItem != card:
			l.disputed[card.ID] = true
		}
	}
	l.fetched[number] = true
	return news
}

// discard ends the use of pages and forgets what they said.
func (l *listing) discard() {
	l.closed, l.pages = true, 0
	clear(l.cards)
	clear(l.labels)
}
