package card

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/event"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func freeze(c *wire.Call) (wire.Reply, error) { return switchTo(c, Frozen, event.CardFrozen) }

func unfreeze(c *wire.Call) (wire.Reply, error) { return switchTo(c, Active, event.CardUnfrozen) }

// switchTo answers the same for a card that is already there, without an event.
func switchTo(c *wire.Call, status Status, told event.Type) (wire.Reply, error) {
	if err := c.NoFields(); err != nil {
		return wire.Reply{}, err
	}
	card, err := liveOf(c)
	if err != nil {
		return wire.Reply{}, err
	}
	if card.Status != status {
		if err := card.become(c, status, told); err != nil {
			return wire.Reply{}, err
		}
	}
	return wire.OK(card.state()), nil
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
