package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

func openFile(t *testing.T) (db *store.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, path
}

// The log is brought in also when the clock of its disk is ahead of the process's,
// or the process's was set back.
func TestALogFromTheFuture(t *testing.T) {
	t.Parallel()
	db, path := openFile(t)
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.WriteSetting("a", 1) }); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(path+"-wal", future, future); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Eventually(t, func() bool {
		log, err := os.Stat(path + "-wal")
		return err == nil && log.Size() == 0
	})
}

// A file that is not yet in WAL mode, and that somebody is about to write, is
// one that SQLite refuses to switch at once, without waiting.
func TestOpenWaitsForALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if opened, err := store.Open(ended, store.Options{Path: path}); err == nil {
		_ = opened.Close()
		t.Fatal("a locked file was opened")
	}
	time.AfterFunc(100*time.Millisecond, func() { _, _ = db.ExecContext(context.Background(), "ROLLBACK") })
	opened, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n`

// A long read ends with its context, and keeps nobody else waiting.
func TestLongReads(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.ReadLong(ctx, func(tx *store.Tx) error {
			close(begun)
			return tx.Exec(endless)
		})
	}()
	<-begun
	now := func(tx *store.Tx) error { tx.Now(); return nil }
	for _, run := range []func(context.Context, func(*store.Tx) error) error{db.Read, db.Write} {
		if err := run(t.Context(), now); err != nil {
			t.Error(err)
		}
	}
	waiting, giveUp := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer giveUp()
	if err := db.ReadLong(waiting, now); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second long read: %v", err)
	}
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("an endless read came to its end")
		}
	case <-time.After(time.Minute):
		t.Fatal("the read went on")
	}
	if err := db.ReadLong(t.Context(), now); err != nil {
		t.Error(err)
	}
}

// A bug within a transaction undoes it, and is told without the value, which may be a secret.
func TestPanicUndoesATransaction(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	leave := func(tx *store.Tx) error { return tx.Exec(`CREATE TABLE left_over (id INTEGER)`) }
	err := db.Write(t.Context(), func(tx *store.Tx) error { _ = leave(tx); panic("whsec_0815") })
	if _, ok := errors.AsType[*crash.Error](err); !ok || strings.Contains(err.Error(), "0815") {
		t.Errorf("the error is %v", err)
	}
	if err := db.Write(t.Context(), leave); err != nil {
		t.Error(err)
	}
}

// An older file is brought up to date, with a copy beside; one of a later version is told
// by the release that reads it, and stays as it is.
func TestMigration(t *testing.T) {
	t.Parallel()
	later := []store.Migration{{SQL: `ALTER TABLE settings ADD COLUMN since INTEGER NOT NULL DEFAULT 7`, Release: "vcard 9.8.7"}}
	open := func(path string, migrations []store.Migration) (*store.DB, error) {
		return store.Open(t.Context(), store.Options{Path: path, Migrations: migrations})
	}
	value := func(db *store.DB, query string) (value int) {
		err := db.Read(t.Context(), func(tx *store.Tx) (err error) {
			value, err = store.Value[int](tx, query)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return value
	}
	path := filepath.Join(t.TempDir(), "s.db")
	old, err := open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Write(t.Context(), func(tx *store.Tx) error { return tx.WriteSetting("a", 42) }); err != nil {
		t.Fatal(err)
	}
	if leads, err := old.Lead(); err != nil || !leads {
		t.Fatal(leads, err)
	}
	if _, err := open(path, later); err == nil || !strings.Contains(err.Error(), "end that one first") {
		t.Errorf("while it is served: %v", err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		db, err := open(path, later)
		if err != nil {
			t.Fatal(err)
		}
		if got := value(db, `SELECT value + since FROM settings WHERE name = 'a'`); got != 49 {
			t.Errorf("what was there is %d", got)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := sandboxtest.File(t, path)
	if _, err := open(path, nil); err == nil || !strings.Contains(err.Error(), "use vcard 9.8.7, or a later one") || sandboxtest.File(t, path) != before {
		t.Errorf("a later version: %v", err)
	}
	if beside, err := filepath.Glob(path + "?*"); err != nil || len(beside) != 1 || beside[0] != path+".version-1" {
		t.Errorf("beside it are %q, %v", beside, err)
	}
	kept, err := open(path+".version-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	if got := value(kept, `SELECT value FROM settings WHERE name = 'a'`); got != 42 {
		t.Errorf("the copy has %d", got)
	}
	fresh, err := open(filepath.Join(t.TempDir(), "s.db"), later)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fresh.Close() }()
	if got := value(fresh, `SELECT COUNT(*) FROM pragma_table_info('settings') WHERE name = 'since'`); got != 1 {
		t.Error("a new file has an older schema")
	}
}

// A day begins with its first millisecond.
func TestDay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for ahead, days := range map[time.Duration]int64{-time.Millisecond: -1, 0: 0, 24*time.Hour - time.Millisecond: 0, 24 * time.Hour: 1} {
		if got := store.Day(midnight.Add(ahead)) - midnight.Unix()/86_400; got != days {
			t.Errorf("%s after midnight: day %d", ahead, got)
		}
	}
}

// Whose lock file is gone leads no longer, since another one has made its own by now.
func TestARemovedLockFileIsNoLock(t *testing.T) {
	t.Parallel()
	first, path := openFile(t)
	second, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	leads := func(db *store.DB, want bool) {
		t.Helper()
		if leads, err := db.Lead(); leads != want || err != nil {
			t.Errorf("it leads: %t, %v", leads, err)
		}
	}
	leads(first, true)
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	leads(first, false)
	leads(second, true)
	leads(first, false)
}
