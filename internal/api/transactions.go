package api

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// maxTransactionPages are more than the service grants in an hour.
const maxTransactionPages = 10_000

// Transactions returns the transactions that the filter selects, newest first,
// each once, and ends with the first error. One that cannot be read in full has a
// Problem. Transactions that arrive while it
// reads neither repeat nor hide another. However many there are, it holds some
// thousands of them at a time.
func (c *Client) Transactions(ctx context.Context, filter TransactionFilter) iter.Seq2[Transaction, error] {
	return func(yield func(Transaction, error) bool) {
		r := &transactionReader{pages: c.transactionPages(filter), ahead: 2}
		for next := 1; ; {
			pages, err := r.read(ctx, next)
			if err == nil && next > maxTransactionPages {
				err = fmt.Errorf("list transactions: the list has no end: %d pages were read, and each leads to another; ask for a shorter period", maxTransactionPages)
			}
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			for _, page := range pages {
				unseen := r.seen.addPage(page)
				for _, transaction := range unseen {
					if filter.selects(transaction) && !yield(transaction, nil) {
						return
					}
				}
				if len(unseen) == 0 && !r.moving && len(page) > 0 {
					// A page's worth may have arrived since the page before.
					if err := r.watchFront(ctx); err != nil {
						yield(Transaction{}, err)
						return
					}
				}
				if len(page) == 0 || len(unseen) == 0 && !r.moving {
					return
				}
			}
			next += len(pages)
		}
	}
}

// maxAhead bounds the pages that are read side by side.
const maxAhead = 16

// transactionReader reads pages of a list that grows at its front meanwhile. Read
// one after the other, pages overlap then and hide nothing. Read side by side, a
// later page may be from before an arrival and an earlier one from after it, and
// a transaction falls between them: so after a batch the front is looked at, and
// a batch during which it has moved is read again in order.
type transactionReader struct {
	pages  *transactionPages
	seen   seenIDs
	newest string
	moving bool // the front moved during the last read
	full   bool // pages are as long as the service makes them
	ahead  int  // pages of the next batch
}

// read returns one or more pages from number on.
func (r *transactionReader) read(ctx context.Context, number int) ([][]Transaction, error) {
	if number == 1 || !r.full {
		page, err := r.pages.read(ctx, number)
		if number == 1 {
			r.newest = newestOf(page)
		}
		// A short first page is the last one, or the service has its own idea of
		// a full page: the second tells.
		r.full = number > 1 || len(page) >= MaxPerPage
		return [][]Transaction{page}, err
	}
	if r.ahead == 1 {
		r.ahead = 2
		return r.inOrder(ctx, number, 1)
	}
	pages := make([][]Transaction, r.ahead)
	group, together := errgroup.WithContext(ctx)
	for i := range pages {
		group.Go(func() (err error) {
			defer crash.Catch(&err)
			pages[i], err = r.pages.read(together, number+i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := r.watchFront(ctx); err != nil {
		return nil, err
	}
	if r.moving {
		r.ahead /= 2
		return r.inOrder(ctx, number, len(pages))
	}
	r.ahead = min(2*r.ahead, maxAhead)
	return pages, nil
}

func (r *transactionReader) inOrder(ctx context.Context, number, count int) ([][]Transaction, error) {
	pages := make([][]Transaction, count)
	for i := range pages {
		var err error
		if pages[i], err = r.pages.read(ctx, number+i); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func (r *transactionReader) watchFront(ctx context.Context) error {
	front, err := r.pages.read(ctx, 1)
	r.moving = newestOf(front) != r.newest
	r.newest = newestOf(front)
	return err
}

func newestOf(page []Transaction) string {
	if len(page) == 0 {
		return ""
	}
	return page[0].ID
}

// seenIDs tells which transactions were read before. A page repeats the last
// that were read, as many as arrived meanwhile; or, where the service does not
// know the page, all of the page before it or of the first one. So the ids of
// the first page and the newest of the others suffice, however long the list is.
type seenIDs struct {
	firstPage, older, newer map[string]bool
}

// minSeenIDs is more than arrive between two pages, a wait for the limits included.
const minSeenIDs = 10_000

// addPage returns what is new in a page.
func (s *seenIDs) addPage(page []Transaction) []Transaction {
	if len(s.newer) >= minSeenIDs {
		s.older, s.newer = s.newer, nil
	}
	if s.newer == nil {
		s.newer = make(map[string]bool, len(page))
	}
	unseen := slices.DeleteFunc(page, func(t Transaction) bool {
		repeated := s.firstPage[t.ID] || s.older[t.ID] || s.newer[t.ID]
		if !repeated {
			s.newer[t.ID] = true
		}
		return repeated
	})
	if s.firstPage == nil {
		s.firstPage, s.newer = s.newer, nil
	}
	return unseen
}
