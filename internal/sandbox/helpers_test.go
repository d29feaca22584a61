package sandbox_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const adsMCC = "7311"

// service is a client of a running sandbox.
type service struct {
	*sandboxtest.Client

	path  string // of the sandbox's file
	close func()
}

// open serves a sandbox with the documented limits.
func open(t testing.TB, options ...func(*sandboxtest.Options)) *service {
	t.Helper()
	s := sandboxtest.Start(t, options...)
	return &service{s.Client, s.Path, s.Close}
}

// start serves a sandbox without the limits, which most tests would run into.
func start(t testing.TB, options ...func(*sandboxtest.Options)) *service {
	t.Helper()
	s := open(t, options...)
	s.Unlimited()
	return s
}

// startWithContract is start with every exchange held to the contract.
func startWithContract(t testing.TB, options ...func(*sandboxtest.Options)) *service {
	t.Helper()
	return start(t, append(options, func(o *sandboxtest.Options) {
		o.Wrap = func(h http.Handler) http.Handler { return contract.Handler(t, h, contract.TolerateBadRequests()) }
	})...)
}

// on is an option: a sandbox on this file.
func on(path string) func(*sandboxtest.Options) {
	return func(o *sandboxtest.Options) { o.Path = path }
}

// stopped is an option: a clock that only control calls move.
func stopped(o *sandboxtest.Options) {
	sandboxtest.Stopped(time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC))(o)
}

// withoutNetwork is an option: a sandbox that may be in a bubble of synctest.
func withoutNetwork(o *sandboxtest.Options) { o.Direct, o.Path = true, ":memory:" }

func wallet(balance usd.Amount) func(*sandboxtest.Options) {
	return func(o *sandboxtest.Options) { o.InitialBalance = balance }
}

func withKey(key string) func(*sandboxtest.Options) {
	return func(o *sandboxtest.Options) { o.APIKey = key }
}

func logTo(handler slog.Handler) func(*sandboxtest.Options) {
	return func(o *sandboxtest.Options) { o.Logger = slog.New(handler) }
}

// as speaks to the same sandbox with another key.
func (s *service) as(key string) *service {
	other := *s
	other.Client = s.As(key)
	return &other
}

// call is a call of a table and what its response must have. LAST stands for the id of what was
// created last.
type call struct {
	method, path, body string
	key                string // for idempotency
	status             int
	has, lacks         []string
}

// checkCalls makes calls one after the other and checks their responses. Words, which may be nil,
// puts ids in place of names.
func (s *service) checkCalls(words *strings.Replacer, calls []call) {
	s.T.Helper()
	last := ""
	for _, c := range calls {
		fill := func(text string) string {
			if words != nil {
				text = words.Replace(text)
			}
			return strings.ReplaceAll(text, "LAST", last)
		}
		name := c.method + " " + c.path + " " + c.body
		response := s.Send(s.T.Context(), c.method, fill(c.path), fill(c.body), "Content-Type", "application/json", sandboxtest.IdempotencyKey, fill(c.key))
		if response.Status != c.status {
			s.T.Errorf("%.200s answered %d %s, want %d", name, response.Status, response.Raw, c.status)
		}
		for _, text := range c.has {
			if !strings.Contains(response.Raw, fill(text)) {
				s.T.Errorf("%.200s answered %s, without %s", name, response.Raw, fill(text))
			}
		}
		for _, text := range c.lacks {
			if strings.Contains(response.Raw, fill(text)) {
				s.T.Errorf("%.200s answered %s, with %s", name, response.Raw, fill(text))
			}
		}
		created := response.Body
		if transaction, found := response.Body["transaction"].(map[string]any); found {
			created = transaction
		}
		if response.Status == http.StatusCreated {
			last = fmt.Sprint(created["id"])
		}
	}
}

// authorize uses a card at a merchant of advertising.
func (s *service) authorize(card, amount string, more ...string) sandboxtest.Response {
	s.T.Helper()
	return s.Authorize(card, amount, adsMCC, more...)
}

// authorized fails the test unless the card is accepted, and returns the transaction's id.
func (s *service) authorized(card, amount string, more ...string) string {
	s.T.Helper()
	a := s.authorize(card, amount, more...)
	if a.OK(http.StatusCreated).Body["decline_reason"] != nil {
		s.T.Fatalf("declined: %s", a.Raw)
	}
	return a.Transaction()
}

func (s *service) settled(authorization, amount string, more ...string) string {
	s.T.Helper()
	return s.Settle(authorization, amount, more...).Transaction()
}

// subscribe registers an endpoint and returns the response.
func (s *service) subscribe(url string, events string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/api/v1/webhooks", `{"url":"`+url+`","events":[`+events+`]}`).OK(http.StatusCreated)
}

// deliveries lists what there is to deliver to an endpoint, "" for all.
func (s *service) deliveries(webhookID string) (of []map[string]any) {
	s.T.Helper()
	for _, d := range s.Get("/_sandbox/deliveries").OK(http.StatusOK).Data() {
		if webhookID == "" || d["webhook_id"] == webhookID {
			of = append(of, d)
		}
	}
	return of
}

func tries(delivery map[string]any) []any { return delivery["tries"].([]any) }

// tried waits until every delivery of an endpoint has been tried so often.
func (s *service) tried(webhookID string, n int) []map[string]any {
	s.T.Helper()
	sandboxtest.Eventually(s.T, func() bool {
		for _, d := range s.deliveries(webhookID) {
			if len(tries(d)) < n {
				return false
			}
		}
		return true
	})
	return s.deliveries(webhookID)
}

// respondWith is a receiver that answers with a status.
func respondWith(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// hang answers when the caller has gone away.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// hold runs a script behind the service's back, and keeps what that locks until the release.
func hold(t testing.TB, path, script string) (release func()) {
	t.Helper()
	db := sandboxtest.Must(sql.Open("sqlite", path))
	db.SetMaxOpenConns(1)
	sandboxtest.Must(db.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; "+script))
	return func() {
		sandboxtest.Must(0, db.Close())
	}
}

// execSQL changes a file behind the service's back.
func execSQL(t testing.TB, path, script string) { t.Helper(); hold(t, path, script)() }

// query looks into a file behind the service's back.
func query[T any](t testing.TB, path, query string) (value T) {
	t.Helper()
	db := sandboxtest.Must(sql.Open("sqlite", path))
	defer func() { _ = db.Close() }()
	sandboxtest.Must(0, db.QueryRowContext(t.Context(), query).Scan(&value))
	return value
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	return []byte(sandboxtest.File(t, path))
}

// written is the path of a new file, alone in its folder.
func written(t testing.TB, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s.db")
	sandboxtest.Must(0, os.WriteFile(path, content, 0o600))
	return path
}
