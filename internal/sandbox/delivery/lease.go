package delivery

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

const (
	// leaseTime is how long a delivery stays with a process that was killed.
	leaseTime = 5 * time.Second
	// renewTime leaves a worker that has to wait for the file several chances.
	renewTime = time.Second
)

// flight is a delivery on its way.
type flight struct {
	deliveryID string
	round      int64
	eventID    string
	kind       string
	payload    []byte // sealed
	webhookID  string
	url        string
	secret     []byte // sealed
	begun      time.Time
}

// endpoint is a webhook that something is due for.
type endpoint struct {
	row       int64
	webhookID string
	url       string
	secret    []byte
}

// lease takes what is due, as much as each endpoint has room for.
func (w *Worker) lease(tx *store.Tx) ([]flight, error) {
	now, err := tx.Now()
	if err != nil {
		return nil, err
	}
	wall := time.Now().UnixMilli()
	endpoints, err := store.Select(tx, func(row store.Row) (e endpoint, err error) {
		return e, row.Scan(&e.row, &e.webhookID, &e.url, &e.secret)
	}, `SELECT id, public_id, url, secret_sealed FROM webhooks
		WHERE EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND due_at <= ? AND leased_until <= ?)`,
		now.UnixMilli(), wall)
	if err != nil {
		return nil, err
	}
	busy := map[string]int{}
	for _, webhookID := range w.airborne {
		busy[webhookID]++
	}
	var all []flight
	for _, e := range endpoints {
		flights, err := store.Select(tx, func(row store.Row) (flight, error) {
			f := flight{webhookID: e.webhookID, url: e.url, secret: e.secret, begun: now}
			return f, row.Scan(&f.deliveryID, &f.round, &f.eventID, &f.kind, &f.payload)
		}, `SELECT d.public_id, d.round, e.public_id, e.type, e.payload_sealed
			FROM deliveries d JOIN events e ON e.id = d.event_id
			WHERE d.webhook_id = ? AND d.due_at <= ? AND d.leased_until <= ?
			ORDER BY d.due_at, d.id LIMIT ?`,
			e.row, now.UnixMilli(), wall, max(0, perEndpoint-busy[e.webhookID]))
		if err != nil {
			return nil, err
		}
		for _, f := range flights {
			if _, found := w.airborne[f.deliveryID]; found {
				continue // the lease ran out on the way
			}
			err := tx.Exec(`UPDATE deliveries SET leased_by = ?, leased_until = ? WHERE public_id = ?`,
				w.name, wall+leaseTime.Milliseconds(), f.deliveryID)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// renew extends the leases of what is on its way.
func (w *Worker) renew(tx *store.Tx) error {
	wall := time.Now().UnixMilli()
	if wall-w.renewed < renewTime.Milliseconds() {
		return nil
	}
	for deliveryID := range w.airborne {
		err := tx.Exec(`UPDATE deliveries SET leased_until = ? WHERE public_id = ? AND leased_by = ?`,
			wall+leaseTime.Milliseconds(), deliveryID, w.name)
		if err != nil {
			return err
		}
	}
	w.renewed = wall
	return nil
}
