package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func openFile(t *testing.T) (db *store.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s.db")
	db = sandboxtest.Must(store.Open(t.Context(), store.Options{Path: path}))
	t.Cleanup(func() { _ = db.Close() })
	return db, path
}

// The log is brought in also when the clock of its disk is ahead of the process's,
// or the process's was set back.
func TestALogFromTheFuture(t *testing.T) {
	t.Parallel()
	db, path := openFile(t)
	sandboxtest.Must(0, db.Write(t.Context(), func(tx *store.Tx) error { return tx.WriteSetting("a", 1) }))
	future := time.Now().Add(time.Hour)
	sandboxtest.Must(0, os.Chtimes(path+"-wal", future, future))
	sandboxtest.Eventually(t, func() bool {
		log, err := os.Stat(path + "-wal")
		return err == nil && log.Size() == 0
	})
}

// The log is brought into the file once nobody writes, and is then left alone: a file that
// is not used costs nothing.
func TestAnIdleFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, path := openFile(t)
		sandboxtest.Must(0, db.Write(t.Context(), func(tx *store.Tx) error { return tx.WriteSetting("a", 1) }))
		time.Sleep(time.Second)
		sandboxtest.Equal(t, "the size of the log", sandboxtest.Must(os.Stat(path+"-wal")).Size(), 0)
		past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		sandboxtest.Must(0, os.Chtimes(path+"-wal", past, past))
		time.Sleep(time.Second)
		if changed := sandboxtest.Must(os.Stat(path + "-wal")).ModTime(); !changed.Equal(past) {
			t.Errorf("the log of an idle file was written to at %s", changed)
		}
	})
}

// A file that is not yet in WAL mode, and that somebody is about to write, is
// one that SQLite refuses to switch at once, without waiting.
func TestOpenWaitsForALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	db := sandboxtest.Must(sql.Open("sqlite", "file:"+path))
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	sandboxtest.Must(db.ExecContext(t.Context(), "BEGIN IMMEDIATE"))
	ended, end := context.WithCancelCause(t.Context())
	end(store.ErrBusy)
	refused := func(what, with string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), with) {
			t.Errorf("%s: %v, want %q", what, err, with)
		}
	}
	_, err := store.Open(ended, store.Options{Path: path})
	refused("opening a locked file", "another process has locked the sandbox file", err)
	time.AfterFunc(100*time.Millisecond, func() { _, _ = db.ExecContext(context.Background(), "ROLLBACK") })
	opened := sandboxtest.Must(store.Open(t.Context(), store.Options{Path: path}))
	refused("a snapshot that was given up", "cannot write the snapshot "+path+".copy", opened.Snapshot(ended, path+".copy"))
	if _, err := os.Stat(path + ".copy"); err == nil {
		t.Error("half a snapshot is left")
	}
	sandboxtest.Must(0, opened.Close())
	refused("a read of a closed file", "the database is closed", opened.Read(t.Context(), func(*store.Tx) error { return nil }))
}

// While another process has the file locked, reads do not wait, and changes are refused
// after three seconds, which they wait side by side.
func TestAForeignLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, path := openFile(t)
		other := sandboxtest.Must(sql.Open("sqlite", "file:"+path))
		defer func() { _ = other.Close() }()
		other.SetMaxOpenConns(1)
		sandboxtest.Must(other.ExecContext(t.Context(), "BEGIN IMMEDIATE"))
		now := func(tx *store.Tx) error { tx.Now(); return nil }
		began := time.Now()
		for range 100 {
			sandboxtest.Must(0, db.Read(t.Context(), now))
		}
		sandboxtest.Equal(t, "100 reads waited", time.Since(began), 0) //nolint:forbidigo // in a synctest bubble
		var changes sync.WaitGroup
		var locked atomic.Int64
		for range 5 {
			changes.Go(func() {
				err := db.Write(t.Context(), now)
				if !errors.Is(err, store.ErrBusy) {
					t.Errorf("a change: %v", err)
				}
				if errors.Is(err, store.ErrLocked) {
					locked.Add(1)
				}
			})
		}
		changes.Wait()
		sandboxtest.Equal(t, "a change says that another process has locked the file", locked.Load() > 0, true)
		sandboxtest.Equal(t, "5 changes waited", time.Since(began), 15*time.Second) //nolint:forbidigo // in a synctest bubble
		sandboxtest.Must(other.ExecContext(t.Context(), "ROLLBACK"))
		sandboxtest.Must(0, db.Write(t.Context(), now))
	})
}

const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n`

// A long read ends with its context, and keeps nobody else waiting.
func TestLongReads(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	const most = 3 // which run at once
	begun, ended := make(chan struct{}, most), make(chan error, most)
	for range most {
		go func() {
			ended <- db.ReadLong(ctx, func(tx *store.Tx) error {
				begun <- struct{}{}
				return tx.Exec(endless)
			})
		}()
	}
	for range most {
		<-begun
	}
	now := func(tx *store.Tx) error { tx.Now(); return nil }
	for _, run := range []func(context.Context, func(*store.Tx) error) error{db.Read, db.Write} {
		sandboxtest.Must(0, run(t.Context(), now))
	}
	waiting, giveUp := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer giveUp()
	if err := db.ReadLong(waiting, now); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a further long read: %v", err)
	}
	if _, _, err := db.Version(t.Context()); err != nil {
		t.Errorf("the version: %v", err)
	}
	if err := db.ReadLong(waiting, now); errors.Is(err, store.ErrLocked) {
		t.Errorf("waiting for other reads is told as a lock: %v", err)
	}
	cancel()
	for range most {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("an endless read came to its end")
			}
		case <-time.After(time.Minute):
			t.Fatal("the read went on")
		}
	}
	sandboxtest.Must(0, db.ReadLong(t.Context(), now))
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
	sandboxtest.Must(0, db.Write(t.Context(), leave))
}

// Opening an older file migrates it and keeps a copy next to it. A file of a later version stays
// unchanged, and the error names the release that can read it.
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
	old := sandboxtest.Must(open(path, nil))
	sandboxtest.Must(0, old.Write(t.Context(), func(tx *store.Tx) error { return tx.WriteSetting("a", 42) }))
	if leads, err := old.TryToLead(); err != nil || !leads {
		t.Fatal(leads, err)
	}
	if _, err := open(path, later); err == nil || !strings.Contains(err.Error(), "stop that process first") {
		t.Errorf("while it is served: %v", err)
	}
	sandboxtest.Must(0, old.Close())
	sandboxtest.Must(0, os.WriteFile(path+".version-1", nil, 0o600))
	if _, err := open(path, later); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("without room for a copy: %v", err)
	}
	sandboxtest.Must(0, os.Remove(path+".version-1"))
	for range 2 {
		db := sandboxtest.Must(open(path, later))
		sandboxtest.Equal(t, "what was there", value(db, `SELECT value + since FROM settings WHERE name = 'a'`), 49)
		sandboxtest.Must(0, db.Close())
	}
	before := sandboxtest.File(t, path)
	if _, err := open(path, nil); err == nil || !strings.Contains(err.Error(), "use vcard 9.8.7 or later") || sandboxtest.File(t, path) != before {
		t.Errorf("a later version: %v", err)
	}
	sandboxtest.Must(0, os.WriteFile(path+".unnamed", []byte(before), 0o600))
	other := sandboxtest.Must(sql.Open("sqlite", "file:"+path+".unnamed"))
	sandboxtest.Must(other.ExecContext(t.Context(), "DROP VIEW read_by"))
	sandboxtest.Must(0, other.Close())
	if _, err := open(path+".unnamed", nil); err == nil || !strings.Contains(err.Error(), "use that version or later") {
		t.Errorf("a later version that names no release: %v", err)
	}
	sandboxtest.Must(0, os.Remove(path+".unnamed"))
	if beside, err := filepath.Glob(path + "?*"); err != nil || len(beside) != 1 || beside[0] != path+".version-1" {
		t.Errorf("beside it are %q, %v", beside, err)
	}
	kept := sandboxtest.Must(open(path+".version-1", nil))
	defer func() { _ = kept.Close() }()
	sandboxtest.Equal(t, "the copy", value(kept, `SELECT value FROM settings WHERE name = 'a'`), 42)
	fresh := sandboxtest.Must(open(filepath.Join(t.TempDir(), "s.db"), later))
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
		sandboxtest.Equal(t, ahead.String()+" after midnight: the day", store.Day(midnight.Add(ahead))-midnight.Unix()/86_400, days)
	}
}

// A deleted file gets no lock file any more, and the file that takes its place is led by
// those who have that one open.
func TestADeletedFileIsNotLocked(t *testing.T) {
	t.Parallel()
	deleted, path := openFile(t)
	for range 2 { // a file that is not led, and then one that is
		sandboxtest.Must(0, os.Remove(path))
		if leads, err := deleted.TryToLead(); leads || err != nil {
			t.Errorf("it leads: %t, %v", leads, err)
		}
		if _, err := os.Stat(path + ".lock"); err == nil {
			t.Error("there is a lock file beside no file")
		}
		for _, beside := range []string{"-wal", "-shm"} {
			sandboxtest.Must(0, os.Remove(path+beside))
		}
		next := sandboxtest.Must(store.Open(t.Context(), store.Options{Path: path}))
		t.Cleanup(func() { _ = next.Close() })
		if leads, err := deleted.TryToLead(); leads || err != nil {
			t.Errorf("a deleted file leads another one: %t, %v", leads, err)
		}
		if leads, err := next.TryToLead(); !leads || err != nil {
			t.Errorf("the file in its place leads: %t, %v", leads, err)
		}
		deleted = next
	}
}

// Whose lock file is gone leads no longer, since another one has made its own by now.
func TestARemovedLockFileIsNoLock(t *testing.T) {
	t.Parallel()
	first, path := openFile(t)
	second := sandboxtest.Must(store.Open(t.Context(), store.Options{Path: path}))
	defer func() { _ = second.Close() }()
	leads := func(db *store.DB, want bool) {
		t.Helper()
		if leads, err := db.TryToLead(); leads != want || err != nil {
			t.Errorf("it leads: %t, %v", leads, err)
		}
	}
	leads(first, true)
	sandboxtest.Must(0, os.Remove(path+".lock"))
	leads(first, false)
	leads(second, true)
	leads(first, false)
}
