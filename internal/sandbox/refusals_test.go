package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// populate uses a new sandbox a little, and returns what puts the ids of what there is
// in the place of words in capitals.
func (s *service) populate() *strings.Replacer {
	s.T.Helper()
	card := s.Issue("100", `"auto_freeze_at":20,"metadata":{"a":"b"},"allowed_categories":["advertising"]`)
	ended, frozen := s.Issue("50"), s.Issue("50")
	open, decline := s.authorized(card, "40", `"fee":1`), s.authorize(card, "1000").Transaction()
	settled := s.settled(s.authorized(card, "10"), "")
	refund := s.Refund(settled, "4").Transaction()
	challenge, done := s.challenge(card).Text("id"), s.challenge(card).Text("id")
	s.Post("/_sandbox/3ds-challenges/"+done+"/complete", `{"outcome":"approved"}`).OK(200)
	deposit := s.Post("/_sandbox/deposits", `{"currency":"btc","amount":1}`).Text("id")
	s.Freeze(frozen)
	s.challenge(frozen).OK(201) // a merchant may ask; the authorization will fail
	s.Terminate(ended)
	return strings.NewReplacer("CARD", card, "ENDED", ended, "FROZEN", frozen, "OPEN", open, "DECLINE", decline, "SETTLED", settled,
		"REFUND", refund, "CHALLENGE", challenge, "DONE", done, "DEPOSIT", deposit, "KEY", s.Key)
}

// A card's spending limit is that of the UTC month in which its purchases were made,
// whenever they are settled, and for whatever.
func TestSpendingOfAMonth(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	card := s.Issue("500", `"spending_limit":100`)
	s.Advance("395h59m50s") // the last seconds of March
	march := s.authorized(card, "60")
	s.Advance("10s")
	s.settled(march, "95")
	s.authorized(card, "99.99")
	s.authorized(card, "0.01")
	if a := s.authorize(card, "0.01"); a.Body["decline_reason"] == nil {
		t.Errorf("more than the limit was accepted: %s", a.Raw)
	}
}

// TestRefusals makes calls that are invalid, each with a text that its message must
// have; none of them moves money.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped, wallet(1_000*usd.Dollar))
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).Text("api_key"))
	words := s.populate()
	before := s.Get("/_sandbox/ledger").Raw

	for call, rows := range bodies() {
		for body, text := range rows {
			if text == "" {
				continue
			}
			method, path, _ := strings.Cut(words.Replace(call), " ")
			s.T = &named{t, call + " " + body}
			s.Call(method, path, sandboxtest.Expand(words.Replace(body)), "Content-Type", "application/json").Refused(400, "invalid_request", text)
		}
	}
	s.T = t
	for call, queries := range queries() {
		for query, text := range queries {
			if text != "" {
				s.Get(strings.TrimPrefix(call, "GET ")+"?"+query).Refused(400, "invalid_request", text)
			}
		}
	}
	s.checkCalls(words, []call{
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_x","amount":50}`, status: 400, has: []string{`"bin_not_found"`, "bin_x"}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":10000}`, status: 400, has: []string{`"insufficient_funds"`, "847.00"}},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":847.01}`, status: 400, has: []string{`"insufficient_funds"`, "847.00"}},
		{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":53.01}`, status: 400, has: []string{`"insufficient_card_balance"`, "53.00"}},
		{method: "POST", path: "/cards/ENDED/fund", body: `{"amount":1}`, status: 400, has: []string{`"card_terminated"`, "ENDED"}},
		{method: "POST", path: "/cards/card_x/fund", body: `{"amount":1}`, status: 404, has: []string{`"not_found"`, "card_x"}},
		{method: "POST", path: "/cards/card_x/withdraw", body: `{"amount":1}`, status: 404, has: []string{`"not_found"`, "card_x"}},
		{method: "POST", path: "/_sandbox/authorizations", body: `{"card_id":"card_x","amount":1,"merchant":{"name":"Big Ads","mcc":"7311"}}`, status: 404, has: []string{`"not_found"`, "card_x"}},
		{method: "POST", path: "/_sandbox/settlements", body: `{"transaction_id":"txn_x"}`, status: 404, has: []string{`"not_found"`, "txn_x"}},
		{method: "POST", path: "/_sandbox/refunds", body: `{"transaction_id":"txn_x"}`, status: 404, has: []string{`"not_found"`, "txn_x"}},
		{method: "POST", path: "/_sandbox/3ds-challenges", body: `{"card_id":"card_x","merchant":"m","amount":1}`, status: 404, has: []string{`"not_found"`, "card_x"}},
		{method: "POST", path: "/_sandbox/3ds-challenges", body: `{"card_id":"ENDED","merchant":"m","amount":1}`, status: 400, has: []string{`"card_terminated"`, "ENDED"}},
		{method: "POST", path: "/_sandbox/3ds-challenges/3ds_x/complete", body: `{"outcome":"failed"}`, status: 404, has: []string{`"not_found"`, "3ds_x"}},
		{method: "POST", path: "/_sandbox/deposits/dep_x/confirm", status: 404, has: []string{`"not_found"`, "dep_x"}},
	})
	other.checkCalls(words, []call{
		{method: "GET", path: "/cards", status: 200, has: []string{`"total":0`}},
		{method: "GET", path: "/cards/CARD", status: 404, has: []string{`"not_found"`, "CARD"}},
		{method: "GET", path: "/cards/CARD/details", status: 404, has: []string{`"not_found"`, "CARD"}},
		{method: "DELETE", path: "/cards/CARD", status: 404, has: []string{`"not_found"`, "CARD"}},
		{method: "POST", path: "/cards/CARD/freeze", status: 404, has: []string{`"not_found"`, "CARD"}},
		{method: "POST", path: "/cards/CARD/unfreeze", status: 404, has: []string{`"not_found"`, "CARD"}},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`, status: 404, has: []string{`"not_found"`, "CARD"}},
		{method: "POST", path: "/cards/CARD/withdraw", status: 404, has: []string{`"not_found"`, "CARD"}},
	})
	sandboxtest.Equal(t, "the ledger after refused calls", s.Get("/_sandbox/ledger").Raw, before)
	s.Issue("846") // what is left, and not a cent
	sandboxtest.Equal(t, "the wallet holds", s.Wallet(), 0)
}

// named is a test whose failures say what they are about.
type named struct {
	testing.TB

	about string
}

func (n *named) Errorf(format string, values ...any) {
	n.Helper()
	n.TB.Errorf("%s: "+format, append([]any{n.about}, values...)...)
}

// challenge begins a 3DS challenge on a card.
func (s *service) challenge(card string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/3ds-challenges", fmt.Sprintf(`{"card_id":%q,"merchant":"Big Ads","amount":12.5}`, card))
}

// Audits that never end leave the API its connections.
func TestAuditsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	const audits = 8
	arrived := make(chan bool, audits)
	s := start(t, func(o *sandboxtest.Options) {
		o.Wrap = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/ledger") {
					arrived <- true
				}
				h.ServeHTTP(w, r)
			})
		}
	})
	execSQL(t, s.path, `
		ALTER TABLE ledger_postings RENAME TO kept;
		CREATE VIEW ledger_postings AS
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS entry_id, i AS ledger_account_id, i AS amount, i AS balance FROM n`)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	var group sync.WaitGroup
	for range audits {
		group.Go(func() {
			if audit := s.Send(ctx, http.MethodGet, "/_sandbox/ledger", nil); audit.Err == nil {
				t.Errorf("an audit without an end answered %d", audit.Status)
			}
		})
	}
	for range audits {
		<-arrived
	}
	for range 20 {
		s.Get("/api/v1/bins").OK(200)
	}
	giveUp()
	group.Wait()
}

// An audit tells of a hundred problems at most.
func TestAuditTellsOfAHundredProblems(t *testing.T) {
	t.Parallel()
	s := start(t)
	execSQL(t, s.path, `
		WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
		INSERT INTO ledger_entries (id, account_id, kind, created_at) SELECT i, 1, 'card funded', 0 FROM n;
		INSERT INTO ledger_postings SELECT e.id, l.id, CASE l.kind WHEN 'wallet' THEN 2 ELSE -1 END, 0
		FROM ledger_entries e, ledger_accounts l WHERE e.id >= 1000 AND l.kind IN ('wallet', 'fees')`)
	if problems := s.Get("/_sandbox/ledger").Body["problems"].([]any); len(problems) != 100 {
		t.Errorf("%d problems are told", len(problems))
	}
}

func TestLedgerNoticesEveryError(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]string{
		"a stored balance":             "UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'card'",
		"a posting":                    "UPDATE ledger_postings SET amount = amount + 1 WHERE amount = 100",
		"two that cancel out":          "UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'wallet' THEN 1 WHEN 'fees' THEN -1 ELSE 0 END",
		"a hold without a posting":     "INSERT INTO transactions VALUES (9,'txn_x',1,1,NULL,'authorization','authorized',1,0,'m','1',NULL,NULL,0,0,0,0)",
		"a terminated card's money":    "UPDATE cards SET status = 'terminated'",
		"a wallet below zero":          "UPDATE ledger_postings SET amount = amount - CASE ledger_account_id WHEN 1 THEN 1000000 WHEN 3 THEN -1000000 ELSE 0 END WHERE entry_id = 2; UPDATE ledger_accounts SET balance = balance - CASE kind WHEN 'wallet' THEN 1000000 WHEN 'fees' THEN -1000000 ELSE 0 END",
		"on the holds":                 "UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'holds'",
		"off the merchants":            "UPDATE ledger_accounts SET balance = balance - 1 WHERE kind = 'merchants'",
		"in an open authorization":     "UPDATE transactions SET amount = amount + 1 WHERE type = 'authorization' AND amount = 3000",
		"moved from holds to the card": "UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'holds' THEN -1 WHEN 'card' THEN 1 ELSE 0 END",
		"moved with its postings":      "UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'holds' THEN -1 WHEN 'card' THEN 1 ELSE 0 END; UPDATE ledger_postings SET amount = amount + CASE amount WHEN 3000 THEN -1 WHEN -3000 THEN 1 ELSE 0 END",
		"of an entry":                  "UPDATE ledger_postings SET amount = amount - 1 WHERE amount = 4000",
		"a settlement unbound":         "UPDATE transactions SET parent_id = NULL WHERE type = 'settlement'",
		"in no authorization":          "UPDATE transactions SET type = 'decline' WHERE type = 'authorization' AND amount = 3000",
		"behind an index":              "PRAGMA writable_schema = ON; PRAGMA schema_version = 1000; UPDATE sqlite_schema SET sql = 'CREATE INDEX cards_by_status ON cards (account_id, last4, id)' WHERE name = 'cards_by_status'",
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
	words := s.populate()
	s.subscribe("https://127.0.0.1:1", `"*"`)
	s.Advance("1h")
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	s.checkCalls(words, []call{
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"2562047h"}`, status: 200, has: []string{`"now":"2318-0`}},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"2562047h"}`, status: 200, has: []string{`"now":"2610-1`}},
		{method: "POST", path: "/_sandbox/reset", status: 200, has: []string{`"now":"2026-03-15T12:00:00.000Z"`}},
		{method: "GET", path: "/wallet/balance", status: 200, has: []string{`"balance":10000.00`}},
		{method: "GET", path: "/_sandbox/requests", status: 200, has: []string{`{"data":[{"method":"GET","path":"/wallet/balance",`}},
		{method: "GET", path: "/cards/CARD", status: 404, has: []string{`"not_found"`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":100}`, status: 201},
	})
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
		sandboxtest.Equal(t, "the status", (<-issued).Status, 201)
		gone, leave := context.WithCancel(t.Context())
		leave()
		if a := s.Send(gone, http.MethodPost, "/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`); a.Err == nil {
			t.Error("who has gone away is answered")
		}
		sandboxtest.Equal(t, "the wallet holds", s.Wallet().String(), "9949.00")
		s.Balanced()
	})
}

// From the contract that the sandbox serves, a generator makes a client that calls
// all endpoints of it.
func TestTheContractIsServed(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, wallet(2_000_000*usd.Dollar))
	served := s.Send(t.Context(), "GET", "/_sandbox/openapi.yaml", nil, "Authorization", "").OK(200)
	if served.Header.Get("Content-Type") != "application/yaml" || served.Raw != string(openapi.Contract()) {
		t.Errorf("%s is served: %.200s", served.Header.Get("Content-Type"), served.Raw)
	}
	if testing.Short() {
		t.Skip("NOT RUN: make test-all builds a generator, and a client by it")
	}
	folder := t.TempDir()
	sandboxtest.Must(0, os.CopyFS(folder, os.DirFS("testdata/client")))
	sandboxtest.Must(0, os.WriteFile(filepath.Join(folder, "openapi.yaml"), []byte(served.Raw), 0o600))
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
