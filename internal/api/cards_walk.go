package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Cards returns all cards that the filter selects, newest first, each once. It
// reads page after page as they are asked for, and ends with the first error.
// Cards that come or go meanwhile hide none that stays, unless one leaves a status
// before the end of a page while another takes it on behind: no count shows that.
// Those that this process has just issued are there though the service does not
// list them yet, as they were issued where they cannot be read.
func (c *Client) Cards(ctx context.Context, filter CardFilter) iter.Seq2[CardListItem, error] {
	return func(yield func(CardListItem, error) bool) {
		l := cardLister{client: c, filter: filter, yield: yield, listed: map[string]bool{}}
		if filter.Status != StatusTerminated {
			l.own = slices.DeleteFunc(c.recent.newCards(c.clock.Now()), func(card CardListItem) bool { return !filter.hasBIN(card) })
		}
		if _, err := c.WalkCards(ctx, filter, func(card CardListItem) bool { return l.list(ctx, card) }); err != nil {
			yield(CardListItem{}, err)
			return
		}
		l.listOwn(ctx)
	}
}

// cardLister yields cards as they are listed, and before the first one of others
// those of this process's new cards that the list lacks.
type cardLister struct {
	client *Client
	filter CardFilter
	yield  func(CardListItem, error) bool
	own    []CardListItem // newest first
	listed map[string]bool
}

func (l *cardLister) list(ctx context.Context, card CardListItem) bool {
	if l.listed[card.ID] {
		return true
	}
	isOwn := slices.ContainsFunc(l.own, func(own CardListItem) bool { return own.ID == card.ID })
	return (isOwn || l.listOwn(ctx)) && l.pass(card)
}

func (l *cardLister) listOwn(ctx context.Context) bool {
	own := l.own
	l.own = nil
	for _, issued := range own {
		if l.listed[issued.ID] {
			continue
		}
		card, err := l.client.GetCard(ctx, issued.ID)
		if err != nil {
			card.CardListItem = issued
		}
		if !IsNotFound(err) && l.filter.selects(card.CardListItem) && !l.pass(card.CardListItem) {
			return false
		}
	}
	return true
}

func (l *cardLister) pass(card CardListItem) bool {
	l.listed[card.ID] = true
	goesOn := l.yield(card, nil)
	if !goesOn {
		l.own = nil
	}
	return goesOn
}

func (f CardFilter) selects(card CardListItem) bool {
	return (f.Status == "" || card.Status == f.Status) && f.hasBIN(card)
}

func (f CardFilter) hasBIN(card CardListItem) bool {
	return f.BinID == "" || strings.EqualFold(card.BinID, f.BinID)
}

// WalkCards calls visit for each card until it says no, and reports whether the
// pages held as many cards as the service counts.
func (c *Client) WalkCards(ctx context.Context, filter CardFilter, visit func(CardListItem) bool) (complete bool, err error) {
	w := cardWalk{seen: map[string]bool{}, number: 1}
	for !w.ended {
		page, err := c.ListCards(ctx, filter, Page{Number: w.number, PerPage: MaxPerPage})
		if err != nil {
			return false, err
		}
		fresh, err := w.add(page)
		if err != nil {
			return false, err
		}
		for _, card := range fresh {
			if !visit(card) {
				return false, nil
			}
		}
	}
	return w.complete, nil
}

// cardWalk reads pages of a list of which every card may leave, and which new
// cards join at the front. Those that follow a card that leaves move forward,
// perhaps onto a page that was read already, which is then read again.
type cardWalk struct {
	seen     map[string]bool
	number   int  // of the next page
	again    bool // that is the page which was read just now
	size     int  // of the first page
	read     int  // cards at the front of the list that were read, at least
	total    int  // at the last page
	arrived  int  // cards that joined since the first page, at least
	highest  int  // the number of the last page, as far as is known
	requests int

	ended, complete bool
}

// maxCardPages are more cards than an account has, be there 25 to a page.
const maxCardPages = 1_000

// add returns the cards of the asked page that were not seen before, and decides
// which page is next.
func (w *cardWalk) add(page CardPage) ([]CardListItem, error) {
	if w.requests++; w.requests == 1 {
		w.size = max(1, page.Size())
	}
	if w.requests > maxCardPages {
		return nil, fmt.Errorf("list cards: the list has no end: %d pages were read, and each leads to another; check base_url, and report it to the service's support", maxCardPages)
	}
	if page.Total == nil { // nothing tells whether the list has moved
		fresh := w.unseen(page.Data)
		w.ended, w.complete = len(fresh) == 0, len(page.Data) == 0
		w.number++
		return fresh, nil
	}
	change := *page.Total - w.total
	if change < 0 {
		w.read = max(0, w.read+change)
	} else if w.requests > 1 {
		w.arrived += change
	}
	w.total = *page.Total
	w.highest = max(w.highest, (w.total+w.size-1)/w.size)
	if w.requests > 3*w.highest+10 {
		return nil, errors.New("list cards: the list changes while it is read, so often that no reading of it is whole; try again when fewer cards are changed")
	}
	begin := (w.number - 1) * w.size
	if begin > w.read { // a card between may have moved onto the page before
		w.number, w.again = w.read/w.size+1, false
		return nil, nil
	}
	fresh := w.unseen(page.Data)
	w.complete = len(w.seen)+w.arrived >= w.total
	w.read = max(w.read, begin+len(page.Data))
	if w.again && change == 0 && len(fresh) == 0 { // it stays short
		w.read = max(w.read, begin+w.size)
	}
	w.ended = w.read >= w.total || len(page.Data) == 0
	next := w.read/w.size + 1
	w.number, w.again = next, next == w.number
	return fresh, nil
}

// unseen returns the cards that no page before has shown.
func (w *cardWalk) unseen(cards []CardListItem) []CardListItem {
	var fresh []CardListItem
	for _, card := range cards {
		if !w.seen[card.ID] {
			w.seen[card.ID] = true
			fresh = append(fresh, card)
		}
	}
	return fresh
}
