package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
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
	// tells the card after a lost response.
	GeneratedLabel bool `json:"-"`
}

// Issuance is a card that was issued.
type Issuance struct {
	Card Card
	// Recovered says that the response was lost and the card was found afterwards:
	// ExpiresAt is not known.
	Recovered bool
	// PossibleDuplicates are further new cards that look like this one and that
	// nobody has asked for, left over by a request that took effect twice.
	PossibleDuplicates []CardListItem
	// Adopted says that the card was recovered by a label that others may use too,
	// so that it may be another's.
	Adopted bool
	// LostResponse says that a response was lost, and the outcome found out.
	LostResponse bool
}

// IssueCard issues a card and loads it from the wallet. When a response is lost
// it finds the card that was issued, or issues it once more when there is none.
// When it cannot tell, the error is an *UndecidedError with candidates.
func (c *Client) IssueCard(ctx context.Context, request IssueCardRequest) (Issuance, error) {
	operation := "issue a card on BIN " + request.BinID
	if request.Label != "" {
		operation += fmt.Sprintf(" with label %q", request.Label)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: %w", operation, err)
	}
	baseline, err := c.issues.baselineOf(ctx, c, request.BinID)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: nothing was issued, because the newest cards could not be read first: %w", operation, err)
	}
	var began time.Time // zero when the service does not tell its time
	if c.tellsTime.Load() {
		began = c.serviceTime()
	}
	reconciliation := &issueReconciliation{client: c, request: request, body: string(body), baseline: baseline, began: began}
	if err := reconciliation.join(ctx); err != nil {
		return Issuance{}, fmt.Errorf("%s: waiting for cards that look the same: %w", operation, err)
	}
	defer reconciliation.leave()
	detached, end := withGrace(verifying(ctx), 2*c.config.RequestTimeout+c.config.CommitWait)
	defer end()

	for keys := 0; ; keys++ {
		var card Card
		issue := &call{
			operation: operation, method: http.MethodPost, path: "/cards", body: body, budget: ratelimit.Creates,
			accept: func(body []byte) (err error) {
				if card, err = decodeIssuedCard(body); err == nil && baseline.ids[card.ID] {
					err = fmt.Errorf("the response is about card %s, which was issued before", card.ID)
				}
				return err
			},
		}
		key := uuid.NewString()
		m := &mutation{kind: MutationIssue, call: issue, key: key, verify: reconciliation.verify}
		if request.GeneratedLabel {
			m.alreadyApplied = reconciliation.isThere
		}
		how, err := c.mutate(ctx, m)
		if err == nil && !how.verified && request.isOther(card.CardListItem) {
			how.verified = reconciliation.findInPlaceOf(detached, card.ID)
		}
		if err == nil && !how.verified && !c.recent.claim(card.CardListItem, c.clock.Now()) {
			// The response is another call's, and this call's card may be there all the same.
			switch o := reconciliation.verify(detached); {
			case o.state == notApplied && keys < c.config.MaxRetries:
				continue
			case o.state == notApplied:
				err = fmt.Errorf("%s: the service has responded with card %s, which was issued for another request, again and again; nothing else is known to be issued", operation, card.ID)
			case o.state == undecided:
				err = &UndecidedError{Kind: MutationIssue, Operation: operation, Key: key, Attempts: how.attempts, SentAt: c.serviceTime(), Err: o.reason}
			}
			how.verified = true
		}
		if err != nil {
			return Issuance{}, reconciliation.giveUp(err)
		}
		issuance := Issuance{Card: card}
		if how.verified {
			issuance = c.recoveredIssuance(detached, reconciliation.found)
			issuance.Adopted = !request.GeneratedLabel
			how.lost = true
		}
		issuance.LostResponse = how.lost
		if how.verified || how.uncertain && !c.config.KeysHonoured {
			issuance.PossibleDuplicates = reconciliation.duplicates(detached, how.attempts)
		}
		return issuance, nil
	}
}

// decodeIssuedCard reads a card that was issued. An error names the card, which may
// have been paid.
func decodeIssuedCard(body []byte) (Card, error) {
	var card Card
	if err := decodeObject(body, &card, requiredOfCard()...); err != nil {
		var its struct {
			ID string `json:"id"`
		}
		if decodeObject(body, &its) == nil && its.ID != "" {
			err = fmt.Errorf("the response is about %q, but %w", its.ID, err)
		}
		return Card{}, err
	}
	switch {
	case !IsID(card.ID):
		return Card{}, noID("id", card.ID)
	case card.BinID != "" && !IsID(card.BinID):
		return Card{}, noID("bin_id", card.BinID)
	}
	return card, nil
}

// recoveredIssuance fills in what a list does not show, as far as can be read.
func (c *Client) recoveredIssuance(ctx context.Context, found CardListItem) Issuance {
	issuance := Issuance{Card: Card{CardSummary: CardSummary{CardListItem: found}}, Recovered: true}
	if summary, err := c.GetCard(ctx, found.ID); err == nil {
		issuance.Card.CardSummary = summary
	}
	return issuance
}
