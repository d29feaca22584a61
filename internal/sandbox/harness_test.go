package sandbox_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const adsBIN = "bin_ads_visa_us"

// service is a sandbox behind a real HTTP server, spoken to with one key.
type service struct {
	t    *testing.T
	url  string
	key  string
	path string
}

// start begins a sandbox on a new file with 10,000 USD in the wallet.
func start(t *testing.T, change ...func(*sandbox.Options)) *service {
	t.Helper()
	return startBehind(t, func(h http.Handler) http.Handler { return h }, change...)
}

// conforming is start with every exchange held to the contract.
func conforming(t *testing.T, change ...func(*sandbox.Options)) *service {
	t.Helper()
	return startBehind(t, func(h http.Handler) http.Handler {
		return contract.Handler(t, h, contract.TolerateBadRequests())
	}, change...)
}

func startBehind(t *testing.T, wrap func(http.Handler) http.Handler, change ...func(*sandbox.Options)) *service {
	t.Helper()
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "sandbox.db"), InitialBalance: sandbox.DefaultInitialBalance}
	for _, f := range change {
		f(&o)
	}
	box, err := sandbox.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(wrap(box.Handler()))
	t.Cleanup(func() {
		server.Close()
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &service{t: t, url: server.URL, key: box.APIKey(), path: o.Path}
	s.unlimited()
	return s
}

// unlimited takes the limits away, which most tests would run into.
func (s *service) unlimited() {
	s.t.Helper()
	s.call(http.MethodPut, "/_sandbox/limits",
		`{"requests_per_minute":0,"requests_per_hour":0,"creates_per_minute":0,"details_per_minute":0}`).ok(200)
}

// as speaks to the same server with another key.
func (s *service) as(key string) *service {
	other := *s
	other.key = key
	return &other
}

// answer is a response, decoded. Numbers keep their text.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// call sends a request. The body is JSON text, "" for none. More headers come
// in pairs of name and value.
func (s *service) call(method, path, body string, headers ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
		}
	}
	return send(s.t, request)
}

func send(t *testing.T, request *http.Request) answer {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{t: t, status: response.StatusCode, header: response.Header, raw: string(raw)}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&a.body); err != nil {
		t.Fatalf("%s %s answered %d with something that is not a JSON object: %q", request.Method, request.URL.Path, a.status, raw)
	}
	return a
}

func (s *service) get(path string) answer { s.t.Helper(); return s.call(http.MethodGet, path, "") }

func (s *service) post(path, body string, headers ...string) answer {
	s.t.Helper()
	return s.call(http.MethodPost, path, body, headers...)
}

// ok fails the test unless the status is as wanted.
func (a answer) ok(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("answered %d, want %d: %s", a.status, status, a.raw)
	}
	return a
}

// refused fails the test unless the answer is an error with a code, in exactly
// two fields, whose message holds a text.
func (a answer) refused(status int, code, text string) {
	a.t.Helper()
	message, _ := a.body["message"].(string)
	if a.status != status || a.body["error"] != code || len(a.body) != 2 || !strings.Contains(message, text) {
		a.t.Errorf("answered %d %s, want %d with error %q and a message with %q", a.status, a.raw, status, code, text)
	}
}

// text returns a field as it stands in the JSON.
func (a answer) text(field string) string {
	a.t.Helper()
	switch v := a.body[field].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	a.t.Fatalf("no text or number %s in %s", field, a.raw)
	return ""
}

// data returns the objects of a list.
func (a answer) data() []map[string]any {
	a.t.Helper()
	all, found := a.body["data"].([]any)
	if !found {
		a.t.Fatalf("no data in %s", a.raw)
	}
	objects := make([]map[string]any, len(all))
	for i, v := range all {
		objects[i], _ = v.(map[string]any)
	}
	return objects
}

// fields fails the test unless the object has just these fields.
func fields(t *testing.T, object map[string]any, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, found := object[name]; !found {
			t.Errorf("%s is missing in %v", name, object)
		}
	}
	if len(object) != len(names) {
		t.Errorf("got %d fields, want just %v: %v", len(object), names, object)
	}
}

// issue issues a card and returns its id. more are further members of the body.
func (s *service) issue(amount string, more ...string) string {
	s.t.Helper()
	body := `{"bin_id":"` + adsBIN + `","amount":` + amount
	for _, m := range more {
		body += "," + m
	}
	return s.post("/api/v1/cards", body+"}").ok(http.StatusCreated).text("id")
}

func (s *service) wallet() string {
	s.t.Helper()
	return s.get("/api/v1/wallet/balance").ok(200).text("balance")
}

// balanced fails the test when the books are not in order.
func (s *service) balanced() {
	s.t.Helper()
	if report := s.get("/_sandbox/ledger").ok(200); report.body["balanced"] != true {
		s.t.Errorf("the ledger is not balanced: %s", report.raw)
	}
}

// booked returns the balance of a ledger account.
func (s *service) booked(name string) string {
	s.t.Helper()
	for _, line := range s.get("/_sandbox/ledger").ok(200).body["accounts"].([]any) {
		if entry, _ := line.(map[string]any); entry["name"] == name {
			return entry["balance"].(json.Number).String()
		}
	}
	return "no account " + name
}

// stopped is a clock that only the control calls move.
func stopped(o *sandbox.Options) {
	start := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	o.Clock = func() time.Time { return start }
}

func wallet(balance usd.Amount) func(*sandbox.Options) {
	return func(o *sandbox.Options) { o.InitialBalance = balance }
}

// run changes a file behind the service's back.
func run(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; "+script); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
