package api

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// issueTracker knows what this process has issued and what was there before, so
// that a card whose response was lost can be told from every other.
type issueTracker struct {
	locks *lockTable

	mu         sync.Mutex
	baselines  map[string]*baseline                         // by BIN
	claimed    map[string]*claimedCard                      // by id
	unresolved map[string]map[*issueReconciliation]struct{} // issuances whose response was lost, by fingerprint
}

// claimedCard is a card as it was issued.
type claimedCard struct {
	CardListItem
	at time.Time // zero once it is terminated
}

// baseline is the newest page of a BIN before the process's first issuance on it.
type baseline struct {
	ids  map[string]bool
	full bool // there are more cards than these
}

func newIssueTracker() *issueTracker {
	return &issueTracker{
		locks:      newLockTable(),
		baselines:  map[string]*baseline{},
		claimed:    map[string]*claimedCard{},
		unresolved: map[string]map[*issueReconciliation]struct{}{},
	}
}

// baselineOf reads the baseline of a BIN once.
func (t *issueTracker) baselineOf(ctx context.Context, c *Client, bin string) (*baseline, error) {
	release, err := t.locks.acquire(ctx, "bin "+bin, exclusive)
	if err != nil {
		return nil, err
	}
	defer release()
	t.mu.Lock()
	known := t.baselines[bin]
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	page, err := c.ListCards(ctx, CardFilter{BinID: bin}, Page{Number: 1, PerPage: MaxPerPage})
	if err != nil {
		return nil, err
	}
	known = &baseline{ids: map[string]bool{}, full: page.Total == nil && len(page.Data) > 0 || page.Total != nil && *page.Total > len(page.Data)}
	for _, card := range page.Data {
		known.ids[card.ID] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.baselines[bin] = known
	return known, nil
}

// claim takes a card for one call; false when another has it.
func (t *issueTracker) claim(card CardListItem, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.claimed[card.ID]; taken {
		return false
	}
	t.claimed[card.ID] = &claimedCard{card, now}
	return true
}

// newness is how long a service may take to show a card everywhere.
const newness = time.Minute

// isNew reports whether a card was issued by this process so recently that the
// service may not show it everywhere yet.
func (t *issueTracker) isNew(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	card := t.claimed[id]
	return card != nil && now.Sub(card.at) < newness
}

// newCards are the live cards for which isNew holds, newest first.
func (t *issueTracker) newCards(now time.Time) []CardListItem {
	t.mu.Lock()
	defer t.mu.Unlock()
	claimed := slices.SortedFunc(maps.Values(t.claimed), func(a, b *claimedCard) int { return b.at.Compare(a.at) })
	var cards []CardListItem
	for _, card := range claimed {
		if now.Sub(card.at) < newness {
			cards = append(cards, card.CardListItem)
		}
	}
	return cards
}

func (t *issueTracker) noteTerminated(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if card := t.claimed[id]; card != nil {
		card.at = time.Time{}
	}
}

func (t *issueTracker) isClaimed(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, taken := t.claimed[id]
	return taken
}
