package transaction

import (
	"errors"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Routes is API §4.10, and what merchants do.
func Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Path: wire.API + "/transactions", Handle: list},
		{Method: http.MethodPost, Path: wire.Control + "/authorizations", Handle: authorize},
		{Method: http.MethodPost, Path: wire.Control + "/settlements", Handle: settle},
		{Method: http.MethodPost, Path: wire.Control + "/refunds", Handle: refund},
	}
}

type listView struct {
	Data []Transaction `json:"data"`
	Page int64         `json:"page"`
}

func list(c *wire.Call) (wire.Reply, error) {
	query := c.Query()
	cardID := query.Text("card_id")
	s := scope{
		accountID: c.Account.ID,
		kind:      Type(query.Choice("type", string(Authorization), string(Settlement), string(Refund), string(Decline))),
	}
	from, to := query.Span()
	if c.Quirks.TransactionsPerPage == quirk.Ignored {
		query.Skip("per_page")
	}
	page := query.Page()
	if err := query.Done(); err != nil {
		return wire.Reply{}, err
	}
	if cardID != "" {
		filter, err := card.ByPublicID(c.Tx, c.Account.ID, cardID)
		if _, unknown := errors.AsType[*wire.Error](err); unknown { // a filter that nothing passes
			return wire.OK(listView{[]Transaction{}, page.Number}), nil
		}
		if err != nil {
			return wire.Reply{}, err
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
