package session

import (
	"context"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/labels"
)

// GeneratedLabel returns a new unique label with this session's prefix.
func (s *Session) GeneratedLabel() string {
	return labels.Generate(s.LabelPrefix, s.Client.ServiceTime())
}

// recentDays is the number of days for which a generated label counts as recent.
const recentDays = 7

// isRecentlyGenerated reports whether a label was generated with this session's prefix in the last
// recentDays days.
func (s *Session) isRecentlyGenerated(label string) bool {
	prefix, day, ok := labels.ParseGenerated(label)
	if !ok || prefix != s.LabelPrefix {
		return false
	}
	// The time of day is not known, so the days are counted from the end of the label's day.
	endOfDay := day.AddDate(0, 0, 1)
	endOfRecent := endOfDay.AddDate(0, 0, recentDays)
	return s.Client.ServiceTime().Before(endOfRecent)
}

// maxCompared limits the number of cards of each status, active and frozen, that new labels are compared with.
const maxCompared = 10 * api.MaxPerPage

// NewestCards are the newest live cards of the account, indexed by label. Their number is limited, so that the cost of a
// plan does not grow with the account.
type NewestCards struct {
	ids            map[string]bool // of the cards in byLabel
	byLabel        map[string][]api.CardListItem
	GeneratedCount int   // the number of cards whose label was recently generated with the session's prefix
	Truncated      bool  // whether the service lists more cards of a status than maxCompared
	Err            error // why the cards could not be listed
}

// CardsWithLabel returns the cards whose labels have the same canonical form as the given one.
func (c NewestCards) CardsWithLabel(label string) []api.CardListItem {
	return c.byLabel[labels.Canonical(label)]
}

// NewestCards lists the newest live cards. The session keeps the result. If the cards cannot be listed, the result's
// Err says why. The returned error says that this call was cancelled.
func (s *Session) NewestCards(ctx context.Context) (NewestCards, error) {
	newest, err := s.newest.get(ctx, func(ctx context.Context) (NewestCards, error) {
		newest := NewestCards{ids: map[string]bool{}, byLabel: map[string][]api.CardListItem{}}
		for _, status := range []api.CardStatus{api.StatusActive, api.StatusFrozen} {
			newest.Err = s.addNewest(ctx, &newest, status)
			if newest.Err != nil {
				break
			}
		}
		return newest, ctx.Err() // after a cancelled call, the session does not keep the result
	})
	if err != nil && ctx.Err() == nil { // this call was not cancelled; the error is, for example, a panic
		return NewestCards{Err: err}, nil
	}
	return newest, err
}

func (s *Session) addNewest(ctx context.Context, newest *NewestCards, status api.CardStatus) error {
	count := 0
	for card, err := range s.Client.ListedCards(ctx, api.CardFilter{Status: status}) {
		if err != nil {
			return err
		}
		if count == maxCompared {
			newest.Truncated = true
			return nil
		}
		count++
		if card.Status == api.StatusTerminated || newest.ids[card.ID] {
			continue // a service that ignores the filter may list terminated cards, or a card twice
		}
		newest.ids[card.ID] = true
		label := card.Label.Raw()
		canonical := labels.Canonical(label)
		newest.byLabel[canonical] = append(newest.byLabel[canonical], card)
		if s.isRecentlyGenerated(label) {
			newest.GeneratedCount++
		}
	}
	return nil
}
