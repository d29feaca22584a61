package sandbox_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

// outbox returns the payloads that wait for an endpoint, the oldest first.
func outbox(t *testing.T, s *service, webhookID string) (payloads []map[string]any) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: s.path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.Read(t.Context(), func(tx *store.Tx) error {
		var master []byte
		if _, err := tx.Get([]any{&master}, `SELECT master_key FROM service`); err != nil {
			return err
		}
		keys, err := vault.New(master)
		if err != nil {
			return err
		}
		payloads, err = store.Select(tx, func(row store.Row) (payload map[string]any, err error) {
			var (
				sealed []byte
				id     string
				due    sql.NullInt64
			)
			if err := row.Scan(&id, &sealed, &due); err != nil {
				return nil, err
			}
			if !due.Valid {
				t.Error("a new delivery is not due")
			}
			plain, err := keys.Open(vault.PayloadOfEvent, id, sealed)
			if err != nil {
				return nil, err
			}
			return payload, json.Unmarshal(plain, &payload)
		}, `SELECT e.public_id, e.payload_sealed, d.due_at FROM deliveries d JOIN events e ON e.id = d.event_id
			JOIN webhooks w ON w.id = d.webhook_id WHERE w.public_id = ? ORDER BY d.id`, webhookID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return payloads
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).Text("id")
	some := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["card.frozen","card.terminated"]}`).Text("id")
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).Text("api_key"))
	foreign := other.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).Text("id")

	id := s.Issue("100", `"auto_freeze_at":60`)
	cardPath := "/api/v1/cards/" + id
	s.Post(cardPath+"/freeze", "").OK(200)
	s.Post(cardPath+"/freeze", "").OK(200) // again: no event
	s.Post(cardPath+"/unfreeze", "").OK(200)
	s.Post(cardPath+"/unfreeze", "").OK(200)
	s.Post(cardPath+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, "k").OK(200)
	s.Post(cardPath+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, "k").OK(200) // replayed: no event
	s.Post(cardPath+"/fund", `{"amount":5e9}`).Refused(400, "insufficient_funds", "")
	s.Post(cardPath+"/withdraw", `{"amount":5}`).OK(200)  // no event
	s.Post(cardPath+"/withdraw", `{"amount":50}`).OK(200) // freezes
	s.Call(http.MethodDelete, cardPath, "").OK(200)

	var got []string
	for _, payload := range outbox(t, s, all) {
		fields(t, payload, "id", "type", "created_at", "data")
		data := payload["data"].(map[string]any)
		if data["id"] != id || !strings.HasPrefix(payload["id"].(string), "evt_") {
			t.Errorf("payload of another form: %v", payload)
		}
		fields(t, data, "id", "bin_id", "network", "last4", "status", "balance", "spending_limit", "label",
			"allowed_categories", "auto_freeze_at", "metadata", "created_at", "expires_at")
		got = append(got, payload["type"].(string)+" "+data["status"].(string))
	}
	want := "card.created active, card.frozen frozen, card.unfrozen active, card.funded active, card.frozen frozen, card.terminated terminated"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if n := len(outbox(t, s, some)); n != 3 {
		t.Errorf("the endpoint with two events has %d deliveries, want 3", n)
	}
	if n := len(outbox(t, s, foreign)); n != 0 {
		t.Errorf("another account's endpoint has %d deliveries", n)
	}
}
