package provider

import (
	"errors"
	"sync"
)

// sandboxes are the embedded services that configurations have opened. They stay
// open until the provider ends: resources are served long after Configure.
type sandboxes struct {
	mu   sync.Mutex
	open []*embeddedSandbox
}

func (s *sandboxes) keep(service *embeddedSandbox) {
	if service == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, service)
}

func (s *sandboxes) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, service := range s.open {
		errs = append(errs, service.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}
