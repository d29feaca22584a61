package dashboard_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/dashboard"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

// A page of a file that has lost a table is as it was, or says that it failed; so do forms.
func TestLostTables(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1","events":["card.created"]}`).OK(http.StatusCreated)
	card := s.Issue("100")
	settled := s.Settle(s.Authorize(card, "10", "7311").Transaction(), "").Transaction()
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Ads", "amount": 5}).OK(201)
	s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201)
	var delivery string
	sandboxtest.Eventually(t, func() bool { // it was tried, and will not be again while the clock stands still
		first := s.Get("/_sandbox/deliveries").Data()[0]
		delivery, _ = first["id"].(string)
		return len(first["tries"].([]any)) > 0
	})
	s.Get("/_sandbox/requests").OK(200) // by then, they are in the file
	pages := []string{"/webhooks/" + delivery, "/", "/cards", "/cards/" + card, "/transactions", "/transactions/" + settled, "/3ds", "/deposits", "/webhooks", "/ledger", "/world"}
	rows := func() (counts []string) {
		for _, page := range pages {
			seen := b.get(page)
			counts = append(counts, fmt.Sprint(seen.StatusCode, " with ", strings.Count(seen.text, "<tr"), " rows"))
		}
		return counts
	}
	sound := rows()
	run := execute(t, s)
	run("PRAGMA legacy_alter_table = ON")
	type harm struct{ what, do, undo string }
	harms := []harm{{"the facts of declines", "UPDATE transactions SET decline_facts = 'x'", "UPDATE transactions SET decline_facts = ''"}}
	for _, table := range []string{
		"accounts", "cards", "challenges", "deliveries", "delivery_tries", "deposits", "events",
		"faults", "ledger_accounts", "ledger_entries", "ledger_postings", "settings", "status_changes", "transactions", "webhooks",
	} {
		harms = append(harms, harm{table, "ALTER TABLE " + table + " RENAME TO lost", "ALTER TABLE lost RENAME TO " + table})
	}
	for _, h := range harms {
		run(h.do)
		failed := 0
		for i, got := range rows() {
			if strings.HasPrefix(got, fmt.Sprint(http.StatusInternalServerError)) {
				failed++
			} else if got != sound[i] {
				t.Errorf("without %s: %s answered %s, was %s", h.what, pages[i], got, sound[i])
			}
		}
		if failed == 0 {
			t.Errorf("no page needs %s", h.what)
		}
		run(h.undo)
	}
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for page, h := range map[string]harm{
		"/cards/" + card: {"details", "INSERT INTO settings VALUES ('limits', 'x')", "DELETE FROM settings"},
		"/requests":      {"forget", "ALTER TABLE request_log RENAME path TO gone", "ALTER TABLE request_log RENAME gone TO path"},
	} {
		form := b.form(page, "action", h.what)
		run(h.do)
		s.Get("/bins") // to be recorded
		b.send(http.MethodPost, page, form)
		run(h.undo)
		b.get(page).is(http.StatusInternalServerError)
	}
	s.Balanced()
}

// A bug on the way of a request is told without its value, which may be a secret; one
// that has a connection broken off stays as it is.
func TestPanicOfAHandler(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := must(dashboard.New(dashboard.Options{
		Server: &server.Server{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Address: "http://127.0.0.1", Now: time.Now,
		Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/drop" {
				panic(http.ErrAbortHandler)
			}
			panic("whsec_0815")
		}),
	}))
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/bins", nil))
	if said := w.Body.String() + log.String(); w.Code != http.StatusInternalServerError || strings.Contains(said, "0815") || !strings.Contains(log.String(), "lost_test.go") {
		t.Errorf("answered %d, and said %s", w.Code, said)
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("a connection that is to break off ends with %v", err)
		}
	}()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/drop", nil))
}
