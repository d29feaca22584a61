package store

import (
	"encoding/json"
	"fmt"
)

// ReadSetting fills value with what was written under a name, and leaves it as
// it is when nothing was.
func (tx *Tx) ReadSetting(name string, value any) error {
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

// WriteSetting replaces what is kept under a name, for every process that
// shares the file.
func (tx *Tx) WriteSetting(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing the setting %s: %w", name, err)
	}
	return tx.Exec(`INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)`, name, string(text))
}
