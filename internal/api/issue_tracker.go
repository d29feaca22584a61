package api

import (
	"context"
	"sync"
)

// issueTracker knows what this process has issued and what was there before, so
// that a card whose response was lost can be told from every other.
type issueTracker struct {
	locks *lockTable

	mu         sync.Mutex
	baselines  map[string]*baseline                         // by BIN
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
