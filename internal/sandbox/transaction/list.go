package transaction

import (
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
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
	kind := query.Choice("type", string(Authorization), string(Settlement), string(Refund), string(Decline))
	lasting := 24*time.Hour - time.Millisecond
	switch c.Quirks.TransactionPeriod {
	case behavior.Midnights:
		lasting = 0
	case behavior.DatesOnly:
		query.Date("from")
		query.Date("to")
	}
	from, to := query.Period(lasting)
	switch c.Quirks.TransactionsPerPage {
	case behavior.Ignored:
		query.Skip("per_page")
	case behavior.Refused:
		query.Unknown("per_page")
	}
	page := query.Page()
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	where := Filter{CardID: cardID, Type: Type(kind), From: from, To: to}.Where(c.Account.ID)
	// The ids first, from an index alone: rows that the offset skips are never read.
	data, err := store.Select(c.Tx, scan, columns+`
		WHERE t.id IN (SELECT id FROM transactions `+where.SQL+` ORDER BY id DESC LIMIT ? OFFSET ?) ORDER BY t.id DESC`,
		append(where.Args, page.Size, page.Offset())...)
	for i := range data {
		data[i].sign(c.Quirks.TransactionSigns)
	}
	return wire.OK(listView{data, page.Number}), err
}

// sign writes amounts with the signs of a statement.
func (t *Transaction) sign(signs string) {
	switch {
	case signs == behavior.Spending:
		t.Fee = -t.Fee
		if t.Type != Refund {
			t.Amount = -t.Amount
		}
	case signs == behavior.Refunds && t.Type == Refund:
		t.Amount = -t.Amount
	}
}

// Chain returns the transactions of the purchase that one of them names, from the
// authorization on.
func Chain(tx *store.Tx, accountID int64, id string) ([]Transaction, error) {
	chain, err := store.Select(tx, scan, `
		WITH RECURSIVE
		up (id, parent_id) AS (
			SELECT id, parent_id FROM transactions WHERE public_id = ? AND account_id = ?
			UNION ALL SELECT t.id, t.parent_id FROM up JOIN transactions t ON t.id = up.parent_id),
		down (id) AS (
			SELECT id FROM up WHERE parent_id IS NULL
			UNION ALL SELECT t.id FROM down JOIN transactions t ON t.parent_id = down.id)
		`+columns+`WHERE t.id IN (SELECT id FROM down) ORDER BY t.id`, id, accountID)
	if err == nil && len(chain) == 0 {
		return nil, wire.NotFound("transaction", id)
	}
	return chain, err
}
