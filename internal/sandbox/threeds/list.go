package threeds

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// list shows the challenges of one status, the newest first.
func list(c *server.Call) (wire.Response, error) {
	query := c.Query()
	status := query.Choice("status", Pending, Approved, Failed, Expired)
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	if status == "" {
		status = Pending
	}
	now, err := c.Tx.Now()
	if err != nil {
		return wire.Response{}, err
	}
	// Pending and expired are one stored status on two sides of now.
	stored, after, until := status, int64(-1), int64(1<<62)
	switch status {
	case Pending:
		after = now.UnixMilli()
	case Expired:
		stored, until = Pending, now.UnixMilli()
	}
	data, err := store.Select(c.Tx, func(row store.Row) (Challenge, error) { return scan(c.Keys, now, row) },
		columns+`WHERE h.account_id = ? AND h.status = ? AND h.expires_at > ? AND h.expires_at <= ? ORDER BY h.expires_at DESC, h.id DESC`,
		c.Account.ID, stored, after, until)
	return wire.OK(wire.List[Challenge]{Data: data}), err
}
