package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
)

// postponedCalls are the calls that a fault commits some time after they arrived, whatever response the client got.
// They are lost when the process ends.
type postponedCalls struct {
	mu  sync.Mutex // also held while calls are committed, so that other requests wait for the commit
	all []*exchange
}

// postpone schedules a call to be committed after the CommitDelay of a fault.
func (s *Server) postpone(x *exchange, f *behavior.Fault) {
	call := *x // a copy, because the request log still needs the exchange of the request itself
	call.due = x.now.Add(f.CommitDelay())
	s.postponed.mu.Lock()
	defer s.postponed.mu.Unlock()
	s.postponed.all = append(s.postponed.all, &call)
}

// commitCallsDueAt commits the postponed calls that are due at the given time of the service, the earliest first.
func (s *Server) commitCallsDueAt(ctx context.Context, now time.Time) {
	s.postponed.mu.Lock()
	defer s.postponed.mu.Unlock()
	for {
		call := s.postponed.takeDue(now)
		if call == nil {
			return
		}
		call.now = call.due
		// The response is discarded, because the fault has decided what the client gets.
		s.process(context.WithoutCancel(ctx), call)
	}
}

// takeDue removes and returns the call that is due first. It returns nil if no call is due yet. The caller must hold
// the lock.
func (p *postponedCalls) takeDue(now time.Time) *exchange {
	earliest := -1
	for i, call := range p.all {
		if call.due.After(now) {
			continue
		}
		if earliest < 0 || call.due.Before(p.all[earliest].due) {
			earliest = i
		}
	}
	if earliest < 0 {
		return nil
	}
	call := p.all[earliest]
	p.all = slices.Delete(p.all, earliest, earliest+1)
	return call
}

// commitCallsDueNow commits the postponed calls that are due now. Unlike commitCallsDueAt, it reads the service's time.
func (s *Server) commitCallsDueNow(ctx context.Context) error {
	s.postponed.mu.Lock()
	empty := len(s.postponed.all) == 0
	s.postponed.mu.Unlock()
	if empty {
		return nil
	}
	_, now, err := s.DB.Version(ctx)
	if err != nil {
		return err
	}
	s.commitCallsDueAt(ctx, now)
	return nil
}

// isPostponed reports whether a call with this scope is postponed and not committed yet.
func (s *Server) isPostponed(scope idempotencyScope) bool {
	s.postponed.mu.Lock()
	defer s.postponed.mu.Unlock()
	for _, call := range s.postponed.all {
		if call.idempotencyScope() == scope {
			return true
		}
	}
	return false
}

// ForgetPostponed drops the postponed calls that are not committed yet.
func (s *Server) ForgetPostponed() {
	s.postponed.mu.Lock()
	defer s.postponed.mu.Unlock()
	s.postponed.all = nil
}
