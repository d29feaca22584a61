package requestlog_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// A run is told from others, by name or by a pause, and says how it went.
func TestRuns(t *testing.T) {
	t.Parallel()
	db := sandboxtest.Must(store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "log.db")}))
	defer func() { _ = db.Close() }()
	r := requestlog.New(db, slog.New(slog.DiscardHandler))
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, e := range []requestlog.Entry{
		{Run: "aaaaaaaa", Method: "POST", Path: "/cards", Status: 201, Duration: time.Second},
		{Run: "aaaaaaaa", Method: "POST", Path: "/cards", Lost: true},
		{Run: "bbbbbbbb", Method: "HEAD", Path: "/cards", Status: 200},
		{Run: "aaaaaaaa", Method: "POST", Path: "/cards/card_1/fund", Status: 503, Lost: true},
		{Run: "aaaaaaaa", Method: "DELETE", Path: "/cards/card_1", Status: 404},
		{Method: "GET", Path: "/bins", Status: 200},
		{Method: "GET", Path: "/bins", Status: 200, Time: wire.Time{Time: begun.Add(10*time.Minute + 5*time.Second)}},
	} {
		e.AccountID = 1
		if e.Time.IsZero() {
			e.Time.Time = begun.Add(time.Duration(i) * time.Second)
		}
		r.Record(e)
		if i == 3 { // what is in one batch, and in several
			sandboxtest.Must(0, r.Flush(t.Context()))
		}
	}
	sandboxtest.Must(0, r.Close())
	var got []string
	err := db.ReadLong(t.Context(), func(tx *store.Tx) error {
		runs, more, err := requestlog.ListRuns(tx, 1, wire.Page{Number: 1, Size: 50})
		for _, run := range runs {
			got = append(got, fmt.Sprint(run.Name, run.Requests, run.Refused, run.Lost, run.Changes, run.Duration()))
		}
		if more {
			t.Error("there are more runs")
		}
		return err
	})
	want := "1 0 0 0 0s|1 0 0 0 0s|bbbbbbbb1 0 0 0 0s|aaaaaaaa4 1 2 4 4s"
	if strings.Join(got, "|") != want || err != nil {
		t.Errorf("the runs are %s, %v", strings.Join(got, "|"), err)
	}
}

// What could not be written for a lock is written in its order, and what is too old makes
// room, with its run.
func TestLogAfterALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	db := sandboxtest.Must(store.Open(t.Context(), store.Options{Path: path}))
	defer func() { _ = db.Close() }()
	raw := sandboxtest.Must(sql.Open("sqlite", "file:"+path))
	defer func() { _ = raw.Close() }()
	raw.SetMaxOpenConns(1)
	execute := func(statement string) {
		t.Helper()
		sandboxtest.Must(raw.ExecContext(t.Context(), statement))
	}
	r := requestlog.New(db, slog.New(slog.DiscardHandler))
	record := func(run, path string) {
		r.Record(requestlog.Entry{AccountID: 1, Run: run, Method: "GET", Path: path, Status: 200, Time: wire.Time{Time: time.Now()}})
	}
	paths := func() (paths []string) {
		t.Helper()
		err := db.ReadLong(t.Context(), func(tx *store.Tx) error {
			entries, _, err := requestlog.List(tx, 1, wire.Page{Number: 1, Size: 50})
			runs, _, failed := requestlog.ListRuns(tx, 1, wire.Page{Number: 1, Size: 50})
			for _, e := range entries {
				paths = append(paths, e.Path)
			}
			for _, run := range runs {
				paths = append(paths, run.Name)
			}
			return errors.Join(err, failed)
		})
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	execute("BEGIN IMMEDIATE")
	record("aaaaaaaa", "/first")
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := r.Flush(short); err == nil {
		t.Error("a locked file was written to")
	}
	record("dddddddd", "/second")
	execute("ROLLBACK")
	sandboxtest.Eventually(t, func() bool { return strings.Join(paths(), " ") == "/first /second dddddddd aaaaaaaa" })
	record("cccccccc", "/late")
	sandboxtest.Eventually(t, func() bool { return len(paths()) == 6 })
	execute("UPDATE request_log SET id = 100000 WHERE path = '/late'")
	record("bbbbbbbb", "/third")
	sandboxtest.Must(0, r.Close())
	sandboxtest.Equal(t, "the log", strings.Join(paths(), " "), "/second /late /third bbbbbbbb cccccccc dddddddd")
}

// A text of the maximum length is kept whole. A longer one is cut before it is unescaped,
// since unescaping thousands of layers takes long.
func TestCleanCuts(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", 512)
	escapes := "%" + strings.Repeat("25", 300)
	for text, want := range map[string]string{
		longest:                    longest,
		longest + "y":              longest + "…",
		escapes + "73k_live_later": escapes[:512] + "…",
	} {
		if got := requestlog.Clean(text); got != want {
			t.Errorf("%d bytes are cut to %d", len(text), len(got))
		}
	}
}
