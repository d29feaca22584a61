package webhook

import (
	"encoding/json"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// EventType is the type of an event, by which endpoints subscribe to it.
type EventType string

// The types of events.
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

// allEvents is what an endpoint subscribes to in order to receive events of all types.
const allEvents = "*"

// eventTypes returns the types to which an endpoint can subscribe.
func eventTypes() []string {
	return []string{
		string(CardCreated), string(CardFrozen), string(CardUnfrozen), string(CardTerminated), string(CardFunded),
		string(TransactionAuthorized), string(TransactionSettled), string(TransactionDeclined), string(TransactionRefunded),
		string(ThreeDSChallenge), string(DepositPending), string(DepositConfirmed),
	}
}

// payload is the body of a delivery.
type payload struct {
	ID        string    `json:"id"`
	Type      EventType `json:"type"`
	CreatedAt string    `json:"created_at"`
	Data      any       `json:"data"`
}

// Emit writes an event to the outbox in the transaction of the call, with a delivery for each endpoint of the account
// that subscribes to it. If no endpoint does, it writes nothing. subject is the id of the object that the event is
// about, and data is the object as the event shows it.
func Emit(c *server.Call, event EventType, subject string, data any) error {
	// rowIDs are those of the endpoints.
	rowIDs, err := store.Values[int64](c.Tx, `
		SELECT id FROM webhooks WHERE account_id = ?
		AND EXISTS (SELECT 1 FROM json_each(webhooks.events) WHERE value IN (?, ?)) ORDER BY id`,
		c.Account.ID, allEvents, event)
	if err != nil {
		return err
	}
	if len(rowIDs) == 0 {
		return nil
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
	for _, rowID := range rowIDs {
		err := c.Tx.Exec(`INSERT INTO deliveries (public_id, event_id, webhook_id, due_at) VALUES (?, ?, ?, ?)`,
			vault.Token("dlv_"), eventID, rowID, now.UnixMilli())
		if err != nil {
			return err
		}
	}
	c.Tx.Signal() // wakes the worker after the commit
	return nil
}

// dueDelivery is a delivery to send.
type dueDelivery struct {
	ID      string    `db:"public_id"`
	Round   int64     `db:"round"` // a redelivery starts another round
	EventID string    `db:"event_id"`
	Event   EventType `db:"type"`
	Payload []byte    `db:"payload"`
	Target  target    `db:"target_"`
	started time.Time // when the attempt started, by the service's clock
}

// target is the endpoint to which a delivery is sent.
type target struct {
	WebhookID string `db:"public_id"`
	URL       string `db:"url"`
	Secret    []byte `db:"secret"`
}

// capacity returns how many more deliveries to an endpoint may be sent now. A result of 0 or less means none. selected is
// the number of deliveries to all endpoints that are about to be sent in addition to those in flight.
func (w *Worker) capacity(webhookID string, selected int) int {
	endpointCapacity := perEndpoint
	for _, endpoint := range w.inFlight {
		if endpoint == webhookID {
			endpointCapacity--
		}
	}
	totalCapacity := maxInFlight - len(w.inFlight) - selected
	return min(endpointCapacity, totalCapacity)
}

// selectDue returns the deliveries to send now, within the limits of concurrent deliveries.
func (w *Worker) selectDue(tx *store.Tx) ([]*dueDelivery, error) {
	var selected []*dueDelivery
	now := tx.Now()
	// The endpoint whose delivery has waited longest comes first.
	publicIDs, err := store.Values[string](tx, `
		SELECT public_id FROM (
			SELECT id, public_id, (SELECT MIN(due_at) FROM deliveries WHERE webhook_id = webhooks.id AND due_at IS NOT NULL) AS first_due
			FROM webhooks)
		WHERE first_due <= ? ORDER BY first_due, id`, now.UnixMilli())
	if err != nil {
		return nil, err
	}
	for _, publicID := range publicIDs {
		capacity := w.capacity(publicID, len(selected))
		if capacity <= 0 {
			continue
		}
		// The rows may include up to perEndpoint deliveries that are in flight already, so the limit is higher by that many.
		due, err := store.List[dueDelivery](tx, `
			SELECT d.public_id, d.round, e.public_id AS event_id, e.type, e.payload,
			       w.public_id AS target_public_id, w.url AS target_url, w.secret AS target_secret
			FROM webhooks w
			JOIN deliveries d ON d.webhook_id = w.id
			JOIN events e ON e.id = d.event_id
			WHERE w.public_id = ? AND d.due_at <= ?
			ORDER BY d.due_at, d.id
			LIMIT ?`,
			publicID, now.UnixMilli(), capacity+perEndpoint)
		if err != nil {
			return nil, err
		}
		for _, d := range due {
			_, inFlight := w.inFlight[d.ID]
			if inFlight {
				continue
			}
			if capacity <= 0 {
				break
			}
			capacity--
			d.started = now
			selected = append(selected, d)
		}
	}
	return selected, nil
}

const (
	// keptFinished is how many finished deliveries of each account the worker keeps.
	keptFinished = 10_000
	// keptDeliveries is how many deliveries of each account the worker keeps, whatever their state.
	keptDeliveries = 100_000
	// pruneInterval is how long the worker waits after it has deleted all old deliveries.
	pruneInterval = 5 * time.Second
	// pruneSize is the maximum number of deliveries that one statement deletes, because other writers have to wait
	// meanwhile.
	pruneSize = 250
)

// prune deletes old deliveries of each account. It returns false if there may be more to delete.
func prune(tx *store.Tx) (bool, error) {
	accounts, err := store.Values[int64](tx, `SELECT DISTINCT account_id FROM webhooks`)
	if err != nil {
		return false, err
	}
	const (
		isFinished = `AND d.due_at IS NULL`
		anyState   = ``
	)
	all := true // whether all old deliveries are deleted
	for _, account := range accounts {
		deletedFinished, err := deleteOld(tx, account, isFinished, keptFinished)
		if err != nil {
			return false, err
		}
		deletedAnyState, err := deleteOld(tx, account, anyState, keptDeliveries)
		if err != nil {
			return false, err
		}
		if deletedFinished == pruneSize || deletedAnyState == pruneSize {
			all = false
		}
	}
	return all, nil
}

// deleteOld deletes an account's deliveries that match a condition, except the newest n. It deletes at most pruneSize
// deliveries and returns how many it deleted. The condition is empty or starts with AND.
func deleteOld(tx *store.Tx, account int64, condition string, n int64) (int, error) {
	deleted, err := store.Values[int64](tx, `
		DELETE FROM deliveries WHERE id IN (
			SELECT d.id
			FROM events e JOIN deliveries d ON d.event_id = e.id
			WHERE e.account_id = ? `+condition+`
			ORDER BY e.id DESC, d.id DESC
			LIMIT ? OFFSET ?)
		RETURNING id`, account, pruneSize, n)
	return len(deleted), err
}
