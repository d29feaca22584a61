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

func TestSignals(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	for _, c := range []struct {
		name   string
		change func(*store.Tx) error
		want   int
	}{
		{"nothing said", func(*store.Tx) error { return nil }, 0},
		{"said", func(tx *store.Tx) error { tx.Signal(); return nil }, 1},
		{"said and undone", func(tx *store.Tx) error { tx.Signal(); return errors.New("undone") }, 0},
		{"said with what is no JSON", func(tx *store.Tx) error { tx.Signal(); return tx.WriteSetting("a", t.Log) }, 0},
		{"the clock moved", func(tx *store.Tx) error { return tx.MoveClock(time.Now()) }, 1},
	} {
		for range 2 { // two make one
			if err := db.Write(t.Context(), c.change); err != nil && c.want > 0 {
				t.Fatal(err)
			}
		}
		if got := len(db.Signals()); got != c.want {
			t.Errorf("%s: %d signals, want %d", c.name, got, c.want)
		}
		for range c.want {
			<-db.Signals()
		}
	}
}
