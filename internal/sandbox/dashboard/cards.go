package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func cardsPage() *page {
	return &page{
		Path: "/cards", Title: "Cards", html: cardsHTML, read: readCards,
		csv: []string{"id", "label", "last4", "status", "bin_id", "balance", "loaded", "spent_this_month", "spending_limit", "issued"},
	}
}

type cardList struct{ Cards []cardFigures }

// cardFigures is a card with what it was loaded with and has spent.
type cardFigures struct {
	*card.Card

	Loaded usd.Amount
	Spent  usd.Amount // this month
}

func readFigures(v *view, c *card.Card) cardFigures {
	return cardFigures{c, activity.Loaded(v.Tx, c.ID), transaction.SpentThisMonth(v.Tx, c.ID)}
}

func readCards(v *view) (any, error) {
	l := v.list(search("Label or last four digits"), pick("status", "active", "frozen", "terminated"))
	filter := card.Filter{Text: l.text("q"), Status: card.Status(l.text("status"))}
	filter.Sort, filter.Descending = l.order()
	found, total := card.Search(v.Tx, v.Account.ID, filter, l.page)
	l.showsOf(len(found), total)
	data := new(cardList)
	for _, c := range found {
		f := readFigures(v, c)
		data.Cards = append(data.Cards, f)
		v.rows = append(v.rows, []string{
			c.PublicID, cell(c.Label), c.Last4, string(c.Status), c.BINID, c.Balance.String(), f.Loaded.String(), f.Spent.String(),
			c.SpendingLimit.String(), timestamp(c.CreatedAt.Time),
		})
	}
	return data, nil
}
