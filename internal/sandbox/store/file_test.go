package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

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
	change := func(tx *store.Tx) error { return tx.WriteSetting("a", 1) }
	if err := db.Write(t.Context(), change); err != nil {
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

// A change whose file is taken away before its commit is not said to have happened.
func TestAFileTakenAwayDuringAChange(t *testing.T) {
	t.Parallel()
	db, path := openFile(t)
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.WriteSetting("a", 1), os.Remove(path))
	})
	if err == nil {
		t.Error("it is said to have happened")
	}
	select {
	case <-db.Lost():
	default:
		t.Error("the file does not count as lost")
	}
}
