package api

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Cards returns all cards that the filter selects, newest first, each once, page after
// page as they are asked for, and ends with the first error. Cards that come or go
// meanwhile hide none that stays, unless one leaves a status before the end of a page
// while another takes it on behind: no count shows that. What this process has just
// issued is there though the service does not list it yet.
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
				if !transport.IsNotFound(err) && filter.selects(card.CardListItem) {
					pass(card.CardListItem)
				}
			}
		}
		err := c.WalkCards(ctx, filter, func(card CardListItem) bool {
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

// WalkCards calls visit for each card until it says no. No count alone tells where the list
// ends: it may be of a page. A list that cards have left meanwhile is read again.
func (c *Client) WalkCards(ctx context.Context, filter CardFilter, visit func(CardListItem) bool) error {
	const mostReadings = 10
	read, visited := listing{end: c.Deadline(ctx)}, map[string]bool{}
	w := cardWalk{seen: map[string]bool{}}
	for readings := 1; !w.ended; {
		page, err := c.ListCards(ctx, filter, w.pages+1, MaxPerPage)
		if w.counted && (transport.IsNotFound(err) || isBadRequest(err)) {
			return nil // past the end, in the words of some services
		}
		if err != nil {
			return err
		}
		if err := read.add(page, c.clock.Now()); err != nil {
			return err
		}
		fresh, holds := w.add(page)
		if !holds { // what follows has moved onto pages that were read
			if readings++; readings > mostReadings {
				return errors.New("list cards: the list changes while it is read, so often that no reading of it is whole; try again when fewer cards are changed")
			}
			w = cardWalk{seen: map[string]bool{}}
		}
		for _, card := range fresh {
			if !visited[card.ID] && !visit(card) {
				return nil
			}
			visited[card.ID] = true
		}
	}
	return nil
}

// cardWalk is one reading of a list of which every card may leave, and which new cards
// join at the front.
type cardWalk struct {
	seen  map[string]bool
	pages int
	size  int // of the first page
	read  int // cards, with those that came twice
	total int // at the last page

	uncounted bool // a page had no total, or one that contradicts it
	counted   bool // the pages have all that are counted
	ended     bool
}

// add returns the cards that no page before has shown; false where a card has left the
// list since the page before.
func (w *cardWalk) add(page CardPage) (fresh []CardListItem, holds bool) {
	if w.pages++; w.pages == 1 {
		w.size = max(1, page.Size())
	}
	w.uncounted = w.uncounted || page.Total == nil || page.IsBeyond(w.read)
	w.read += len(page.Data)
	if !w.uncounted {
		if w.pages > 1 && *page.Total < w.total {
			return nil, false
		}
		w.total = *page.Total
	}
	for _, card := range page.Data {
		if !w.seen[card.ID] {
			w.seen[card.ID] = true
			fresh = append(fresh, card)
		}
	}
	if w.uncounted { // nothing tells whether the list has moved
		w.counted, w.ended = false, len(fresh) == 0
		return fresh, true
	}
	w.counted = w.read >= w.total
	w.ended = w.counted && len(page.Data) != w.size || len(page.Data) == 0
	return fresh, true
}
