package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

func TestSignals(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: ":memory:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
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
		got := 0
		for more := true; more; {
			select {
			case <-db.Signals():
				got++
			default:
				more = false
			}
		}
		if got != c.want {
			t.Errorf("%s: %d signals, want %d", c.name, got, c.want)
		}
	}
}
