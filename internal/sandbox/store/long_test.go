package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n`

// A long read ends with its context, and keeps nobody else waiting.
func TestLongReads(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.ReadLong(ctx, func(tx *store.Tx) error {
			close(begun)
			var n int
			_, err := tx.Get([]any{&n}, endless)
			return err
		})
	}()
	<-begun
	now := func(tx *store.Tx) error { _, err := tx.Now(); return err }
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
