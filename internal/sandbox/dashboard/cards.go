package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func cardsPage() *page {
	return &page{Path: "/cards", Title: "Cards", html: cardsHTML, read: readCards}
}

type cardList struct{ Cards []cardFigures }

// cardFigures is a card with what came of it this month.
type cardFigures struct {
	*card.Card

	Spent   usd.Amount // settled less refunded
	Counted usd.Amount // towards the limit
}

// CardID is for what links to a card.
func (f cardFigures) CardID() string { return f.PublicID }

func readFigures(v *view, c *card.Card) (f cardFigures, err error) {
	f.Card = c
	if f.Spent, err = transaction.Spent(v.Tx, v.Account.ID, c.ID); err != nil {
		return f, err
	}
	f.Counted, err = transaction.Counted(v.Tx, c.ID)
	return f, err
}

func readCards(v *view) (any, error) {
	l := v.list(search("q", "Label or last four digits"), pick("status", "active", "frozen", "terminated"))
	filter := card.Filter{Text: l.text("q"), Status: card.Status(l.text("status"))}
	found, total, err := card.Search(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.showsOf(len(found), total)
	data := new(cardList)
	data.Cards, err = readAllFigures(v, found)
	return data, err
}

func readAllFigures(v *view, cards []*card.Card) (all []cardFigures, err error) {
	for _, c := range cards {
		figures, err := readFigures(v, c)
		if err != nil {
			return nil, err
		}
		all = append(all, figures)
	}
	return all, nil
}
