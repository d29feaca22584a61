package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The documented amounts of an issuance (API §8).
const (
	MinimumLoad = 50 * usd.Dollar // smallest initial load
	IssuanceFee = 1 * usd.Dollar  // charged on top of the load
)

// IssueCardRequest describes the card to issue. Amounts are in USD.
type IssueCardRequest struct {
	BinID             string            `json:"bin_id"`
	Amount            usd.Amount        `json:"amount"` // initial load, without the fee
	Label             string            `json:"label,omitempty"`
	SpendingLimit     *usd.Amount       `json:"spending_limit,omitempty"` // per month; nil means the BIN's maximum
	AllowedCategories []string          `json:"allowed_categories,omitzero"`
	AutoFreezeAt      *usd.Amount       `json:"auto_freeze_at,omitempty"`
	Metadata          map[string]string `json:"metadata,omitzero"`
	// GeneratedLabel reports whether the label was generated for this request. Then it is unique, and identifies the
	// card after a lost response.
	GeneratedLabel bool `json:"-"`
}

// Issuance is a card that was issued.
type Issuance struct {
	Card Card
	// How is Found if the card was found in a list. Then its ExpiresAt is not known. Unless the label was generated,
	// someone else may have issued that card.
	How How
	// PossibleDuplicates are other new cards that look like this one. A request that took effect twice may have issued
	// them.
	PossibleDuplicates []CardListItem
}

// IssueCard issues a card and loads it from the wallet. After a lost response, it looks for the card before it sends
// the request again. But if keys are honoured, it first repeats the request with the same key, and then looks for the
// card. If it returns a *transport.UndecidedError, which lists any candidates, later calls for the same BIN and label
// return ErrLabelUndecided. Cards with the same label on one BIN are issued one after the other.
func (c *Client) IssueCard(ctx context.Context, request IssueCardRequest) (Issuance, error) {
	labelOnBIN := request.labelOnBIN()
	unlock, err := c.issues.locks.lock(ctx, labelOnBIN)
	if err != nil {
		return Issuance{}, fmt.Errorf("nothing was issued, because waiting for other cards with the same label failed: %w", err)
	}
	defer unlock()
	if c.issues.isUndecided(labelOnBIN) {
		return Issuance{}, ErrLabelUndecided
	}
	c.issues.addRequested(request.Label)
	baseline, err := c.issues.baselineOf(ctx, c, request.BinID)
	if err != nil {
		return Issuance{}, fmt.Errorf("nothing was issued: %w", err)
	}
	search := &issueSearch{client: c, request: request, baseline: baseline}
	if c.KnowsServiceTime() {
		search.beganAt = c.ServiceTime()
	}

	operation := "issue a card on BIN " + request.BinID
	if request.Label != "" {
		operation += fmt.Sprintf(" with label %q", request.Label)
	}
	var response Card
	body, err := json.Marshal(request)
	if err != nil {
		return Issuance{}, err
	}
	m, end, err := c.Begin(ctx, &transport.Call{
		Kind:      transport.MutationIssue,
		Operation: operation,
		Method:    http.MethodPost,
		Path:      "/cards",
		Body:      body,
		Budget:    ratelimit.Creates,
		Accept: func(body []byte) error {
			var err error
			response, err = decodeIssuedCard(body)
			if err != nil {
				return err
			}
			return search.accept(response.CardSummary)
		},
	}, newKey)
	if err != nil {
		return Issuance{}, err
	}
	defer end()

	found, err := search.issue(m)
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if ok {
		c.issues.setUndecided(labelOnBIN)
		undecided.Candidates = search.candidatesFound()
	}
	if err != nil {
		return Issuance{}, err
	}
	var issuance Issuance
	if found == nil { // the response describes the card
		issuance.How = HowAnswered(m)
		issuance.Card = response
	} else {
		issuance.How = Found
		issuance.Card.CardListItem = *found
	}
	c.readIssued(m.GraceContext(), &issuance.Card, request.Amount)
	if m.Lost && !c.KeysHonoured() { // with honoured keys, a repeated request issues no second card
		issuance.PossibleDuplicates = search.duplicates(m.GraceContext(), m.Attempts())
	}
	return issuance, nil
}

// issue sends the request until its outcome is decided or no further attempt is allowed. After an attempt with an
// unknown outcome, it looks for the card. The returned card is nil if a response describes it, and after an error.
func (s *issueSearch) issue(m *transport.Mutation) (*CardListItem, error) {
	for {
		fate, failure := m.Try()
		if fate == transport.Done {
			return nil, nil
		}
		// After a response, the card may already be listed, and a generated label identifies it.
		responded := m.Answered() || isAboutRequest(failure)
		if s.request.GeneratedLabel && responded {
			found := s.findGenerated(m.GraceContext())
			if found != nil {
				return found, nil
			}
		}
		if fate == transport.NotDone {
			return nil, failure
		}
		err := m.WaitForCommit()
		if err != nil {
			return nil, m.Undecided(failure, notVerified(err)...)
		}
		found, err := s.find(m.GraceContext())
		if err != nil {
			return nil, m.Undecided(failure, notVerified(err)...)
		}
		if found != nil {
			return found, nil
		}
		if m.MayRetry() {
			continue
		}
		// A 2xx response suggests that a card was issued, and so does a refusal of the key as already used.
		refusal, ok := errors.AsType[*transport.Error](failure)
		keyRefused := ok && refusal.IsAboutKey()
		if m.Answered() || keyRefused {
			return nil, m.Undecided(failure, errors.New("the service does not list the requested card"))
		}
		return nil, m.GiveUpError()
	}
}

// readIssued updates a new card from a read, because so far a single response or list describes it. While a read shows
// a balance that is neither the load nor the card's balance so far, readIssued reads again for up to CommitWait. If a
// read fails, the card stays as it is.
func (c *Client) readIssued(ctx context.Context, card *Card, load usd.Amount) {
	const polls = int(transport.CommitWait / transport.PollInterval)
	for poll := range polls + 1 { // the first read is before any wait
		summary, err := c.GetCard(ctx, card.ID)
		if err != nil {
			return
		}
		last := poll == polls
		expected := summary.Balance == load || summary.Balance == card.Balance
		if last || expected {
			card.CardSummary = summary
			return
		}
		err = c.clock.Wait(ctx, transport.PollInterval)
		if err != nil {
			card.CardSummary = summary
			return
		}
	}
}

// decodeIssuedCard decodes the response to an issuance.
func decodeIssuedCard(body []byte) (Card, error) {
	var card Card
	err := transport.DecodeObject(body, &card, requiredCardFields()...)
	if err != nil {
		// The card may have been issued and paid, so the error should name it.
		var known struct {
			ID string `json:"id"`
		}
		idErr := transport.DecodeObject(body, &known)
		if idErr == nil && known.ID != "" {
			err = fmt.Errorf("%w (card %q)", err, known.ID)
		}
		return Card{}, err
	}
	if !transport.IsID(card.ID) {
		return Card{}, transport.InvalidID("id", card.ID)
	}
	if card.BinID != "" && !transport.IsID(card.BinID) {
		return Card{}, transport.InvalidID("bin_id", card.BinID)
	}
	return card, nil
}
