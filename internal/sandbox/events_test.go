package sandbox_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

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
				due    sql.NullInt64
			)
			if err := row.Scan(&sealed, &due); err != nil {
				return nil, err
			}
			if !due.Valid {
				t.Error("a new delivery is not due")
			}
			plain, err := keys.Open(sealed)
			if err != nil {
				return nil, err
			}
			return payload, json.Unmarshal(plain, &payload)
		}, `SELECT e.payload_sealed, d.due_at FROM deliveries d JOIN events e ON e.id = d.event_id
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
	all := s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).text("id")
	some := s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["card.frozen","card.terminated"]}`).text("id")
	other := s.as(s.post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).text("api_key"))
	foreign := other.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).text("id")

	id := s.issue("100", `"auto_freeze_at":60`)
	cardPath := "/api/v1/cards/" + id
	s.post(cardPath+"/freeze", "").ok(200)
	s.post(cardPath+"/freeze", "").ok(200) // again: no event
	s.post(cardPath+"/unfreeze", "").ok(200)
	s.post(cardPath+"/unfreeze", "").ok(200)
	s.post(cardPath+"/fund", `{"amount":5}`, idempotencyKey, "k").ok(200)
	s.post(cardPath+"/fund", `{"amount":5}`, idempotencyKey, "k").ok(200) // replayed: no event
	s.post(cardPath+"/fund", `{"amount":5e9}`).refused(400, "insufficient_funds", "")
	s.post(cardPath+"/withdraw", `{"amount":5}`).ok(200)  // no event
	s.post(cardPath+"/withdraw", `{"amount":50}`).ok(200) // freezes
	s.call(http.MethodDelete, cardPath, "").ok(200)

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
