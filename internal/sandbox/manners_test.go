package sandbox_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.issue("50")
	path := "/api/v1/cards/" + id + "/fund"
	const most = 1 << 20
	padded := func(size int) string { return `{"amount":1}` + strings.Repeat(" ", size-12) }
	s.post(path, padded(most)).ok(200)
	s.post(path, padded(most+1)).refused(400, "invalid_request", "1 MiB")
	s.call(http.MethodPost, path, padded(2*most), idempotencyKey, "k").refused(400, "invalid_request", "1 MiB")

	// Without a Content-Length that would say so beforehand.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, io.MultiReader(strings.NewReader(padded(most)), strings.NewReader(" ")))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Content-Type", "application/json")
	send(t, request).refused(400, "invalid_request", "1 MiB")

	if got := s.get("/api/v1/cards/" + id).text("balance"); got != "51.00" {
		t.Errorf("the card holds %s", got)
	}
}

// Nothing happens for a request that does not come to its end.
func TestBrokenRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.issue("50")
	head := "POST /api/v1/cards/" + id + "/fund HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.key + "\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"a body that ends early":      head + "Content-Length: 100\r\n\r\n" + `{"amount":1}`,
		"a chunk that ends early":     head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + `{"amount":1}`,
		"a chunk without a size":      head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + `{"amount":1}`,
		"two lengths":                 head + "Content-Length: 12\r\nContent-Length: 13\r\n\r\n" + `{"amount":1}`,
		"a header that ends early":    head,
		"a line that is no request":   "fund it\r\n\r\n",
		"a space in the path":         "GET /api/v1/cards/a b HTTP/1.1\r\nHost: x\r\n\r\n",
		"a header without a name":     "GET /api/v1/bins HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
		"another version of HTTP":     "GET /api/v1/bins HTTP/7.0\r\nHost: x\r\n\r\n",
		"a path that is no URL":       "GET %zz HTTP/1.1\r\nHost: x\r\n\r\n",
		"bytes that are not HTTP":     "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1",
		"a request for another proxy": "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
	} {
		answered := exchangeBytes(t, s.url, text)
		status, _, _ := strings.Cut(strings.TrimPrefix(answered, "HTTP/1.1 "), " ")
		if answered != "" && !strings.HasPrefix(status, "4") && status != "505" {
			t.Errorf("%s: answered %.80q", name, answered)
		}
	}
	if got := s.get("/api/v1/cards/" + id).text("balance"); got != "50.00" {
		t.Errorf("the card holds %s", got)
	}
	s.balanced()
}

// exchangeBytes sends a text, ends its side of the connection, and returns what
// came back.
func exchangeBytes(t *testing.T, url, text string) string {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answered, err := io.ReadAll(bufio.NewReader(connection))
	if err != nil {
		t.Fatal(err)
	}
	return string(answered)
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), Logger: slog.New(slog.NewJSONHandler(&log, nil))}
	s, stop := serveFile(t, o)
	seen := map[string]bool{}
	for path, status := range map[string]int{"/api/v1/bins": 200, "/api/v1/cards/x": 404, "/api/v1/nothing": 404, "/_sandbox/clock": 200} {
		id := s.get(path).ok(status).header.Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || seen[id] {
			t.Errorf("%s: the request has the id %q", path, id)
		}
		seen[id] = true
	}
	stop()
	for id := range seen {
		if !strings.Contains(log.String(), `"request":"`+id+`"`) {
			t.Errorf("%s is not in the log", id)
		}
	}
}

// What fails inside is a 500 in the usual form that says where to look, and
// nothing else.
func TestInternalError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s, stop := serveFile(t, o)
	run(t, o.Path, `ALTER TABLE challenges RENAME TO lost`)
	a := s.get("/api/v1/3ds")
	id := a.header.Get("X-Request-Id")
	a.refused(500, "internal_error", id)
	if strings.Contains(a.raw, "challenges") {
		t.Errorf("the answer shows its cause: %s", a.raw)
	}
	stop()
	if !strings.Contains(log.String(), "no such table") || !strings.Contains(log.String(), id) {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
}

// Everything secret that a caller sees or sends, put where it may go wrong, and
// not one of them in the log of a service that says all it knows.
func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
	box, err := sandbox.Open(t.Context(), sandbox.Options{
		Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: sandbox.DefaultInitialBalance, Logger: slog.New(handler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(box.Handler())
	server.Config.ErrorLog = slog.NewLogLogger(handler, slog.LevelDebug)
	server.Start()
	s := &service{t: t, url: server.URL, key: box.APIKey()}

	hook := s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`, idempotencyKey, "k").ok(201)
	own := s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"],"secret":"planted-secret"}`).ok(201)
	other := s.post("/_sandbox/accounts", `{"state":"no_deposit"}`).ok(201)
	card := s.issue("100")
	details := s.get("/api/v1/cards/" + card + "/details").ok(200)
	challenge := s.post("/_sandbox/3ds-challenges", `{"card_id":"`+card+`","merchant":"Ads","amount":5}`).ok(201)
	secrets := map[string]string{
		"the key": s.key, "another key": other.text("api_key"), "the number": details.text("pan"), "the one-time code": challenge.text("otp"),
		"a signing secret": hook.text("secret"), "an own signing secret": own.text("secret"), "an unknown key": "sk_live_planted",
	}
	for _, secret := range []string{s.key, other.text("api_key"), hook.text("secret"), "sk_live_planted"} {
		s.get("/api/v1/cards/" + secret)
		s.get("/api/v1/" + secret)
		s.get("/api/v1/cards?bin_id=" + secret)
		s.get("/_sandbox/clock?" + secret)
		s.get("/" + secret)
		s.as(secret).get("/api/v1/3ds")
		s.post("/api/v1/cards", `{"bin_id":"`+secret+`","amount":50}`, idempotencyKey, secret)
		s.post("/_sandbox/faults", `{"method":"GET","path":"/bins","then":{"status":500,"body":"`+secret+`"}}`).ok(201)
		s.attempt(t.Context(), http.MethodGet, "/api/v1/bins", "")
	}
	for _, word := range []string{"drop", "truncate"} {
		s.post("/_sandbox/faults", `{"method":"GET","path":"/cards/*/details","when":"after","then":"`+word+`"}`).ok(201)
		s.attempt(t.Context(), http.MethodGet, "/api/v1/cards/"+card+"/details", "")
	}
	requests := s.get("/_sandbox/requests").ok(200)
	server.Close()
	if err := box.Close(); err != nil {
		t.Error(err)
	}

	if n := strings.Count(log.String(), "msg=answered"); n < 40 {
		t.Errorf("%d calls are in the log", n)
	}
	for name, secret := range secrets {
		for place, text := range map[string]string{"log": log.String(), "list of requests": requests.raw} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s is in the %s: %s", name, place, strings.ReplaceAll(fmt.Sprintf("%.200s", text[max(0, i-100):]), secret, "…"))
			}
		}
	}
}
