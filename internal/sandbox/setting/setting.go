// Package setting keeps what the control calls change about the service, for
// every process that shares the file.
package setting

import (
	"encoding/json"
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Read fills value with what was written under a name, and leaves it as it is
// when nothing was.
func Read(tx *store.Tx, name string, value any) error {
	var text []byte
	found, err := tx.Get([]any{&text}, `SELECT value FROM settings WHERE name = ?`, name)
	if err != nil || !found {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("reading the setting %s: %w", name, err)
	}
	return nil
}

// Write replaces what is kept under a name.
func Write(tx *store.Tx, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing the setting %s: %w", name, err)
	}
	return tx.Exec(`INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)`, name, string(text))
}
