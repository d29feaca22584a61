package webhook

import (
	"net/url"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
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

// due returns what is to be sent now, as much as there is room for, and counts it as
// in flight.
func (w *Worker) due(tx *store.Tx) (all []delivery) {
	now := tx.Now()
	endpoints := store.Select(tx, w.scanTarget, `
		SELECT public_id, url_sealed FROM webhooks
		WHERE EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND due_at <= ?)`, now.UnixMilli())
	for _, to := range endpoints {
		room := w.room(to)
		if room == 0 {
			continue
		}
		// Of the first ones, perEndpoint may be on their way already.
		due := store.Select(tx, func(row store.Row) (delivery, error) {
			d := delivery{target: to, begun: now}
			return d, row.Scan(&d.id, &d.round, &d.eventID, &d.event, &d.payload, &d.secret)
		}, `SELECT d.public_id, d.round, e.public_id, e.type, e.payload_sealed, w.secret_sealed
			FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id JOIN events e ON e.id = d.event_id
			WHERE w.public_id = ? AND d.due_at <= ? ORDER BY d.due_at, d.id LIMIT ?`,
			to.webhookID, now.UnixMilli(), room+perEndpoint)
		for _, d := range due {
			if _, found := w.inFlight[d.id]; !found && room > 0 {
				room--
				w.inFlight[d.id] = to
				all = append(all, d)
			}
		}
	}
	return all
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
