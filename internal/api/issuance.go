package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What issuing a card takes (API §8).
const (
	MinimumLoad = 50 * usd.Dollar // the initial load, at least
	IssuanceFee = 1 * usd.Dollar  // on top of the load
)

// IssueCardRequest asks for a card. Amounts are in USD.
type IssueCardRequest struct {
	BinID             string            `json:"bin_id"`
	Amount            usd.Amount        `json:"amount"` // initial load; the service adds a fee of 1.00
	Label             string            `json:"label,omitempty"`
	SpendingLimit     *usd.Amount       `json:"spending_limit,omitempty"` // a month; nil is the BIN's maximum
	AllowedCategories []string          `json:"allowed_categories,omitzero"`
	AutoFreezeAt      *usd.Amount       `json:"auto_freeze_at,omitempty"`
	Metadata          map[string]string `json:"metadata,omitzero"`
	// GeneratedLabel says that no other card has this label, so that it alone
	// tells the card after a lost answer.
	GeneratedLabel bool `json:"-"`
}

// Issuance is a card that was issued.
type Issuance struct {
	Card Card
	// Recovered says that the answer was lost and the card was found afterwards:
	// AllowedCategories, AutoFreezeAt, Metadata and ExpiresAt are not known.
	Recovered bool
	// PossibleDuplicates are further new cards that look like this one and that
	// nobody has asked for, left over by a request that took effect twice.
	PossibleDuplicates []CardListItem
}

// IssueCard issues a card and loads it from the wallet. When an answer is lost
// it finds the card that was issued, or issues it once more when there is none.
// When it cannot tell, the error is an *UnknownOutcomeError with candidates.
func (c *Client) IssueCard(ctx context.Context, request IssueCardRequest) (Issuance, error) {
	operation := "issue a card on BIN " + request.BinID
	if request.Label != "" {
		operation += fmt.Sprintf(" with label %q", request.Label)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: %w", operation, err)
	}
	before, err := c.issued.before(ctx, c, request.BinID)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: nothing was issued, because the newest cards could not be read first: %w", operation, err)
	}
	search := &search{client: c, request: request, body: string(body), before: before}
	if err := search.join(ctx); err != nil {
		return Issuance{}, fmt.Errorf("%s: waiting for cards that look the same: %w", operation, err)
	}
	defer search.leave()

	for keys := 0; ; keys++ {
		var card Card
		x := &call{
			operation: operation, method: http.MethodPost, path: "/cards", body: body, budget: createBudget,
			accept: func(body []byte) error {
				card = Card{}
				return decodeObject(body, &card, "id", "status", "balance")
			},
		}
		how, err := c.change(ctx, &change{call: x, look: search.look})
		switch {
		case err != nil:
			return Issuance{}, search.giveUp(unknownOutcome(x, how, err, search.advice()))
		case how.seen:
			issuance := c.recoveredIssuance(ctx, search.found)
			issuance.PossibleDuplicates = search.leftOver(ctx, how.tries)
			return issuance, nil
		case c.issued.claim(card.ID):
			issuance := Issuance{Card: card}
			if how.doubts {
				issuance.PossibleDuplicates = search.leftOver(ctx, how.tries)
			}
			return issuance, nil
		case keys == c.maxRetries:
			return Issuance{}, fmt.Errorf("%s: the service has answered with card %s, which was issued for another request, again and again; nothing else is known to be issued", operation, card.ID)
		}
		// The answer was for a card that another call has found and taken for its
		// own, so this call has none yet and asks for it under a new key.
	}
}

// recoveredIssuance fills in what a list does not show, as far as can be read.
func (c *Client) recoveredIssuance(ctx context.Context, found CardListItem) Issuance {
	issuance := Issuance{Card: Card{CardSummary: CardSummary{CardListItem: found}}, Recovered: true}
	if summary, err := c.GetCard(ctx, found.ID); err == nil {
		issuance.Card.CardSummary = summary
	}
	return issuance
}

// giveUp adds the candidates to an unknown outcome.
func (s *search) giveUp(err error) error {
	if unknown, ok := errors.AsType[*UnknownOutcomeError](err); ok {
		unknown.Candidates = s.candidates
		s.inDoubt = true
	}
	return err
}

func (s *search) advice() string {
	if len(s.candidates) == 0 {
		return "look for a new card on BIN " + s.request.BinID + " in the dashboard before issuing it again"
	}
	ids := make([]string, len(s.candidates))
	for i, card := range s.candidates {
		ids[i] = card.ID
	}
	return "these cards may be the one: " + strings.Join(ids, ", ") + "; import the right one, and terminate what nobody needs"
}
