package webhook

import (
	"net/url"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

const (
	// leaseTime is how long a delivery stays with a process that was killed.
	leaseTime = 5 * time.Second
	// renewTime leaves a worker that has to wait for the file several chances.
	renewTime = time.Second
)

// delivery is one try to bring an event to an endpoint.
type delivery struct {
	id      string
	round   int64
	eventID string
	event   EventType
	payload []byte // sealed
	target
	secret []byte // sealed
	begun  time.Time
}

// target is where a delivery goes.
type target struct {
	webhookID string
	url       string
	host      string
}

// room is how many more deliveries to a target may be in flight.
func (w *Worker) room(to target) int {
	endpoint, host := perEndpoint, perHost
	for _, busy := range w.inFlight {
		if busy.webhookID == to.webhookID {
			endpoint--
		}
		if busy.host == to.host {
			host--
		}
	}
	return max(0, min(endpoint, host, maxInFlight-len(w.inFlight)))
}

// lease takes what is due, as much as there is room for. What it returns counts as
// in flight, also with an error.
func (w *Worker) lease(tx *store.Tx) ([]delivery, error) {
	now, err := tx.Now()
	if err != nil {
		return nil, err
	}
	wall := time.Now().UnixMilli()
	furthest := wall + 2*leaseTime.Milliseconds() // no lease lasts longer, unless the clock was set back since
	endpoints, err := store.Select(tx, w.scanTarget, `
		SELECT public_id, url_sealed FROM webhooks
		WHERE EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND due_at <= ? AND leased_until NOT BETWEEN ? + 1 AND ?)`,
		now.UnixMilli(), wall, furthest)
	if err != nil {
		return nil, err
	}
	var leased []delivery
	for _, to := range endpoints {
		room := w.room(to)
		if room == 0 {
			continue
		}
		due, err := store.Select(tx, func(row store.Row) (delivery, error) {
			d := delivery{target: to, begun: now}
			return d, row.Scan(&d.id, &d.round, &d.eventID, &d.event, &d.payload, &d.secret)
		}, `SELECT d.public_id, d.round, e.public_id, e.type, e.payload_sealed, w.secret_sealed
			FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id JOIN events e ON e.id = d.event_id
			WHERE w.public_id = ? AND d.due_at <= ? AND d.leased_until NOT BETWEEN ? + 1 AND ?
			ORDER BY d.due_at, d.id LIMIT ?`,
			to.webhookID, now.UnixMilli(), wall, furthest, room)
		if err != nil {
			return leased, err
		}
		for _, d := range due {
			if _, found := w.inFlight[d.id]; found {
				continue // the lease ran out meanwhile
			}
			err := tx.Exec(`UPDATE deliveries SET leased_by = ?, leased_until = ? WHERE public_id = ?`,
				w.name, wall+leaseTime.Milliseconds(), d.id)
			if err != nil {
				return leased, err
			}
			leased = append(leased, d)
			w.inFlight[d.id] = to
		}
	}
	return leased, nil
}

func (w *Worker) scanTarget(row store.Row) (t target, err error) {
	var sealed []byte
	if err := row.Scan(&t.webhookID, &sealed); err != nil {
		return target{}, err
	}
	plain, err := w.sender.keys.Open(vault.URLOfWebhook, t.webhookID, sealed)
	if err != nil {
		return target{}, err
	}
	t.url = string(plain)
	if u, err := url.Parse(t.url); err == nil {
		t.host = u.Host
	}
	return t, nil
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
