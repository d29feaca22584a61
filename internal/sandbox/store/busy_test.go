package store_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

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
