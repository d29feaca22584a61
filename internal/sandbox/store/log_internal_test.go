package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Under steady load, in which somebody always reads, the log is written into the file all
// the same, at a moment that waits for running transactions.
func TestTheLogIsBoundedUnderLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 2 * readers {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := db.Read(t.Context(), func(tx *Tx) error { return tx.Exec(`SELECT COUNT(*) FROM settings`) })
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	content := make([]byte, 1<<20)
	for i := range 20 {
		if err := db.Write(t.Context(), func(tx *Tx) error { return tx.WriteSetting("content", content[i:]) }); err != nil {
			t.Error(err)
		}
	}
	if !db.quietCheckpoint() {
		t.Error("the log was not written into the file")
	}
	close(stop)
	load.Wait()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// A checkpoint that another process's reader stands in the way of is tried again later.
func TestTheLogOfAnotherReader(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	set := func() error { return db.Write(t.Context(), func(tx *Tx) error { return tx.WriteSetting("a", 1) }) }
	if err := set(); err != nil {
		t.Fatal(err)
	}
	err = other.Read(t.Context(), func(*Tx) error {
		if err := set(); err != nil {
			return err
		}
		if db.quietCheckpoint() {
			return errors.New("the log is empty while another process reads it")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if !db.quietCheckpoint() {
		t.Error("the log was not written into the file")
	}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() != 0 {
		t.Errorf("the log: %v, %v", log, err)
	}
	if err := errors.Join(other.Close(), db.Close()); err != nil {
		t.Error(err)
	}
}
