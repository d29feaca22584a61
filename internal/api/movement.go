package api

import (
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Movement is money to be moved between the wallet and a card.
type Movement struct {
	reconcile.Movement
	CardID string
	// Record is what is remembered of the card's money; nil for a movement that
	// stands by itself, of which nothing tells whether it was made before.
	Record *reconcile.Record
}

// String completes "could not …".
func (m Movement) String() string {
	if m.Delta < 0 {
		return fmt.Sprintf("withdraw %s USD from card %s", -m.Delta, m.CardID)
	}
	return fmt.Sprintf("fund card %s with %s USD", m.CardID, m.Delta)
}

// Transfer is what became of a movement. Amounts are in USD.
type Transfer struct {
	Record        reconcile.Record // to be kept whatever the error; zero without one in the movement
	CardBalance   usd.Amount
	CardStatus    CardStatus
	WalletBalance *usd.Decimal // nil when it could not be told
	Recovered     bool         // the response was lost, and the card shows the movement
	MadeBefore    bool         // as the card shows: by a run that was cut off, as a rule
	LeftOver      usd.Amount   // what had come to the card before, or gone from it, and is named
	Ignored       string       // what could not be read
	Excess        usd.Amount   // what the service moved beyond what was asked, in either direction
	LostResponse  bool         // and the outcome found out
}

// PendingError says that nothing was sent, because another movement on the card is
// undecided.
type PendingError struct {
	Movement Movement
	Pending  reconcile.Pending
}

// Error names both movements.
func (e *PendingError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because it is not known yet whether an earlier run could %s", e.Movement, Movement{CardID: e.Movement.CardID, Movement: e.Pending.Movement()})
}

// StoppedError says that it cannot be told whether a movement was made before, or
// whether it is due, and that nothing was sent this time. For NotShown the service has
// answered: nothing is sent again, unless it refused the key. Amounts are in USD.
type StoppedError struct {
	Movement Movement
	Reason   reconcile.Reason
	Balance  usd.Amount // now
	Found    usd.Amount // what no transaction explains
	TopUp    bool       // it may have been made with a top-up
	Unread   string     // what could not be read; for Unreadable
	Answered *usd.Amount
	Refusal  *transport.Error // of the key; nil for none
}

// Error names the movement and the balance.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: stopped, because the card holds %s USD, and it cannot be told whether this was made before", e.Movement, e.Balance)
}

func (e *StoppedError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}
