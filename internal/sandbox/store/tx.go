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

// Tx is a running transaction. It belongs to one goroutine. It keeps its first failure: what
// follows reaches the file no more, and reads nothing; in the end all is undone. So a statement
// has no error of its own.
type Tx struct {
	conn   *conn
	ctx    context.Context //nolint:containedctx // a Tx lives no longer than the call that made it
	wall   time.Time
	now    time.Time
	random io.Reader // of ids; nil: nobody can tell them in advance
	signal bool
	err    error
}

func (tx *Tx) run(begin string, f func(*Tx)) error {
	tx.random, tx.signal, tx.err = nil, false, nil
	if tx.Exec(begin); tx.err != nil {
		return fmt.Errorf("beginning a transaction: %w", tx.err)
	}
	tx.Fail(tx.try(f))
	if tx.err == nil {
		if tx.Exec("COMMIT"); tx.err == nil {
			return nil
		}
		tx.err = fmt.Errorf("committing: %w", tx.err)
	}
	failure := tx.err
	tx.ctx, tx.err = context.WithoutCancel(tx.ctx), nil
	tx.Exec("ROLLBACK")
	return errors.Join(failure, tx.err)
}

func (tx *Tx) try(f func(*Tx)) (err error) {
	defer crash.Catch(&err)
	f(tx)
	return nil
}

// Fail undoes the transaction because of an error, unless there is none.
func (tx *Tx) Fail(err error) { tx.err = cmp.Or(tx.err, err) }

// Err is why the transaction will be undone, as far as it is known.
func (tx *Tx) Err() error { return tx.err }

// Signal wakes the receiver of DB.Signals once the transaction is committed.
func (tx *Tx) Signal() { tx.signal = true }

// prepare returns nil when the transaction has failed.
func (tx *Tx) prepare(query string) *sql.Stmt {
	if tx.err != nil {
		return nil
	}
	s, err := tx.conn.prepare(tx.ctx, query)
	tx.Fail(err)
	return s
}

// Exec runs a statement.
func (tx *Tx) Exec(query string, args ...any) { tx.Insert(query, args...) }

// Insert runs an INSERT and returns the id of the new row.
func (tx *Tx) Insert(query string, args ...any) (id int64) {
	s := tx.prepare(query)
	if s == nil {
		return 0
	}
	result, err := s.ExecContext(tx.ctx, args...)
	if err == nil {
		id, err = result.LastInsertId()
	}
	tx.Fail(err)
	return id
}

// Get scans the first row of a query into dest and tells whether there was one.
func (tx *Tx) Get(dest []any, query string, args ...any) (found bool) {
	s := tx.prepare(query)
	if s == nil {
		return false
	}
	err := s.QueryRowContext(tx.ctx, args...).Scan(dest...)
	if !errors.Is(err, sql.ErrNoRows) {
		tx.Fail(err)
	}
	return err == nil
}

// Value returns the one column of a query's first row, or zero when there is none.
func Value[T any](tx *Tx, query string, args ...any) (value T) {
	tx.Get([]any{&value}, query, args...)
	return value
}

// Values returns the one column of every row of a query; never nil, so that no rows encode as [].
func Values[T any](tx *Tx, query string, args ...any) []T {
	all := []T{}
	tx.each(query, args, func() []any {
		all = append(all, *new(T))
		return []any{&all[len(all)-1]}
	})
	return all
}

// List returns every row of a query, whose columns fill the first fields of a T in their
// order; never nil. Slices and maps are JSON in the file.
func List[T any](tx *Tx, query string, args ...any) []*T {
	all := []*T{}
	tx.list(&all, query, args)
	return all
}

// Page is List for a page of a query, and tells whether there is more.
func Page[T any](tx *Tx, page wire.Page, query string, args ...any) (rows []*T, more bool) {
	rows = List[T](tx, query+` LIMIT ? OFFSET ?`, append(args, page.Size+1, page.Offset())...)
	return rows[:min(len(rows), int(page.Size))], len(rows) > int(page.Size)
}

func (tx *Tx) list(into any, query string, args []any) {
	all := reflect.ValueOf(into).Elem()
	var places []any
	tx.each(query, args, func() []any {
		row := reflect.New(all.Type().Elem().Elem())
		all.Set(reflect.Append(all, row))
		places = columns(places[:0], row.Elem())
		return places
	})
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

// Scan leaves it as it is where there is null.
func (j JSON) Scan(column any) error {
	switch text := column.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), j.Into)
	}
	return fmt.Errorf("JSON is a %T", column)
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
func (tx *Tx) each(query string, args []any, row func() []any) {
	s := tx.prepare(query)
	if s == nil {
		return
	}
	rows, err := s.QueryContext(tx.ctx, args...)
	if err != nil {
		tx.Fail(err)
		return
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	names, err := rows.Columns()
	for err == nil && rows.Next() {
		err = rows.Scan(row()[:len(names)]...)
	}
	tx.Fail(cmp.Or(err, rows.Err()))
}

// Now is the service's time, the same throughout a transaction: the clock on
// the wall plus what the file's clock was moved by; UTC, whole milliseconds.
func (tx *Tx) Now() time.Time { return tx.now }

// SetNow has the rest of the transaction happen at a time.
func (tx *Tx) SetNow(t time.Time) { tx.now = t.UTC().Truncate(time.Millisecond) }

// readNow reads the clock. The file has none before its first transaction.
func (tx *Tx) readNow() {
	offset := Value[int64](tx, `SELECT clock_offset_ms FROM service`)
	tx.now = time.UnixMilli(tx.wall.UnixMilli() + offset).UTC()
}

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
func (tx *Tx) MoveClock(to time.Time) {
	tx.SetNow(to)
	tx.Signal()
	tx.Exec(`UPDATE service SET clock_offset_ms = ?`, to.UnixMilli()-tx.wall.UnixMilli())
}

// ResetClock sets the file's clock back to the one on the wall.
func (tx *Tx) ResetClock() {
	tx.SetNow(tx.wall)
	tx.Exec(`UPDATE service SET clock_offset_ms = 0`)
}

// Version changes with every commit to the file, whichever process makes it. It
// compares with that of other transactions of ReadLong alone, while the file is open.
func (tx *Tx) Version() string {
	return Value[string](tx, `SELECT data_version || '.' || total_changes() FROM pragma_data_version`)
}

// ReadSetting fills value with what was written under a name, if anything was.
func (tx *Tx) ReadSetting(name string, value any) {
	tx.Get([]any{JSON{value}}, `SELECT value FROM settings WHERE name = ?`, name)
}

// WriteSetting replaces what is kept under a name.
func (tx *Tx) WriteSetting(name string, value any) {
	text, err := json.Marshal(value)
	tx.Fail(err)
	tx.Exec(`INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)`, name, string(text))
}
