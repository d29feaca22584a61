package session

import (
	"slices"
	"sync"
)

// Endpoint is a webhook endpoint as it is planned.
type Endpoint struct {
	ID     string // "" for a new one
	URL    string
	Events []string
}

// endpoints are those of the plan.
type endpoints struct {
	mu  sync.Mutex
	all []Endpoint
}

// AddEndpoint notes a planned endpoint, and returns the events that another one
// of the plan receives at the same URL. AllEvents is the name of every event.
func (s *Session) AddEndpoint(endpoint Endpoint, allEvents string) []string {
	s.endpoints.mu.Lock()
	defer s.endpoints.mu.Unlock()
	s.endpoints.all = slices.DeleteFunc(s.endpoints.all, func(other Endpoint) bool {
		return endpoint.ID != "" && other.ID == endpoint.ID // planned before
	})
	var shared []string
	for _, other := range s.endpoints.all {
		if other.URL != endpoint.URL {
			continue
		}
		for _, event := range slices.Concat(endpoint.Events, other.Events) {
			received := func(by Endpoint) bool {
				return slices.Contains(by.Events, event) || slices.Contains(by.Events, allEvents)
			}
			if received(endpoint) && received(other) {
				shared = append(shared, event)
			}
		}
	}
	s.endpoints.all = append(s.endpoints.all, endpoint)
	slices.Sort(shared)
	return slices.Compact(shared)
}
