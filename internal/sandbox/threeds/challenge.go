// Package threeds keeps 3D Secure challenges.
package threeds

import (
	"cmp"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The statuses of a challenge. Expired is never stored: time decides.
const (
	Pending  = "pending"
	Approved = "approved"
	Failed   = "failed"
	Expired  = "expired"
)

// Lifetime is how long a cardholder has to complete a challenge.
const Lifetime = 5 * time.Minute

// Challenge is the object of API §2.6.
type Challenge struct {
	ID        string     `json:"id"`
	CardID    string     `json:"card_id"`
	Merchant  string     `json:"merchant"`
	Amount    usd.Amount `json:"amount"`
	OTP       *string    `json:"otp"` // derived from the id, not stored
	Status    string     `json:"status"`
	ExpiresAt wire.Time  `json:"expires_at"`
}

// Routes is API §4.14, and what merchants and cardholders do.
func Routes() []server.Route {
	const challenges = server.Control + "/3ds-challenges"
	return []server.Route{
		{Method: http.MethodGet, Path: server.API + "/3ds", Handle: list},
		{Method: http.MethodPost, Path: challenges, Handle: begin},
		{Method: http.MethodPost, Path: challenges + "/{id}/complete", Handle: complete},
	}
}

const columns = `
	SELECT h.public_id, k.public_id, h.merchant, h.amount, h.status, h.expires_at
	FROM challenges h JOIN cards k ON k.id = h.card_id `

// scan reads a challenge as it stands at a time.
func scan(keys *vault.Keyring, now time.Time, row store.Row) (ch Challenge, err error) {
	err = row.Scan(&ch.ID, &ch.CardID, &ch.Merchant, &ch.Amount, &ch.Status, &ch.ExpiresAt)
	if ch.Status == Pending && !ch.ExpiresAt.After(now) {
		ch.Status = Expired
	}
	ch.OTP = new(keys.OTP(ch.ID))
	return ch, err
}

// list shows the challenges of one status, the newest first, or of all, where the
// quirks say so, with codes only for those that are waited for.
func list(c *server.Call) (wire.Response, error) {
	query, all := c.Query(), c.Quirks.ChallengeStatus == behavior.Ignored
	if all {
		query.Skip("status")
	}
	status := cmp.Or(query.Choice("status", Pending, Approved, Failed, Expired), Pending)
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	now := c.Tx.Now()
	stored := status
	if status == Expired { // on the other side of now
		stored = Pending
	}
	where := store.NewWhere(`h.account_id = ?`, c.Account.ID).
		And(!all, `h.status = ?`, stored).
		And(!all && status == Pending, `h.expires_at > ?`, now.UnixMilli()).
		And(!all && status == Expired, `h.expires_at <= ?`, now.UnixMilli())
	data, err := store.Select(c.Tx, func(row store.Row) (Challenge, error) {
		ch, err := scan(c.Keys, now, row)
		if all && ch.Status != Pending {
			ch.OTP = nil
		}
		return ch, err
	}, columns+where.SQL+` ORDER BY h.expires_at DESC, h.id DESC`, where.Args...)
	return wire.OK(wire.List[Challenge]{Data: data}), err
}

// CountPending returns how many challenges of an account wait for their cardholders.
func CountPending(tx *store.Tx, accountID int64) (int64, error) {
	return store.Value[int64](tx, `SELECT COUNT(*) FROM challenges WHERE account_id = ? AND status = ? AND expires_at > ?`,
		accountID, Pending, tx.Now().UnixMilli())
}

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
	err = c.Tx.Exec(`
		INSERT INTO challenges (public_id, account_id, card_id, merchant, amount, status, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		ch.ID, c.Account.ID, on.ID, ch.Merchant, ch.Amount, ch.Status, expires.UnixMilli())
	if err != nil {
		return wire.Response{}, err
	}
	ch.OTP, ch.ExpiresAt = new(c.Keys.OTP(ch.ID)), wire.Time{Time: expires}
	return wire.Created(ch), webhook.Emit(c, webhook.ThreeDSChallenge, ch)
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
	return wire.OK(ch), c.Tx.Exec(`UPDATE challenges SET status = ? WHERE public_id = ?`, outcome, ch.ID)
}

func byPublicID(c *server.Call, publicID string) (Challenge, error) {
	now := c.Tx.Now()
	found, err := store.Select(c.Tx, func(row store.Row) (Challenge, error) { return scan(c.Keys, now, row) },
		columns+`WHERE h.public_id = ? AND h.account_id = ?`, publicID, c.Account.ID)
	return wire.Only(found, err, "3DS challenge", publicID)
}
