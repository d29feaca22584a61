package api

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Transactions returns the transactions that the filter selects, normally newest first. It reads a page when the loop
// needs it, and stops after the first error. While it reads, new transactions at the front of the list move others to
// later pages, so it leaves out those that pages repeat.
func (c *Client) Transactions(ctx context.Context, filter TransactionFilter) iter.Seq2[Transaction, error] {
	return func(yield func(Transaction, error) bool) {
		pages := c.transactionPages(filter)
		deadline := c.Deadline(ctx)
		var ids seenIDs
		var end endCheck
		for number := 1; ; number++ {
			page, err := pages.read(ctx, number)
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			if !c.clock.Now().Before(deadline) {
				err = fmt.Errorf("the list did not end in time, and page %d was the last one read; request a shorter period", number)
				yield(Transaction{}, err)
				return
			}
			if number == 1 {
				end.newest = newestID(page)
			}
			unseen := ids.addPage(page)
			for _, transaction := range unseen {
				if !filter.selects(transaction) {
					continue
				}
				if !yield(transaction, nil) {
					return
				}
			}
			if len(unseen) > 0 {
				end.addPage(page)
				continue
			}
			// New transactions at the front of the list may be the reason why this page has no unseen ones.
			firstPage, err := pages.read(ctx, 1)
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			if end.isReached(page, newestID(firstPage)) {
				return
			}
		}
	}
}

// endCheck decides whether a page without unseen transactions is past the end of the list. There, some services
// repeat the first or the last page. If the list has grown by at least a page, a page before the end may have no unseen
// transactions, either. Then the first transaction of the list is a new one.
type endCheck struct {
	newest   string // id of the first transaction of the list when it was last checked
	oldest   string // id of the last transaction of the latest page with unseen ones
	hasGrown bool   // whether a check has found another transaction at the front
	repeats  int    // consecutive pages that seem to repeat the first or the last page
}

// addPage records a page with unseen transactions.
func (e *endCheck) addPage(page []Transaction) {
	e.oldest = page[len(page)-1].ID
	e.repeats = 0
}

// isReached reports whether a page without unseen transactions is past the end of the list. The argument newest is
// the id of the list's first transaction, read after the page.
func (e *endCheck) isReached(page []Transaction, newest string) bool {
	if newest != e.newest { // the list may have grown while the page was read
		e.newest = newest
		e.hasGrown = true
		e.repeats = 0
		return false
	}
	if !e.hasGrown {
		return true
	}
	// A single page that starts like the first page or ends like the last one may still be before the end. Two such
	// pages in a row, of a list that does not grow meanwhile, count as past the end.
	startsLikeFirst := page[0].ID == newest
	endsLikeLast := page[len(page)-1].ID == e.oldest
	if !startsLikeFirst && !endsLikeLast {
		e.repeats = 0
		return false
	}
	e.repeats++
	return e.repeats == 2
}

// newestID returns the id of the first transaction of a page, or "" for an empty page.
func newestID(page []Transaction) string {
	if len(page) == 0 {
		return ""
	}
	return page[0].ID
}

// seenIDs recognizes transactions that were read before. It remembers the ids of the first page and the latest of the
// others, so that the memory does not grow with the list. Pages usually repeat transactions that were read shortly
// before, or, past the end, the first page.
type seenIDs struct {
	firstPage map[string]bool
	newer     map[string]bool // of the latest pages
	older     map[string]bool // of the pages before those of newer
}

// minSeenIDs is the number of ids after which seenIDs starts a new map. It is meant to be larger than the number of new
// transactions between the reads of two pages.
const minSeenIDs = 10_000

// addPage records the transactions of a page, and returns those that were not read before.
func (s *seenIDs) addPage(page []Transaction) []Transaction {
	if len(s.newer) >= minSeenIDs {
		s.older = s.newer
		s.newer = nil
	}
	if s.newer == nil {
		s.newer = make(map[string]bool, len(page))
	}
	var unseen []Transaction
	for _, t := range page {
		if s.firstPage[t.ID] || s.older[t.ID] || s.newer[t.ID] {
			continue
		}
		s.newer[t.ID] = true
		unseen = append(unseen, t)
	}
	if s.firstPage == nil {
		s.firstPage = s.newer
		s.newer = nil
	}
	return unseen
}

// transactionPages reads single pages of a list of transactions. It requests all of them in the form in which
// the service accepted the request for the first page.
type transactionPages struct {
	client   *Client
	filter   TransactionFilter
	form     int // index in transactionForms
	pageSize int // number of transactions on the first page
}

func (c *Client) transactionPages(filter TransactionFilter) *transactionPages {
	return &transactionPages{client: c, filter: filter, form: int(c.transactionForm.Load())}
}

// transactionForm is a form of the request for transactions. The API documentation (§4.10) shows no per_page
// parameter. For a period, it shows dates, but does not say whether a date includes its day. So the client
// tries per_page and times first. If the service refuses them, it tries without per_page, or with dates.
type transactionForm struct {
	perPage bool // whether the request has per_page
	times   bool // whether the period has times, and not only dates
}

func transactionForms() []transactionForm {
	return []transactionForm{
		{perPage: true, times: true},
		{perPage: false, times: true},
		{perPage: true, times: false},
		{perPage: false, times: false},
	}
}

// read returns a page. A page past the end is usually empty or repeats another one. For page 1, read also finds and
// sets the form of request that the service accepts.
func (p *transactionPages) read(ctx context.Context, number int) ([]Transaction, error) {
	forms := transactionForms()
	page, err := p.request(ctx, forms[p.form], number)
	if number > 1 {
		// Some services respond to a page past the end with a 404 or a 400.
		if transport.IsNotFound(err) {
			return nil, nil
		}
		if isBadRequest(err) && p.isPastEnd(ctx, number) {
			return nil, nil
		}
		return page, err
	}
	if !isBadRequest(err) {
		return page, err
	}
	refusal := err
	noPeriod := p.filter.From.IsZero() && p.filter.To.IsZero()
	for i, form := range forms {
		if i == p.form {
			continue
		}
		if noPeriod && form.times != forms[p.form].times { // then times makes no difference
			continue
		}
		page, err := p.request(ctx, form, number)
		if err == nil {
			p.form = i
			p.client.transactionForm.Store(int32(i))
			return page, nil
		}
		if !isBadRequest(err) {
			return nil, err
		}
	}
	return nil, refusal
}

// isPastEnd reports whether a refused page seems to be past the end of the list. The service may instead refuse to go
// that deep. Then a request for an earlier period shows transactions that are older than those of the previous page,
// and isPastEnd returns false. It also returns false if it cannot find out, because read then returns the refusal.
func (p *transactionPages) isPastEnd(ctx context.Context, number int) bool {
	if number == 2 { // a service that has a second page shows it
		return true
	}
	previous, err := p.request(ctx, transactionForms()[p.form], number-1)
	if err != nil {
		return isBadRequest(err) // then the list seems to have become shorter
	}
	isShort := len(previous) < p.pageSize
	if isShort || len(previous) == 0 { // it is the last page, or past the end, too
		return true
	}
	oldest, err := previous[len(previous)-1].CreatedAt.Time()
	if err != nil {
		return false
	}
	earlier := &transactionPages{client: p.client, filter: p.filter, form: p.form}
	// A request extends its period, and a service may round times to seconds.
	earlier.filter.To = oldest.Add(-2 * time.Second)
	older, err := earlier.read(ctx, 1)
	if err != nil {
		return false
	}
	if len(older) >= p.pageSize { // the next page may show older ones, even if this one shows none
		return false
	}
	return !slices.ContainsFunc(older, earlier.filter.selects)
}

// request reads a page with a request of one form. For page 1, it also sets pageSize.
func (p *transactionPages) request(ctx context.Context, form transactionForm, number int) ([]Transaction, error) {
	query := url.Values{"page": {strconv.Itoa(number)}}
	if form.perPage {
		query.Set("per_page", strconv.Itoa(MaxPerPage))
	}
	setQuery(query, "card_id", p.filter.CardID)
	setQuery(query, "type", string(p.filter.Type))
	const earlier, later = -1, 1
	setQuery(query, "from", form.extended(p.filter.From, earlier))
	setQuery(query, "to", form.extended(p.filter.To, later))
	var page []Transaction
	err := p.client.Read(ctx, &transport.Call{
		Operation: "list transactions",
		Method:    http.MethodGet,
		Path:      "/transactions",
		Query:     query,
		Accept: func(body []byte) error {
			var err error
			page, _, err = transport.DecodeListFunc(body, decodeTransaction)
			if err != nil {
				return err
			}
			if number == 1 {
				p.pageSize = len(page)
			}
			for i := range page { // a problem may quote the response, and the response may quote a key
				page[i].Problem = p.client.WithoutKeys(page[i].Problem)
			}
			return nil
		},
	})
	return page, err
}

// extended formats an end of a period in UTC. Because the API documentation does not say whether the ends are included,
// it extends the period at this end by at least one second, or to the adjacent day if the form uses dates. The argument
// direction is -1 for the start and 1 for the end. For a zero time, the result is "".
func (f transactionForm) extended(at time.Time, direction int) string {
	if at.IsZero() {
		return ""
	}
	if !f.times {
		return at.UTC().AddDate(0, 0, direction).Format(time.DateOnly)
	}
	if direction > 0 {
		at = at.Add(time.Second - 1) // so that Truncate rounds up to the whole second
	}
	second := at.UTC().Truncate(time.Second)
	end := second.Add(time.Duration(direction) * time.Second)
	return end.Format(time.RFC3339)
}
