package session

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// liveCards are those of the account that have labels of new cards.
type liveCards struct {
	waited fetchedOnce[struct{}]

	mu       sync.Mutex
	labels   []string // of new cards that were not looked for yet
	reported map[string]bool
}

// LiveCards returns the active and frozen cards with the label of a new card, or
// with those of the new cards before it, that are in no state which this session has
// met: each card once per session, sorted by label.
func (s *Session) LiveCards(ctx context.Context, label string) (cards []api.CardListItem, err error) {
	l := &s.live
	l.mu.Lock()
	l.labels = append(l.labels, label)
	l.mu.Unlock()
	if _, err := l.waited.get(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.Client.Clock().Wait(ctx, shortWindow)
	}); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reported == nil {
		l.reported = map[string]bool{}
	}
	for ; len(l.labels) > 0; l.labels = l.labels[1:] {
		alike, err := s.Cards.Labelled(ctx, l.labels[0])
		if err != nil {
			return nil, err
		}
		for _, card := range alike {
			if _, tracked := s.tracked.Load(card.ID); !tracked && !l.reported[card.ID] {
				l.reported[card.ID] = true
				cards = append(cards, card)
			}
		}
	}
	slices.SortFunc(cards, func(a, b api.CardListItem) int { return strings.Compare(a.Label.Raw(), b.Label.Raw()) })
	return cards, nil
}
