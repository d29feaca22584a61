package api

import (
	"sync"
	"time"
)

// staleness is how long a service may show a card as it was before a change.
const staleness = 10 * time.Second

// knownStatuses are what this process has lately made of cards.
type knownStatuses struct {
	mu   sync.Mutex
	byID map[string]knownStatus
}

type knownStatus struct {
	status CardStatus
	since  time.Time
}

func (k *knownStatuses) note(id string, status CardStatus, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID = map[string]knownStatus{}
	}
	k.byID[id] = knownStatus{status, now}
}

func (k *knownStatuses) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byID, id)
}

// isStale reports whether a response may be from before the last change.
func (k *knownStatuses) isStale(card CardSummary, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.byID[card.ID]
	if ok && now.Sub(known.since) >= staleness {
		delete(k.byID, card.ID)
		return false
	}
	return ok && card.Status != known.status
}
