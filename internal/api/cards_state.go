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

// Termination is the result of a card's termination.
type Termination struct {
	ID               string     `json:"id"`
	Status           CardStatus `json:"status"`
	ReturnedToWallet usd.Amount `json:"returned_to_wallet"` // USD; 0 if no response confirmed the termination
	How              How        `json:"-"`
}

// FreezeCard suspends all transactions of a card. It succeeds if the card is already frozen.
func (c *Client) FreezeCard(ctx context.Context, id string) (CardState, error) {
	var autoFreezeAt *usd.Amount // does not matter for freezing
	return c.setFrozen(ctx, id, "freeze", StatusFrozen, autoFreezeAt)
}

// UnfreezeCard enables the transactions of a card again. It succeeds if the card is already active. It also
// succeeds, with the status frozen, if the service seems to have frozen the card again at once, because its balance
// is low. One sign is a 2xx response that says that the card is frozen, and a read that agrees. If the outcome is
// unknown, another sign is a frozen card with a balance below autoFreezeAt (USD, or nil if it is not known).
func (c *Client) UnfreezeCard(ctx context.Context, id string, autoFreezeAt *usd.Amount) (CardState, error) {
	return c.setFrozen(ctx, id, "unfreeze", StatusActive, autoFreezeAt)
}

// setFrozen freezes or unfreezes a card, so that it has the wanted status.
func (c *Client) setFrozen(ctx context.Context, id, verb string, wanted CardStatus, autoFreezeAt *usd.Amount) (CardState, error) {
	var response CardState
	call := c.cardCall(verb+" card "+id, http.MethodPost, id, "/"+verb)
	call.Kind = transport.MutationSetFrozen
	call.Accept = func(body []byte) error {
		err := decodeCard(body, id, &response, "id", "status", "balance")
		if err != nil {
			return err
		}
		if response.Status != wanted {
			return fmt.Errorf("the response says that the card is %s", response.Status)
		}
		return nil
	}
	confirms := func(card CardSummary, last bool) bool {
		if card.Status == wanted {
			return true
		}
		if card.Status != StatusFrozen {
			return false
		}
		// The card was to be unfrozen. The service may have frozen it again at once, because of a low balance. A 2xx
		// response that says so fails call.Accept, which sets response all the same.
		if response.Status == StatusFrozen {
			return true
		}
		// Until the last read, the card may still become active.
		if !last || autoFreezeAt == nil {
			return false
		}
		return card.Balance < *autoFreezeAt
	}
	c.recent.update(id, func(card *recentCard) { card.status = "" }) // no status is expected from now on
	m, end, err := c.Begin(ctx, call, newKey)
	if err != nil {
		return CardState{}, err
	}
	defer end()
	card, how, err := c.setStatus(m, id, confirms)
	if err != nil {
		return CardState{}, err
	}
	state := CardState{ID: id, Status: card.Status, Balance: card.Balance, How: how}
	if card.ID == "" { // the response confirms the change, so no card was read
		state.Status = response.Status
		state.Balance = response.Balance
	}
	c.recent.update(id, func(card *recentCard) {
		card.status = state.Status
		card.statusUntil = c.clock.Now().Add(statusShownWithin)
	})
	return state, nil
}

// TerminateCard terminates a card permanently. It succeeds if the card is already terminated. The service returns the
// card's balance to the wallet. A later read must confirm the termination. If a response has confirmed it, a read that
// does not find the card is enough. Without such a response, a card that is not found is an error, because it may
// belong to another account.
func (c *Client) TerminateCard(ctx context.Context, id string) (Termination, error) {
	unlock, err := c.LockCard(ctx, id)
	if err != nil {
		return Termination{}, fmt.Errorf("nothing was sent, because waiting for other operations on this card failed: %w", err)
	}
	defer unlock()
	var response Termination
	call := c.cardCall("terminate card "+id, http.MethodDelete, id, "")
	call.Kind = transport.MutationTerminate
	call.Accept = func(body []byte) error {
		err := decodeCard(body, id, &response, "id", "status", "returned_to_wallet")
		if err != nil {
			return err
		}
		if response.Status != StatusTerminated {
			return fmt.Errorf("the response says that the card is %s", response.Status)
		}
		return nil
	}
	m, end, err := c.Begin(ctx, call, newKey)
	if err != nil {
		return Termination{}, err
	}
	defer end()
	confirms := func(card CardSummary, _ bool) bool { return card.Status == StatusTerminated }
	shown, how, err := c.setStatus(m, id, confirms)
	if transport.IsNotFound(err) && shown.Status != "" { // the call got a 404, but a read shows the card
		return Termination{}, m.Undecided(err, showsStatus(shown))
	}
	if err != nil {
		return Termination{}, err
	}
	c.recent.update(id, func(card *recentCard) {
		card.newUntil = time.Time{} // the service's own 404 response is not retried
		card.status = StatusTerminated
		card.statusUntil = c.clock.Now().Add(shownWithin)
	})
	if shown.Status == StatusTerminated { // no response confirmed the termination, but a read did
		return Termination{ID: id, Status: StatusTerminated, How: how}, nil
	}
	response.How = how
	// A response confirmed the termination, so a card that is not found later belongs to this account, and is gone.
	later, err := c.GetCard(m.GraceContext(), id)
	if transport.IsNotFound(err) {
		return response, nil
	}
	if err != nil {
		return Termination{}, m.Undecided(errSaysTerminated, errors.New("the card cannot be read"), err)
	}
	if later.Status != StatusTerminated {
		return Termination{}, m.Undecided(errSaysTerminated, showsStatus(later))
	}
	return response, nil
}

// errSaysTerminated is the failure of a termination that a response confirmed, and a later read did not.
var errSaysTerminated = errors.New("the response says that the card is terminated")

func showsStatus(card CardSummary) error {
	return fmt.Errorf("a later read shows the card as %s, with a balance of %s USD", card.Status, card.Balance)
}

// notVerified returns the findings for a verification that failed.
func notVerified(err error) []error {
	return []error{errors.New("the outcome could not be verified"), err}
}

// setStatus makes a call that changes the status of a card. If no response confirms the change, reads may show it: the
// service may refuse to set a status that the card already has, and a request whose response was lost may take effect
// later. setStatus calls confirms to learn whether a card that was read shows the change; last is true for the last
// read after an attempt with an unknown outcome. The returned card is that of the latest read, also with an error. It
// is empty if nothing was read or the read failed. With an error, the How has no meaning.
func (c *Client) setStatus(m *transport.Mutation, id string, confirms func(card CardSummary, last bool) bool) (CardSummary, How, error) {
	for {
		fate, failure := m.Try()
		if fate == transport.Done {
			return CardSummary{}, HowAnswered(m), nil
		}
		if fate == transport.NotDone && !isAboutRequest(failure) {
			return CardSummary{}, Answered, failure
		}
		how := AlreadyDone
		if m.Answered() {
			how = Answered
		}
		// A single attempt that was refused counts as having changed nothing, even if a gateway may have refused it.
		singleRefusal := m.Attempts() <= 1 && isAboutRequest(failure)
		if m.Lost && !singleRefusal {
			how = Found
		}
		const polls = int(transport.CommitWait / transport.PollInterval)
		for poll := range polls + 1 { // the first read is before any wait
			last := poll == polls
			card, err := c.GetCard(m.GraceContext(), id)
			if transport.IsNotFound(err) {
				return card, how, fmt.Errorf("%w; %w", err, failure)
			}
			if err == nil && confirms(card, last) {
				return card, how, nil
			}
			if err == nil && card.Status == StatusTerminated {
				return card, how, fmt.Errorf("card %s is permanently terminated; %w", id, failure)
			}
			if fate == transport.NotDone { // the refused request does not take effect later
				return card, how, failure
			}
			if last && err != nil {
				return card, how, m.Undecided(failure, notVerified(err)...)
			}
			if last && !m.MayRetry() {
				return card, how, m.GiveUpError()
			}
			if last {
				break // and send the request again
			}
			// The last read decides, so an earlier one may fail.
			err = c.clock.Wait(m.GraceContext(), transport.PollInterval)
			if err != nil {
				return card, how, m.Undecided(failure, notVerified(err)...)
			}
			if how == AlreadyDone { // a status that the first read does not show may come from this call
				how = Found
			}
		}
	}
}

// isAboutRequest reports whether a failure is a 4xx response that may be due to the request or to the state of the
// card, and not to the account or a limit.
func isAboutRequest(failure error) bool {
	response, ok := errors.AsType[*transport.Error](failure)
	if !ok || transport.NotReadyCode(failure) != "" {
		return false
	}
	if response.Status == http.StatusUnauthorized || response.Status == http.StatusTooManyRequests {
		return false
	}
	return response.Status/100 == 4
}
