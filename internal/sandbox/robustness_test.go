package sandbox_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// A body is JSON by its header, and of a bounded size.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	path := "/api/v1/cards/" + id + "/fund"
	const most = 1 << 20
	padded := func(size int) string { return `{"amount":1}` + strings.Repeat(" ", size-12) }
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		s.Post(path, padded(most), "Content-Type", kind).Refused(400, "invalid_request", "Content-Type")
	}
	s.Post(path, padded(most), "Content-Type", "Application/JSON; charset=UTF-8").OK(200)
	s.Post(path, padded(most+1)).Refused(400, "invalid_request", "1 MiB")
	s.Call(http.MethodPost, path, padded(2*most), sandboxtest.IdempotencyKey, "k").Refused(400, "invalid_request", "1 MiB")

	// Without a Content-Length that would say so beforehand.
	request := sandboxtest.Must(s.NewRequest(t.Context(), http.MethodPost, path, padded(most+1)))
	request.ContentLength = -1
	s.Do(request).Refused(400, "invalid_request", "1 MiB")
	sandboxtest.Equal(t, "the card holds", s.Get("/api/v1/cards/"+id).Text("balance"), "51.00")
}

// Nothing happens for a request that does not come to its end.
func TestBrokenRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	head := "POST /api/v1/cards/" + id + "/fund HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.Key + "\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"a body that ends early":      head + "Content-Length: 100\r\n\r\n" + `{"amount":1}`,
		"a chunk that ends early":     head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + `{"amount":1}`,
		"a chunk without a size":      head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + `{"amount":1}`,
		"a request for another proxy": "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
	} {
		if status := sendBytes(t, s.Root(), text); status != 0 && status/100 != 4 {
			t.Errorf("%s: answered %d", name, status)
		}
	}
	sandboxtest.Equal(t, "the card holds", s.Get("/api/v1/cards/"+id).Text("balance"), "50.00")
	s.Balanced()
}

// Whoever has no key uses up no fault, and leaves no line among the requests.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Fault(`{"method":"*","path":"/cards","times":1,"then":{"status":503}}`)
	key := " HTTP/1.1\r\nAuthorization: Bearer "
	for head, want := range map[string]int{
		"POST /" + key:                                       404,
		"POST /favicon.ico" + key:                            404,
		"POST /api/v1/cards" + key:                           401,
		"POST /api/v1/cards" + key + "sk_live_sandbox_wrong": 401,
		"GET /_sandbox/clock" + key:                          401,
		"POST /_sandbox/reset" + key:                         401,
		"DELETE /api/v1/cards/" + key:                        401,
		"GET /_sandbox/limits" + key + s.Key:                 200,
	} {
		sandboxtest.Equal(t, head, sendBytes(t, s.Root(), head+"\r\nHost: x\r\nContent-Length: 1\r\n\r\n{"), want)
	}
	sandboxtest.Equal(t, "requests", len(s.Get("/_sandbox/requests").Data()), 0)
	s.Post("/cards", "{}").Refused(503, "injected_fault", "")
}

// An address may be escaped thousands of times.
func TestManyEscapes(t *testing.T) {
	t.Parallel()
	s := start(t)
	nested := "%" + strings.Repeat("25", 25_000)
	s.Get("/api/v1/cards?bin_id=" + nested).OK(200)
	s.as("sk_live_sandbox_wrong").Get("/api/v1/cards/" + nested).OK(401)
}

// sendBytes sends a text and no more, and returns the status that comes back, 0 for none.
func sendBytes(t *testing.T, url, text string) (status int) {
	t.Helper()
	connection := sandboxtest.Must(new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://")))
	t.Cleanup(func() { _ = connection.Close() })
	sandboxtest.Must(io.WriteString(connection, text))
	sandboxtest.Must(0, connection.(*net.TCPConn).CloseWrite())
	_, _ = fmt.Fscanf(bufio.NewReader(connection), "HTTP/1.1 %d", &status)
	return status
}

// Each call has an id, which is in the log. What fails inside is a 500 in the usual form
// that says where to look, and nothing else. So is it told why nothing is delivered.
func TestInternalError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "s.db")
	sandboxtest.Must(0, os.Mkdir(path+".lock", 0o700))
	s := open(t, on(path), logTo(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	execSQL(t, s.path, `ALTER TABLE challenges RENAME TO lost`)
	whys := []string{"no such table", "could not read or update the outbox"}
	for path, status := range map[string]int{"/bins": 200, "/cards/x": 404, "/api/v1/nothing": 404, "/_sandbox/clock": 200, "/3ds": 500} {
		a := s.Get(path).OK(status)
		id := a.Header.Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || slices.Contains(whys, "request="+id) {
			t.Errorf("%s: the request has the id %q", path, id)
		}
		if whys = append(whys, "request="+id); status != 500 {
			continue
		}
		if a.Refused(500, "internal_error", id); strings.Contains(a.Raw, "challenges") {
			t.Errorf("the response shows its cause: %s", a.Raw)
		}
	}
	s.close()
	sandboxtest.ContainsAll(t, "the log", log.String(), whys...)
}

// Everything secret that a caller sees or sends, put where it may go wrong, and
// not one of them in the log of a service that says all it knows.
func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
	s := open(t, logTo(handler))

	hook := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`, sandboxtest.IdempotencyKey, "k").OK(201)
	own := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"],"secret":"planted-secret"}`).OK(201)
	other := s.Post("/_sandbox/accounts", `{"state":"no_deposit"}`).OK(201)
	card := s.Issue("100")
	details := s.Get("/api/v1/cards/" + card + "/details").OK(200)
	challenge := s.Post("/_sandbox/3ds-challenges", `{"card_id":"`+card+`","merchant":"Ads","amount":5}`).OK(201)
	secrets := map[string]string{
		"the key": s.Key, "another key": other.Text("api_key"), "the number": details.Text("pan"), "the one-time code": challenge.Text("otp"),
		"a signing secret": hook.Text("secret"), "an own signing secret": own.Text("secret"), "an unknown key": "sk_live_planted",
	}
	atRoot := *s.Client
	atRoot.URL = s.Root()
	for _, secret := range []string{s.Key, other.Text("api_key"), hook.Text("secret"), "sk_live_planted"} {
		s.Get("/api/v1/cards/" + secret)
		s.Get("/api/v1/" + secret)
		s.Get("/api/v1/cards?bin_id=" + secret)
		s.Get("/api/v1/cards?bin_id=" + strings.ReplaceAll(secret, "_", "%5F"))
		s.Get("/api/v1/cards?bin_id=" + strings.ReplaceAll(secret, "_", "%255f"))
		s.Get("/_sandbox/clock?" + secret)
		atRoot.Get("/" + secret)
		s.as(secret).Get("/api/v1/3ds")
		s.Call(secret, "/api/v1/bins", "").OK(405)
		s.Post("/api/v1/cards", `{"bin_id":"`+secret+`","amount":50}`, sandboxtest.IdempotencyKey, secret)
		s.Post("/_sandbox/faults", `{"method":"GET","path":"/bins","then":{"status":500,"body":"`+secret+`"}}`).OK(201)
		s.WithoutRetries().Send(t.Context(), http.MethodGet, "/api/v1/bins", "")
	}
	for _, word := range []string{"drop", "truncate"} {
		s.Post("/_sandbox/faults", `{"method":"GET","path":"/cards/*/details","when":"after","then":"`+word+`"}`).OK(201)
		s.WithoutRetries().Send(t.Context(), http.MethodGet, "/api/v1/cards/"+card+"/details", "")
	}
	requests := s.Get("/_sandbox/requests").OK(200)
	s.close()

	if n := strings.Count(log.String(), "msg=answered"); n < 40 {
		t.Errorf("%d calls are in the log", n)
	}
	unescaped := strings.NewReplacer("%255F", "_", "%255f", "_", "%5F", "_", "%5f", "_").Replace
	for name, secret := range secrets {
		for place, text := range map[string]string{"log": unescaped(log.String()), "list of requests": unescaped(requests.Raw)} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s is in the %s: %s", name, place, strings.ReplaceAll(fmt.Sprintf("%.200s", text[max(0, i-100):]), secret, "…"))
			}
		}
	}
}

// chosenText is what differs from one run to the next: numbers, and what the service makes up.
var chosenText = regexp.MustCompile(`[0-9][0-9.]*|_[a-z0-9]{20,}|sandbox-[a-z]+-[0-9a-f]+`)

// Whatever the file has lost, a call is answered as ever or with a 500, and an error
// on the way is never passed over: each column and each table is taken away in turn,
// and then what may be written to a table. A reset that failed leaves the file in use.
func TestLostColumns(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	s.subscribe("https://127.0.0.1:1", `"*"`)
	s.Post("/_sandbox/faults", `{"method":"GET","path":"/cards/nobody","then":"pass"}`).OK(http.StatusCreated)
	words := s.populate()
	s.Put("/_sandbox/quirks", `{"balance":"settled"}`).OK(http.StatusOK)
	s.close()
	sound := read(t, s.path)

	calls := []call{
		{method: "GET", path: "/bins"},
		{method: "GET", path: "/cards?status=active"},
		{method: "GET", path: "/cards/CARD"},
		{method: "GET", path: "/cards/CARD/details"},
		{method: "GET", path: "/transactions?card_id=CARD&type=authorization"},
		{method: "GET", path: "/wallet/balance"},
		{method: "GET", path: "/wallet/deposit-address"},
		{method: "GET", path: "/3ds"},
		{method: "GET", path: "/3ds?status=approved"},
		{method: "GET", path: "/_sandbox/clock"},
		{method: "GET", path: "/_sandbox/limits"},
		{method: "GET", path: "/_sandbox/quirks"},
		{method: "GET", path: "/_sandbox/faults"},
		{method: "GET", path: "/_sandbox/accounts"},
		{method: "GET", path: "/_sandbox/api-key"},
		{method: "GET", path: "/_sandbox/ledger"},
		{method: "GET", path: "/_sandbox/limits/used"},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50}`},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`},
		{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":1}`},
		{method: "POST", path: "/_sandbox/authorizations", body: `{"card_id":"CARD","amount":1,"merchant":{"name":"Big Ads","mcc":"7311"}}`},
		{method: "POST", path: "/cards/CARD/freeze"},
		{method: "POST", path: "/cards/FROZEN/unfreeze"},
		{method: "POST", path: "/_sandbox/authorizations", body: `{"card_id":"ENDED","amount":1,"merchant":{"name":"Big Ads","mcc":"7311"}}`},
		{method: "POST", path: "/_sandbox/settlements", body: `{"transaction_id":"OPEN","amount":60,"fee":1}`},
		{method: "POST", path: "/_sandbox/refunds", body: `{"transaction_id":"SETTLED"}`},
		{method: "POST", path: "/_sandbox/3ds-challenges", body: `{"card_id":"CARD","merchant":"Big Ads","amount":5}`},
		{method: "POST", path: "/_sandbox/3ds-challenges/CHALLENGE/complete", body: `{"outcome":"approved"}`},
		{method: "POST", path: "/_sandbox/deposits", body: `{"currency":"eth","amount":5}`},
		{method: "POST", path: "/_sandbox/deposits/DEPOSIT/confirm"},
		{method: "POST", path: "/_sandbox/accounts", body: `{"state":"ready","initial_balance":5}`},
		{method: "POST", path: "/_sandbox/keys"},
		{method: "POST", path: "/webhooks", body: `{"url":"https://127.0.0.1:1","events":["*"]}`},
		{method: "POST", path: "/_sandbox/simulate", body: `{"days":1,"purchases_per_day":2,"seed":1}`},
		{method: "DELETE", path: "/cards/FROZEN"},
		{method: "POST", path: "/_sandbox/faults", body: `{"method":"GET","path":"/bins","then":"pass"}`},
		{method: "PUT", path: "/_sandbox/quirks", body: "{}"},
		{method: "PUT", path: "/_sandbox/limits", body: "{}"},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"1h"}`},
		{method: "DELETE", path: "/_sandbox/faults"},
		{method: "POST", path: "/_sandbox/reset"},
		{method: "POST", path: "/_sandbox/seed", body: `{"random_seed":1,"quirks":{"amounts":"decimals"},"faults":[{"method":"GET","path":"/bins","then":"pass"}],"accounts":[{"wallet":900,"deposits":[{"currency":"btc","amount":5,"status":"confirmed"}],"cards":[{"bin_id":"bin_ads_visa_us","amount":60,"movements":[{"amount":1},{"amount":-1}],"purchases":[{"merchant":{"name":"Big Ads","mcc":"7311"},"amount":5,"settled":4,"refunds":[1]},{"merchant":{"name":"Big Ads","mcc":"7311"},"amount":5,"declined":"card_frozen"}],"challenges":[{"merchant":"m","amount":5,"status":"failed"}],"status":"frozen"}],"webhooks":[{"url":"https://example.com","events":["*"]}]},{"state":"ready"}]}`},
	}
	try := func(lose, restore string) (answers []string) {
		path := written(t, sound)
		box := sandboxtest.Start(t, stopped, on(path), func(o *sandboxtest.Options) { o.Direct = true })
		execSQL(t, path, lose)
		for i, call := range calls {
			a := box.Send(t.Context(), call.method, words.Replace(call.path), words.Replace(call.body), sandboxtest.IdempotencyKey, fmt.Sprint(i))
			if call.method != http.MethodGet { // what is read is always the same
				a.Raw = chosenText.ReplaceAllString(a.Raw, "#")
			}
			answers = append(answers, fmt.Sprint(a.Status, a.Raw))
		}
		execSQL(t, path, restore)
		box.Balanced()
		box.Close()
		return answers
	}
	want := try("", "")
	for _, answer := range want {
		if answer[0] != '2' {
			t.Fatalf("of a sound file: %s", answer)
		}
	}
	losses := query[string](t, s.path, `WITH tables AS (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%')
		SELECT group_concat(loss, char(10)) FROM (
		SELECT 'ALTER TABLE ' || t.name || ' RENAME ' || c.name || ' TO taken|ALTER TABLE ' || t.name || ' RENAME taken TO ' || c.name AS loss
		FROM tables t, pragma_table_info(t.name) c
		UNION ALL SELECT 'ALTER TABLE ' || name || ' RENAME TO taken|ALTER TABLE taken RENAME TO ' || name FROM tables
		UNION ALL SELECT 'CREATE TRIGGER taken BEFORE ' || value || ' ON ' || name || ' BEGIN SELECT RAISE(ABORT, ''''); END|DROP TRIGGER taken'
		FROM tables, json_each('["INSERT", "UPDATE"]'))`)
	for n, loss := range strings.Split(losses, "\n") {
		if testing.Short() && n%5 != 0 {
			continue
		}
		lose, restore, _ := strings.Cut(loss, "|")
		for i, answer := range try(lose, restore) {
			if answer != want[i] && !strings.HasPrefix(answer, "500{\"error\":\"internal_error\"") && !strings.Contains(answer, "already in use") {
				t.Errorf("after %s: %s %s answered %s, want %s", lose, calls[i].method, calls[i].path, answer, want[i])
			}
		}
	}
}

// As many as there may be of a kind are taken, and not one more.
func TestMostOfAKind(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	for _, test := range []struct {
		others, rows string // how many there are, and as what they are inserted
		path, body   string // of the call that adds the last one, and then one too many
		message      string
	}{
		{"1999", "webhooks (public_id, account_id, url, events, secret, created_at) SELECT n, 1, '', '[]', '', 0", "/webhooks", `{"url":"https://example.com","events":["*"]}`, "already has 2000 endpoints"},
		{"99", "api_keys (public_id, account_id, key_hash) SELECT n, 1, n", "/_sandbox/keys", "", "already has 100 additional keys"},
		{"99", "faults (method, path, times_left, definition) SELECT 'GET', '/none', 1, '{}'", "/_sandbox/faults", `{"method":"GET","path":"/bins","then":"pass"}`, "already has 100 faults"},
		{"98", "accounts (public_id, key_hash, state) SELECT n, +n, 'ready'", "/_sandbox/accounts", `{"state":"ready"}`, "already has 100 accounts"},
	} {
		execSQL(t, s.path, "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < "+test.others+") INSERT INTO "+test.rows+" FROM n")
		s.Post(test.path, test.body).OK(http.StatusCreated)
		s.Post(test.path, test.body).Refused(http.StatusBadRequest, "invalid_request", test.message)
	}
}
