package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestClock(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	if got := s.Get("/_sandbox/clock").OK(200).Text("now"); got != "2026-03-15T12:00:00.000Z" {
		t.Errorf("the clock begins at %s", got)
	}
	if got := s.Post("/_sandbox/clock", `{"advance":"720h"}`).OK(200).Text("now"); got != "2026-04-14T12:00:00.000Z" {
		t.Errorf("the clock was moved to %s", got)
	}
	if got := s.Get("/api/v1/cards/" + s.Issue("50")).Text("created_at"); got != "2026-04-14T12:00:00.000Z" {
		t.Errorf("a card was created at %s", got)
	}
	for _, advance := range []string{`"-1h"`, `"0s"`, `"soon"`, `5`, `"2562047h"`} {
		a := s.Post("/_sandbox/clock", `{"advance":`+advance+`}`)
		if advance == `"2562047h"` { // 292 years
			a.OK(200)
			continue
		}
		a.Refused(400, "invalid_request", "advance")
	}
}

// Audits of a large ledger leave the API its connections.
func TestAuditsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	s := start(t)
	execSQL(t, s.path, `
		WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
		INSERT INTO ledger_entries (id, account_id, kind, created_at) SELECT i, 1, 'card funded', 0 FROM n;
		INSERT INTO ledger_postings SELECT e.id, l.id, CASE l.kind WHEN 'wallet' THEN 1 ELSE -1 END
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
		"a hold without a posting":  `INSERT INTO transactions VALUES (1,'txn_x',1,1,NULL,'authorization','authorized',1,0,'m','1',NULL,NULL,0)`,
		"a terminated card's money": `UPDATE cards SET status = 'terminated'`,
		"a wallet below zero": `UPDATE ledger_postings SET amount = amount - CASE ledger_account_id WHEN 1 THEN 1000000 WHEN 3 THEN -1000000 ELSE 0 END WHERE entry_id = 2;
			UPDATE ledger_accounts SET balance = balance - CASE kind WHEN 'wallet' THEN 1000000 WHEN 'fees' THEN -1000000 ELSE 0 END`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Issue("100")
			s.Balanced()
			execSQL(t, s.path, harm)
			report := s.Get("/_sandbox/ledger").OK(200)
			if report.Body["balanced"] != false || report.Body["problems"] == nil {
				t.Errorf("not noticed: %s", report.Raw)
			}
		})
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *sandboxtest.Options) { o.APIKey = "sk_live_sandbox_chosen_0123456789abcdef" }, stopped)
	addresses := s.Get("/api/v1/wallet/deposit-address").Raw
	id := s.Issue("100")
	s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`, sandboxtest.IdempotencyKey, "k").OK(201)
	s.Post("/api/v1/cards/"+id+"/freeze", "").OK(200)
	s.Post("/_sandbox/clock", `{"advance":"1h"}`).OK(200)
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	other.Post("/_sandbox/reset", "").Refused(403, "first_account_only", "first account")
	s.Get("/api/v1/cards/" + id).OK(200)

	if got := s.Post("/_sandbox/reset", "").OK(200).Text("now"); got != "2026-03-15T12:00:00.000Z" {
		t.Errorf("the clock is at %s", got)
	}
	if got := s.Wallet().String(); got != "10000.00" {
		t.Errorf("the wallet holds %s", got)
	}
	s.Get("/api/v1/cards/"+id).Refused(404, "not_found", id)
	other.Get("/api/v1/bins").Refused(401, "unauthorized", "")
	if s.Get("/api/v1/wallet/deposit-address").Raw != addresses {
		t.Error("the account has other deposit addresses")
	}
	s.Issue("100")
	s.Balanced()
	requests := s.Get("/_sandbox/requests").OK(200).Data()
	if len(requests) == 0 || requests[0]["path"] != "/wallet/balance" {
		t.Errorf("the first request after the reset is %v", requests)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	s.Get("/api/v1/bins").OK(200)
	id := s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`, sandboxtest.IdempotencyKey, "k1").Text("id")
	s.Get("/api/v1/cards?status=active&page=1").OK(200)
	s.Get("/api/v1/cards/card_x")
	s.Get("/api/v1/bins?key=" + s.Key)
	s.as("sk_live_sandbox_wrong").Get("/api/v1/bins") // nobody's
	s.Get("/_sandbox/clock")
	list := s.Get("/_sandbox/requests").OK(200)
	var got []string
	for _, r := range list.Data() {
		fields(t, r, "method", "path", "query", "status", "idempotency_key", "replayed", "time", "duration_ms", "run", "error", "fault")
		got = append(got, fmt.Sprintf("%v %v %v %v %v", r["method"], r["path"], r["query"], r["status"], r["idempotency_key"]))
	}
	want := []string{
		"GET /bins  200 <nil>", "POST /cards  201 k1", "GET /cards status=active&page=1 200 <nil>",
		"GET /cards/card_x  404 <nil>", "GET /bins key=sk_live_… 200 <nil>",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(list.Raw, s.Key) {
		t.Error("the list shows a key")
	}
	s.Call(http.MethodDelete, "/_sandbox/requests", "").OK(200)
	s.Get("/api/v1/cards/" + id).OK(200)
	if left := s.Get("/_sandbox/requests").Data(); len(left) != 1 {
		t.Errorf("after the deletion there are %v", left)
	}
}

func TestLedgerNoticesOneCent(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]string{
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
			s := startWithContract(t)
			card := s.Issue("100")
			s.settled(s.authorized(card, "40"), "")
			s.authorized(card, "30")
			s.Balanced()
			execSQL(t, s.path, harm)
			report := s.Get("/_sandbox/ledger").OK(200)
			if report.Body["balanced"] != false || report.Body["problems"] == nil {
				t.Errorf("not noticed: %s", report.Raw)
			}
		})
	}
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
