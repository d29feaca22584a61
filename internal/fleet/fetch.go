package fleet

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	// batchWindow is how long the first read waits for others to share a page with.
	batchWindow = 20 * time.Millisecond
	pagesAtOnce = 16
)

// fetch gets pages for several readers. It does not end with the reader who
// happened to start it, but with the last one who waits for it.
type fetch struct {
	cancel  context.CancelFunc
	done    chan struct{}
	waiters int
	single  bool  // nobody joined the batch, so no page was fetched
	err     error // unless nobody has waited to the end
}

// start runs a fetch on the side. The fleet is locked here, but not in run.
func (l *listing) start(ctx context.Context, run func(context.Context) error) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &fetch{cancel: cancel, done: make(chan struct{})}
	l.fetch = f
	go func() {
		defer cancel()
		err := func() (err error) {
			defer crash.Catch(&err)
			return run(detached)
		}()
		l.fleet.mu.Lock()
		defer l.fleet.mu.Unlock()
		if err != nil && detached.Err() == nil {
			l.closed, f.err = true, err
		}
		l.fetch = nil
		close(f.done)
	}()
}

// wait lets go of the fleet until the fetch is done or ctx ends.
func (f *fetch) wait(ctx context.Context, fleet *Fleet) {
	f.waiters++
	fleet.wait(func() {
		select {
		case <-f.done:
		case <-ctx.Done():
		}
	})
	f.waiters--
	if f.waiters == 0 {
		f.cancel()
	}
}

func (l *listing) fetchBatch(ctx context.Context) error {
	if err := l.fleet.clock.Wait(ctx, batchWindow); err != nil {
		return err
	}
	l.fleet.mu.Lock()
	single := len(l.asked) == 1
	l.fetch.single = single
	l.fleet.mu.Unlock()
	if single {
		return nil
	}
	return l.fetchFirst(ctx)
}

func (l *listing) fetchFirst(ctx context.Context) error { return l.fetchPage(ctx, 1) }

// fetchMissing is made and started with the fleet locked; of an earlier fetch
// that was interrupted some pages may have arrived.
func (l *listing) fetchMissing() func(context.Context) error {
	var missing []int
	for number := 1; number <= l.pages; number++ {
		if !l.fetched[number] {
			missing = append(missing, number)
		}
	}
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(pagesAtOnce)
		for _, number := range missing {
			group.Go(func() (err error) {
				defer crash.Catch(&err)
				return l.fetchPage(ctx, number)
			})
		}
		return group.Wait()
	}
}

// fetchPage gets one page, unless the list has ended before, and adds it. After a write
// nobody uses it any more.
func (l *listing) fetchPage(ctx context.Context, number int) error {
	f := l.fleet
	f.mu.Lock()
	ended := number > max(1, l.pages)
	f.mu.Unlock()
	if ended {
		return nil
	}
	page, err := f.source.ListCards(ctx, api.CardFilter{Status: l.status}, number, api.MaxPerPage)
	f.mu.Lock()
	defer f.mu.Unlock()
	l.spent++
	l.arrivedAt = f.clock.Now()
	if err == nil && !l.closed && !l.addPage(number, page) {
		l.discard()
	}
	return err
}

func (l *listing) walk(ctx context.Context) error {
	var cards []api.CardListItem
	f := l.fleet
	err := f.source.WalkCards(ctx, api.CardFilter{Status: l.status}, func(card api.CardListItem) bool {
		cards = append(cards, card)
		return true
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l.add(cards)
	l.arrivedAt, l.walked = f.clock.Now(), true
	return nil
}
