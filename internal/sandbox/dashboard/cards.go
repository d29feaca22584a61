package dashboard

import (
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func cardsPage() *page {
	return &page{Path: "/cards", Title: "Cards", template: "cards", read: readCards}
}

type cardList struct {
	Rows   []cardFigures
	Paging paging
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
	page := readPage(v.Query)
	found, total, err := card.Search(v.Tx, v.Account.ID, card.Filter{
		Text: strings.TrimSpace(v.Query.Get("q")), Status: card.Status(v.Query.Get("status")),
	}, page)
	if err != nil {
		return nil, err
	}
	list := cardList{Paging: newPaging(v.Query, page, len(found), page.Offset()+int64(len(found)) < total)}
	list.Paging.Total = total
	for _, c := range found {
		figures, err := readFigures(v, c)
		if err != nil {
			return nil, err
		}
		list.Rows = append(list.Rows, figures)
	}
	return list, nil
}
