package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// CardFilter selects cards. An empty field selects all cards.
type CardFilter struct {
	Status CardStatus
	BinID  string
}

// CardPage is one page of a list of cards.
type CardPage struct {
	Data    []CardListItem
	Page    int  // according to the response; 0 if it has none
	PerPage int  // according to the response; 0 if it has none
	Total   *int // cards on all pages; nil if the service reports no total, or more than MaxListedCards
	bytes   int  // size of the response
}

// FullPageSize returns how many cards a full page has, as far as the first page shows it. If PerPage is missing or
// seems too high, the result is the number of cards on the page. The method must be called on the first page.
func (p CardPage) FullPageSize() int {
	if p.PerPage <= 0 || p.PerPage > MaxPerPage {
		return len(p.Data)
	}
	if p.Total == nil {
		return p.PerPage
	}
	expected := min(p.PerPage, *p.Total) // cards on the first page, if both numbers are right
	if len(p.Data) < expected {
		return len(p.Data)
	}
	return p.PerPage
}

// ExceedsTotal reports whether this page and the pages before it have more cards than the service counts. It reports
// false for an empty page, and for one without a total. The argument is the number of cards on the pages before this
// one.
func (p CardPage) ExceedsTotal(cardsBefore int) bool {
	if p.Total == nil || len(p.Data) == 0 {
		return false
	}
	return cardsBefore+len(p.Data) > *p.Total
}

// MaxPerPage is the largest page size (API §4.2).
const MaxPerPage = 100

// MaxListedCards is the largest accepted number of cards in a list.
const MaxListedCards = 500_000

// ListCards returns one page of the cards that the service lists for the filter. Pages are counted from 1. The
// requested size must be at most MaxPerPage.
func (c *Client) ListCards(ctx context.Context, filter CardFilter, page, size int) (CardPage, error) {
	query := url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(size)}}
	setQuery(query, "status", string(filter.Status))
	setQuery(query, "bin_id", filter.BinID)
	var result CardPage
	err := c.Read(ctx, &transport.Call{
		Operation: "list cards",
		Method:    http.MethodGet,
		Path:      "/cards",
		Query:     query,
		Accept: func(body []byte) error {
			cards, envelope, err := transport.DecodeList[CardListItem](body, requiredCardFields()...)
			if err != nil {
				return err
			}
			result = CardPage{
				Data:    cards,
				Page:    int(envelope.Page),
				PerPage: int(envelope.PerPage),
				bytes:   len(body),
			}
			if envelope.Total != nil && *envelope.Total <= MaxListedCards {
				total := int(*envelope.Total)
				result.Total = &total
			}
			return nil
		},
	})
	return result, err
}

// GetCard reads one card. If the service does not yet show the status that this process set last, GetCard reads the
// card again for some time.
func (c *Client) GetCard(ctx context.Context, id string) (CardSummary, error) {
	var card CardSummary
	call := c.cardCall("read card "+id, http.MethodGet, id, "")
	call.Accept = func(body []byte) error {
		err := decodeCard(body, id, &card, requiredCardFields()...)
		if err != nil {
			return err
		}
		if !c.recent.mayBeCurrent(card, c.clock.Now()) {
			return transport.ErrNotShown
		}
		return nil
	}
	err := c.Read(ctx, call)
	if err != nil {
		return CardSummary{}, err // without the card of an attempt that was not accepted
	}
	return card, nil
}

// AwaitCard is GetCard for a card that may have been issued shortly before New made this client. If the service does
// not find the card, AwaitCard reads it again until the grace period, which started when New made the client, is over.
func (c *Client) AwaitCard(ctx context.Context, id string, grace time.Duration) (CardSummary, error) {
	until := c.startedAt.Add(grace)
	c.recent.update(id, func(card *recentCard) {
		if card.newUntil.Before(until) {
			card.newUntil = until
		}
	})
	return c.GetCard(ctx, id)
}

// setQuery sets a query parameter unless the value is empty.
func setQuery(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// isBadRequest reports whether an error is a 400 or 422 response.
func isBadRequest(err error) bool {
	refused, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return false
	}
	return refused.Status == http.StatusBadRequest || refused.Status == http.StatusUnprocessableEntity
}

// CardDetails is the card data that a payment needs.
type CardDetails struct {
	PAN      transport.Secret `json:"pan"` // full card number
	CVV      transport.Secret `json:"cvv"`
	ExpMonth int              `json:"exp_month"`
	ExpYear  int              `json:"exp_year"`
}

// CardDetails reads the number, CVV and expiry of a card. The service allows 30 such requests per minute (API §8).
func (c *Client) CardDetails(ctx context.Context, id string) (CardDetails, error) {
	var details CardDetails
	call := c.cardCall("read the details of card "+id, http.MethodGet, id, "/details")
	call.Budget = ratelimit.Details
	call.Secret = true
	call.Accept = func(body []byte) error {
		return decodeCard(body, id, &details, "id", "pan", "cvv", "exp_month", "exp_year")
	}
	err := c.Read(ctx, call)
	if err != nil {
		return CardDetails{}, err
	}
	if details.ExpYear < 100 { // some services send two digits
		details.ExpYear += 2000
	}
	return details, nil
}
