package sandbox_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Audits of a large ledger leave the API its connections.
func TestAuditsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	s := start(t)
	execSQL(t, s.path, `
		WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
		INSERT INTO ledger_entries (id, account_id, kind, created_at) SELECT i, 1, 'card funded', 0 FROM n;
		INSERT INTO ledger_postings SELECT e.id, l.id, CASE l.kind WHEN 'wallet' THEN 1 ELSE -1 END, 0
		FROM ledger_entries e, ledger_accounts l WHERE e.id >= 1000 AND l.kind IN ('wallet', 'fees')`)
	const audits = 8
	var (
		group    sync.WaitGroup
		answered atomic.Int32
	)
	for range audits {
		group.Go(func() {
			s.Send(t.Context(), http.MethodGet, "/_sandbox/ledger", nil) // on a slow machine, some get no turn in time
			answered.Add(1)
		})
	}
	calls := 0
	for ; answered.Load() < audits/2; calls++ {
		s.Get("/api/v1/bins").OK(200)
	}
	if calls < 10*audits { // one after each audit, if they took all connections
		t.Errorf("%d calls were answered while %d audits were", calls, audits/2)
	}
	group.Wait()
}

func TestLedgerNoticesEveryError(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]string{
		"a stored balance":          `UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'card'`,
		"a posting":                 `UPDATE ledger_postings SET amount = amount + 1 WHERE amount = 100`,
		"two that cancel out":       `UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'wallet' THEN 1 WHEN 'fees' THEN -1 ELSE 0 END`,
		"a hold without a posting":  `INSERT INTO transactions VALUES (9,'txn_x',1,1,NULL,'authorization','authorized',1,0,'m','1',NULL,NULL,0,0,0,0)`,
		"a terminated card's money": `UPDATE cards SET status = 'terminated'`,
		"a wallet below zero": `UPDATE ledger_postings SET amount = amount - CASE ledger_account_id WHEN 1 THEN 1000000 WHEN 3 THEN -1000000 ELSE 0 END WHERE entry_id = 2;
			UPDATE ledger_accounts SET balance = balance - CASE kind WHEN 'wallet' THEN 1000000 WHEN 'fees' THEN -1000000 ELSE 0 END`,
		"on the holds":                 `UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'holds'`,
		"off the merchants":            `UPDATE ledger_accounts SET balance = balance - 1 WHERE kind = 'merchants'`,
		"in an open authorization":     `UPDATE transactions SET amount = amount + 1 WHERE type = 'authorization' AND amount = 3000`,
		"moved from holds to the card": `UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'holds' THEN -1 WHEN 'card' THEN 1 ELSE 0 END`,
		"moved with its postings": `UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'holds' THEN -1 WHEN 'card' THEN 1 ELSE 0 END;
			UPDATE ledger_postings SET amount = amount + CASE amount WHEN 3000 THEN -1 WHEN -3000 THEN 1 ELSE 0 END`,
		"of an entry":          `UPDATE ledger_postings SET amount = amount - 1 WHERE amount = 4000`,
		"a settlement unbound": `UPDATE transactions SET parent_id = NULL WHERE type = 'settlement'`,
		"in no authorization":  `UPDATE transactions SET type = 'decline' WHERE type = 'authorization' AND amount = 3000`,
		"behind an index": `PRAGMA writable_schema = ON; PRAGMA schema_version = 1000;
			UPDATE sqlite_schema SET sql = 'CREATE INDEX cards_by_status ON cards (account_id, last4, id)' WHERE name = 'cards_by_status'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(o *sandboxtest.Options) { o.Direct = true })
			card := s.Issue("100")
			s.settled(s.authorized(card, "40"), "")
			s.authorized(card, "30")
			s.Balanced()
			execSQL(t, s.path, harm)
			if report := s.Get("/_sandbox/ledger").OK(200); report.Body["balanced"] != false || report.Body["problems"] == nil {
				t.Errorf("not noticed: %s", report.Raw)
			}
		})
	}
}

// All is as it was at the start but the keys of the first account; the others are gone.
// That nothing is left of cards and requests is for modeltest.
func TestReset(t *testing.T) {
	t.Parallel()
	s := start(t, withKey("sk_live_sandbox_chosen_0123456789abcdef"), stopped)
	addresses := s.Get("/wallet/deposit-address").Raw
	fill := s.populate()
	s.subscribe("https://127.0.0.1:1", `"*"`)
	s.Advance("1h")
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	s.play(fill, `
		POST /_sandbox/clock {"advance":"2562047h"} → 200 "now":"2318-0
		POST /_sandbox/clock {"advance":"2562047h"} → 200 "now":"2610-1
		POST /_sandbox/reset → 200 "now":"2026-03-15T12:00:00.000Z"
		GET /wallet/balance → 200 "balance":10000.00
		GET /_sandbox/requests → 200 {"data":[{"method":"GET","path":"/wallet/balance",
		GET /cards/CARD → 404 "not_found"
		POST /cards {BIN,"amount":100} → 201`)
	other.Get("/bins").Refused(401, "unauthorized", "")
	if s.Get("/wallet/deposit-address").Raw != addresses {
		t.Error("the account has other deposit addresses")
	}
	s.Balanced()
}

// The key of a call is looked up before a fault delays it; a reset meanwhile
// must not leave the call with an account that is gone.
func TestResetDuringACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withoutNetwork)
		s.Fault(`{"method":"POST","path":"/cards","times":1,"when":"before","delay_ms":500,"then":"pass"}`)
		issued := make(chan sandboxtest.Response)
		go func() {
			issued <- s.Send(t.Context(), http.MethodPost, "/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
		}()
		synctest.Wait()
		s.Post("/_sandbox/reset", "").OK(200)
		if o := <-issued; o.Status != 201 {
			t.Errorf("answered %d %s", o.Status, o.Raw)
		}
		if got := s.Wallet(); got.String() != "9949.00" {
			t.Errorf("the wallet holds %s", got)
		}
		s.Balanced()
	})
}

// From the contract that the sandbox serves, a generator makes a client that calls
// all endpoints of it.
func TestTheContractIsServed(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, wallet(2_000_000*usd.Dollar))
	served := s.Send(t.Context(), "GET", "/_sandbox/openapi.yaml", nil, "Authorization", "").OK(200)
	contract, _ := openapi.Contract()
	if served.Header.Get("Content-Type") != "application/yaml" || served.Raw != string(contract) {
		t.Errorf("%s is served: %.200s", served.Header.Get("Content-Type"), served.Raw)
	}
	if testing.Short() {
		t.Skip("NOT RUN: make test-all builds a generator, and a client by it")
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/client")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "openapi.yaml"), []byte(served.Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"tool", "oapi-codegen", "-generate=types,client", "-package=main", "-o=client.go", "openapi.yaml"},
		{"run", ".", s.URL, s.Key},
	} {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", arguments[:2], err, output)
		}
	}
}
