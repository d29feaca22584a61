package card

import (
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/event"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func freeze(c *wire.Call) (wire.Reply, error) { return switchTo(c, Frozen, event.CardFrozen) }

func unfreeze(c *wire.Call) (wire.Reply, error) { return switchTo(c, Active, event.CardUnfrozen) }

// switchTo answers the same for a card that is already there, without an event,
// unless a quirk says otherwise.
func switchTo(c *wire.Call, status Status, told event.Type) (wire.Reply, error) {
	if err := c.NoFields(); err != nil {
		return wire.Reply{}, err
	}
	card, err := liveOf(c)
	if err != nil {
		return wire.Reply{}, err
	}
	switch {
	case card.Status != status:
		err = card.become(c, status, told)
	case c.Quirks.RepeatedState == quirk.Conflict:
		err = card.alreadyThere()
	}
	return wire.OK(card.state()), err
}

// alreadyThere refuses a change to the state that the card is in.
func (c *Card) alreadyThere() *wire.Error {
	code := wire.CodeCardActive
	if c.Status == Frozen {
		code = wire.CodeCardFrozen
	}
	return &wire.Error{
		Status: http.StatusConflict, Code: code,
		Message: "card " + c.PublicID + " is " + string(c.Status) + " already",
	}
}

func (c *Card) become(call *wire.Call, status Status, told event.Type) error {
	c.Status = status
	if err := call.Tx.Exec(`UPDATE cards SET status = ? WHERE id = ?`, status, c.ID); err != nil {
		return err
	}
	return event.Emit(call, told, c.full())
}

// AutoFreeze freezes an active card whose balance is below its threshold.
// Whatever decreases a balance calls it afterwards, with Balance up to date.
func (c *Card) AutoFreeze(call *wire.Call) error {
	if c.Status != Active || c.AutoFreezeAt == nil || c.Balance >= *c.AutoFreezeAt {
		return nil
	}
	return c.become(call, Frozen, event.CardFrozen)
}

func terminate(c *wire.Call) (wire.Reply, error) {
	if err := c.NoFields(); err != nil {
		return wire.Reply{}, err
	}
	card, err := liveOf(c)
	if err != nil {
		return wire.Reply{}, err
	}
	rest := card.Balance
	if rest != 0 {
		err := ledger.Post(c.Tx, c.Account.ID, "card terminated",
			ledger.OnCard(card.LedgerAccountID, -rest), ledger.On(ledger.Wallet, rest))
		if err != nil {
			return wire.Reply{}, err
		}
	}
	card.Balance = 0
	if err := card.become(c, Terminated, event.CardTerminated); err != nil {
		return wire.Reply{}, err
	}
	return wire.OK(terminationView{card.PublicID, Terminated, rest}), nil
}
