package webhook

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

// delivery is one try to bring an event to an endpoint.
type delivery struct {
	id        string
	round     int64
	eventID   string
	event     EventType
	payload   []byte // sealed
	webhookID string
	url       []byte // sealed
	secret    []byte // sealed
	begun     time.Time
}

// lease takes what is due, as much as each endpoint has room for.
func (w *Worker) lease(tx *store.Tx) ([]delivery, error) {
	now, err := tx.Now()
	if err != nil {
		return nil, err
	}
	wall := time.Now().UnixMilli()
	endpoints, err := store.Select(tx, func(row store.Row) (publicID string, err error) { return publicID, row.Scan(&publicID) },
		`SELECT public_id FROM webhooks
		WHERE EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND due_at <= ? AND leased_until <= ?)`,
		now.UnixMilli(), wall)
	if err != nil {
		return nil, err
	}
	busy := map[string]int{}
	for _, webhookID := range w.inFlight {
		busy[webhookID]++
	}
	var leased []delivery
	for _, webhookID := range endpoints {
		due, err := store.Select(tx, func(row store.Row) (delivery, error) {
			d := delivery{webhookID: webhookID, begun: now}
			return d, row.Scan(&d.id, &d.round, &d.eventID, &d.event, &d.payload, &d.url, &d.secret)
		}, `SELECT d.public_id, d.round, e.public_id, e.type, e.payload_sealed, w.url_sealed, w.secret_sealed
			FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id JOIN events e ON e.id = d.event_id
			WHERE w.public_id = ? AND d.due_at <= ? AND d.leased_until <= ?
			ORDER BY d.due_at, d.id LIMIT ?`,
			webhookID, now.UnixMilli(), wall, max(0, perEndpoint-busy[webhookID]))
		if err != nil {
			return nil, err
		}
		for _, d := range due {
			if _, found := w.inFlight[d.id]; found {
				continue // the lease ran out meanwhile
			}
			err := tx.Exec(`UPDATE deliveries SET leased_by = ?, leased_until = ? WHERE public_id = ?`,
				w.name, wall+leaseTime.Milliseconds(), d.id)
			if err != nil {
				return nil, err
			}
			leased = append(leased, d)
		}
	}
	return leased, nil
}

// renew extends the leases of what is in flight.
func (w *Worker) renew(tx *store.Tx) error {
	wall := time.Now().UnixMilli()
	if wall-w.renewed < renewTime.Milliseconds() {
		return nil
	}
	for id := range w.inFlight {
		err := tx.Exec(`UPDATE deliveries SET leased_until = ? WHERE public_id = ? AND leased_by = ?`,
			wall+leaseTime.Milliseconds(), id, w.name)
		if err != nil {
			return err
		}
	}
	w.renewed = wall
	return nil
}
