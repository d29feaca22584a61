package card

import (
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func fund(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	amount := fields.PositiveAmount("amount")
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	card, err := findUsable(c)
	if err != nil {
		return wire.Response{}, err
	}
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return wire.Response{}, err
	}
	if wallet < amount {
		return wire.Response{}, wire.Refuse(wire.CodeInsufficientFunds,
			"the wallet has %s USD, less than the amount of %s USD", wallet, amount)
	}
	res, err := card.move(c, "card funded", amount)
	if err != nil {
		return wire.Response{}, err
	}
	return res, webhook.Emit(c, webhook.CardFunded, card.PublicID, card.full())
}

// withdraw moves the amount in the body back to the wallet, or the whole balance if the body has no amount. A quirk
// makes withdraw ignore the amount.
func withdraw(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	if c.Quirks.WithdrawAmount == behavior.Ignored {
		fields.Skip("amount")
	}
	var amount usd.Amount
	hasAmount := fields.Has("amount")
	if hasAmount {
		amount = fields.PositiveAmount("amount")
	}
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	card, err := findUsable(c)
	if err != nil {
		return wire.Response{}, err
	}
	if !hasAmount {
		amount = card.Balance
	}
	if amount == 0 { // the body has no amount, and the balance is 0
		return wire.Response{}, wire.Refuse(wire.CodeInsufficientCardBalance,
			"card %s has a balance of %s USD, so there is nothing to withdraw", card.PublicID, card.Balance)
	}
	if card.Balance < amount {
		return wire.Response{}, wire.Refuse(wire.CodeInsufficientCardBalance,
			"card %s has a balance of %s USD, less than the amount of %s USD", card.PublicID, card.Balance, amount)
	}
	res, err := card.move(c, "card withdrawn", -amount)
	if err != nil {
		return wire.Response{}, err
	}
	return res, card.AutoFreeze(c)
}

// move moves an amount from the wallet to the card, or back if the amount is negative. The kind is that of the ledger
// entry. move returns the response with the new balances.
func (c *Card) move(call *server.Call, kind string, amount usd.Amount) (wire.Response, error) {
	err := ledger.Post(call.Tx, call.Account.ID, kind,
		ledger.NewLeg(ledger.Wallet, -amount), ledger.NewCardLeg(c.LedgerAccountID, amount))
	if err != nil {
		return wire.Response{}, err
	}
	c.Balance += amount
	err = call.Tx.Exec(`UPDATE cards SET loaded = loaded + ? WHERE id = ?`, amount, c.ID)
	if err != nil {
		return wire.Response{}, err
	}
	wallet, err := ledger.Balance(call.Tx, call.Account.ID, ledger.Wallet)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(map[string]any{
		"card_id":        c.PublicID,
		"card_balance":   c.balanceWithHolds(),
		"wallet_balance": call.Quirks.WalletAmount(wallet),
	}), nil
}

// ShownBalance reads the holds and returns the balance that the API shows.
func (c *Card) ShownBalance(call *server.Call) (usd.Amount, error) {
	err := c.readHolds(call)
	if err != nil {
		return 0, err
	}
	return c.balanceWithHolds(), nil
}

// readHolds sets the holds that the API shows as part of the balance: none by default, because an authorization lowers the
// balance. A quirk makes the balance fall at settlement instead. Then the holds are those of the card's open
// authorizations, unless the card is terminated.
func (c *Card) readHolds(call *server.Call) error {
	c.holds = 0
	if call.Quirks.Balance == behavior.LessHolds || c.Status == Terminated {
		return nil
	}
	var err error
	c.holds, err = c.Held(call.Tx)
	return err
}

// Held returns the sum of the holds of the card's open authorizations.
func (c *Card) Held(tx *store.Tx) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, ledger.OpenHolds+` AND t.card_id = ?`, c.ID)
}

// balanceWithHolds returns the balance that the API shows. It uses the holds that readHolds has set.
func (c *Card) balanceWithHolds() usd.Amount { return c.Balance + c.holds }

// ShownHolds returns the sum of the holds that the API shows as part of the balances of an account's cards. The balances
// of terminated cards include no holds.
func ShownHolds(call *server.Call) (usd.Amount, error) {
	if call.Quirks.Balance == behavior.LessHolds {
		return 0, nil
	}
	return store.Value[usd.Amount](call.Tx, ledger.OpenHolds+`
		AND t.account_id = ? AND (SELECT status FROM cards WHERE id = t.card_id) <> ?`, call.Account.ID, Terminated)
}

func freeze(c *server.Call) (wire.Response, error) {
	return changeStatus(c, Frozen, webhook.CardFrozen)
}

func unfreeze(c *server.Call) (wire.Response, error) {
	return changeStatus(c, Active, webhook.CardUnfrozen)
}

// changeStatus changes the status of the card in the path. If the card already has the status, changeStatus changes
// nothing and returns the same response as after a change. A quirk makes it refuse such a call instead.
func changeStatus(c *server.Call, status Status, event webhook.EventType) (wire.Response, error) {
	card, err := findLive(c)
	if err != nil {
		return wire.Response{}, err
	}
	if card.Status == status && c.Quirks.RepeatedState == behavior.Conflict {
		code := wire.CodeCardFrozen
		if status == Active {
			code = wire.CodeCardActive
		}
		return wire.Response{}, wire.NewError(http.StatusConflict, code, "card %s is already %s", card.PublicID, status)
	}
	if card.Status != status {
		err := card.setStatus(c, statusChange{Status: status, Event: event})
		if err != nil {
			return wire.Response{}, err
		}
	}
	return wire.OK(map[string]any{"id": card.PublicID, "status": card.Status, "balance": card.balanceWithHolds()}), nil
}

// statusChange is a change of a card's status.
type statusChange struct {
	Status    Status            // the new status
	Event     webhook.EventType // the event to emit
	Automatic bool              // whether the service makes the change without a request for it
}

// setStatus changes the status, records the change and emits its event.
func (c *Card) setStatus(call *server.Call, change statusChange) error {
	c.Status = change.Status
	err := call.Tx.Exec(`UPDATE cards SET status = ? WHERE id = ?`, change.Status, c.ID)
	if err != nil {
		return err
	}
	err = call.Tx.Exec(`
		INSERT INTO status_changes (account_id, card_id, status, automatic, created_at) VALUES (?, ?, ?, ?, ?)`,
		call.Account.ID, c.ID, change.Status, change.Automatic, call.Tx.Now().UnixMilli())
	if err != nil {
		return err
	}
	return webhook.Emit(call, change.Event, c.PublicID, c.full())
}

// AutoFreeze freezes an active card if the balance that the API shows is below the card's threshold.
func (c *Card) AutoFreeze(call *server.Call) error {
	if c.Status != Active || c.AutoFreezeAt == nil {
		return nil
	}
	shown, err := c.ShownBalance(call)
	if err != nil {
		return err
	}
	if shown >= *c.AutoFreezeAt {
		return nil
	}
	return c.setStatus(call, statusChange{Status: Frozen, Event: webhook.CardFrozen, Automatic: true})
}

// terminate moves the card's balance to the wallet and terminates the card.
func terminate(c *server.Call) (wire.Response, error) {
	card, err := findLive(c)
	if err != nil {
		return wire.Response{}, err
	}
	returned := card.Balance
	if returned != 0 {
		err := ledger.Post(c.Tx, c.Account.ID, "card terminated",
			ledger.NewCardLeg(card.LedgerAccountID, -returned), ledger.NewLeg(ledger.Wallet, returned))
		if err != nil {
			return wire.Response{}, err
		}
	}
	card.Balance = 0
	card.holds = 0 // a terminated card shows no holds
	err = card.setStatus(c, statusChange{Status: Terminated, Event: webhook.CardTerminated})
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(map[string]any{"id": card.PublicID, "status": Terminated, "returned_to_wallet": returned}), nil
}
