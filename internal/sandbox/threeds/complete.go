package threeds

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// begin is a merchant asking for proof that the cardholder is the buyer. It
// moves no money; what the merchant does with the outcome is up to it.
func begin(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	ch := Challenge{
		ID:       c.Tx.NewID("3ds_"),
		CardID:   fields.Text("card_id"),
		Merchant: fields.ShortText("merchant", card.MaxMerchantName),
		Amount:   fields.Positive("amount"),
		Status:   Pending,
	}
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	on, err := card.ByPublicID(c.Tx, c.Account.ID, ch.CardID)
	if err != nil {
		return wire.Response{}, err
	}
	if on.Status == card.Terminated {
		return wire.Response{}, wire.Refuse(wire.CodeCardTerminated, "card %s is terminated; it gets no challenges", ch.CardID)
	}
	expires := c.Tx.Now().Add(Lifetime)
	c.Tx.Exec(`
		INSERT INTO challenges (public_id, account_id, card_id, merchant, amount, status, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		ch.ID, c.Account.ID, on.ID, ch.Merchant, ch.Amount, ch.Status, expires.UnixMilli())
	ch.OTP, ch.ExpiresAt = new(c.Keys.OTP(ch.ID)), wire.Time{Time: expires}
	webhook.Emit(c, webhook.ThreeDSChallenge, ch)
	return wire.Created(ch), nil
}

// complete is what the cardholder makes of a challenge that is still pending.
func complete(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	outcome := fields.Choice("outcome", Approved, Failed)
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	ch, err := byPublicID(c, c.PathValue("id"))
	if err != nil {
		return wire.Response{}, err
	}
	if ch.Status != Pending {
		return wire.Response{}, wire.Invalid("challenge %s is %s; only a pending one can be completed", ch.ID, ch.Status)
	}
	ch.Status = outcome
	c.Tx.Exec(`UPDATE challenges SET status = ? WHERE public_id = ?`, outcome, ch.ID)
	return wire.OK(ch), nil
}

func byPublicID(c *server.Call, publicID string) (Challenge, error) {
	now := c.Tx.Now()
	found := store.Select(c.Tx, func(row store.Row) (Challenge, error) { return scan(c.Keys, now, row) },
		columns+`WHERE h.public_id = ? AND h.account_id = ?`, publicID, c.Account.ID)
	return wire.Only(found, "3DS challenge", publicID)
}
