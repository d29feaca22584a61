package transaction

import (
	"errors"
	"net/http"
	"sort"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Routes is API §4.10, and what merchants do.
func Routes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: server.API + "/transactions", Handle: list},
		{Method: http.MethodPost, Path: server.Control + "/authorizations", Handle: authorize},
		{Method: http.MethodPost, Path: server.Control + "/settlements", Handle: settle},
		{Method: http.MethodPost, Path: server.Control + "/refunds", Handle: refund},
	}
}

type listView struct {
	Data []Transaction `json:"data"`
	Page int64         `json:"page"`
}

func list(c *server.Call) (wire.Response, error) {
	query := c.Query()
	cardID := query.Text("card_id")
	s := scope{
		accountID: c.Account.ID,
		kind:      Type(query.Choice("type", string(Authorization), string(Settlement), string(Refund), string(Decline))),
	}
	from, to := query.Span()
	if c.Quirks.TransactionsPerPage == behavior.Ignored {
		query.Skip("per_page")
	}
	page := query.Page()
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	if cardID != "" {
		filter, err := card.ByPublicID(c.Tx, c.Account.ID, cardID)
		if _, unknown := errors.AsType[*wire.Error](err); unknown { // a filter that nothing passes
			return wire.OK(listView{[]Transaction{}, page.Number}), nil
		}
		if err != nil {
			return wire.Response{}, err
		}
		s.cardID = filter.ID
	}
	data, err := s.page(c.Tx, ceilMilli(from), to, page)
	return wire.OK(listView{data, page.Number}), err
}

// ceilMilli rounds up to the precision of stored times.
func ceilMilli(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); whole.Before(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}

// scope says which transactions a filter asks for.
type scope struct {
	accountID int64
	cardID    int64 // 0: all cards
	kind      Type  // "": all types
}

// listing is one way to count transactions. Its numbers have no gaps and grow
// with time, so a page is a range of numbers however deep it lies.
type listing struct {
	number string // the column that counts
	where  string
	args   func(scope) []any
}

// listings are in the order of the columns of Record: all, by type, by card,
// by card and type.
func listings() []listing {
	return []listing{
		{"number", "t.account_id = ?", func(s scope) []any { return []any{s.accountID} }},
		{"type_number", "t.account_id = ? AND t.type = ?", func(s scope) []any { return []any{s.accountID, s.kind} }},
		{"card_number", "t.card_id = ?", func(s scope) []any { return []any{s.cardID} }},
		{"card_type_number", "t.card_id = ? AND t.type = ?", func(s scope) []any { return []any{s.cardID, s.kind} }},
	}
}

// listing returns the one that counts just what the scope asks for.
func (s scope) listing() listing {
	i := 0
	if s.kind != "" {
		i++
	}
	if s.cardID != 0 {
		i += 2
	}
	return listings()[i]
}

// last returns the highest number, 0 when there is none, and its time.
func (l listing) last(tx *store.Tx, s scope) (number, createdAt int64, err error) {
	_, err = tx.Get([]any{&number, &createdAt},
		`SELECT t.`+l.number+`, t.created_at FROM transactions t WHERE `+l.where+` ORDER BY t.`+l.number+` DESC LIMIT 1`,
		l.args(s)...)
	return number, createdAt, err
}

// before counts the transactions that are older than a time.
func (l listing) before(tx *store.Tx, s scope, last int64, at time.Time) (count int64, err error) {
	query := `SELECT t.created_at FROM transactions t WHERE ` + l.where + ` AND t.` + l.number + ` = ?`
	older := sort.Search(int(last), func(i int) bool {
		var created int64
		if err == nil {
			_, err = tx.Get([]any{&created}, query, append(l.args(s), int64(i)+1)...)
		}
		return created >= at.UnixMilli()
	})
	return int64(older), err
}

// page returns the transactions of a scope between two times, zero for open,
// the newest first.
func (s scope) page(tx *store.Tx, from, to time.Time, page wire.Page) ([]Transaction, error) {
	l := s.listing()
	newest, _, err := l.last(tx, s)
	if err != nil {
		return nil, err
	}
	total, first := newest, int64(1)
	if !from.IsZero() {
		older, err := l.before(tx, s, total, from)
		if err != nil {
			return nil, err
		}
		first = older + 1
	}
	if !to.IsZero() {
		if newest, err = l.before(tx, s, total, to.Add(time.Millisecond)); err != nil {
			return nil, err
		}
	}
	high := newest - page.Offset()
	low := max(first, high-page.Size+1)
	return store.Select(tx, scan, `
		SELECT t.public_id, c.public_id, t.type, t.amount, t.fee, t.merchant_name, t.merchant_mcc, t.created_at
		FROM transactions t JOIN cards c ON c.id = t.card_id
		WHERE `+l.where+` AND t.`+l.number+` BETWEEN ? AND ? ORDER BY t.`+l.number+` DESC`,
		append(l.args(s), low, high)...)
}
