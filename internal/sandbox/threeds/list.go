// Package threeds keeps 3D Secure challenges.
package threeds

import (
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
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

// Challenge is the object of API §2.6.
type Challenge struct {
	ID        string     `json:"id"`
	CardID    string     `json:"card_id"`
	Merchant  string     `json:"merchant"`
	Amount    usd.Amount `json:"amount"`
	OTP       string     `json:"otp"` // derived from the id, not stored
	Status    string     `json:"status"`
	ExpiresAt string     `json:"expires_at"`
}

// Routes is API §4.14.
func Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Path: wire.API + "/3ds", Handle: list},
	}
}

func list(c *wire.Call) (wire.Reply, error) {
	query := c.Query()
	status := query.Choice("status", Pending, Approved, Failed, Expired)
	if err := query.Done(); err != nil {
		return wire.Reply{}, err
	}
	if status == "" {
		status = Pending
	}
	now, err := c.Tx.Now()
	if err != nil {
		return wire.Reply{}, err
	}
	scan := func(row store.Row) (ch Challenge, err error) {
		var expires int64
		err = row.Scan(&ch.ID, &ch.CardID, &ch.Merchant, &ch.Amount, &expires)
		ch.OTP, ch.Status = c.Keys.OTP(ch.ID), status
		ch.ExpiresAt = wire.Timestamp(time.UnixMilli(expires))
		return ch, err
	}
	// Pending and expired are one stored status on two sides of now.
	stored, after, until := status, int64(-1), int64(1<<62)
	switch status {
	case Pending:
		after = now.UnixMilli()
	case Expired:
		stored, until = Pending, now.UnixMilli()
	}
	data, err := store.Select(c.Tx, scan, `
		SELECT h.public_id, k.public_id, h.merchant, h.amount, h.expires_at
		FROM challenges h JOIN cards k ON k.id = h.card_id
		WHERE h.account_id = ? AND h.status = ? AND h.expires_at > ? AND h.expires_at <= ? ORDER BY h.id DESC`,
		c.Account.ID, stored, after, until)
	return wire.OK(struct {
		Data []Challenge `json:"data"`
	}{data}), err
}
