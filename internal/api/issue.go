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
	// How is Found where the response was lost and the card was found afterwards: ExpiresAt is
	// not known then. Unless its label was generated, that card may be another's.
	How How
	// PossibleDuplicates are further new cards that look like this one and that no request of this
	// process asked for. A request that took effect twice may have left them.
	PossibleDuplicates []CardListItem
}

// IssueCard issues a card and loads it from the wallet. After a lost response it finds the
// card, or issues it when there is none, or fails with an *UndecidedError with candidates.
// Cards of one label are issued one after the other.
func (c *Client) IssueCard(ctx context.Context, request IssueCardRequest) (Issuance, error) {
	operation := "issue a card on BIN " + request.BinID
	if request.Label != "" {
		operation += fmt.Sprintf(" with label %q", request.Label)
	}
	label := request.labelOnBIN()
	unlock, err := c.issues.locks.lock(ctx, label)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: nothing was issued, because another card with the same label is being issued: %w", operation, err)
	}
	defer unlock()
	if c.issues.isUndecided(label) {
		return Issuance{}, fmt.Errorf("%s: %w", operation, ErrLabelUndecided)
	}
	c.issues.addRequested(request.Label)
	baseline, err := c.issues.baselineOf(ctx, c, request.BinID)
	if err != nil {
		return Issuance{}, fmt.Errorf("%s: nothing was issued, because the newest cards could not be read first: %w", operation, err)
	}
	search := &issueSearch{client: c, request: request, baseline: baseline}
	if c.KnowsServiceTime() {
		search.began = c.ServiceTime()
	}

	var response Card
	body, invalid := json.Marshal(request)
	m, end, err := c.Begin(ctx, &transport.Call{
		Kind: transport.MutationIssue, Operation: operation, Method: http.MethodPost, Path: "/cards", Body: body, Invalid: invalid,
		Budget: ratelimit.Creates,
		Accept: func(body []byte) error {
			var err error
			response, err = decodeIssuedCard(body)
			if err != nil {
				return err
			}
			return search.accept(response.CardSummary)
		},
	}, "")
	if err != nil {
		return Issuance{}, err
	}
	defer end()

	issuance := Issuance{How: Found}
	found, err := search.issue(m)
	undecided, isUndecided := errors.AsType[*transport.UndecidedError](err)
	if isUndecided {
		c.issues.setUndecided(label)
		undecided.Candidates = search.candidatesFound()
	}
	if err != nil {
		return Issuance{}, err
	}
	if found == nil {
		issuance.How = AnsweredBy(m)
		issuance.Card = response
	} else {
		issuance.Card.CardListItem = *found
	}
	c.readIssued(m.Context(), &issuance.Card, request.Amount)
	if m.Lost && !c.KeysHonoured() {
		issuance.PossibleDuplicates = search.duplicates(m.Context(), m.Attempts())
	}
	return issuance, nil
}

// issue sends a request, and looks for the card before it sends it again. The card is nil
// where a response has told it.
func (s *issueSearch) issue(m *transport.Mutation) (*CardListItem, error) {
	for {
		fate, failure := m.Try()
		if fate == transport.Done {
			return nil, nil
		}
		responded := m.Answered() || isAboutCard(failure)
		if s.request.GeneratedLabel && responded { // the label alone tells the card
			found := s.findGenerated(m.Context())
			if found != nil {
				return found, nil
			}
		}
		if fate == transport.NotDone {
			return nil, failure
		}
		err := m.WaitForCommit()
		if err != nil {
			return nil, m.Undecided(fmt.Errorf("%w; verifying did not decide it: %w", failure, err))
		}
		found, err := s.find(m.Context())
		if err != nil {
			return nil, m.Undecided(fmt.Errorf("%w; verifying did not decide it: %w", failure, err))
		}
		if found != nil {
			return found, nil
		}
		if m.Again() {
			continue
		}
		refusal, isRefusal := errors.AsType[*transport.Error](failure)
		if m.Answered() || isRefusal && refusal.IsAboutKey() {
			return nil, m.Undecided(fmt.Errorf("%w; the card that was asked for was looked for, and is not to be seen", failure))
		}
		return nil, m.GaveUp()
	}
}

// readIssued reads a new card, of which one response tells so far, and again for a while
// where its balance is another. Where it cannot be read, the response stands.
func (c *Client) readIssued(ctx context.Context, card *Card, load usd.Amount) {
	for waited := time.Duration(0); ; waited += transport.PollInterval {
		summary, err := c.GetCard(ctx, card.ID)
		if err != nil {
			return
		}
		expected := summary.Balance == load || summary.Balance == card.Balance
		if expected || waited >= transport.CommitWait || c.clock.Wait(ctx, transport.PollInterval) != nil {
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
		var named struct {
			ID string `json:"id"`
		}
		if transport.DecodeObject(body, &named) == nil && named.ID != "" {
			err = fmt.Errorf("the response is about %q, but %w", named.ID, err)
		}
		return Card{}, err
	}
	switch {
	case !transport.IsID(card.ID):
		return Card{}, transport.InvalidID("id", card.ID)
	case card.BinID != "" && !transport.IsID(card.BinID):
		return Card{}, transport.InvalidID("bin_id", card.BinID)
	}
	return card, nil
}
