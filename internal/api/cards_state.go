package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// CardState is a card after its state was to change. Balance is in USD.
type CardState struct {
	ID           string     `json:"id"`
	Status       CardStatus `json:"status"`
	Balance      usd.Amount `json:"balance"`
	LostResponse bool       `json:"-"` // and the outcome found out
}

// Termination is what became of a card that was terminated.
type Termination struct {
	ID               string     `json:"id"`
	Status           CardStatus `json:"status"`
	ReturnedToWallet usd.Amount `json:"returned_to_wallet"` // USD

	AlreadyTerminated bool `json:"-"` // before
	LostResponse      bool `json:"-"` // and the outcome found out
}

// FreezeCard suspends all transactions of a card. A card that is frozen already is a success.
func (c *Client) FreezeCard(ctx context.Context, id string) (CardState, error) {
	return c.setFrozen(ctx, id, StatusFrozen, nil)
}

// UnfreezeCard enables the transactions of a card again. A card that is active already is
// a success, and so, after a lost response, is one that the service may have frozen again:
// with a balance below autoFreezeAt (USD; nil where that is not known).
func (c *Client) UnfreezeCard(ctx context.Context, id string, autoFreezeAt *usd.Amount) (CardState, error) {
	return c.setFrozen(ctx, id, StatusActive, autoFreezeAt)
}

func (c *Client) setFrozen(ctx context.Context, id string, wanted CardStatus, autoFreezeAt *usd.Amount) (CardState, error) {
	verb := "freeze"
	if wanted == StatusActive {
		verb = "unfreeze"
	}
	var state CardState
	var answered CardStatus
	set := c.cardCall(verb+" card "+id, http.MethodPost, id, "/"+verb)
	set.Accept = func(body []byte) error {
		err := decodeCard(body, id, &state, "id", "status", "balance")
		if err != nil || state.Status == wanted {
			return err
		}
		answered = state.Status
		return fmt.Errorf("the response says that the card is %s", answered)
	}
	alreadyApplied := func(ctx context.Context) transport.Outcome {
		card, err := c.GetCard(ctx, id)
		if err != nil {
			return transport.NotFoundOutcome(err)
		}
		state = CardState{ID: card.ID, Status: card.Status, Balance: card.Balance}
		switch {
		case card.Status == wanted, card.Status == StatusFrozen && answered == StatusFrozen: // again
			return transport.Outcome{State: transport.Applied}
		case card.Status == StatusTerminated:
			return transport.Outcome{State: transport.Rejected, Reason: fmt.Errorf("card %s is terminated, for good", id)}
		}
		return transport.Outcome{State: transport.NotApplied}
	}
	verify := func(ctx context.Context) transport.Outcome {
		o := alreadyApplied(ctx)
		if o.State == transport.NotApplied && autoFreezeAt != nil && state.Status == StatusFrozen && state.Balance < *autoFreezeAt {
			return transport.Outcome{State: transport.Applied}
		}
		return o
	}
	c.recent.update(id, func(card *recentCard) { card.status = "" })
	m := &transport.HookedMutation{Kind: transport.MutationSetFrozen, Call: set, AlreadyApplied: alreadyApplied, Verify: verify}
	how, err := c.Mutate(ctx, m)
	if err != nil {
		return CardState{}, err
	}
	c.recent.update(id, func(card *recentCard) {
		card.status, card.statusUntil = state.Status, c.clock.Now().Add(statusShownWithin)
	})
	state.LostResponse = how.Lost
	return state, nil
}

// TerminateCard ends a card for good; what it holds returns to the wallet. That wants two
// signs: a response that says so, or none, and then a reading that shows it; after the
// response, one without the card will do. Otherwise a card that is not there is a
// not-found error, since it may be another account's.
func (c *Client) TerminateCard(ctx context.Context, id string) (Termination, error) {
	release, err := c.cardLocks.lock(ctx, id)
	if err != nil {
		return Termination{}, fmt.Errorf("terminate card %s: waiting for another call on it: %w", id, err)
	}
	defer release()
	var result Termination
	terminate := c.cardCall("terminate card "+id, http.MethodDelete, id, "")
	terminate.Accept = func(body []byte) error {
		err := decodeCard(body, id, &result, "id", "status", "returned_to_wallet")
		if err == nil && result.Status != StatusTerminated {
			err = fmt.Errorf("the response says that the card is %s", result.Status)
		}
		return err
	}
	var shown CardSummary
	verify := func(ctx context.Context) transport.Outcome {
		var err error
		shown, err = c.GetCard(ctx, id)
		switch {
		case err != nil:
			return transport.NotFoundOutcome(err)
		case shown.Status == StatusTerminated:
			return transport.Outcome{State: transport.Applied}
		}
		return transport.Outcome{State: transport.NotApplied}
	}
	m := &transport.HookedMutation{Kind: transport.MutationTerminate, Call: terminate, Key: uuid.NewString(), AlreadyApplied: verify, Verify: verify}
	how, err := c.Mutate(ctx, m)
	undecided := func(err error) error {
		return &transport.UndecidedError{
			Kind: m.Kind, Operation: terminate.Operation, Key: m.Key, Attempts: how.Attempts, SentAt: c.ServiceTime(), Err: err,
		}
	}
	switch isLive := shown.Status != "" && shown.Status != StatusTerminated; {
	case transport.IsNotFound(err) && isLive:
		return Termination{}, undecided(fmt.Errorf("%w; when it is read, the service shows it %s, with %s USD", err, shown.Status, shown.Balance))
	case err != nil:
		return Termination{}, err
	}
	c.recent.update(id, func(card *recentCard) {
		card.newUntil, card.status, card.statusUntil = time.Time{}, StatusTerminated, c.clock.Now().Add(shownWithin)
	})
	if how.Verified {
		return Termination{ID: id, Status: StatusTerminated, AlreadyTerminated: !how.Uncertain, LostResponse: how.Lost}, nil
	}
	detached, end := c.WithGrace(transport.Verifying(ctx))
	defer end()
	switch again, err := c.GetCard(detached, id); {
	case transport.IsNotFound(err): // two signs
	case err != nil:
		return Termination{}, undecided(fmt.Errorf("the service said that it is terminated, and the card cannot be read: %w", err))
	case again.Status != StatusTerminated:
		return Termination{}, undecided(fmt.Errorf("the service said that it is terminated, and shows it %s, with %s USD", again.Status, again.Balance))
	}
	result.LostResponse = how.Lost
	return result, nil
}
