package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Wanted is a card that was asked for, and whose issuance was not answered.
type Wanted struct {
	BIN, Label string
	// Unique says that no other card has this label.
	Unique  bool
	Load    usd.Amount
	Limit   *usd.Amount // a month; nil where none was asked for
	AskedAt time.Time   // before the first attempt; zero when it is not known
}

// Listed is a card that may be the wanted one.
type Listed struct {
	ID, BIN, Label string
	Balance, Limit usd.Amount
	CreatedAt      time.Time // zero when it is not known
}

// IsLike reports whether a list shows a card as it would show the wanted one.
func (w Wanted) IsLike(c Listed) bool {
	switch {
	case CanonicalLabel(c.Label) != CanonicalLabel(w.Label), c.BIN != "" && !strings.EqualFold(c.BIN, w.BIN):
		return false
	case w.Unique:
		return true
	}
	return c.Balance == w.Load && (w.Limit == nil || c.Limit <= *w.Limit)
}

// CanonicalLabel is the same for labels of which the service may have made one
// another, by trimming them.
func CanonicalLabel(label string) string {
	return strings.Join(strings.Fields(label), " ")
}

// BestMatches are the cards with the limit that was asked for or, where there is
// none, all of them: the service may clamp limits.
func (w Wanted) BestMatches(cards []Listed) []Listed {
	isExact := func(c Listed) bool { return w.Limit != nil && c.Limit == *w.Limit }
	if !slices.ContainsFunc(cards, isExact) {
		return cards
	}
	return slices.DeleteFunc(slices.Clone(cards), func(c Listed) bool { return !isExact(c) })
}

// sameMoment is how long before it was asked for a card may seem to be created.
const sameMoment = 10 * time.Second

// Identify decides whether one of the new cards that are like it, newest first,
// is the wanted one. Equal and others are further wanted cards that look the same
// in a list, asked for in the same words or not: any card will do for equal ones.
// The reason says why it is undecided.
func (w Wanted) Identify(alike []Listed, equal, others int) (found Listed, verdict Verdict, reason string) {
	undecided := func(format string, args ...any) (Listed, Verdict, string) {
		return Listed{}, Undecided, fmt.Sprintf(format, args...)
	}
	switch n := len(alike); {
	case n == 0:
		return Listed{}, Send, ""
	case others > 0:
		return undecided("%d new cards look like it, and so do other cards that were asked for with other properties", n)
	case n > 1+equal:
		return undecided("%d new cards look like it", n)
	}
	found = alike[len(alike)-1]
	if w.Unique {
		return found, Made, ""
	}
	if early := w.AskedAt.Sub(found.CreatedAt); early > sameMoment && !found.CreatedAt.IsZero() {
		return undecided("card %s looks like it, but was issued %s before it was asked for, by the service's clock", found.ID, early.Round(time.Second))
	}
	if w.Limit != nil && found.Limit != *w.Limit {
		return undecided("card %s looks like it, but has a spending limit of %s in place of %s USD", found.ID, found.Limit, w.Limit)
	}
	return found, Made, ""
}
