package webhook

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

type delivery struct {
	id      string
	round   int64
	eventID string
	event   EventType
	payload []byte
	target
	begun time.Time
}

type target struct {
	webhookID string
	url       string
	secret    []byte
}

func (w *Worker) room(webhookID string) int {
	room := perEndpoint
	for _, busy := range w.inFlight {
		if busy == webhookID {
			room--
		}
	}
	return max(0, min(room, maxInFlight-len(w.inFlight)))
}

// due returns what is to be sent now, as much as there is room for, and counts it as
// in flight.
func (w *Worker) due(tx *store.Tx) (all []delivery, err error) {
	now := tx.Now()
	endpoints, err := store.Select(tx, func(row store.Row) (t target, err error) { return t, row.Scan(&t.webhookID, &t.url, &t.secret) }, `
		SELECT public_id, url, secret FROM webhooks
		WHERE EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND due_at <= ?)`, now.UnixMilli())
	if err != nil {
		return nil, err
	}
	for _, to := range endpoints {
		room := w.room(to.webhookID)
		if room == 0 {
			continue
		}
		// Of the first ones, perEndpoint may be on their way already.
		due, err := store.Select(tx, func(row store.Row) (delivery, error) {
			d := delivery{target: to, begun: now}
			return d, row.Scan(&d.id, &d.round, &d.eventID, &d.event, &d.payload)
		}, `SELECT d.public_id, d.round, e.public_id, e.type, e.payload
			FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id JOIN events e ON e.id = d.event_id
			WHERE w.public_id = ? AND d.due_at <= ? ORDER BY d.due_at, d.id LIMIT ?`,
			to.webhookID, now.UnixMilli(), room+perEndpoint)
		if err != nil {
			return all, err
		}
		for _, d := range due {
			if _, found := w.inFlight[d.id]; !found && room > 0 {
				room--
				w.inFlight[d.id] = to.webhookID
				all = append(all, d)
			}
		}
	}
	return all, nil
}
