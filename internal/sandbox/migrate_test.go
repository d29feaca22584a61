package sandbox_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

// A file of the version that still numbered transactions in four ways, and whose
// faults had other patterns for paths.
func TestOldFileOpens(t *testing.T) {
	t.Parallel()
	const numbered = 6 // migrations
	path := filepath.Join(t.TempDir(), "old.db")
	scripts, err := filepath.Glob("store/schema/*.sql")
	if err != nil || len(scripts) <= numbered {
		t.Fatalf("%d migrations, %v", len(scripts), err)
	}
	for _, script := range scripts[:numbered] {
		content, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		execSQL(t, path, string(content))
	}
	master := bytes.Repeat([]byte{7}, 32)
	keys, err := vault.New(master)
	if err != nil {
		t.Fatal(err)
	}
	execSQL(t, path, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d;
		INSERT INTO service (id, master_key, initial_balance) VALUES (1, x'%x', 0);
		INSERT INTO accounts (id, public_id, key_hash, state) VALUES (1, 'acct_first', x'%x', 'ready');
		INSERT INTO ledger_accounts (id, account_id, kind) VALUES (1, 1, 'wallet'), (2, 1, 'holds'), (3, 1, 'card');
		INSERT INTO cards VALUES (1, 'card_a', 1, 3, 'bin_ads_visa_us', '0000', 'active', 100, '', '[]', NULL, '{}', 0, '2029-01-31');
		INSERT INTO transactions VALUES
			(1, 'txn_a', 1, 1, NULL, 'decline', 100, 0, 'Ads', '7311', 1000, 1, 1, 1, 1),
			(2, 'txn_b', 1, 1, NULL, 'decline', 200, 0, 'Ads', '7311', 2000, 2, 2, 2, 2);
		INSERT INTO faults (definition) VALUES ('{"method":"*","path":"**","when":"before","then":"drop"}');
		INSERT INTO webhooks VALUES (1, 'wh_a', 1, 'https://127.0.0.1:1/planted-token', '["*"]', x'%x', 0);
		INSERT INTO events VALUES (1, 'evt_a', 1, 'card.created', x'%x', 0);
		INSERT INTO deliveries (id, public_id, event_id, webhook_id, due_at) VALUES (1, 'dlv_a', 1, 1, 0);
		INSERT INTO idempotent_answers VALUES (1, 'k', 'POST', '/api/v1/webhooks', x'%x', 201, x'%x', %d)`,
		0x76637264, numbered, master, vault.HashAPIKey(keys.APIKey("acct_first")),
		// As they were sealed then, under this master key, for no row in particular.
		unhex(t, "f5db7e5a920402b059f7dd1103092d06ebf93f4e6b4a8ca9f5b1cd82863b5a66edd6d699c4"),
		unhex(t, "e1713e3858f25da86f1b9738b52068aba90b0707ab6cb242423c1e15bfae2fb4a3d5dfc71482af221f98"),
		vault.HashAPIKey("{}"), unhex(t, "49ceb3443de3456c2def571a98a3b28d578b82c9f59d8fdaab15b7c3f36352aa1e5f62fe610a01b5b9"), int64(1)<<50))
	s := open(t, on(path))
	if got := s.Get("/api/v1/transactions").OK(200).Raw; strings.Index(got, "txn_b") > strings.Index(got, "txn_a") || !strings.Contains(got, "1970-01-01T00:00:01.000Z") {
		t.Errorf("the transactions are %s", got)
	}
	if got := s.Get("/_sandbox/faults").Data(); len(got) != 0 {
		t.Errorf("the faults are %v", got)
	}
	if got := s.Post("/api/v1/webhooks", "{}", sandboxtest.IdempotencyKey, "k").OK(201).Text("id"); got != "wh_a" {
		t.Errorf("the stored response has the id %s", got)
	}
	s.Balanced()
	d := s.tried("wh_a", 1)
	if len(d) != 1 || d[0]["url"] != "https://127.0.0.1:1/…" || !strings.Contains(fmt.Sprint(tries(d[0])[0]), "refused") {
		t.Errorf("the deliveries are %v", d)
	}
	s.close()
	if content, err := os.ReadFile(path); err != nil || bytes.Contains(content, []byte("planted-token")) {
		t.Errorf("the webhook's URL is still in the file, %v", err)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
