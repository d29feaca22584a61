package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func cardsPage() *page {
	return &page{Path: "/cards", Title: "Cards", template: "cards", read: readCards, csv: true}
}

type cardList struct {
	*list

	Cards []cardFigures
}

// cardFigures is a card with what it was loaded with and has spent.
type cardFigures struct {
	*card.Card

	Loaded usd.Amount
	Spent  usd.Amount // this month
}

func readFigures(v *view, c *card.Card) (f cardFigures, err error) {
	f.Card = c
	if f.Loaded, err = activity.Loaded(v.Tx, c.ID); err != nil {
		return cardFigures{}, err
	}
	f.Spent, err = transaction.SpentThisMonth(v.Tx, c.ID)
	return f, err
}

func readCards(v *view) (any, error) {
	l := v.list(search("Label or last four digits"), pick("status", "active", "frozen", "terminated"))
	filter := card.Filter{Text: l.text("q"), Status: card.Status(l.text("status"))}
	filter.Sort, filter.Descending = l.order()
	found, total, err := card.Search(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	data := cardList{list: l}
	l.showsOf(len(found), total)
	for _, c := range found {
		figures, err := readFigures(v, c)
		if err != nil {
			return nil, err
		}
		data.Cards = append(data.Cards, figures)
	}
	return data, nil
}

// Header makes cardList a table.
func (cardList) Header() []string {
	return []string{"id", "label", "last4", "status", "bin_id", "balance", "loaded", "spent_this_month", "spending_limit", "issued"}
}

// Rows makes cardList a table.
func (l cardList) Rows() (rows [][]string) {
	for _, c := range l.Cards {
		rows = append(rows, []string{
			c.PublicID, cell(c.Label), c.Last4, string(c.Status), c.BINID, c.Balance.String(), c.Loaded.String(), c.Spent.String(),
			c.SpendingLimit.String(), timestamp(c.CreatedAt),
		})
	}
	return rows
}
