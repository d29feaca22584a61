package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// CardState is a card after it was frozen or unfrozen. Balance is in USD.
type CardState struct {
	ID      string     `json:"id"`
	Status  CardStatus `json:"status"`
	Balance usd.Amount `json:"balance"`
	How     How        `json:"-"`
}

// Termination is what became of a card that was terminated. It is AlreadyDone for a card that
// was terminated before.
type Termination struct {
	ID               string     `json:"id"`
	Status           CardStatus `json:"status"`
	ReturnedToWallet usd.Amount `json:"returned_to_wallet"` // USD; 0 where no response said it
	How              How        `json:"-"`
}

// FreezeCard suspends all transactions of a card. A card that is frozen already is a success.
func (c *Client) FreezeCard(ctx context.Context, id string) (CardState, error) {
	return c.setFrozen(ctx, id, "freeze", StatusFrozen, nil)
}

// UnfreezeCard enables the transactions of a card again. A card that is active already is
// a success, and so, after a lost response, is one that the service may have frozen again:
// with a balance below autoFreezeAt (USD; nil where that is not known).
func (c *Client) UnfreezeCard(ctx context.Context, id string, autoFreezeAt *usd.Amount) (CardState, error) {
	return c.setFrozen(ctx, id, "unfreeze", StatusActive, autoFreezeAt)
}

func (c *Client) setFrozen(ctx context.Context, id, verb string, wanted CardStatus, autoFreezeAt *usd.Amount) (CardState, error) {
	var response CardState
	call := c.cardCall(verb+" card "+id, http.MethodPost, id, "/"+verb)
	call.Kind = transport.MutationSetFrozen
	call.Accept = func(body []byte) error {
		err := decodeCard(body, id, &response, "id", "status", "balance")
		if err == nil && response.Status != wanted {
			err = fmt.Errorf("the response says that the card is %s", response.Status)
		}
		return err
	}
	shows := func(card CardSummary, last bool) bool {
		if card.Status == wanted {
			return true
		}
		frozenAgain := response.Status == StatusFrozen // by the service, as it answered
		if last && autoFreezeAt != nil && card.Balance < *autoFreezeAt {
			frozenAgain = true
		}
		return card.Status == StatusFrozen && frozenAgain
	}
	c.recent.update(id, func(card *recentCard) { card.status = "" })
	m, end, err := c.Begin(ctx, call, "")
	if err != nil {
		return CardState{}, err
	}
	defer end()
	card, how, err := c.setStatus(m, id, shows)
	if err != nil {
		return CardState{}, err
	}
	state := CardState{ID: id, Status: card.Status, Balance: card.Balance, How: how}
	if card.ID == "" { // the response says it
		state.Status = response.Status
		state.Balance = response.Balance
	}
	c.recent.update(id, func(card *recentCard) {
		card.status = state.Status
		card.statusUntil = c.clock.Now().Add(statusShownWithin)
	})
	return state, nil
}

// TerminateCard ends a card for good; what it holds returns to the wallet. That takes two
// confirmations: a response that says so, or none, and then a reading that shows it. After the
// response, a reading that finds no card is enough. Otherwise a card that is not found is a
// not-found error, since it may be another account's.
func (c *Client) TerminateCard(ctx context.Context, id string) (Termination, error) {
	unlock, err := c.LockCard(ctx, id)
	if err != nil {
		return Termination{}, fmt.Errorf("terminate card %s: waiting for another call on it: %w", id, err)
	}
	defer unlock()
	var response Termination
	call := c.cardCall("terminate card "+id, http.MethodDelete, id, "")
	call.Kind = transport.MutationTerminate
	call.Accept = func(body []byte) error {
		err := decodeCard(body, id, &response, "id", "status", "returned_to_wallet")
		if err == nil && response.Status != StatusTerminated {
			err = fmt.Errorf("the response says that the card is %s", response.Status)
		}
		return err
	}
	m, end, err := c.Begin(ctx, call, "")
	if err != nil {
		return Termination{}, err
	}
	defer end()
	shows := func(card CardSummary, _ bool) bool { return card.Status == StatusTerminated }
	shown, how, err := c.setStatus(m, id, shows)
	if transport.IsNotFound(err) && shown.Status != "" {
		return Termination{}, m.Undecided(fmt.Errorf("%w; when it is read, the service shows it %s, with %s USD", err, shown.Status, shown.Balance))
	}
	if err != nil {
		return Termination{}, err
	}
	c.recent.update(id, func(card *recentCard) {
		card.newUntil = time.Time{}
		card.status = StatusTerminated
		card.statusUntil = c.clock.Now().Add(shownWithin)
	})
	if shown.Status == StatusTerminated {
		return Termination{ID: id, Status: StatusTerminated, How: how}, nil
	}
	response.How = how
	shown, err = c.GetCard(m.Context(), id)
	if transport.IsNotFound(err) { // the second confirmation
		return response, nil
	}
	if err != nil {
		return Termination{}, m.Undecided(fmt.Errorf("the service said that it is terminated, and the card cannot be read: %w", err))
	}
	if shown.Status != StatusTerminated {
		return Termination{}, m.Undecided(fmt.Errorf("the service said that it is terminated, and shows it %s, with %s USD", shown.Status, shown.Balance))
	}
	return response, nil
}

// setStatus makes a call that changes the status of a card. Where the response does not say
// that it has, it reads the card at once, since services refuse to do what is done, and then
// every few seconds until a request whose response was lost has had its time. Shows reports
// whether a card has what is wanted; last is set for the reading at the end of that time. The
// card is the last that was read, also with an error, and none after a response that says it.
func (c *Client) setStatus(m *transport.Mutation, id string, shows func(card CardSummary, last bool) bool) (CardSummary, How, error) {
	for {
		fate, failure := m.Try()
		if fate == transport.Done {
			return CardSummary{}, AnsweredBy(m), nil
		}
		if fate == transport.NotDone && !isAboutCard(failure) {
			return CardSummary{}, Answered, failure
		}
		how := AlreadyDone
		if m.Lost && (m.Attempts() > 1 || !isAboutCard(failure)) {
			how = Found
		} else if m.Answered() {
			how = Answered
		}
		for waited := time.Duration(0); waited <= transport.CommitWait; waited += transport.PollInterval {
			last := waited == transport.CommitWait
			card, err := c.GetCard(m.Context(), id)
			switch {
			case transport.IsNotFound(err):
				return card, how, fmt.Errorf("%w; %w", err, failure)
			case err == nil && shows(card, last):
				return card, how, nil
			case err == nil && card.Status == StatusTerminated:
				return card, how, fmt.Errorf("card %s is terminated, for good; %w", id, failure)
			case fate == transport.NotDone:
				return card, how, failure
			case last && err == nil && !m.Again():
				return card, how, m.GaveUp()
			case !last:
				err = c.clock.Wait(m.Context(), transport.PollInterval)
			}
			if err != nil && (last || m.Context().Err() != nil) {
				return card, how, m.Undecided(fmt.Errorf("%w; verifying did not decide it: %w", failure, err))
			}
			if how == AlreadyDone {
				how = Found
			}
		}
	}
}

// isAboutCard reports whether a failure is a response that a service may give since a card
// has the status already, or a gateway in its place.
func isAboutCard(failure error) bool {
	response, ok := errors.AsType[*transport.Error](failure)
	if !ok || response.Status/100 != 4 || transport.NotReadyCode(failure) != "" {
		return false
	}
	return response.Status != http.StatusUnauthorized && response.Status != http.StatusTooManyRequests
}
