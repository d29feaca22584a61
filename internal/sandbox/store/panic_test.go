package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// A bug within a transaction undoes it, and is told without the value, which may be a secret.
func TestPanicUndoesATransaction(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: ":memory:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.Exec(`CREATE TABLE left_over (id INTEGER)`); err != nil {
			return err
		}
		panic("whsec_0815")
	})
	if _, ok := errors.AsType[*crash.Error](err); !ok || strings.Contains(err.Error(), "0815") {
		t.Errorf("the error is %v", err)
	}
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.Exec(`CREATE TABLE left_over (id INTEGER)`) }); err != nil {
		t.Error(err)
	}
}
