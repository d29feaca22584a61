package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// isLike reports whether a card of a list may be the one asked for: the service may have
// changed a label's letters or cut it, rounded a limit, or taken a fee from the load.
func (q IssueCardRequest) isLike(card CardListItem) bool {
	return q.isLabelled(card) && q.isOnBIN(card)
}

func (q IssueCardRequest) isLabelled(card CardListItem) bool {
	const cut = 12 // characters of a generated label that are random, like the eight that are left
	shown, asked := strings.ToLower(CanonicalLabel(card.Label.Raw())), strings.ToLower(CanonicalLabel(q.Label))
	isCut := q.GeneratedLabel && len(shown) >= len(asked)-cut && strings.HasPrefix(asked, shown)
	return shown == asked || isCut
}

func (q IssueCardRequest) isOnBIN(card CardListItem) bool {
	return card.BinID == "" || strings.EqualFold(card.BinID, q.BinID)
}

// bestMatches are the cards with the load, the label and the limit that were asked for
// or, where there is none, all of them.
func (q IssueCardRequest) bestMatches(cards []CardListItem) []CardListItem {
	for _, isExact := range []func(CardListItem) bool{q.hasLoad, q.hasLabel, q.hasLimit} {
		if slices.ContainsFunc(cards, isExact) {
			cards = slices.DeleteFunc(slices.Clone(cards), func(card CardListItem) bool { return !isExact(card) })
		}
	}
	return cards
}

// hasLoad reports whether a card tells by its balance that it may be the one asked for.
func (q IssueCardRequest) hasLoad(card CardListItem) bool {
	return q.GeneratedLabel || card.Balance == q.Amount
}

func (q IssueCardRequest) hasLabel(card CardListItem) bool {
	return CanonicalLabel(card.Label.Raw()) == CanonicalLabel(q.Label)
}

func (q IssueCardRequest) hasLimit(card CardListItem) bool {
	return q.SpendingLimit == nil || card.SpendingLimit == *q.SpendingLimit
}

// sameMoment is how long before it was asked for a card may seem to be created.
const sameMoment = 10 * time.Second

// identify decides whether one of the new cards that are like the one asked for,
// newest first, is that card. It was asked for at a time that is zero when it is not
// known. Equal and others are further cards asked for that look the same in a list,
// in the same words or not: any card will do for equal ones.
func (q IssueCardRequest) identify(alike []CardSummary, askedAt time.Time, equal, others int) (found CardListItem, how transport.Outcome) {
	cannotTell := func(format string, args ...any) (CardListItem, transport.Outcome) {
		return CardListItem{}, transport.Outcome{State: transport.Undecided, Reason: fmt.Errorf(format, args...)}
	}
	switch n := len(alike); {
	case n == 0:
		return CardListItem{}, transport.Outcome{State: transport.NotApplied}
	case others > 0:
		return cannotTell("%d new cards look like it, and so do other cards that were asked for with other properties", n)
	case n > 1+equal:
		return cannotTell("%d new cards look like it", n)
	}
	card := alike[len(alike)-1]
	if q.GeneratedLabel {
		return card.CardListItem, transport.Outcome{State: transport.Applied}
	}
	createdAt, _ := card.CreatedAt.Time() // zero where it cannot be read
	if early := askedAt.Sub(createdAt); early > sameMoment && !createdAt.IsZero() {
		return cannotTell("card %s looks like it, but was issued %s before it was asked for, by the service's clock", card.ID, early.Round(time.Second))
	}
	switch {
	case !q.hasLoad(card.CardListItem):
		return cannotTell("card %s looks like it, but holds %s in place of %s USD", card.ID, card.Balance, q.Amount)
	case !q.hasLabel(card.CardListItem):
		return cannotTell("card %s looks like it, but has the label %q in place of %q", card.ID, card.Label, q.Label)
	case !q.hasLimit(card.CardListItem):
		return cannotTell("card %s looks like it, but has a spending limit of %s in place of %s USD", card.ID, card.SpendingLimit, q.SpendingLimit)
	}
	return card.CardListItem, transport.Outcome{State: transport.Applied}
}
