package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

// Tx is a running transaction. It belongs to one goroutine.
type Tx struct {
	conn   *conn
	ctx    context.Context //nolint:containedctx // a Tx lives no longer than the call that made it
	wall   func() time.Time
	now    time.Time
	random io.Reader // of ids; nil: nobody can tell them in advance
	signal bool
}

// run runs f in a transaction, which is undone when f fails or panics.
func (tx *Tx) run(begin string, f func(*Tx) error) (err error) {
	tx.now, tx.random, tx.signal = time.Time{}, nil, false
	if err = tx.Exec(begin); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	committed := false
	defer func() { // last
		if !committed {
			tx.ctx = context.WithoutCancel(tx.ctx)
			err = errors.Join(err, tx.Exec("ROLLBACK"))
		}
	}()
	defer crash.Catch(&err)
	if err = f(tx); err != nil {
		return err
	}
	if err = tx.Exec("COMMIT"); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	committed = true
	return nil
}

// Signal wakes the receiver of DB.Signals once the transaction is committed.
func (tx *Tx) Signal() { tx.signal = true }

// Exec runs a statement.
func (tx *Tx) Exec(query string, args ...any) error {
	_, err := tx.exec(query, args)
	return err
}

// Insert runs an INSERT and returns the id of the new row.
func (tx *Tx) Insert(query string, args ...any) (int64, error) {
	res, err := tx.exec(query, args)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func (tx *Tx) exec(query string, args []any) (sql.Result, error) {
	s, err := tx.conn.prepare(tx.ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(tx.ctx, args...)
}

// Get scans the first row of a query into dest and tells whether there was one.
func (tx *Tx) Get(dest []any, query string, args ...any) (found bool, err error) {
	s, err := tx.conn.prepare(tx.ctx, query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(tx.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Row is what a scan function reads its columns from.
type Row interface{ Scan(dest ...any) error }

// Select returns every row of a query; never nil, so that no rows encode as [].
func Select[T any](tx *Tx, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	all := []T{}
	err := tx.each(query, args, func(row Row) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// each is what Select would otherwise hold once for each type.
func (tx *Tx) each(query string, args []any, scan func(Row) error) error {
	s, err := tx.conn.prepare(tx.ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(tx.ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Now is the service's time, the same throughout a transaction: the clock on
// the wall plus what the file's clock was moved by; UTC, whole milliseconds.
func (tx *Tx) Now() (time.Time, error) {
	if !tx.now.IsZero() {
		return tx.now, nil
	}
	var offset int64
	if _, err := tx.Get([]any{&offset}, `SELECT clock_offset_ms FROM service`); err != nil {
		return time.Time{}, fmt.Errorf("reading the clock: %w", err)
	}
	tx.now = time.UnixMilli(tx.wall().UnixMilli() + offset).UTC()
	return tx.now, nil
}

// SetNow has the rest of the transaction happen at a time.
func (tx *Tx) SetNow(t time.Time) { tx.now = t.UTC().Truncate(time.Millisecond) }

// SetRandom has the ids of the rest of the transaction follow from a number.
func (tx *Tx) SetRandom(seed uint64) {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	tx.random = rand.NewChaCha8(key)
}

// NewID returns a public id that begins with a prefix.
func (tx *Tx) NewID(prefix string) string {
	if tx.random == nil {
		return vault.Token(prefix)
	}
	return vault.SeededToken(prefix, tx.random)
}

// Day numbers the UTC day of a time, from 0 on 1 January 1970.
func Day(t time.Time) int64 { return t.UnixMilli() / (24 * time.Hour).Milliseconds() }

// MoveClock sets the file's clock for every process that shares it, and signals: what
// waited for a time may be due.
func (tx *Tx) MoveClock(to time.Time) error {
	tx.now = time.Time{}
	tx.Signal()
	return tx.Exec(`UPDATE service SET clock_offset_ms = ?`, to.UnixMilli()-tx.wall().UnixMilli())
}

// ResetClock sets the file's clock back to the one on the wall.
func (tx *Tx) ResetClock() error {
	tx.now = time.Time{}
	return tx.Exec(`UPDATE service SET clock_offset_ms = 0`)
}

// Version changes with every commit to the file, whichever process makes it. It
// compares with that of other transactions of ReadLong alone, while the file is open.
func (tx *Tx) Version() (version string, err error) {
	_, err = tx.Get([]any{&version}, `SELECT data_version || '.' || total_changes() FROM pragma_data_version`)
	return version, err
}

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
