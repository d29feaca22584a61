package api

import (
	"context"
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
	claimed    map[string]time.Time                         // by card id; zero once it is terminated
	unresolved map[string]map[*issueReconciliation]struct{} // issuances whose response was lost, by fingerprint
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
		claimed:    map[string]time.Time{},
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
	page, err := c.ListCards(ctx, CardFilter{BinID: bin}, Page{Number: 1, PerPage: maxPerPage})
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
func (t *issueTracker) claim(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.claimed[id]; taken {
		return false
	}
	t.claimed[id] = now
	return true
}

// newness is how long a service may take to show a card everywhere.
const newness = time.Minute

// isNew reports whether a card was issued by this process so recently that the
// service may not show it everywhere yet.
func (t *issueTracker) isNew(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ours := t.claimed[id]
	return ours && now.Sub(at) < newness
}

// newCards are the ids of the live cards for which isNew holds.
func (t *issueTracker) newCards(now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for id, at := range t.claimed {
		if now.Sub(at) < newness {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return t.claimed[b].Compare(t.claimed[a]) })
	return ids
}

func (t *issueTracker) noteTerminated(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ours := t.claimed[id]; ours {
		t.claimed[id] = time.Time{}
	}
}

func (t *issueTracker) isClaimed(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, taken := t.claimed[id]
	return taken
}
