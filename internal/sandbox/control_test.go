package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

func TestClock(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	if got := s.get("/_sandbox/clock").ok(200).text("now"); got != "2026-03-15T12:00:00.000Z" {
		t.Errorf("the clock begins at %s", got)
	}
	if got := s.post("/_sandbox/clock", `{"advance":"720h"}`).ok(200).text("now"); got != "2026-04-14T12:00:00.000Z" {
		t.Errorf("the clock was moved to %s", got)
	}
	if got := s.get("/api/v1/cards/" + s.issue("50")).text("created_at"); got != "2026-04-14T12:00:00.000Z" {
		t.Errorf("a card was created at %s", got)
	}
	for _, advance := range []string{`"-1h"`, `"0s"`, `"soon"`, `5`, `"2562047h"`} {
		a := s.post("/_sandbox/clock", `{"advance":`+advance+`}`)
		if advance == `"2562047h"` { // 292 years
			a.ok(200)
			continue
		}
		a.refused(400, "invalid_request", "advance")
	}
}

func TestLedgerNoticesEveryError(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]string{
		"a stored balance":          `UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'card'`,
		"a posting":                 `UPDATE ledger_postings SET amount = amount + 1 WHERE amount = 100`,
		"two that cancel out":       `UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'wallet' THEN 1 WHEN 'fees' THEN -1 ELSE 0 END`,
		"a hold without a posting":  `INSERT INTO transactions VALUES (1,'txn_x',1,1,NULL,'authorization',1,0,'m','1',0)`,
		"a terminated card's money": `UPDATE cards SET status = 'terminated'`,
		"a wallet below zero": `UPDATE ledger_postings SET amount = amount - CASE ledger_account_id WHEN 1 THEN 1000000 WHEN 3 THEN -1000000 ELSE 0 END WHERE entry_id = 2;
			UPDATE ledger_accounts SET balance = balance - CASE kind WHEN 'wallet' THEN 1000000 WHEN 'fees' THEN -1000000 ELSE 0 END`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.issue("100")
			s.balanced()
			run(t, s.path, harm)
			report := s.get("/_sandbox/ledger").ok(200)
			if report.body["balanced"] != false || report.body["problems"] == nil {
				t.Errorf("not noticed: %s", report.raw)
			}
		})
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *sandbox.Options) { o.APIKey = "sk_live_sandbox_chosen" }, stopped)
	addresses := s.get("/api/v1/wallet/deposit-address").raw
	id := s.issue("100")
	s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`, idempotencyKey, "k").ok(201)
	s.post("/api/v1/cards/"+id+"/freeze", "").ok(200)
	s.post("/_sandbox/clock", `{"advance":"1h"}`).ok(200)
	other := s.as(s.post("/_sandbox/accounts", `{"state":"ready"}`).text("api_key"))

	if got := s.post("/_sandbox/reset", "").ok(200).text("now"); got != "2026-03-15T12:00:00.000Z" {
		t.Errorf("the clock is at %s", got)
	}
	if got := s.wallet(); got != "10000.00" {
		t.Errorf("the wallet holds %s", got)
	}
	s.get("/api/v1/cards/"+id).refused(404, "not_found", id)
	other.get("/api/v1/bins").refused(401, "unauthorized", "")
	if s.get("/api/v1/wallet/deposit-address").raw != addresses {
		t.Error("the account has other deposit addresses")
	}
	s.issue("100")
	s.balanced()
	requests := s.get("/_sandbox/requests").ok(200).data()
	if len(requests) == 0 || requests[0]["path"] != "/wallet/balance" {
		t.Errorf("the first request after the reset is %v", requests)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	s.get("/api/v1/bins").ok(200)
	id := s.post("/api/v1/cards", `{"bin_id":"`+adsBIN+`","amount":50}`, idempotencyKey, "k1").text("id")
	s.get("/api/v1/cards?status=active&page=1").ok(200)
	s.get("/api/v1/cards/card_x")
	s.as("sk_live_sandbox_wrong").get("/api/v1/bins?key=" + s.key)
	s.get("/_sandbox/clock")
	list := s.get("/_sandbox/requests").ok(200)
	var got []string
	for _, r := range list.data() {
		fields(t, r, "method", "path", "query", "status", "idempotency_key", "time")
		got = append(got, fmt.Sprintf("%v %v %v %v %v", r["method"], r["path"], r["query"], r["status"], r["idempotency_key"]))
	}
	want := []string{
		"GET /bins  200 <nil>", "POST /cards  201 k1", "GET /cards status=active&page=1 200 <nil>",
		"GET /cards/card_x  404 <nil>", "GET /bins key=sk_live_… 401 <nil>",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(list.raw, s.key) {
		t.Error("the list shows a key")
	}
	s.call(http.MethodDelete, "/_sandbox/requests", "").ok(200)
	s.get("/api/v1/cards/" + id).ok(200)
	if left := s.get("/_sandbox/requests").data(); len(left) != 1 {
		t.Errorf("after the deletion there are %v", left)
	}
}
