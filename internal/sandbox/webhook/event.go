package webhook

import (
	"encoding/json"

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

// Emit puts an event into the outbox, in the transaction of the change that it
// tells of, with a delivery for each endpoint that is subscribed at this
// moment. data is the object as the API shows it. Without such an endpoint
// there is nobody to tell, and nothing is written.
func Emit(c *server.Call, event EventType, data any) error {
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
	var about struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &about) // our own
	if body, err = c.Quirks.Rewrite(body); err != nil {
		return err
	}
	eventID, err := c.Tx.Insert(`
		INSERT INTO events (public_id, account_id, type, subject, payload, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		publicID, c.Account.ID, event, about.Data.ID, string(body), now.UnixMilli())
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
