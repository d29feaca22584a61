package card

import (
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func freeze(c *server.Call) (wire.Response, error) {
	return changeStatus(c, Frozen, webhook.CardFrozen)
}

func unfreeze(c *server.Call) (wire.Response, error) {
	return changeStatus(c, Active, webhook.CardUnfrozen)
}

// changeStatus responds the same for a card that has the status already, without
// an event, unless a quirk says otherwise.
func changeStatus(c *server.Call, status Status, event webhook.EventType) (wire.Response, error) {
	card, err := findLive(c)
	if err != nil {
		return wire.Response{}, err
	}
	switch {
	case card.Status != status:
		err = card.setStatus(c, status, event, false)
	case c.Quirks.RepeatedState == behavior.Conflict:
		code := map[Status]string{Active: wire.CodeCardActive, Frozen: wire.CodeCardFrozen}[status]
		return wire.Response{}, wire.NewError(http.StatusConflict, code, "card %s is %s already", card.PublicID, status)
	}
	return wire.OK(stateView{card.PublicID, card.Status, card.shown()}), err
}

// setStatus changes the status; automatic is the service's own doing.
func (c *Card) setStatus(call *server.Call, status Status, event webhook.EventType, automatic bool) error {
	c.Status = status
	if err := call.Tx.Exec(`UPDATE cards SET status = ? WHERE id = ?`, status, c.ID); err != nil {
		return err
	}
	err := call.Tx.Exec(`INSERT INTO status_changes (account_id, card_id, status, automatic, created_at) VALUES (?, ?, ?, ?, ?)`,
		call.Account.ID, c.ID, status, automatic, call.Tx.Now().UnixMilli())
	if err != nil {
		return err
	}
	return webhook.Emit(call, event, c.full())
}

// AutoFreeze freezes an active card whose balance is below its threshold.
// Whatever decreases a balance calls it afterwards, with Balance up to date.
func (c *Card) AutoFreeze(call *server.Call) error {
	if c.Status != Active || c.AutoFreezeAt == nil {
		return nil
	}
	if shown, err := c.Shown(call); err != nil || shown >= *c.AutoFreezeAt {
		return err
	}
	return c.setStatus(call, Frozen, webhook.CardFrozen, true)
}

func terminate(c *server.Call) (wire.Response, error) {
	card, err := findLive(c)
	if err != nil {
		return wire.Response{}, err
	}
	rest := card.Balance
	if rest != 0 {
		err := ledger.Post(c.Tx, c.Account.ID, "card terminated",
			ledger.OnCard(card.LedgerAccountID, -rest), ledger.On(ledger.Wallet, rest))
		if err != nil {
			return wire.Response{}, err
		}
	}
	card.Balance, card.holds = 0, 0
	return wire.OK(terminationView{card.PublicID, Terminated, rest}), card.setStatus(c, Terminated, webhook.CardTerminated, false)
}
