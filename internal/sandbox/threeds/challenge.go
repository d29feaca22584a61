// Package threeds keeps 3D Secure challenges.
package threeds

import (
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
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

// list shows the challenges of one status, the newest first.
func list(c *server.Call) (wire.Response, error) {
	query := c.Query()
	if c.Quirks.ChallengeStatus == behavior.Ignored {
		query.Skip("status")
	}
	status := query.Choice("status", Pending, Approved, Failed, Expired)
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	if status == "" {
		status = Pending
	}
	now := c.Tx.Now()
	if c.Quirks.ChallengeStatus == behavior.Ignored {
		return listAll(c, now), nil
	}
	// Pending and expired are one stored status on two sides of now.
	stored, after, until := status, int64(-1), int64(1<<62)
	switch status {
	case Pending:
		after = now.UnixMilli()
	case Expired:
		stored, until = Pending, now.UnixMilli()
	}
	data := store.Select(c.Tx, func(row store.Row) (Challenge, error) { return scan(c.Keys, now, row) },
		columns+`WHERE h.account_id = ? AND h.status = ? AND h.expires_at > ? AND h.expires_at <= ? ORDER BY h.expires_at DESC, h.id DESC`,
		c.Account.ID, stored, after, until)
	return wire.OK(wire.List[Challenge]{Data: data}), nil
}

// listAll shows the challenges of all statuses, and codes only where they are
// waited for.
func listAll(c *server.Call, now time.Time) wire.Response {
	data := store.Select(c.Tx, func(row store.Row) (Challenge, error) {
		ch, err := scan(c.Keys, now, row)
		if ch.Status != Pending {
			ch.OTP = nil
		}
		return ch, err
	}, columns+`WHERE h.account_id = ? ORDER BY h.expires_at DESC, h.id DESC`, c.Account.ID)
	return wire.OK(wire.List[Challenge]{Data: data})
}

// CountPending returns how many challenges of an account wait for their cardholders.
func CountPending(tx *store.Tx, accountID int64) int64 {
	return store.Value[int64](tx, `SELECT COUNT(*) FROM challenges WHERE account_id = ? AND status = ? AND expires_at > ?`,
		accountID, Pending, tx.Now().UnixMilli())
}
