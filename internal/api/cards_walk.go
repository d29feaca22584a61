package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Cards returns all cards that the filter selects, newest first, each once, page after
// page as they are asked for, and ends with the first error. Cards that come or go
// meanwhile hide none that stays, unless one leaves a status before the end of a page
// while another takes it on behind: no count shows that. Cards that this process has just
// issued are included even if the service does not list them yet.
func (c *Client) Cards(ctx context.Context, filter CardFilter) iter.Seq2[CardListItem, error] {
	return func(yield func(CardListItem, error) bool) {
		newCardReader(c, yield).readCards(ctx, filter)
	}
}

// LiveCards returns the active and then the frozen cards of a BIN, or of all BINs if binID
// is empty, as Cards does. The active ones are listed first because the service freezes
// cards by itself: a card that is frozen meanwhile is in the second list. If a card may
// have changed the other way, both are listed again.
func (c *Client) LiveCards(ctx context.Context, binID string) iter.Seq2[CardListItem, error] {
	const mostListings = 3
	active := CardFilter{Status: StatusActive, BinID: binID}
	frozen := CardFilter{Status: StatusFrozen, BinID: binID}
	return func(yield func(CardListItem, error) bool) {
		reader := newCardReader(c, yield)
		for range mostListings {
			if !reader.readCards(ctx, active) {
				return
			}
			ofActive := reader.reading
			if !reader.readCards(ctx, frozen) {
				return
			}
			page, err := c.ListCards(ctx, active, 1, 1)
			if err != nil {
				yield(CardListItem{}, err)
				return
			}
			if page.Total == nil || *page.Total == reader.lastShownIn(ofActive) {
				return
			}
		}
	}
}

// ListedCards returns what the service itself lists for the filter, newest first, each
// card once, and ends with the first error.
func (c *Client) ListedCards(ctx context.Context, filter CardFilter) iter.Seq2[CardListItem, error] {
	return func(yield func(CardListItem, error) bool) {
		reader := newCardReader(c, yield)
		reader.readList(ctx, filter, reader.pass)
	}
}

// selects applies the filter to what a service has selected by it, which may be more. A
// status that is not known may be the service's own word for the one that was asked for.
func (f CardFilter) selects(card CardListItem) bool {
	return (f.Status == "" || card.Status == f.Status || !card.Status.IsKnown()) && f.hasBIN(card)
}

func (f CardFilter) hasBIN(card CardListItem) bool {
	return f.BinID == "" || strings.EqualFold(card.BinID, f.BinID)
}

// cardReader reads one list of cards after the other, and yields each card once.
type cardReader struct {
	client  *Client
	yield   func(CardListItem, error) bool
	reading int // counts the readings of lists; a list may be read several times
	seen    map[string]sighting
}

// sighting is what a cardReader remembers of a card.
type sighting struct {
	reading int  // the last one that showed the card; 0 if none has
	yielded bool // whether the caller has it
}

func newCardReader(client *Client, yield func(CardListItem, error) bool) *cardReader {
	return &cardReader{client: client, yield: yield, seen: map[string]sighting{}}
}

// pass yields a card that was not yielded before. It reports whether to go on.
func (r *cardReader) pass(card CardListItem) bool {
	known := r.seen[card.ID]
	if known.yielded {
		return true
	}
	known.yielded = true
	r.seen[card.ID] = known
	return r.yield(card, nil)
}

// lastShownIn counts the cards that no reading after this one has shown.
func (r *cardReader) lastShownIn(reading int) int {
	count := 0
	for _, known := range r.seen {
		if known.reading == reading {
			count++
		}
	}
	return count
}

// shownSince counts the different cards that this reading and those after it have shown.
func (r *cardReader) shownSince(reading int) int {
	count := 0
	for _, known := range r.seen {
		if known.reading >= reading {
			count++
		}
	}
	return count
}

// readCards passes the cards that the filter selects, with those that this process has just
// issued. It reports whether it came to the end of the list.
func (r *cardReader) readCards(ctx context.Context, filter CardFilter) bool {
	var own []CardListItem // new cards of this process, newest first
	if filter.Status != StatusTerminated {
		own = r.client.recent.newCards(r.client.clock.Now())
		own = slices.DeleteFunc(own, func(card CardListItem) bool { return !filter.hasBIN(card) })
	}
	ownPassed := false
	complete := r.readList(ctx, filter, func(card CardListItem) bool {
		if !filter.selects(card) {
			return true
		}
		isOwn := slices.ContainsFunc(own, func(mine CardListItem) bool { return mine.ID == card.ID })
		if !isOwn && !ownPassed {
			ownPassed = true // they are newer than the first card of others
			if !r.passUnlisted(ctx, filter, own) {
				return false
			}
		}
		return r.pass(card)
	})
	if complete && !ownPassed {
		complete = r.passUnlisted(ctx, filter, own)
	}
	return complete
}

// passUnlisted passes those of the cards of this process that no list has shown. It reports
// whether to go on.
func (r *cardReader) passUnlisted(ctx context.Context, filter CardFilter, own []CardListItem) bool {
	for _, issued := range own {
		if r.seen[issued.ID].yielded {
			continue
		}
		card, err := r.client.GetCard(ctx, issued.ID)
		if transport.IsNotFound(err) {
			continue
		}
		if err != nil {
			card.CardListItem = issued
		}
		if filter.selects(card.CardListItem) && !r.pass(card.CardListItem) {
			return false
		}
	}
	return true
}

// readList visits the cards of a list, and again those that a further reading of it shows.
// A list is read again if cards have left it meanwhile, or if its pages repeat cards and,
// over all readings, fewer were shown than the service counts. It reports whether it came
// to the end of a whole list; an error is yielded.
func (r *cardReader) readList(ctx context.Context, filter CardFilter, visit func(CardListItem) bool) bool {
	const mostReadings = 10
	deadline := r.client.Deadline(ctx)
	first := r.reading + 1
	var smallest *int // total
	var list cardReading
	for range mostReadings {
		r.reading++
		list = cardReading{}
		for !list.ended && !list.moved {
			page, err := r.client.ListCards(ctx, filter, list.pages+1, MaxPerPage)
			if list.counted && (transport.IsNotFound(err) || isBadRequest(err)) {
				list.ended = true // this page is past the end, in the words of some services
				break
			}
			if err != nil {
				r.yield(CardListItem{}, err)
				return false
			}
			if page.Total != nil && (smallest == nil || *page.Total < *smallest) {
				smallest = page.Total
			}
			fresh := r.see(page)
			list.add(page, len(fresh))
			if err := list.checkBounds(r.client.clock.Now(), deadline); err != nil {
				r.yield(CardListItem{}, err)
				return false
			}
			if list.moved {
				continue
			}
			for _, card := range fresh {
				if !visit(card) {
					return false
				}
			}
		}
		isShort := list.repeated && smallest != nil && r.shownSince(first) < *smallest
		if list.ended && !isShort {
			return true
		}
	}
	err := errors.New("list cards: the list changes while it is read, so often that no reading of it is whole; try again when fewer cards are changed")
	if list.ended {
		err = fmt.Errorf("list cards: the service counts %d cards, and its pages repeat some and show only %d of them in %d readings; report it to the service's support", *smallest, r.shownSince(first), mostReadings)
	}
	r.yield(CardListItem{}, err)
	return false
}

// see notes the cards of a page, and returns those that no page of this reading has shown
// before.
func (r *cardReader) see(page CardPage) []CardListItem {
	var fresh []CardListItem
	for _, card := range page.Data {
		known := r.seen[card.ID]
		if known.reading == r.reading {
			continue
		}
		known.reading = r.reading
		r.seen[card.ID] = known
		fresh = append(fresh, card)
	}
	return fresh
}

// cardReading is one reading of a list of which every card may leave, and which new cards
// join at the front. No count alone shows where the list ends: it may be that of a page.
type cardReading struct {
	pages int
	size  int // of the first page
	read  int // cards, with those that came twice
	shown int // different cards
	bytes int // of the responses
	total int // at the last page

	repeated  bool // a page has shown cards again
	uncounted bool // a page had no total, or one that contradicts it
	counted   bool // the pages have all that are counted
	moved     bool // a card has left the list since the page before
	ended     bool
}

// add takes in a page, of which so many cards are new to this reading.
func (w *cardReading) add(page CardPage, fresh int) {
	w.pages++
	if w.pages == 1 {
		w.size = max(1, page.Size())
	}
	if page.Total == nil || page.ExceedsTotal(w.read) {
		w.uncounted = true
	}
	if fresh < len(page.Data) {
		w.repeated = true
	}
	w.read += len(page.Data)
	w.shown += fresh
	w.bytes += page.bytes
	if w.uncounted { // nothing tells whether the list has moved
		w.counted = false
		w.ended = fresh == 0
		return
	}
	if w.pages > 1 && *page.Total < w.total {
		w.moved = true
		return
	}
	w.total = *page.Total
	w.counted = w.read >= w.total
	w.ended = len(page.Data) == 0 || w.counted && (fresh == 0 || len(page.Data) != w.size)
}

// checkBounds returns an error for a list that is too large, or that does not come to an
// end: after some pages it has to show two new cards a page, on average. The bounds are
// documented in the guide on limits.
func (w *cardReading) checkBounds(now, deadline time.Time) error {
	const (
		maxBytes   = 256 << 20
		freePages  = 100
		minPerPage = 2
	)
	if w.shown > MaxListedCards {
		return fmt.Errorf("list cards: the service lists more than %d cards; select fewer by status or bin_id", MaxListedCards)
	}
	isStuck := w.pages > freePages && w.shown < minPerPage*w.pages
	if isStuck || w.bytes > maxBytes || !now.Before(deadline) {
		return fmt.Errorf("list cards: the list has no end: %d pages with %d different cards in %d MB were read; check base_url, and report it to the service's support", w.pages, w.shown, w.bytes>>20)
	}
	return nil
}
