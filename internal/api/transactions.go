package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// Transactions returns the transactions that the filter selects, newest first, each once,
// and ends with the first error. Those that arrive while it reads neither repeat nor hide
// another. It holds some thousands at a time, and ends with the operation's own time.
func (c *Client) Transactions(ctx context.Context, filter TransactionFilter) iter.Seq2[Transaction, error] {
	return func(yield func(Transaction, error) bool) {
		r, end := &transactionReader{pages: c.transactionPages(filter), ahead: 2}, c.Deadline(ctx)
		for next := 1; ; {
			pages, err := r.read(ctx, next)
			if err == nil && !c.clock.Now().Before(end) {
				err = fmt.Errorf("list transactions: the list has no end that is reached in its time: %d pages were read, and each leads to another; ask for a shorter period", next)
			}
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			for _, page := range pages {
				if len(page) == 0 {
					return
				}
				ends := [2]string{page[0].ID, page[len(page)-1].ID}
				unseen := r.seen.addPage(page)
				for _, transaction := range unseen {
					if filter.selects(transaction) && !yield(transaction, nil) {
						return
					}
				}
				if len(unseen) > 0 {
					r.oldest, r.ending = ends[1], 1
					continue
				}
				isEnd, err := r.isEnd(ctx, ends)
				if err != nil {
					yield(Transaction{}, err)
				}
				if err != nil || isEnd {
					return
				}
			}
			next += len(pages)
		}
	}
}

// maxAhead bounds the pages of MaxPerPage that are read side by side, and the larger ones
// of a service with another idea of a page to as many transactions.
const maxAhead = 16

// transactionReader reads pages of a list that grows at its front meanwhile. Read in order,
// pages overlap then and hide nothing. Side by side, a transaction may fall between a later
// page from before an arrival and an earlier one from after it: so after a batch the front
// is looked at, and a batch during which it has moved is read again in order.
type transactionReader struct {
	pages  *transactionPages
	seen   seenIDs
	newest string // at the last look at the front
	full   bool   // pages are as long as the service makes them
	ahead  int    // pages of the next batch

	oldest string // the last one of a page that brought something
	ending int    // pages that end with it, since the front was seen to move
}

// isEnd reports whether a page that brought nothing, of this first and last one, is past the
// end of the list: there some services repeat the first page or the last one. While the front
// holds still no other page does. Any further one repeats what has moved onto it.
func (r *transactionReader) isEnd(ctx context.Context, ends [2]string) (bool, error) {
	if ends[1] == r.oldest {
		r.ending++
	}
	if ends[0] != r.newest && r.ending < 2 {
		return false, nil
	}
	moved, err := r.hasMoved(ctx)
	return !moved, err
}

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
		return r.batch(ctx, number, 1, 1)
	}
	pages, err := r.batch(ctx, number, r.ahead, r.ahead)
	if err != nil {
		return nil, err
	}
	if moved, err := r.hasMoved(ctx); err != nil {
		return nil, err
	} else if moved {
		r.ahead /= 2
		return r.batch(ctx, number, len(pages), 1)
	}
	r.ahead = min(2*r.ahead, maxAhead, max(2, maxAhead*MaxPerPage/max(1, len(pages[0]))))
	return pages, nil
}

// batch reads so many pages, so many at once: in order, where that is one.
func (r *transactionReader) batch(ctx context.Context, number, count, atOnce int) ([][]Transaction, error) {
	pages := make([][]Transaction, count)
	group, together := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range pages {
		group.Go(func() (err error) {
			defer crash.Catch(&err)
			pages[i], err = r.pages.read(together, number+i)
			return err
		})
	}
	return pages, group.Wait()
}

// hasMoved looks at the front, and reports whether it is another than at the last look.
func (r *transactionReader) hasMoved(ctx context.Context) (bool, error) {
	page, err := r.pages.read(ctx, 1)
	moved := newestOf(page) != r.newest
	if r.newest = newestOf(page); moved {
		r.ending = 0
	}
	return moved, err
}

func newestOf(page []Transaction) string {
	if len(page) == 0 {
		return ""
	}
	return page[0].ID
}

// seenIDs tells which transactions were read before. A page repeats the last that were read
// or, where the service does not know it, the page before or the first one: the ids of the
// first page and the newest of the others suffice, however long the list is.
type seenIDs struct {
	firstPage, older, newer map[string]bool
}

// minSeenIDs is more than arrive between two pages, a wait for the limits included.
const minSeenIDs = 10_000

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

// transactionPages reads single pages of a list of transactions, all in the form
// in which the service has answered the first.
type transactionPages struct {
	client *Client
	filter TransactionFilter
	form   int // of transactionForms
	full   int // transactions on the first page
}

func (c *Client) transactionPages(filter TransactionFilter) *transactionPages {
	return &transactionPages{client: c, filter: filter, form: int(c.transactionForm.Load())}
}

// transactionForm is a way to ask for transactions. The document shows no per_page, and dates
// for the ends of a period without saying whether a date includes its day; so full pages and
// times come first, and what a service refuses with a 400 is left out.
type transactionForm struct{ perPage, times bool }

func transactionForms() []transactionForm {
	return []transactionForm{{true, true}, {false, true}, {true, false}, {false, false}}
}

// read returns a page, of which the first shows how the service wants to be asked.
func (p *transactionPages) read(ctx context.Context, number int) ([]Transaction, error) {
	forms := transactionForms()
	page, refusal := p.ask(ctx, forms[p.form], number)
	switch {
	case number > 1 && (transport.IsNotFound(refusal) || isBadRequest(refusal) && p.endsBefore(ctx, number)):
		return nil, nil // past the end, in the words of some services
	case number > 1, !isBadRequest(refusal):
		return page, refusal
	}
	hasPeriod := !p.filter.From.IsZero() || !p.filter.To.IsZero()
	for i, form := range forms {
		if i == p.form || !hasPeriod && form.times != forms[p.form].times {
			continue
		}
		page, err := p.ask(ctx, form, number)
		switch {
		case err == nil:
			p.form = i
			p.client.transactionForm.Store(int32(i))
			return page, nil
		case !isBadRequest(err):
			return nil, err
		}
	}
	return nil, refusal
}

// endsBefore reports whether a page that is refused is past the end, and not only
// deeper than the service goes: then something is older than the page before, by more
// than the second that a service may round off, or may be for all that a day tells.
func (p *transactionPages) endsBefore(ctx context.Context, number int) bool {
	if number == 2 {
		return true
	}
	before, err := p.ask(ctx, transactionForms()[p.form], number-1)
	if err != nil || len(before) < p.full {
		return err == nil || isBadRequest(err)
	}
	oldest, err := before[len(before)-1].CreatedAt.Time()
	if err != nil {
		return false
	}
	rest := &transactionPages{client: p.client, filter: p.filter, form: p.form}
	rest.filter.To = oldest.Add(-2 * time.Second) // as a request makes it a second wider
	older, err := rest.read(ctx, 1)
	return err == nil && len(older) < p.full && !slices.ContainsFunc(older, rest.filter.selects)
}

func isBadRequest(err error) bool {
	refused, ok := errors.AsType[*transport.Error](err)
	return ok && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusUnprocessableEntity)
}

func (p *transactionPages) ask(ctx context.Context, form transactionForm, number int) ([]Transaction, error) {
	query := url.Values{"page": {strconv.Itoa(number)}}
	if form.perPage {
		query.Set("per_page", strconv.Itoa(MaxPerPage))
	}
	setQuery(query, "card_id", p.filter.CardID)
	setQuery(query, "type", string(p.filter.Type))
	setQuery(query, "from", form.instant(p.filter.From, -1))
	setQuery(query, "to", form.instant(p.filter.To, 1))
	var page []Transaction
	err := p.client.Read(ctx, &transport.Call{
		Operation: "list transactions", Method: http.MethodGet, Path: "/transactions", Query: query,
		Accept: func(body []byte) (err error) {
			if page, _, err = transport.DecodeEach(body, decodeTransaction); number == 1 {
				p.full = len(page)
			}
			for i := range page {
				page[i].Problem = p.client.WithoutKeys(page[i].Problem)
			}
			return err
		},
	})
	return page, err
}

// instant writes an end of a period in UTC: a second wider, or as a date a day
// wider, since the document does not say whether the ends are included.
func (f transactionForm) instant(at time.Time, wider int) string {
	switch {
	case at.IsZero():
		return ""
	case !f.times:
		return at.UTC().AddDate(0, 0, wider).Format(time.DateOnly)
	case wider > 0:
		at = at.Add(time.Second - 1) // up to the whole second
	}
	return at.UTC().Truncate(time.Second).Add(time.Duration(wider) * time.Second).Format(time.RFC3339)
}
