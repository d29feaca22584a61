package delivery

import (
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Routes shows the deliveries and repeats them.
func Routes() []wire.Route {
	const deliveries = wire.Control + "/deliveries"
	return []wire.Route{
		{Method: http.MethodGet, Path: deliveries, Handle: list},
		{Method: http.MethodPost, Path: deliveries + "/{delivery_id}/redeliver", Handle: redeliver},
	}
}

// list shows every delivery with its tries, the oldest first.
func list(c *wire.Call) (wire.Reply, error) {
	views, err := read(c.Tx, ofAccount, c.Account.ID)
	return wire.OK(struct {
		Data []*view `json:"data"`
	}{views}), err
}

// redeliver makes a delivery due at once, at the start of the schedule, also
// one that has arrived already or is on its way.
func redeliver(c *wire.Call) (wire.Reply, error) {
	if err := c.NoFields(); err != nil {
		return wire.Reply{}, err
	}
	id := c.PathValue("delivery_id")
	views, err := read(c.Tx, ofID, c.Account.ID, id)
	if err != nil {
		return wire.Reply{}, err
	}
	if len(views) == 0 {
		return wire.Reply{}, wire.NotFound("delivery", id)
	}
	now, err := c.Tx.Now()
	if err != nil {
		return wire.Reply{}, err
	}
	err = c.Tx.Exec(`UPDATE deliveries SET round = round + 1, failures = 0, due_at = ? WHERE public_id = ?`, now.UnixMilli(), id)
	if err != nil {
		return wire.Reply{}, err
	}
	c.Tx.Signal()
	views[0].wait(now)
	return wire.OK(views[0]), nil
}
