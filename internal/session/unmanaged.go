package session

import (
	"context"
	"crypto/rand"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// DefaultLabelPrefix is what generated labels begin with where nobody says otherwise.
const DefaultLabelPrefix = "tf-"

// GeneratedLabel is like no other, so that a card whose creation lost its response can be
// told from every other. The prefix and the day help to find those that a killed run left.
func (s *Session) GeneratedLabel() string {
	now := s.Client.ServiceTime()
	return s.LabelPrefix + now.UTC().Format(dayOfLabel) + "-" + strings.ToLower(rand.Text()[:20])
}

const dayOfLabel = "20060102"

var generatedLabel = regexp.MustCompile(`^(.{0,31}-)(\d{8})-[a-z2-7]{20}$`)

// IsGeneratedLabel reports whether a label has the form of generated ones, of any prefix.
func IsGeneratedLabel(label string) bool { return generatedLabel.MatchString(label) }

// unmanaged is what is known of live cards that may be in no state.
type unmanaged struct {
	waited fetchedOnce[struct{}]
	newest fetchedOnce[[]api.CardListItem]

	mu     sync.Mutex
	labels map[string]bool // of new cards that were not looked for yet, and whether one replaces none
	told   bool
}

// Unmanaged returns, once per session, live cards that new cards of this plan may be: those
// that bear the label of a new card or, where one has "", those with a generated label of
// this prefix that is at most a week old, as far as the two newest pages of the list show
// them. One whose state the session has met is named only where its label is written for a
// card that replaces none: it was renamed or copied.
func (s *Session) Unmanaged(ctx context.Context, label string, replaces bool) (cards []api.CardListItem, err error) {
	u := &s.unmanaged
	u.mu.Lock()
	if u.labels == nil {
		u.labels = map[string]bool{}
	}
	u.labels[label] = u.labels[label] || !replaces && label != ""
	u.mu.Unlock()
	if _, err := u.waited.get(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.Client.Clock().Wait(ctx, shortWindow)
	}); err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	labels := u.labels
	u.labels = nil
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		alike, err := s.withLabel(ctx, label)
		if err != nil {
			return nil, err
		}
		for _, card := range alike {
			if _, isMet := s.met.Load(card.ID); (!isMet || labels[label]) && !u.told {
				cards = append(cards, card)
			}
		}
	}
	u.told = u.told || len(cards) > 0
	return cards, nil
}

func (s *Session) withLabel(ctx context.Context, label string) ([]api.CardListItem, error) {
	if label != "" {
		return s.Cards.Labelled(ctx, label)
	}
	return s.unmanaged.newest.get(ctx, func(ctx context.Context) (recent []api.CardListItem, err error) {
		const pages = 2
		now := s.Client.ServiceTime()
		for number := 1; number <= pages; number++ {
			page, err := s.Client.ListCards(ctx, api.CardFilter{}, number, api.MaxPerPage)
			if err != nil {
				return nil, err
			}
			for _, card := range page.Data {
				parts := generatedLabel.FindStringSubmatch(card.Label.Raw())
				if parts == nil || parts[1] != s.LabelPrefix || card.Status == api.StatusTerminated {
					continue
				}
				if day, err := time.Parse(dayOfLabel, parts[2]); err == nil && now.Before(day.AddDate(0, 0, 8)) { // within a week
					recent = append(recent, card)
				}
			}
			if len(page.Data) < page.Size() || len(page.Data) == 0 {
				break
			}
		}
		return recent, nil
	})
}
