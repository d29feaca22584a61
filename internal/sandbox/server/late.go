package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
)

// lateCalls are the calls that a fault has answered before they are committed. They are lost when the process ends.
type lateCalls struct {
	mu  sync.Mutex  // also held while calls are committed, so that no request overtakes them
	all []*exchange // in the order of their arrival
}

// postpone schedules a call to be committed after the delay of a fault.
func (s *Server) postpone(x *exchange, f *behavior.Fault) {
	late := *x // the request's own exchange goes on to the request log
	late.due = x.now.Add(f.Later())
	s.late.mu.Lock()
	defer s.late.mu.Unlock()
	s.late.all = append(s.late.all, &late)
}

// commitLate commits the calls that are due at the service's time, the earliest first. Every request and every
// page of the dashboard calls it first, so that no client sees a state in which a due call is missing.
func (s *Server) commitLate(ctx context.Context, now time.Time) {
	s.late.mu.Lock()
	defer s.late.mu.Unlock()
	for {
		call := s.late.takeDue(now)
		if call == nil {
			return
		}
		call.now = call.due
		s.process(context.WithoutCancel(ctx), call)
	}
}

// takeDue removes and returns the call that is due first, or nil if no call is due yet. The caller must hold the lock.
func (l *lateCalls) takeDue(now time.Time) *exchange {
	earliest := -1
	for i, call := range l.all {
		if call.due.After(now) {
			continue
		}
		if earliest < 0 || call.due.Before(l.all[earliest].due) {
			earliest = i
		}
	}
	if earliest < 0 {
		return nil
	}
	call := l.all[earliest]
	l.all = slices.Delete(l.all, earliest, earliest+1)
	return call
}

// commitLateNow is commitLate for callers that do not know the service's time.
func (s *Server) commitLateNow(ctx context.Context) error {
	s.late.mu.Lock()
	empty := len(s.late.all) == 0
	s.late.mu.Unlock()
	if empty {
		return nil
	}
	_, now, err := s.DB.Version(ctx)
	if err != nil {
		return err
	}
	s.commitLate(ctx, now)
	return nil
}

// isLate reports whether a call with this idempotency key is not committed yet.
func (s *Server) isLate(key idempotencyScope) bool {
	s.late.mu.Lock()
	defer s.late.mu.Unlock()
	for _, call := range s.late.all {
		if call.idempotencyScope() == key {
			return true
		}
	}
	return false
}

// ForgetLate drops the calls that are not committed yet. A reset of the file calls it.
func (s *Server) ForgetLate() {
	s.late.mu.Lock()
	defer s.late.mu.Unlock()
	s.late.all = nil
}
