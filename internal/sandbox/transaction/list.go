package transaction

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Routes returns the route of API §4.10 and the control calls for merchants.
func Routes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: server.API + "/transactions", Handle: list},
		{Method: http.MethodPost, Path: server.Control + "/authorizations", Handle: authorize},
		{Method: http.MethodPost, Path: server.Control + "/settlements", Handle: settle},
		{Method: http.MethodPost, Path: server.Control + "/refunds", Handle: refund},
	}
}

func list(c *server.Call) (wire.Response, error) {
	query := c.Query()
	cardID := query.Text("card_id")
	transactionType := query.Choice("type", string(Authorization), string(Settlement), string(Refund), string(Decline))
	addToDate := 24*time.Hour - time.Millisecond // added to a date in "to", so that the period includes that whole day
	switch c.Quirks.TransactionPeriod {
	case behavior.Midnights:
		addToDate = 0
	case behavior.DatesOnly:
		query.CheckDate("from")
		query.CheckDate("to")
	}
	from, to := query.Period(addToDate)
	switch c.Quirks.TransactionsPerPage {
	case behavior.Ignored:
		query.Skip("per_page")
	case behavior.Refused:
		query.RefuseParameter("per_page")
	}
	page := query.Page()
	err := query.Done()
	if err != nil {
		return wire.Response{}, err
	}
	filter := Filter{CardID: cardID, Type: Type(transactionType), From: from, To: to}
	bound, err := filter.upperBound(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	if page.Offset() >= bound { // the page is past the end, so the query below is not needed
		return wire.OK(map[string]any{"data": []Transaction{}, "page": page.Number}), nil
	}
	where := filter.Where(c.Account.ID)
	// The subquery selects only ids, so that SQLite can often skip rows by an index, without reading them.
	data, err := store.List[Transaction](c.Tx, selectTransactions+`
		WHERE t.id IN (SELECT id FROM transactions `+where.SQL+` ORDER BY id DESC LIMIT ? OFFSET ?) ORDER BY t.id DESC`,
		append(where.Args, page.Size, page.Offset())...)
	if err != nil {
		return wire.Response{}, err
	}
	for _, t := range data {
		t.sign(c.Quirks.TransactionSigns)
	}
	return wire.OK(map[string]any{"data": data, "page": page.Number}), nil
}

// sign gives the amounts the signs that the quirk transaction_signs asks for. By default, it does not change them.
func (t *Transaction) sign(signs string) {
	switch signs {
	case behavior.Refunds:
		if t.Type == Refund {
			t.Amount = -t.Amount
		}
	case behavior.Spending:
		t.Fee = -t.Fee
		if t.Type != Refund {
			t.Amount = -t.Amount
		}
	}
}

// Chain returns the transactions of the purchase to which a transaction belongs, oldest first, or a 404 if the account has
// no such transaction. The query goes up from the transaction to the purchase, which has no parent, and then down to the
// transactions that follow it.
func Chain(tx *store.Tx, accountID int64, id string) ([]*Transaction, error) {
	chain, err := store.List[Transaction](tx, `
		WITH RECURSIVE
		up (id, parent_id) AS (
			SELECT id, parent_id FROM transactions WHERE public_id = ? AND account_id = ?
			UNION ALL SELECT t.id, t.parent_id FROM up JOIN transactions t ON t.id = up.parent_id),
		down (id) AS (
			SELECT id FROM up WHERE parent_id IS NULL
			UNION ALL SELECT t.id FROM down JOIN transactions t ON t.parent_id = down.id)
		`+selectTransactions+`WHERE t.id IN (SELECT id FROM down) ORDER BY t.id`, id, accountID)
	if err != nil {
		return nil, err
	}
	if len(chain) == 0 {
		return nil, wire.NotFound("transaction", id)
	}
	return chain, nil
}

// Filter selects transactions of an account. A field that is not set excludes no transaction.
type Filter struct {
	ID     string
	CardID string // ignored if ID is set
	Text   string // part of the merchant's name or of a decline's reason; or a text of the card, as in card.Filter
	Type   Type
	// Purchases excludes settlements and refunds, which belong to a purchase.
	Purchases bool
	State     State     // of a purchase; excludes settlements and refunds
	From, To  time.Time // both inclusive
}

// Where returns the condition of the filter on the rows of transactions.
func (f Filter) Where(accountID int64) store.Where {
	var where store.Where
	if f.ID != "" {
		where = store.NewWhere(`account_id = ? AND public_id = ?`, accountID, f.ID)
	} else if f.CardID != "" {
		// The subquery is empty for another account's card, so nothing matches.
		where = store.NewWhere(`card_id = (SELECT c.id FROM cards c WHERE c.public_id = ? AND c.account_id = ?)`, f.CardID, accountID)
	} else {
		where = store.NewWhere(`account_id = ?`, accountID)
	}
	cards := card.Filter{Text: f.Text}.Where(accountID)
	merchantPattern := `%` + store.EscapeLike(f.Text) + `%`
	// Reasons are stored with underscores. A search may contain spaces instead.
	reasonText := strings.ReplaceAll(f.Text, " ", "_")
	reasonPattern := `%` + store.EscapeLike(reasonText) + `%`
	// The plus sign keeps SQLite from using the index of card_id. SQLite then reads the account's transactions in
	// their order instead of sorting those of many cards.
	where = where.AndIf(f.Text != "", `(
		+card_id IN (SELECT c.id FROM cards c `+cards.SQL+`)
		OR merchant_name LIKE ? ESCAPE '\'
		OR decline_reason LIKE ? ESCAPE '\')`, append(cards.Args, merchantPattern, reasonPattern)...)
	return where.AndIf(f.Type != "", `type = ?`, f.Type).
		AndIf(f.Purchases, `state IS NOT NULL`).
		AndIf(f.State != "", `state = ?`, f.State).
		AndIf(!f.From.IsZero(), `id >= (`+firstSince+`)`, accountID, ceilMilli(f.From).UnixMilli()).
		AndIf(!f.To.IsZero(), `id <= (`+lastUntil+`)`, accountID, f.To.UnixMilli())
}

// firstSince selects the first transaction at or after a time, and lastUntil the last one at or before a time. The times
// of an account's transactions never decrease with their ids. The transactions of a period are therefore those from the
// first id to the last. Without such a transaction, the subquery is NULL, and the filter matches nothing.
const (
	firstSince = `
		SELECT p.id FROM transactions p WHERE p.account_id = ? AND p.created_at >= ?
		ORDER BY p.created_at, p.id LIMIT 1`
	lastUntil = `
		SELECT p.id FROM transactions p WHERE p.account_id = ? AND p.created_at <= ?
		ORDER BY p.created_at DESC, p.id DESC LIMIT 1`
)

// upperBound returns an upper bound of the number of transactions that match CardID, From and To: the number of ids
// from the first matching transaction to the last. If none matches, it returns 0.
func (f Filter) upperBound(tx *store.Tx, accountID int64) (int64, error) {
	where := Filter{CardID: f.CardID, From: f.From, To: f.To}.Where(accountID)
	last := `(SELECT id FROM transactions ` + where.SQL + ` ORDER BY id DESC LIMIT 1)`
	first := `(SELECT id FROM transactions ` + where.SQL + ` ORDER BY id LIMIT 1)`
	return store.Value[int64](tx, `SELECT COALESCE(`+last+` - `+first+` + 1, 0)`, slices.Concat(where.Args, where.Args)...)
}

// ceilMilli rounds a time up to whole milliseconds, the precision of stored times.
func ceilMilli(t time.Time) time.Time {
	whole := t.Truncate(time.Millisecond)
	if whole.Before(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}

// Sums are the numbers and the total amounts of some purchases.
type Sums struct {
	Count    int64      `db:"purchases"` // including declines
	Declines int64      `db:"declines"`
	Held     usd.Amount `db:"held"`
	Settled  usd.Amount `db:"settled"`
	Refunded usd.Amount `db:"refunded"`
	Fees     usd.Amount `db:"fees"`
}

// Net returns the settled amount minus the refunded amount.
func (s Sums) Net() usd.Amount { return s.Settled - s.Refunded }

// Sum adds up the purchases that match a filter, in which Purchases must be true. The filter may also set Text, State,
// From and To. If set, From must be the first millisecond of a UTC day, and To the last millisecond of one.
func Sum(tx *store.Tx, accountID int64, f Filter) (Sums, error) {
	var query string
	var where store.Where
	// In both queries, SUM is NULL if there are no rows.
	if f.Text == "" && f.State == "" {
		// Reading the daily sums is much faster than adding up all purchases.
		query = `
			SELECT COALESCE(SUM(purchases), 0), COALESCE(SUM(declines), 0), COALESCE(SUM(held), 0),
				COALESCE(SUM(settled), 0), COALESCE(SUM(refunded), 0), COALESCE(SUM(fees), 0)
			FROM daily_sums `
		where = store.NewWhere(`account_id = ? AND card_id = ?`, accountID, AllCards).
			AndIf(!f.From.IsZero(), `day >= ?`, store.Day(f.From)).
			AndIf(!f.To.IsZero(), `day <= ?`, store.Day(f.To))
	} else {
		query = `
			SELECT COUNT(*), COUNT(*) FILTER (WHERE state = 'declined'),
				COALESCE(SUM(amount) FILTER (WHERE state = 'authorized'), 0),
				COALESCE(SUM(settled), 0), COALESCE(SUM(refunded), 0), COALESCE(SUM(fees), 0)
			FROM transactions `
		where = f.Where(accountID)
	}
	var s Sums
	dest := []any{&s.Count, &s.Declines, &s.Held, &s.Settled, &s.Refunded, &s.Fees}
	_, err := tx.Get(dest, query+where.SQL, where.Args...)
	if err != nil {
		return Sums{}, err
	}
	return s, nil
}

// Day has the sums of the purchases of a UTC day.
type Day struct {
	Day int64 `db:"day"` // a number as in store.Day
	Sums
}

// Days returns the days with purchases of a card, or of AllCards, since a day, oldest first.
func Days(tx *store.Tx, accountID, cardID, since int64) ([]*Day, error) {
	return store.List[Day](tx, `
		SELECT day, purchases, declines, held, settled, refunded, fees FROM daily_sums
		WHERE account_id = ? AND card_id = ? AND day >= ? ORDER BY day`, accountID, cardID, since)
}
