package api

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// company is how long the first read waits for others to share a page with.
	company     = 20 * time.Millisecond
	pagesAtOnce = 16
)

// flight fetches pages for several readers. It does not end with the reader who
// happened to start it, but with the last one who waits for it.
type flight struct {
	cancel context.CancelFunc
	landed chan struct{}
	riders int
	alone  bool // nobody came, so no page was fetched
}

// takeOff runs fetch on the side. The fleet is locked here, but not in fetch.
func (l *listing) takeOff(ctx context.Context, fetch func(context.Context, *flight) error) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{cancel: cancel, landed: make(chan struct{})}
	l.flight = f
	go func() {
		defer cancel()
		err := fetch(lasting, f)
		l.fleet.mu.Lock()
		defer l.fleet.mu.Unlock()
		if err != nil && lasting.Err() == nil {
			l.closed = true
		}
		l.flight = nil
		close(f.landed)
	}()
}

// wait lets go of mu until the flight has landed or ctx ends.
func (f *flight) wait(ctx context.Context, mu *sync.Mutex) (alone bool) {
	f.riders++
	mu.Unlock()
	select {
	case <-f.landed:
	case <-ctx.Done():
	}
	mu.Lock()
	f.riders--
	if f.riders == 0 {
		f.cancel()
	}
	return f.alone
}

func (l *listing) fetchInCompany(ctx context.Context, f *flight) error {
	if err := l.fleet.client.clock.Wait(ctx, company); err != nil {
		return err
	}
	l.fleet.mu.Lock()
	f.alone = l.asked == 1
	l.fleet.mu.Unlock()
	if f.alone {
		return nil
	}
	return l.fetchFirst(ctx, f)
}

func (l *listing) fetchFirst(ctx context.Context, _ *flight) error {
	return l.fetch(ctx, 1, l.takeFirst)
}

func (l *listing) fetchRest(pages int) func(context.Context, *flight) error {
	return func(ctx context.Context, _ *flight) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(pagesAtOnce)
		for number := 2; number <= pages; number++ {
			group.Go(func() error {
				return l.fetch(ctx, number, func(page CardPage) bool { return l.take(number, page) })
			})
		}
		return group.Wait()
	}
}

// fetch gets one page and keeps it. After a write nobody looks at it any more.
func (l *listing) fetch(ctx context.Context, number int, keep func(CardPage) bool) error {
	c := l.fleet.client
	page, err := c.ListCards(ctx, CardFilter{Status: l.status}, Page{Number: number, PerPage: maxPerPage})
	l.fleet.mu.Lock()
	defer l.fleet.mu.Unlock()
	l.spent++
	if err == nil && !l.closed && !keep(page) {
		l.distrust()
	}
	return err
}
