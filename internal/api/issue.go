package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
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
	Adopted      bool
	LostResponse bool // and the outcome found out
}

// IssueCard issues a card and loads it from the wallet. After a lost response it finds the
// card, or issues it when there is none, or fails with an *UndecidedError with candidates.
func (c *Client) IssueCard(ctx context.Context, request IssueCardRequest) (Issuance, error) {
	operation := "issue a card on BIN " + request.BinID
	if request.Label != "" {
		operation += fmt.Sprintf(" with label %q", request.Label)
	}
	body, invalid := json.Marshal(request)
	label := request.labelOnBIN()
	unlock, err := c.issues.locks.lock(ctx, label)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: nothing was issued, because another card with the same label is being issued: %w", operation, err)
	}
	defer unlock()
	if c.issues.isUndecided(label) {
		return Issuance{}, fmt.Errorf("%s: %w", operation, ErrLabelUndecided)
	}
	baseline, err := c.issues.baselineOf(ctx, c, request.BinID)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: nothing was issued, because the newest cards could not be read first: %w", operation, err)
	}
	var began time.Time // zero when the service does not tell its time
	if c.TellsTime() {
		began = c.ServiceTime()
	}
	reconciliation := &issueReconciliation{client: c, request: request, baseline: baseline, began: began}
	detached, end := c.WithGrace(transport.Verifying(ctx))
	defer end()

	var issuance Issuance
	m := &transport.HookedMutation{
		Kind: transport.MutationIssue, Verify: reconciliation.verify,
		Call: &transport.Call{
			Operation: operation, Method: http.MethodPost, Path: "/cards", Body: body, Invalid: invalid, Budget: ratelimit.Creates,
			Accept: func(body []byte) (err error) {
				if issuance.Card, err = decodeIssuedCard(body); err == nil {
					err = reconciliation.accept(issuance.Card.CardListItem)
				}
				return err
			},
		},
	}
	if request.GeneratedLabel {
		m.AlreadyApplied = reconciliation.isThere
	}
	how, err := c.Mutate(ctx, m)
	if undecided, ok := errors.AsType[*transport.UndecidedError](err); ok {
		c.issues.setUndecided(label)
		undecided.Candidates = reconciliation.candidatesFound()
	}
	if err != nil {
		return Issuance{}, err
	}
	if how.Verified {
		found := CardSummary{CardListItem: reconciliation.found}
		issuance = Issuance{Card: Card{CardSummary: found}, Recovered: true, Adopted: !request.GeneratedLabel}
		how.Lost = true
	}
	issuance.LostResponse = how.Lost
	c.readIssued(detached, &issuance.Card, request.Amount)
	if how.Uncertain && !c.KeysHonoured() {
		issuance.PossibleDuplicates = reconciliation.duplicates(detached, how.Attempts)
	}
	return issuance, nil
}

// readIssued reads a new card, of which one response tells so far, and again for a while
// where its balance is another. Where it cannot be read, the response stands.
func (c *Client) readIssued(ctx context.Context, card *Card, load usd.Amount) {
	for waited := time.Duration(0); ; waited += transport.LookAgainAfter {
		summary, err := c.GetCard(ctx, card.ID)
		if err != nil {
			return
		}
		if summary.Balance == load || summary.Balance == card.Balance || waited >= transport.CommitWait || c.clock.Wait(ctx, transport.LookAgainAfter) != nil {
			card.CardSummary = summary
			return
		}
	}
}

// decodeIssuedCard reads a card that was issued. An error names the card, which may
// have been paid.
func decodeIssuedCard(body []byte) (Card, error) {
	var card Card
	if err := transport.DecodeObject(body, &card, requiredOfCard()...); err != nil {
		var its struct {
			ID string `json:"id"`
		}
		if transport.DecodeObject(body, &its) == nil && its.ID != "" {
			err = fmt.Errorf("the response is about %q, but %w", its.ID, err)
		}
		return Card{}, err
	}
	switch {
	case !transport.IsID(card.ID):
		return Card{}, transport.NoID("id", card.ID)
	case card.BinID != "" && !transport.IsID(card.BinID):
		return Card{}, transport.NoID("bin_id", card.BinID)
	}
	return card, nil
}
