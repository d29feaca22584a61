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
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Tx is a transaction, for use by one goroutine. A function that runs in it must return the error of a failed
// statement: SQLite may have rolled the transaction back, and later statements would be committed one by one.
type Tx struct {
	conn   *conn
	ctx    context.Context //nolint:containedctx // a Tx lives no longer than the call that made it
	wall   time.Time       // the real time
	now    time.Time       // the service's time
	random io.Reader       // the source of seeded ids; if nil, ids are random
	signal bool            // whether Signal was called
}

// run runs f between the statement begin and COMMIT. If f or COMMIT fails, run rolls the changes back.
func (tx *Tx) run(begin string, f func(*Tx) error) error {
	err := tx.Exec(begin)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	err = tx.try(f)
	if err != nil {
		return errors.Join(err, tx.rollback())
	}
	err = tx.Exec("COMMIT")
	if err != nil {
		return errors.Join(fmt.Errorf("committing: %w", err), tx.rollback())
	}
	return nil
}

// rollback rolls the transaction back, even if its context has ended. It returns an error if SQLite has already done so.
func (tx *Tx) rollback() error {
	tx.ctx = context.WithoutCancel(tx.ctx)
	return tx.Exec("ROLLBACK")
}

// try calls f and turns a panic into an error, so that run rolls the changes back and returns the error.
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

// Get scans the columns of a query's first row into dest, in their order, and reports
// whether there is a row.
func (tx *Tx) Get(dest []any, query string, args ...any) (bool, error) {
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

// Value returns the only column of a query's first row. It returns the zero value if there is no row.
func Value[T any](tx *Tx, query string, args ...any) (T, error) {
	var value T
	_, err := tx.Get([]any{&value}, query, args...)
	return value, err
}

// Values returns the only column of a query's rows. The result is not nil, so that it is [] in JSON.
func Values[T any](tx *Tx, query string, args ...any) ([]T, error) {
	all := []T{}
	err := tx.query(query, args, func(rows *sql.Rows) error {
		for rows.Next() {
			var value T
			err := rows.Scan(&value)
			if err != nil {
				return err
			}
			all = append(all, value)
		}
		return nil
	})
	return all, err
}

// List returns the rows of a query. The result is not nil. A column is scanned into the field of T whose db tag is the
// column's name. A struct that is not an sql.Scanner has a column for each of its tagged fields. If the struct itself has
// a tag, that tag comes before the names of these columns. A struct without a tag must be embedded. Maps, and slices other
// than []byte, are decoded from JSON unless they are an sql.Scanner.
func List[T any](tx *Tx, query string, args ...any) ([]*T, error) {
	all := []*T{}
	err := tx.query(query, args, func(rows *sql.Rows) error {
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		indexes, err := fieldIndexes(reflect.TypeFor[T](), names)
		if err != nil {
			return err
		}
		dest := make([]any, len(names))
		for rows.Next() {
			row := new(T)
			fields := reflect.ValueOf(row).Elem()
			for i, index := range indexes {
				dest[i] = destination(fields.FieldByIndex(index))
			}
			err := rows.Scan(dest...)
			if err != nil {
				return err
			}
			all = append(all, row)
		}
		return nil
	})
	return all, err
}

// Page returns the rows of a query that are on a page, as List does, and reports whether there are more.
func Page[T any](tx *Tx, page wire.Page, query string, args ...any) ([]*T, bool, error) {
	size := int(page.Size)
	limit := size + 1 // a row after the page shows that there are more
	pageArgs := slices.Concat(args, []any{limit, page.Offset()})
	rows, err := List[T](tx, query+` LIMIT ? OFFSET ?`, pageArgs...)
	if err != nil {
		return nil, false, err
	}
	if len(rows) > size {
		return rows[:size], true, nil
	}
	return rows, false, nil
}

// query runs a query and calls read with its rows.
func (tx *Tx) query(query string, args []any, read func(*sql.Rows) error) error {
	s, err := tx.conn.prepare(tx.ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(tx.ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the error of the query
	err = read(rows)
	if err != nil {
		return err
	}
	return rows.Err()
}

// fieldIndexes returns the index of the field for each column, as reflect.Value.FieldByIndex takes it.
func fieldIndexes(row reflect.Type, names []string) ([][]int, error) {
	byName := map[string][]int{}
	addFields(byName, row, "", nil)
	indexes := make([][]int, len(names))
	for i, name := range names {
		index, found := byName[name]
		if !found {
			return nil, fmt.Errorf("%v has no field for the column %s", row, name)
		}
		indexes[i] = index
	}
	return indexes, nil
}

// addFields adds the fields of a struct by the names of their columns. The parent is the index of the struct in the row.
func addFields(byName map[string][]int, structType reflect.Type, prefix string, parent []int) {
	scanner := reflect.TypeFor[sql.Scanner]()
	for i := range structType.NumField() {
		field := structType.Field(i)
		name, tagged := field.Tag.Lookup("db")
		index := append(slices.Clone(parent), i)
		isUsed := tagged || field.Anonymous
		if !isUsed {
			continue
		}
		isScanner := reflect.PointerTo(field.Type).Implements(scanner) // such a struct has one column
		if field.Type.Kind() == reflect.Struct && !isScanner {
			addFields(byName, field.Type, prefix+name, index)
		} else if tagged {
			byName[prefix+name] = index
		}
	}
}

// destination returns what a column is scanned into: a pointer to the field, or JSON if the column contains JSON.
func destination(field reflect.Value) any {
	pointer := field.Addr().Interface()
	_, isScanner := pointer.(sql.Scanner)
	if isScanner {
		return pointer
	}
	switch field.Kind() {
	case reflect.Map:
		return JSON{pointer}
	case reflect.Slice:
		if field.Type().Elem().Kind() == reflect.Uint8 { // the column is a BLOB or TEXT
			return pointer
		}
		return JSON{pointer}
	default:
		return pointer
	}
}

// JSON scans a column that contains JSON into the value that Into points to.
type JSON struct{ Into any }

// Scan implements sql.Scanner.
func (j JSON) Scan(column any) error {
	text, _ := column.(string) // any other type leaves it empty, which is not valid JSON
	return json.Unmarshal([]byte(text), j.Into)
}

// Where is a condition on rows, with its arguments.
type Where struct {
	SQL  string // starts with WHERE
	Args []any
}

// NewWhere returns a condition.
func NewWhere(condition string, args ...any) Where {
	return Where{SQL: `WHERE ` + condition, Args: args}
}

// AndIf adds a condition if apply is true.
func (w Where) AndIf(apply bool, condition string, args ...any) Where {
	if !apply {
		return w
	}
	return Where{SQL: w.SQL + ` AND ` + condition, Args: slices.Concat(w.Args, args)}
}

// EscapeLike returns a pattern for LIKE … ESCAPE '\' in which every character of the text stands for itself. LIKE
// ignores the case of ASCII letters.
func EscapeLike(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// Now returns the service's time, in UTC and whole milliseconds. It does not pass while the transaction runs, but can be
// set, for example by MoveClock.
func (tx *Tx) Now() time.Time { return tx.now }

// SetNow sets the time for the rest of the transaction.
func (tx *Tx) SetNow(t time.Time) { tx.now = t.UTC().Truncate(time.Millisecond) }

// SetRandom makes NewID derive its ids from a seed for the rest of the transaction.
func (tx *Tx) SetRandom(seed uint64) {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	tx.random = rand.NewChaCha8(key)
}

// NewID returns a new public id with a prefix.
func (tx *Tx) NewID(prefix string) string {
	if tx.random == nil {
		return vault.Token(prefix)
	}
	return vault.SeededToken(prefix, tx.random)
}

// Day returns the number of whole UTC days since 1 January 1970.
func Day(t time.Time) int64 { return t.UnixMilli() / (24 * time.Hour).Milliseconds() }

// MoveClock sets the file's clock, which the processes that use the file share. It also calls Signal, because the new
// time may make deliveries due.
func (tx *Tx) MoveClock(to time.Time) error {
	tx.SetNow(to)
	tx.Signal()
	return tx.Exec(`UPDATE service SET clock_offset_ms = ?`, to.UnixMilli()-tx.wall.UnixMilli())
}

// ResetClock sets the file's clock to the real time. Unlike MoveClock, it does not call Signal: it is meant for a
// transaction that deletes all deliveries.
func (tx *Tx) ResetClock() error {
	tx.SetNow(tx.wall)
	return tx.Exec(`UPDATE service SET clock_offset_ms = 0`)
}

// ReadSetting decodes a setting into the variable that value points to. It leaves the variable as it is if the setting
// does not exist.
func (tx *Tx) ReadSetting(name string, value any) error {
	_, err := tx.Get([]any{JSON{value}}, `SELECT value FROM settings WHERE name = ?`, name)
	if err != nil {
		return fmt.Errorf("reading the setting %s: %w", name, err)
	}
	return nil
}

// WriteSetting creates or replaces a setting.
func (tx *Tx) WriteSetting(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing the setting %s: %w", name, err)
	}
	return tx.Exec(`INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)`, name, string(text))
}
