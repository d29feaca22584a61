package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// isLike reports whether a list shows a card as it would show the one asked for.
func (q IssueCardRequest) isLike(card CardListItem) bool {
	switch {
	case CanonicalLabel(card.Label) != CanonicalLabel(q.Label), card.BinID != "" && !strings.EqualFold(card.BinID, q.BinID):
		return false
	case q.GeneratedLabel:
		return true
	}
	return card.Balance == q.Amount && (q.SpendingLimit == nil || card.SpendingLimit <= *q.SpendingLimit)
}

// bestMatches are the cards with the limit that was asked for or, where there is
// none, all of them: the service may clamp limits.
func (q IssueCardRequest) bestMatches(cards []CardListItem) []CardListItem {
	isExact := func(card CardListItem) bool { return q.SpendingLimit != nil && card.SpendingLimit == *q.SpendingLimit }
	if !slices.ContainsFunc(cards, isExact) {
		return cards
	}
	return slices.DeleteFunc(slices.Clone(cards), func(card CardListItem) bool { return !isExact(card) })
}

// sameMoment is how long before it was asked for a card may seem to be created.
const sameMoment = 10 * time.Second

// identify decides whether one of the new cards that are like the one asked for,
// newest first, is that card. It was asked for at a time that is zero when it is not
// known. Equal and others are further cards asked for that look the same in a list,
// in the same words or not: any card will do for equal ones.
func (q IssueCardRequest) identify(alike []CardSummary, askedAt time.Time, equal, others int) (found CardListItem, how outcome) {
	cannotTell := func(format string, args ...any) (CardListItem, outcome) {
		return CardListItem{}, outcome{undecided, fmt.Errorf(format, args...)}
	}
	switch n := len(alike); {
	case n == 0:
		return CardListItem{}, outcome{state: notApplied}
	case others > 0:
		return cannotTell("%d new cards look like it, and so do other cards that were asked for with other properties", n)
	case n > 1+equal:
		return cannotTell("%d new cards look like it", n)
	}
	card := alike[len(alike)-1]
	if q.GeneratedLabel {
		return card.CardListItem, outcome{state: applied}
	}
	createdAt, _ := card.CreatedAt.Time() // zero where it cannot be read
	if early := askedAt.Sub(createdAt); early > sameMoment && !createdAt.IsZero() {
		return cannotTell("card %s looks like it, but was issued %s before it was asked for, by the service's clock", card.ID, early.Round(time.Second))
	}
	if q.SpendingLimit != nil && card.SpendingLimit != *q.SpendingLimit {
		return cannotTell("card %s looks like it, but has a spending limit of %s in place of %s USD", card.ID, card.SpendingLimit, q.SpendingLimit)
	}
	return card.CardListItem, outcome{state: applied}
}
