package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// CardState is a card after its state was to change. Balance is in USD.
type CardState struct {
	ID      string     `json:"id"`
	Status  CardStatus `json:"status"`
	Balance usd.Amount `json:"balance"`
	// LostResponse says that a response was lost, and the outcome found out.
	LostResponse bool `json:"-"`
}

// Termination is what became of a card that was terminated.
type Termination struct {
	ID               string     `json:"id"`
	Status           CardStatus `json:"status"`
	ReturnedToWallet usd.Amount `json:"returned_to_wallet"` // USD
	// AlreadyTerminated says that the card had been terminated before.
	AlreadyTerminated bool `json:"-"`
	// LostResponse says that a response was lost, and the outcome found out.
	LostResponse bool `json:"-"`
}

// FreezeCard suspends all transactions of a card. A card that is frozen already
// is a success.
func (c *Client) FreezeCard(ctx context.Context, id string) (CardState, error) {
	return c.setFrozen(ctx, id, StatusFrozen, nil)
}

// UnfreezeCard enables the transactions of a card again. A card that is active
// already is a success. The service may freeze the card by itself when its balance is
// below autoFreezeAt (USD; nil where that is not known): after a lost response, such
// a card that reads frozen has been frozen again, and is returned so.
func (c *Client) UnfreezeCard(ctx context.Context, id string, autoFreezeAt *usd.Amount) (CardState, error) {
	return c.setFrozen(ctx, id, StatusActive, autoFreezeAt)
}

func (c *Client) setFrozen(ctx context.Context, id string, wanted CardStatus, autoFreezeAt *usd.Amount) (CardState, error) {
	verb, action := "freeze", "/freeze"
	if wanted == StatusActive {
		verb, action = "unfreeze", "/unfreeze"
	}
	path, err := cardPath(id, action)
	if err != nil {
		return CardState{}, err
	}
	var state CardState
	var answered CardStatus
	set := &call{
		card: id, operation: verb + " card " + id, method: http.MethodPost, path: path,
		accept: func(body []byte) error {
			err := decodeCard(body, id, &state, "id", "status", "balance")
			if err != nil || state.Status == wanted {
				return err
			}
			answered = state.Status
			return fmt.Errorf("the response says that the card is %s", answered)
		},
	}
	alreadyApplied := func(ctx context.Context) outcome {
		card, err := c.GetCard(ctx, id)
		if err != nil {
			return notFoundOutcome(err)
		}
		state = CardState{ID: card.ID, Status: card.Status, Balance: card.Balance}
		switch {
		case card.Status == wanted, card.Status == StatusFrozen && answered == StatusFrozen: // again
			return outcome{state: applied}
		case card.Status == StatusTerminated:
			return outcome{rejected, fmt.Errorf("card %s is terminated, for good", id)}
		}
		return outcome{state: notApplied}
	}
	verify := func(ctx context.Context) outcome {
		o := alreadyApplied(ctx)
		if o.state == notApplied && autoFreezeAt != nil && state.Status == StatusFrozen && state.Balance < *autoFreezeAt {
			return outcome{state: applied}
		}
		return o
	}
	c.recent.update(id, func(card *recentCard) { card.status = "" })
	how, err := c.mutate(ctx, &mutation{kind: MutationSetFrozen, call: set, alreadyApplied: alreadyApplied, verify: verify})
	if err != nil {
		return CardState{}, err
	}
	c.recent.update(id, func(card *recentCard) {
		card.status, card.statusUntil = state.Status, c.clock.Now().Add(statusShownWithin)
	})
	state.LostResponse = how.lost
	return state, nil
}

// TerminateCard ends a card for good; what it holds returns to the wallet. A
// card that is terminated already is a success. When the card cannot be found
// the error is a not-found error, and it is for the caller to judge whether the
// card is gone or belongs to another account. With an error, Status is what the
// service showed when the card was read last; "" where it could not be read.
func (c *Client) TerminateCard(ctx context.Context, id string) (Termination, error) {
	path, err := cardPath(id, "")
	if err != nil {
		return Termination{}, err
	}
	release, err := c.cardLocks.acquire(ctx, id, exclusive)
	if err != nil {
		return Termination{}, fmt.Errorf("terminate card %s: waiting for another call on it: %w", id, err)
	}
	defer release()
	var result Termination
	terminate := &call{
		card: id, operation: "terminate card " + id, method: http.MethodDelete, path: path,
		accept: func(body []byte) error {
			err := decodeCard(body, id, &result, "id", "status", "returned_to_wallet")
			if err == nil && result.Status != StatusTerminated {
				err = fmt.Errorf("the response says that the card is %s", result.Status)
			}
			return err
		},
	}
	var shown CardStatus
	verify := func(ctx context.Context) outcome {
		card, err := c.GetCard(ctx, id)
		shown = card.Status
		switch {
		case err != nil:
			return notFoundOutcome(err)
		case shown == StatusTerminated:
			return outcome{state: applied}
		}
		return outcome{state: notApplied}
	}
	how, err := c.mutate(ctx, &mutation{kind: MutationTerminate, call: terminate, alreadyApplied: verify, verify: verify})
	if err != nil {
		return Termination{Status: shown}, err
	}
	c.recent.update(id, func(card *recentCard) {
		card.newUntil, card.status, card.statusUntil = time.Time{}, StatusTerminated, c.clock.Now().Add(statusShownWithin)
	})
	if how.verified {
		return Termination{ID: id, Status: StatusTerminated, AlreadyTerminated: !how.uncertain, LostResponse: how.lost}, nil
	}
	result.LostResponse = how.lost
	return result, nil
}
