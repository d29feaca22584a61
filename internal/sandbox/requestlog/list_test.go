package requestlog_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Many tries with one key, as of a client that never gives up, cost a list of calls
// no more than few.
func TestManyTriesOfFewCalls(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	r := requestlog.New(db, slog.New(slog.DiscardHandler))
	const tries, paths = 40_000, 40
	for i := range tries {
		r.Record(requestlog.Entry{AccountID: 1, Method: "POST", Path: fmt.Sprintf("/cards/%d/fund", i%paths), IdempotencyKey: "same", Status: 503})
		if i%10_000 == 0 { // what is tried in one batch, and in several
			if err := r.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Record(requestlog.Entry{AccountID: 1, Method: "GET", Path: "/cards", IdempotencyKey: "", Status: 200})
	r.Record(requestlog.Entry{AccountID: 1, Method: "GET", Path: "/cards", IdempotencyKey: "", Status: 200})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err = db.ReadLong(t.Context(), func(tx *store.Tx) error {
		calls, more, err := requestlog.Newest(tx, 1, wire.Page{Number: 1, Size: 50})
		if err != nil {
			return err
		}
		if len(calls) != paths+2 || more || len(calls[2].Earlier) != 20 || calls[2].Path != "/cards/39/fund" {
			t.Errorf("%d calls, more: %t, %+v", len(calls), more, calls[min(2, len(calls)-1)].Entry)
		}
		return nil
	})
	if took := time.Since(begun); err != nil || took > time.Second { // some milliseconds
		t.Errorf("it took %v, and failed with %v", took, err)
	}
}
