package card

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func summary(c *server.Call) (wire.Response, error) {
	card, err := visible(c, find)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(card.summary()), nil
}

func details(c *server.Call) (wire.Response, error) {
	card, err := visible(c, findUsable)
	if err != nil {
		return wire.Response{}, err
	}
	view := detailsView{
		ID:       card.PublicID,
		PAN:      c.Keys.PAN(card.PublicID),
		CVV:      c.Keys.CVV(card.PublicID),
		ExpMonth: int(card.ExpiresAt.Month()),
		ExpYear:  card.ExpiresAt.Year(),
	}
	if c.Quirks.ExpYearDigits == 2 {
		view.ExpYear %= 100
	}
	return wire.OK(view), nil
}

// newestVisible is when the newest card was issued that reads and lists show.
func newestVisible(c *server.Call) time.Time {
	return c.Tx.Now().Add(-time.Duration(c.Quirks.CardsHiddenSeconds) * time.Second)
}

// visible returns the card that find finds, unless reads do not show it yet.
func visible(c *server.Call, find func(*server.Call) (*Card, error)) (*Card, error) {
	card, err := find(c)
	if err == nil && card.CreatedAt.After(newestVisible(c)) {
		return nil, wire.NotFound("card", card.PublicID)
	}
	return card, err
}

func list(c *server.Call) (wire.Response, error) {
	query := c.Query()
	filter := Filter{
		Status: Status(query.Choice("status", string(Active), string(Frozen), string(Terminated))),
		BINID:  query.Text("bin_id"),
	}
	page := query.Page()
	page.Size = min(page.Size, c.Quirks.CardsPerPage)
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	if c.Quirks.CardsHiddenSeconds > 0 {
		filter.Until = newestVisible(c)
	}
	cards, total, err := Search(c.Tx, c.Account.ID, filter, page)
	if err != nil {
		return wire.Response{}, err
	}
	items := make([]listItem, len(cards))
	for i, card := range cards {
		if _, err := card.Shown(c); err != nil {
			return wire.Response{}, err
		}
		items[i] = card.item()
	}
	view := listView{Data: items, Page: page.Number, PerPage: page.Size}
	if c.Quirks.CardsTotal == behavior.Present {
		view.Total = &total
	}
	return wire.OK(view), nil
}
