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

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Transactions returns the transactions that the filter selects, newest first, each once,
// and ends with the first error. Pages are read one after the other, as they are asked for:
// a list that grows at its front meanwhile repeats transactions, and hides none.
func (c *Client) Transactions(ctx context.Context, filter TransactionFilter) iter.Seq2[Transaction, error] {
	return func(yield func(Transaction, error) bool) {
		pages := c.transactionPages(filter)
		deadline := c.Deadline(ctx)
		var seen seenIDs
		newest := "" // the front of the list that the pages follow
		oldest := "" // that was read
		for number := 1; ; number++ {
			page, err := pages.read(ctx, number)
			if err == nil && !c.clock.Now().Before(deadline) {
				err = fmt.Errorf("list transactions: the end of the list was not reached in time: %d pages were read, and more follow; ask for a shorter period", number)
			}
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			if number == 1 {
				newest = newestOf(page)
			}
			if len(page) == 0 {
				return
			}
			unseen := seen.addPage(page)
			for _, transaction := range unseen {
				if filter.selects(transaction) && !yield(transaction, nil) {
					return
				}
			}
			last := page[len(page)-1].ID
			if len(unseen) > 0 {
				oldest = last
				continue
			}
			// Past the end some services repeat the first page or the last one. A list that
			// has grown by pages repeats pages too, up to the oldest transaction that was
			// read, and its front is another one now.
			front, err := pages.read(ctx, 1)
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			if newestOf(front) == newest {
				return
			}
			if last == oldest || page[0].ID == newestOf(front) {
				newest = newestOf(front)
			}
		}
	}
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
		Accept: func(body []byte) error {
			var err error
			page, _, err = transport.DecodeListFunc(body, decodeTransaction)
			if number == 1 {
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

// instant formats an end of a period in UTC, one second wider, or one day wider as a date, because the
// API documentation does not say whether the ends are included.
func (f transactionForm) instant(at time.Time, wider int) string {
	if at.IsZero() {
		return ""
	}
	if !f.times {
		return at.UTC().AddDate(0, 0, wider).Format(time.DateOnly)
	}
	if wider > 0 {
		at = at.Add(time.Second - 1) // round up to the whole second
	}
	return at.UTC().Truncate(time.Second).Add(time.Duration(wider) * time.Second).Format(time.RFC3339)
}
