package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// CardStatus is the state of a card, in lower case. Values that this client does
// not know are carried through.
type CardStatus string

// UnmarshalJSON reads a status in any case: a frozen card must not be taken for
// one that is not.
func (s *CardStatus) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	*s = CardStatus(strings.ToLower(text))
	return err
}

// The documented states (API §3).
const (
	StatusActive     CardStatus = "active"
	StatusFrozen     CardStatus = "frozen"
	StatusTerminated CardStatus = "terminated"
)

// CardListItem is a card as lists show it. Amounts are in USD.
type CardListItem struct {
	ID            string     `json:"id"`
	BinID         string     `json:"bin_id"`
	Network       string     `json:"network"`
	Last4         string     `json:"last4"`
	Status        CardStatus `json:"status"`
	Balance       usd.Amount `json:"balance"`
	SpendingLimit usd.Amount `json:"spending_limit"` // a month
	Label         string     `json:"label"`
}

// CardSummary is a card as its own address shows it.
type CardSummary struct {
	CardListItem
	CreatedAt Timestamp `json:"created_at"`
}

// Card is a card as its issuance shows it.
type Card struct {
	CardSummary
	AllowedCategories []string    `json:"allowed_categories"`
	AutoFreezeAt      *usd.Amount `json:"auto_freeze_at"` // USD; nil when unset
	Metadata          Metadata    `json:"metadata"`
	ExpiresAt         string      `json:"expires_at"` // YYYY-MM-DD
}

// CanonicalLabel is the same for labels of which the service may have made one
// another, by trimming them.
func CanonicalLabel(label string) string { return reconcile.CanonicalLabel(label) }

// CardFilter selects cards; empty fields select all.
type CardFilter struct {
	Status CardStatus
	BinID  string
}

// Page asks for one page of a list. Zero leaves the choice to the service:
// page 1 of 25 entries.
type Page struct {
	Number  int
	PerPage int // at most 100
}

// CardPage is one page of cards, newest first.
type CardPage struct {
	Data    []CardListItem
	Page    int
	PerPage int
	Total   *int // cards in all pages; nil when the service does not say
}

// Size is how many cards a full page has, whatever the service says.
func (p CardPage) Size() int {
	if p.PerPage <= 0 || p.Total != nil && len(p.Data) < min(p.PerPage, *p.Total) {
		return len(p.Data)
	}
	return p.PerPage
}

// MaxPerPage is the most that a page holds (API §4).
const MaxPerPage = 100

// requiredOfCard lists what every card of a response must have: one without its
// BIN or limit must not read as a card that has changed.
func requiredOfCard() []string {
	return []string{"id", "status", "balance", "bin_id", "spending_limit"}
}

// ListCards returns one page of the cards that the filter selects.
func (c *Client) ListCards(ctx context.Context, filter CardFilter, page Page) (CardPage, error) {
	query := url.Values{}
	setQuery(query, "status", string(filter.Status))
	setQuery(query, "bin_id", filter.BinID)
	if page.Number > 0 {
		query.Set("page", strconv.Itoa(page.Number))
	}
	if page.PerPage > 0 {
		query.Set("per_page", strconv.Itoa(page.PerPage))
	}
	var result CardPage
	err := c.read(ctx, &call{
		operation: "list cards", method: http.MethodGet, path: "/cards", query: query,
		eager: true, // many cards wait for one page
		accept: func(body []byte) error {
			cards, envelope, err := decodeList[CardListItem](body, requiredOfCard()...)
			result = CardPage{Data: cards, Page: envelope.Page, PerPage: envelope.PerPage, Total: envelope.Total}
			return err
		},
	})
	return result, err
}

// GetCard reads one card by a request of its own. One that was just issued, frozen,
// unfrozen or terminated by this process is read again for a while when the service
// does not show that yet.
func (c *Client) GetCard(ctx context.Context, id string) (CardSummary, error) {
	var card CardSummary
	path, err := cardPath(id, "")
	if err != nil {
		return card, err
	}
	err = c.read(ctx, &call{
		card: id, operation: "read card " + id, method: http.MethodGet, path: path,
		accept: func(body []byte) error {
			card = CardSummary{}
			if err := decodeObject(body, &card, requiredOfCard()...); err != nil {
				return err
			}
			if err := sameCard(id, card.ID); err != nil {
				return err
			}
			if !c.recent.shows(card, c.clock.Now(), c.serviceTime()) {
				return errNotShown
			}
			return nil
		},
	})
	return card, err
}

// AwaitCard is GetCard for a card that another process has issued a moment ago, or
// whose last movement, of this anchor, it has made.
func (c *Client) AwaitCard(ctx context.Context, id string, anchor *reconcile.Anchor) (CardSummary, error) {
	c.recent.update(id, func(card *recentCard) {
		until := c.clock.Now().Add(reconcile.StaleFor)
		card.newUntil, card.anchor, card.anchorUntil = until, anchor, until
	})
	return c.GetCard(ctx, id)
}

// cardPath builds the path of a card, or of an action on it such as "/freeze".
func cardPath(id, action string) (string, error) {
	const longest = 256
	if id == "" || id == "." || id == ".." || len(id) > longest {
		return "", fmt.Errorf("%.40q is not a card id; card ids look like card_… and are shown in the dashboard", id)
	}
	return "/cards/" + url.PathEscape(id) + action, nil
}

// sameCard guards against a response about another card.
func sameCard(requested, received string) error {
	if requested != received {
		return errors.New("the response is about another card")
	}
	return nil
}

func setQuery(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}
