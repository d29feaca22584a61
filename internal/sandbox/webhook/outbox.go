package webhook

import (
	"encoding/json"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// EventType is the name of an event, as in API §6.
type EventType string

// The twelve events.
const (
	CardCreated           EventType = "card.created"
	CardFrozen            EventType = "card.frozen"
	CardUnfrozen          EventType = "card.unfrozen"
	CardTerminated        EventType = "card.terminated"
	CardFunded            EventType = "card.funded"
	TransactionAuthorized EventType = "transaction.authorized"
	TransactionSettled    EventType = "transaction.settled"
	TransactionDeclined   EventType = "transaction.declined"
	TransactionRefunded   EventType = "transaction.refunded"
	ThreeDSChallenge      EventType = "3ds.challenge"
	DepositPending        EventType = "deposit.pending"
	DepositConfirmed      EventType = "deposit.confirmed"
)

const allEvents = "*"

func eventTypes() []string {
	return []string{
		string(CardCreated), string(CardFrozen), string(CardUnfrozen), string(CardTerminated), string(CardFunded),
		string(TransactionAuthorized), string(TransactionSettled), string(TransactionDeclined), string(TransactionRefunded),
		string(ThreeDSChallenge), string(DepositPending), string(DepositConfirmed),
	}
}

type payload struct {
	ID        string    `json:"id"`
	Type      EventType `json:"type"`
	CreatedAt string    `json:"created_at"`
	Data      any       `json:"data"`
}

// Emit puts an event into the outbox, in the transaction of the change that it reports,
// with a delivery for each endpoint that is subscribed; without one, nothing is written.
// The subject is the id of the object, and data the object as the API shows it.
func Emit(c *server.Call, event EventType, subject string, data any) error {
	endpoints, err := store.Values[int64](c.Tx, `
		SELECT id FROM webhooks WHERE account_id = ?
		AND EXISTS (SELECT 1 FROM json_each(webhooks.events) WHERE value IN (?, ?)) ORDER BY id`,
		c.Account.ID, allEvents, event)
	if err != nil || len(endpoints) == 0 {
		return err
	}
	now := c.Tx.Now()
	publicID := vault.Token("evt_")
	body, err := json.Marshal(payload{ID: publicID, Type: event, CreatedAt: wire.Timestamp(now), Data: data})
	if err != nil {
		return err
	}
	body, err = c.Quirks.Rewrite(body)
	if err != nil {
		return err
	}
	eventID, err := c.Tx.Insert(`
		INSERT INTO events (public_id, account_id, type, subject, payload, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		publicID, c.Account.ID, event, subject, string(body), now.UnixMilli())
	if err != nil {
		return err
	}
	for _, endpoint := range endpoints {
		err := c.Tx.Exec(`INSERT INTO deliveries (public_id, event_id, webhook_id, due_at) VALUES (?, ?, ?, ?)`,
			vault.Token("dlv_"), eventID, endpoint, now.UnixMilli())
		if err != nil {
			return err
		}
	}
	c.Tx.Signal()
	return nil
}

type delivery struct {
	ID      string    `db:"public_id"`
	Round   int64     `db:"round"`
	EventID string    `db:"event_id"`
	Event   EventType `db:"type"`
	Payload []byte    `db:"payload"`
	Target  target    `db:"target_"`
	begun   time.Time
}

type target struct {
	WebhookID string `db:"public_id"`
	URL       string `db:"url"`
	Secret    []byte `db:"secret"`
}

// room is how many more may be sent to an endpoint, beside some to others.
func (w *Worker) room(webhookID string, others int) int {
	room := perEndpoint
	for _, busy := range w.inFlight {
		if busy == webhookID {
			room--
		}
	}
	return min(room, maxInFlight-len(w.inFlight)-others)
}

// due returns what there is to send and room for.
func (w *Worker) due(tx *store.Tx) (all []*delivery, err error) {
	now := tx.Now()
	endpoints, err := store.List[target](tx, `
		SELECT public_id, url, secret FROM webhooks
		WHERE EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND due_at <= ?)`, now.UnixMilli())
	if err != nil {
		return nil, err
	}
	for _, to := range endpoints {
		room := w.room(to.WebhookID, len(all))
		if room <= 0 {
			continue
		}
		// Of the first ones, perEndpoint may be on their way already.
		due, err := store.List[delivery](tx, `
			SELECT d.public_id, d.round, e.public_id AS event_id, e.type, e.payload,
			       w.public_id AS target_public_id, w.url AS target_url, w.secret AS target_secret
			FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id JOIN events e ON e.id = d.event_id
			WHERE w.public_id = ? AND d.due_at <= ? ORDER BY d.due_at, d.id LIMIT ?`,
			to.WebhookID, now.UnixMilli(), room+perEndpoint)
		if err != nil {
			return all, err
		}
		for _, d := range due {
			if _, found := w.inFlight[d.ID]; !found && room > 0 {
				room--
				d.begun = now
				all = append(all, d)
			}
		}
	}
	return all, nil
}

const (
	// keptDeliveries is how many finished deliveries of each account are kept.
	keptDeliveries = 10_000
	// pruneInterval is how often a worker that delivers looks for what to forget.
	pruneInterval = 5 * time.Second
	// pruneSize is how many deliveries of an account one look forgets, while every
	// other change waits.
	pruneSize = 250
	// unfinishedFactor is how many unfinished deliveries are kept for each finished one.
	unfinishedFactor = 10
)

func (w *Worker) prune(tx *store.Tx) error {
	if time.Since(w.pruned) < pruneInterval {
		return nil
	}
	accounts, err := store.Values[int64](tx, `SELECT DISTINCT account_id FROM webhooks`)
	if err != nil {
		return err
	}
	more := false
	for _, account := range accounts {
		for _, old := range []struct {
			condition string
			keep      int64
		}{{`AND d.due_at IS NULL`, keptDeliveries}, {``, keptDeliveries * unfinishedFactor}} {
			forgotten, err := forget(tx, account, old.condition, old.keep)
			if err != nil {
				return err
			}
			more = more || forgotten == pruneSize
		}
	}
	if !more { // else the next look is due at once
		w.pruned = time.Now()
	}
	return nil
}

// forget removes some of the oldest deliveries of those to keep, and returns how many.
func forget(tx *store.Tx, account int64, condition string, keep int64) (int, error) {
	forgotten, err := store.Values[int64](tx, `
		DELETE FROM deliveries WHERE id IN (SELECT d.id FROM events e JOIN deliveries d ON d.event_id = e.id
		WHERE e.account_id = ? `+condition+` ORDER BY e.id DESC, d.id DESC LIMIT ? OFFSET ?) RETURNING id`, account, pruneSize, keep)
	return len(forgotten), err
}
