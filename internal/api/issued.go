package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// issued remembers what this process has issued and what was there before, so
// that a card whose answer was lost can be told from every other.
type issued struct {
	locks *lockTable

	mu         sync.Mutex
	baselines  map[string]*baseline            // by BIN
	claimed    map[string]bool                 // by card id
	unresolved map[string]map[*search]struct{} // creates whose answer was lost, by look
}

// baseline is the newest page of a BIN before the process's first create on it.
type baseline struct {
	ids  map[string]bool
	full bool // there are more cards than these
}

func newIssued() *issued {
	return &issued{
		locks:      newLockTable(),
		baselines:  map[string]*baseline{},
		claimed:    map[string]bool{},
		unresolved: map[string]map[*search]struct{}{},
	}
}

// before reads the baseline of a BIN once.
func (i *issued) before(ctx context.Context, c *Client, bin string) (*baseline, error) {
	release, err := i.locks.acquire(ctx, "bin "+bin, whole)
	if err != nil {
		return nil, err
	}
	defer release()
	i.mu.Lock()
	known := i.baselines[bin]
	i.mu.Unlock()
	if known != nil {
		return known, nil
	}
	page, err := c.ListCards(ctx, CardFilter{BinID: bin}, Page{Number: 1, PerPage: maxPerPage})
	if err != nil {
		return nil, err
	}
	known = &baseline{ids: map[string]bool{}, full: page.Total == nil && len(page.Data) > 0 || page.Total != nil && *page.Total > len(page.Data)}
	for _, card := range page.Data {
		known.ids[card.ID] = true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.baselines[bin] = known
	return known, nil
}

// claim takes a card for one call; false when another has it.
func (i *issued) claim(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.claimed[id] {
		return false
	}
	i.claimed[id] = true
	return true
}

// search finds the card of one create whose answer was lost. Creates of which
// the cards would look the same in a list send side by side, but search one
// after the other, while none of the others is on its way.
type search struct {
	client  *Client
	request IssueCardRequest
	body    string
	before  *baseline
	release func()
	alone   bool
	inDoubt bool

	found      CardListItem
	candidates []CardListItem
}

// name is the same for all creates whose cards look the same in a list.
func (s *search) name() string {
	return fmt.Sprintf("look %q %q %s", s.request.BinID, s.request.Label, s.request.Amount)
}

func (s *search) join(ctx context.Context) (err error) {
	s.release, err = s.client.issued.locks.acquire(ctx, s.name(), shared)
	return err
}

// beAlone waits until no create of this look is on its way and keeps others
// from starting.
func (s *search) beAlone(ctx context.Context) error {
	if s.alone {
		return nil
	}
	i := s.client.issued
	i.mu.Lock()
	if i.unresolved[s.name()] == nil {
		i.unresolved[s.name()] = map[*search]struct{}{}
	}
	i.unresolved[s.name()][s] = struct{}{}
	i.mu.Unlock()

	s.release()
	s.release = func() {}
	release, err := i.locks.acquire(ctx, s.name(), whole)
	if err != nil {
		return err
	}
	s.release, s.alone = release, true
	return nil
}

// leave ends the search. A create that ended in doubt stays unresolved: a card
// that comes to light later may be its.
func (s *search) leave() {
	defer s.release()
	if s.inDoubt {
		return
	}
	i := s.client.issued
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.unresolved[s.name()], s)
	if len(i.unresolved[s.name()]) == 0 {
		delete(i.unresolved, s.name())
	}
}

// look takes the card for this create when it is certain. Among several creates
// of one and the same body any card that came of them will do for any of them.
func (s *search) look(ctx context.Context) (verdict, error) {
	if err := s.beAlone(ctx); err != nil {
		return notDone, err
	}
	var err error
	if s.candidates, err = s.unclaimed(ctx); err != nil {
		return notDone, err
	}
	equal, others := s.rivals()
	switch n := len(s.candidates); {
	case n == 0:
		return notDone, nil
	case others > 0:
		return notDone, fmt.Errorf("%d new cards look like it, and so do other cards that were asked for with other properties", n)
	case n > 1+equal:
		return notDone, fmt.Errorf("%d new cards look like it", n)
	}
	s.found = s.candidates[len(s.candidates)-1]
	s.client.issued.claim(s.found.ID)
	return done, nil
}

// rivals counts the other unresolved creates of this look, with the same body
// and with another.
func (s *search) rivals() (equal, others int) {
	i := s.client.issued
	i.mu.Lock()
	defer i.mu.Unlock()
	for rival := range i.unresolved[s.name()] {
		switch {
		case rival == s:
		case rival.body == s.body:
			equal++
		default:
			others++
		}
	}
	return equal, others
}

// unclaimed lists the new cards that look like this create's and that no other
// call has taken, newest first.
func (s *search) unclaimed(ctx context.Context) ([]CardListItem, error) {
	const enough = 10 // cards from before; one might not do, if cards of one second have no fixed order
	var cards []CardListItem
	old := 0
	for card, err := range s.client.Cards(ctx, CardFilter{BinID: s.request.BinID}) {
		switch {
		case err != nil:
			return nil, err
		case s.before.ids[card.ID]:
			old++
		case s.matches(card) && !s.client.issued.isClaimed(card.ID):
			cards = append(cards, card)
		}
		if old == enough {
			break
		}
	}
	if s.before.full && old == 0 && !s.request.GeneratedLabel && len(cards) > 0 {
		return cards, errors.New("the cards that were there before are no longer listed, so new ones cannot be told from old ones")
	}
	return cards, nil
}

func (s *search) matches(card CardListItem) bool {
	r := s.request
	switch {
	case card.Label != r.Label, card.BinID != "" && card.BinID != r.BinID:
		return false
	case r.GeneratedLabel:
		return true
	}
	return card.Balance == r.Amount && (r.SpendingLimit == nil || card.SpendingLimit == *r.SpendingLimit)
}

func (i *issued) isClaimed(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.claimed[id]
}

// leftOver names what a create that was sent several times has left behind, a
// moment later, when no other create may still find it to be its own.
func (s *search) leftOver(ctx context.Context, tries int) []CardListItem {
	if equal, others := s.rivals(); tries < 2 || equal+others > 0 {
		return nil
	}
	if s.client.clock.Wait(ctx, s.client.settleWait) != nil {
		return nil
	}
	cards, err := s.unclaimed(ctx)
	if err != nil {
		return nil
	}
	return cards
}
