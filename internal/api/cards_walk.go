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
		var own []CardListItem // new cards of this process, newest first
		if filter.Status != StatusTerminated {
			own = slices.DeleteFunc(c.recent.newCards(c.clock.Now()), func(card CardListItem) bool { return !filter.hasBIN(card) })
		}
		listed, goesOn := map[string]bool{}, true
		pass := func(card CardListItem) {
			listed[card.ID] = true
			goesOn = goesOn && yield(card, nil)
		}
		passOwn := func() {
			for ; goesOn && len(own) > 0; own = own[1:] {
				if listed[own[0].ID] {
					continue
				}
				card, err := c.GetCard(ctx, own[0].ID)
				if err != nil {
					card.CardListItem = own[0]
				}
				if !IsNotFound(err) && filter.selects(card.CardListItem) {
					pass(card.CardListItem)
				}
			}
		}
		_, err := c.WalkCards(ctx, filter, func(card CardListItem) bool {
			if listed[card.ID] || !filter.selects(card) {
				return true
			}
			if !slices.ContainsFunc(own, func(own CardListItem) bool { return own.ID == card.ID }) {
				passOwn() // before the first card of others
			}
			pass(card)
			return goesOn
		})
		if err != nil {
			yield(CardListItem{}, err)
			return
		}
		passOwn()
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

// WalkCards calls visit for each card until it says no, and reports whether the
// pages held as many cards as the service counts, and after the last one there is
// no other: a count may be of a page.
func (c *Client) WalkCards(ctx context.Context, filter CardFilter, visit func(CardListItem) bool) (complete bool, err error) {
	w, read := cardWalk{seen: map[string]bool{}, number: 1}, listing{end: c.deadline(ctx)}
	for !w.ended {
		page, err := c.ListCards(ctx, filter, w.number, MaxPerPage)
		if w.counted && (IsNotFound(err) || isBadRequest(err)) {
			return false, nil // past the end, in the words of some services
		}
		if err != nil {
			return false, err
		}
		if err := read.add(page, c.clock.Now()); err != nil {
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

	uncounted       bool // a page had no total, or one that contradicts it
	counted         bool // the pages before the next one have all that are counted
	ended, complete bool
}

// add returns the cards of the asked page that were not seen before, and decides
// which page is next.
func (w *cardWalk) add(page CardPage) ([]CardListItem, error) {
	if w.requests++; w.requests == 1 {
		w.size = max(1, page.Size())
	}
	if w.requests > MaxCardPages {
		return nil, fmt.Errorf("list cards: the list has no end: %d pages were read, and each leads to another; check base_url, and report it to the service's support", MaxCardPages)
	}
	begin := (w.number - 1) * w.size
	w.uncounted = w.uncounted || page.Total == nil || page.IsBeyond(begin)
	if w.counted = false; w.uncounted { // nothing tells whether the list has moved
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
	w.counted = w.read >= w.total
	w.ended = w.counted && len(page.Data) != w.size || len(page.Data) == 0
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
