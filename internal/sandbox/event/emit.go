// Package event writes down what happened, for the endpoints that asked for it.
package event

import (
	"encoding/json"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Type is the name of an event, as in API §6.
type Type string

// The twelve events.
const (
	CardCreated           Type = "card.created"
	CardFrozen            Type = "card.frozen"
	CardUnfrozen          Type = "card.unfrozen"
	CardTerminated        Type = "card.terminated"
	CardFunded            Type = "card.funded"
	TransactionAuthorized Type = "transaction.authorized"
	TransactionSettled    Type = "transaction.settled"
	TransactionDeclined   Type = "transaction.declined"
	TransactionRefunded   Type = "transaction.refunded"
	ThreeDSChallenge      Type = "3ds.challenge"
	DepositPending        Type = "deposit.pending"
	DepositConfirmed      Type = "deposit.confirmed"
)

// All subscribes to every event.
const All = "*"

// Types returns the names of all events.
func Types() []string {
	return []string{
		string(CardCreated), string(CardFrozen), string(CardUnfrozen), string(CardTerminated), string(CardFunded),
		string(TransactionAuthorized), string(TransactionSettled), string(TransactionDeclined), string(TransactionRefunded),
		string(ThreeDSChallenge), string(DepositPending), string(DepositConfirmed),
	}
}

// payload is the body of a delivery.
type payload struct {
	ID        string `json:"id"`
	Type      Type   `json:"type"`
	CreatedAt string `json:"created_at"`
	Data      any    `json:"data"`
}

// Emit puts an event into the outbox, in the transaction of the change that it
// tells of, with a delivery for each endpoint that is subscribed at this
// moment. data is the object as the API shows it. Without such an endpoint
// there is nobody to tell, and nothing is written.
func Emit(c *wire.Call, kind Type, data any) error {
	webhooks, err := subscribed(c.Tx, c.Account.ID, kind)
	if err != nil || len(webhooks) == 0 {
		return err
	}
	now, err := c.Tx.Now()
	if err != nil {
		return err
	}
	publicID := vault.Token("evt_")
	body, err := json.Marshal(payload{ID: publicID, Type: kind, CreatedAt: wire.Timestamp(now), Data: data})
	if err != nil {
		return err
	}
	if body, err = c.Quirks.WriteAmounts(body); err != nil {
		return err
	}
	event, err := c.Tx.Insert(`
		INSERT INTO events (public_id, account_id, type, payload_sealed, created_at) VALUES (?, ?, ?, ?, ?)`,
		publicID, c.Account.ID, kind, c.Keys.Seal(body), now.UnixMilli())
	if err != nil {
		return err
	}
	for _, webhook := range webhooks {
		err := c.Tx.Exec(`INSERT INTO deliveries (public_id, event_id, webhook_id, due_at) VALUES (?, ?, ?, ?)`,
			vault.Token("dlv_"), event, webhook, now.UnixMilli())
		if err != nil {
			return err
		}
	}
	c.Tx.Signal()
	return nil
}

// subscribed returns the account's endpoints that want an event.
func subscribed(tx *store.Tx, accountID int64, kind Type) ([]int64, error) {
	type endpoint struct {
		id     int64
		events []string
	}
	endpoints, err := store.Select(tx, func(row store.Row) (e endpoint, err error) {
		var events []byte
		if err := row.Scan(&e.id, &events); err != nil {
			return e, err
		}
		return e, json.Unmarshal(events, &e.events)
	}, `SELECT id, events FROM webhooks WHERE account_id = ? ORDER BY id`, accountID)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, e := range endpoints {
		if slices.Contains(e.events, All) || slices.Contains(e.events, string(kind)) {
			ids = append(ids, e.id)
		}
	}
	return ids, nil
}
