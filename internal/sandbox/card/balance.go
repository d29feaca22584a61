package card

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const openHolds = `
	SELECT COALESCE(SUM(t.amount), 0) FROM transactions t
	WHERE t.type = 'authorization' AND NOT EXISTS (SELECT 1 FROM transactions s WHERE s.parent_id = t.id)`

// Shown reads what the API shows as the card's balance: more than what can be
// spent when authorizations lower it only once they are settled.
func (c *Card) Shown(call *server.Call) usd.Amount {
	c.holds = 0
	if call.Quirks.Balance != behavior.LessHolds && c.Status != Terminated {
		c.holds = c.Held(call.Tx)
	}
	return c.shown()
}

// Held returns what the card's open authorizations keep back.
func (c *Card) Held(tx *store.Tx) usd.Amount {
	return store.Value[usd.Amount](tx, openHolds+` AND t.card_id = ?`, c.ID)
}

func (c *Card) shown() usd.Amount { return c.Balance + c.holds }

// ShownHolds returns what the balances of an account's cards show of its holds.
func ShownHolds(call *server.Call) usd.Amount {
	if call.Quirks.Balance == behavior.LessHolds {
		return 0
	}
	return store.Value[usd.Amount](call.Tx, openHolds+` AND t.account_id = ?
		AND (SELECT status FROM cards WHERE id = t.card_id) <> ?`, call.Account.ID, Terminated)
}
