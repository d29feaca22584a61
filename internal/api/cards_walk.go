package api

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Cards returns the cards that the filter selects, normally newest first, and each once. It reads a page when the loop
// needs it, and stops after the first error. It includes cards that this process has just issued, even if the service
// does not list them yet. If a card leaves the list while it is read, the totals of the service usually show that, and
// the list is read again. A card may still be missed.
func (c *Client) Cards(ctx context.Context, filter CardFilter) iter.Seq2[CardListItem, error] {
	return func(yield func(CardListItem, error) bool) {
		reader := newCardReader(c, yield)
		reader.readCards(ctx, filter)
	}
}

// LiveCards returns the active and frozen cards of a BIN, or of all BINs if binID is empty, as Cards does. It reads
// the active cards first because the service freezes cards by itself: a card that is frozen meanwhile is in the
// second list. If a card may have been unfrozen meanwhile, it reads both lists again. Some services report wrong
// totals, so a difference that remains is not an error.
func (c *Client) LiveCards(ctx context.Context, binID string) iter.Seq2[CardListItem, error] {
	const maxRounds = 3 // of reading both lists
	active := CardFilter{Status: StatusActive, BinID: binID}
	frozen := CardFilter{Status: StatusFrozen, BinID: binID}
	return func(yield func(CardListItem, error) bool) {
		reader := newCardReader(c, yield)
		for range maxRounds {
			if !reader.readCards(ctx, active) {
				return
			}
			activeReading := reader.reading
			if !reader.readCards(ctx, frozen) {
				return
			}
			// A card that was unfrozen meanwhile may be missing. The total of the active cards should show that, so
			// a page of one card is enough. A card that the second list shows, too, no longer counts as active.
			const number, size = 1, 1
			page, err := c.ListCards(ctx, active, number, size)
			if err != nil {
				yield(CardListItem{}, err)
				return
			}
			if page.Total == nil || *page.Total == reader.countLastShownIn(activeReading) {
				return
			}
		}
	}
}

// ListedCards returns the cards that the service itself lists for the filter, normally newest first, and each once. It
// stops after the first error.
func (c *Client) ListedCards(ctx context.Context, filter CardFilter) iter.Seq2[CardListItem, error] {
	return func(yield func(CardListItem, error) bool) {
		reader := newCardReader(c, yield)
		reader.readList(ctx, filter, reader.yieldOnce)
	}
}

// selects reports whether a listed card matches the filter, because a service may return more than was requested. An
// unknown status may be the service's own word for the requested one.
func (f CardFilter) selects(card CardListItem) bool {
	if !f.hasBIN(card) {
		return false
	}
	if f.Status == "" || card.Status == f.Status {
		return true
	}
	return !card.Status.IsKnown()
}

func (f CardFilter) hasBIN(card CardListItem) bool {
	return f.BinID == "" || strings.EqualFold(card.BinID, f.BinID)
}

// cardReader reads one or more lists of cards, and yields each card once.
type cardReader struct {
	client  *Client
	yield   func(CardListItem, error) bool
	reading int                  // number of the current reading of a list; a list may be read several times
	known   map[string]knownCard // by id
}

// knownCard is what a cardReader knows about a card.
type knownCard struct {
	reading int // the latest one that showed the card; 0 if none did
	yielded bool
}

func newCardReader(client *Client, yield func(CardListItem, error) bool) *cardReader {
	return &cardReader{client: client, yield: yield, known: map[string]knownCard{}}
}

// yieldOnce yields a card unless it was yielded before. It reports whether to continue.
func (r *cardReader) yieldOnce(card CardListItem) bool {
	known := r.known[card.ID]
	if known.yielded {
		return true
	}
	known.yielded = true
	r.known[card.ID] = known
	return r.yield(card, nil)
}

// countLastShownIn returns the number of cards that the given reading showed and no later reading did.
func (r *cardReader) countLastShownIn(reading int) int {
	count := 0
	for _, known := range r.known {
		if known.reading == reading {
			count++
		}
	}
	return count
}

// countShownSince returns the number of different cards that the given reading or a later one showed.
func (r *cardReader) countShownSince(reading int) int {
	count := 0
	for _, known := range r.known {
		if known.reading >= reading {
			count++
		}
	}
	return count
}

// readCards yields the cards that the filter selects, including those that this process has just issued, or an
// error. It reports whether to continue: it returns false after an error, or after yield has returned false.
func (r *cardReader) readCards(ctx context.Context, filter CardFilter) bool {
	var own []CardListItem // new cards that this process issued
	if filter.Status != StatusTerminated {
		own = r.client.recent.newCards(r.client.clock.Now())
		onOtherBIN := func(card CardListItem) bool { return !filter.hasBIN(card) }
		own = slices.DeleteFunc(own, onOtherBIN)
	}
	ownYielded := false
	proceed := r.readList(ctx, filter, func(card CardListItem) bool {
		if !filter.selects(card) {
			return true
		}
		issuedHere := slices.ContainsFunc(own, func(issued CardListItem) bool { return issued.ID == card.ID })
		if !issuedHere && !ownYielded {
			ownYielded = true // new cards belong at the front of the list
			if !r.yieldUnlisted(ctx, filter, own) {
				return false
			}
		}
		return r.yieldOnce(card)
	})
	if !proceed || ownYielded {
		return proceed
	}
	return r.yieldUnlisted(ctx, filter, own)
}

// yieldUnlisted yields those of the process's own new cards that the filter selects and that were not yielded yet. It
// reports whether to continue.
func (r *cardReader) yieldUnlisted(ctx context.Context, filter CardFilter, own []CardListItem) bool {
	for _, issued := range own {
		if r.known[issued.ID].yielded {
			continue
		}
		card, err := r.client.GetCard(ctx, issued.ID)
		if transport.IsNotFound(err) { // the card may be gone
			continue
		}
		if err != nil { // the read would only have updated what the issuance showed
			card.CardListItem = issued
		}
		if !filter.selects(card.CardListItem) {
			continue
		}
		if !r.yieldOnce(card.CardListItem) {
			return false
		}
	}
	return true
}

// readList calls visit for the cards of a list. It reads the list again if cards seem to have left it meanwhile, or if
// pages repeat cards and all readings together showed fewer cards than the service counts. So a card may be visited
// several times. If reading fails, readList yields the error. It reports whether to continue: it returns false after
// an error, or after visit has returned false.
func (r *cardReader) readList(ctx context.Context, filter CardFilter, visit func(CardListItem) bool) bool {
	const maxReadings = 10
	deadline := r.client.Deadline(ctx)
	firstReading := r.reading + 1
	var smallestTotal *int // of all pages of all readings, because new cards raise the later totals
	var list cardReading
	for range maxReadings {
		r.reading++
		list = cardReading{}
		if !r.readPages(ctx, filter, &list, deadline, visit) {
			return false
		}
		smallestTotal = smallerTotal(smallestTotal, list.smallestTotal)
		if list.moved {
			continue
		}
		if !list.repeated || smallestTotal == nil {
			return true
		}
		if r.countShownSince(firstReading) >= *smallestTotal {
			return true
		}
	}
	var err error
	if list.moved {
		err = fmt.Errorf("the list keeps changing while it is read, and none of %d attempts read all of it. Try again when fewer cards change their status", maxReadings)
	} else {
		err = fmt.Errorf("the service counts %d cards, but its pages repeat cards, and %d attempts show only %d different cards. Report this to the service's support", *smallestTotal, maxReadings, r.countShownSince(firstReading))
	}
	r.yield(CardListItem{}, err)
	return false
}

// readPages reads the pages of a list until it ends or a card seems to have left it. It records them in list, and calls
// visit for the cards that are new in this reading. If reading fails, readPages yields the error. It reports whether to
// continue: it returns false after an error, or after visit has returned false.
func (r *cardReader) readPages(
	ctx context.Context, filter CardFilter, list *cardReading, deadline time.Time, visit func(CardListItem) bool,
) bool {
	for !list.ended {
		page, err := r.client.ListCards(ctx, filter, list.pages+1, MaxPerPage)
		refused := transport.IsNotFound(err) || isBadRequest(err)
		if refused && list.totalReached { // this is how some services respond to a page past the end
			return true
		}
		if err != nil {
			r.yield(CardListItem{}, err)
			return false
		}
		unseen := r.addPage(page)
		list.add(page, len(unseen))
		err = list.checkBounds(r.client.clock.Now(), deadline)
		if err != nil {
			r.yield(CardListItem{}, err)
			return false
		}
		if list.moved {
			return true
		}
		for _, card := range unseen {
			if !visit(card) {
				return false
			}
		}
	}
	return true
}

// smallerTotal returns the smaller one of two totals. A total that is nil is not known.
func smallerTotal(a, b *int) *int {
	if a == nil {
		return b
	}
	if b == nil || *a <= *b {
		return a
	}
	return b
}

// addPage records the cards of a page, and returns those that are new in this reading.
func (r *cardReader) addPage(page CardPage) []CardListItem {
	var unseen []CardListItem
	for _, card := range page.Data {
		known := r.known[card.ID]
		if known.reading == r.reading {
			continue
		}
		known.reading = r.reading
		r.known[card.ID] = known
		unseen = append(unseen, card)
	}
	return unseen
}

// cardReading is one reading of a list. Meanwhile, cards may leave the list or join it. The service's total alone does
// not show where the list ends, because some services report the number of cards on the page as the total.
type cardReading struct {
	pages    int
	pageSize int // cards on a full page
	listed   int // cards on all pages, including repeated ones
	distinct int // different cards on all pages
	bytes    int // of the responses
	total    int // according to the latest page with a usable total

	smallestTotal *int // of all pages; nil if no page had a total

	repeated      bool // a page repeated cards
	totalUnusable bool // a page had no total, or a wrong one
	totalReached  bool // the pages have at least as many cards as the service counts
	moved         bool // the total fell after the previous page, so a card left the list
	ended         bool
}

// add records a page, and how many of its cards are new in this reading.
func (l *cardReading) add(page CardPage, newCards int) {
	l.pages++
	l.smallestTotal = smallerTotal(l.smallestTotal, page.Total)
	if l.pages == 1 {
		l.pageSize = max(1, page.FullPageSize())
	}
	if page.Total == nil || page.ExceedsTotal(l.listed) {
		l.totalUnusable = true
	}
	if newCards < len(page.Data) {
		l.repeated = true
	}
	l.listed += len(page.Data)
	l.distinct += newCards
	l.bytes += page.bytes
	if l.totalUnusable { // then only a page without new cards shows the end
		l.totalReached = false
		l.ended = newCards == 0
		return
	}
	if l.pages > 1 && *page.Total < l.total {
		l.moved = true
		return
	}
	l.total = *page.Total
	l.totalReached = l.listed >= l.total
	if len(page.Data) == 0 {
		l.ended = true
		return
	}
	// A full page with new cards may be followed by more, even if the total is reached.
	mayBeLast := newCards == 0 || len(page.Data) != l.pageSize
	l.ended = l.totalReached && mayBeLast
}

// checkBounds returns an error for a list that is too large or does not end in time. It also returns one for a list
// that seems endless, because many pages have brought few different cards.
func (l *cardReading) checkBounds(now, deadline time.Time) error {
	const (
		mebibyte       = 1 << 20
		maxBytes       = 256 * mebibyte
		uncheckedPages = 100 // after so many pages, minPerPage applies
		minPerPage     = 2   // different cards, on average
	)
	if l.distinct > MaxListedCards {
		return fmt.Errorf("the service lists more than %d cards; select fewer cards by status or bin_id", MaxListedCards)
	}
	endless := l.pages > uncheckedPages && l.distinct < minPerPage*l.pages
	tooLarge := l.bytes > maxBytes
	if endless || tooLarge {
		return fmt.Errorf("the list did not end after %d pages with %d different cards (%d MiB). Check base_url, and report this to the service's support", l.pages, l.distinct, l.bytes/mebibyte)
	}
	if !now.Before(deadline) {
		return fmt.Errorf("the list did not end in time, and %d pages show %d different cards so far. Try again when fewer programs use the API key", l.pages, l.distinct)
	}
	return nil
}
