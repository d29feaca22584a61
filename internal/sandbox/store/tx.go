package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Tx is a running transaction. It belongs to one goroutine. Who runs it returns the error of
// a statement that failed: SQLite may have undone it already, and what followed would stay.
type Tx struct {
	conn   *conn
	ctx    context.Context //nolint:containedctx // a Tx lives no longer than the call that made it
	wall   time.Time
	now    time.Time
	random io.Reader // of ids; nil: nobody can tell them in advance
	signal bool
}

func (tx *Tx) run(begin string, f func(*Tx) error) error {
	tx.random, tx.signal = nil, false
	if _, err := tx.exec(begin, nil); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	err := tx.try(f)
	if err == nil {
		if _, err = tx.exec("COMMIT", nil); err == nil {
			return nil
		}
		err = fmt.Errorf("committing: %w", err)
	}
	tx.ctx = context.WithoutCancel(tx.ctx)
	_, undone := tx.exec("ROLLBACK", nil)
	return errors.Join(err, undone)
}

func (tx *Tx) try(f func(*Tx) error) (err error) {
	defer crash.Catch(&err)
	return f(tx)
}

// Signal wakes the receiver of DB.Signals once the transaction is committed.
func (tx *Tx) Signal() { tx.signal = true }

// Exec runs a statement.
func (tx *Tx) Exec(query string, args ...any) error {
	_, err := tx.exec(query, args)
	return err
}

// Insert runs an INSERT and returns the id of the new row.
func (tx *Tx) Insert(query string, args ...any) (id int64, err error) {
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
	if err == nil {
		err = s.QueryRowContext(tx.ctx, args...).Scan(dest...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Value returns the one column of a query's first row, or zero when there is none.
func Value[T any](tx *Tx, query string, args ...any) (value T, err error) {
	_, err = tx.Get([]any{&value}, query, args...)
	return value, err
}

// Values returns the one column of every row of a query; never nil, so that no rows encode as [].
func Values[T any](tx *Tx, query string, args ...any) ([]T, error) {
	all := []T{}
	err := tx.each(query, args, func() []any {
		all = append(all, *new(T))
		return []any{&all[len(all)-1]}
	})
	return all, err
}

// List returns every row of a query, whose columns fill the first fields of a T in their
// order; never nil. Slices and maps are JSON in the file.
func List[T any](tx *Tx, query string, args ...any) ([]*T, error) {
	all := []*T{}
	var places []any
	err := tx.each(query, args, func() []any {
		row := new(T)
		all = append(all, row)
		places = columns(places[:0], reflect.ValueOf(row).Elem())
		return places
	})
	return all, err
}

// Page is List for a page of a query, and tells whether there is more.
func Page[T any](tx *Tx, page wire.Page, query string, args ...any) (rows []*T, more bool, err error) {
	rows, err = List[T](tx, query+` LIMIT ? OFFSET ?`, append(args, page.Size+1, page.Offset())...)
	return rows[:min(len(rows), int(page.Size))], len(rows) > int(page.Size), err
}

// columns appends where the columns of a row belong in a struct.
func columns(all []any, of reflect.Value) []any {
	for i := range of.NumField() { //nolint:modernize // Fields would make a StructField of each, for every row
		field := of.Field(i)
		if !field.CanInterface() {
			continue
		}
		column := field.Addr().Interface()
		_, scans := column.(sql.Scanner)
		switch kind := field.Kind(); {
		case kind == reflect.Struct && !scans:
			all = columns(all, field)
			continue
		case kind == reflect.Map, kind == reflect.Slice && field.Type().Elem().Kind() != reflect.Uint8:
			column = JSON{column}
		}
		all = append(all, column)
	}
	return all
}

// JSON reads a column of JSON into what it points to.
type JSON struct{ Into any }

// Scan refuses what is not JSON.
func (j JSON) Scan(column any) error {
	text, _ := column.(string)
	return json.Unmarshal([]byte(text), j.Into)
}

// Where is a condition on rows, with its arguments.
type Where struct {
	SQL  string
	Args []any
}

// NewWhere begins a condition.
func NewWhere(condition string, args ...any) Where { return Where{`WHERE ` + condition, args} }

// And narrows the condition, if that is wanted.
func (w Where) And(wanted bool, condition string, args ...any) Where {
	if !wanted {
		return w
	}
	return Where{w.SQL + ` AND ` + condition, slices.Concat(w.Args, args)}
}

// Literal is a text for LIKE … ESCAPE '\' to find as it is.
func Literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// each scans every row into the first of what row returns.
func (tx *Tx) each(query string, args []any, row func() []any) error {
	s, err := tx.conn.prepare(tx.ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(tx.ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	names, err := rows.Columns()
	for err == nil && rows.Next() {
		err = rows.Scan(row()[:len(names)]...)
	}
	return cmp.Or(err, rows.Err())
}

// Now is the service's time, the same throughout a transaction: the clock on
// the wall plus what the file's clock was moved by; UTC, whole milliseconds.
func (tx *Tx) Now() time.Time { return tx.now }

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
	tx.SetNow(to)
	tx.Signal()
	return tx.Exec(`UPDATE service SET clock_offset_ms = ?`, to.UnixMilli()-tx.wall.UnixMilli())
}

// ResetClock sets the file's clock back to the one on the wall.
func (tx *Tx) ResetClock() error {
	tx.SetNow(tx.wall)
	return tx.Exec(`UPDATE service SET clock_offset_ms = 0`)
}

// ReadSetting fills value with what was written under a name, if anything was.
func (tx *Tx) ReadSetting(name string, value any) error {
	if _, err := tx.Get([]any{JSON{value}}, `SELECT value FROM settings WHERE name = ?`, name); err != nil {
		return fmt.Errorf("reading the setting %s: %w", name, err)
	}
	return nil
}

// WriteSetting replaces what is kept under a name.
func (tx *Tx) WriteSetting(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing the setting %s: %w", name, err)
	}
	return tx.Exec(`INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)`, name, string(text))
}
