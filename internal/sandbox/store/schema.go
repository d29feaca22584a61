package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	_ "embed" // for the schema
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// applicationID marks a SQLite file as a sandbox's ("vcrd").
const applicationID = 0x76637264

//go:embed schema.sql
var schema string

// Migration takes a file to the next version of the schema. One that was released never
// changes.
type Migration struct {
	SQL     string
	Release string // the first one of this program that reads the file then
}

// migrations begin with that from version 1, which schema.sql is, to version 2.
func migrations() []Migration { return nil }

// version is the user_version of a file with the schema of this program.
func (db *DB) version() int32 { return int32(1 + len(db.migrations)) } //nolint:gosec // there are few

type mark struct {
	empty                bool // it has no table
	application, version int32
}

var errNewer = errors.New("a later version of this program has written it")

// refuse says in words why a program that reads files up to a version cannot use one.
func (m mark) refuse(newest int32) error {
	switch {
	case m == mark{empty: true}, m.application == applicationID && m.version >= 1 && m.version <= newest:
		return nil
	case m.application == applicationID && m.version > newest:
		return errNewer
	case m.application == applicationID:
		return errors.New("it is older than the first release, whose files this program does not read; choose another path, or remove the file to begin anew")
	}
	return errors.New("it is another program's SQLite file; choose another path")
}

// newer says which release reads a file of a later version, which it leaves as it is.
func newer(path string) error {
	db, err := sql.Open("sqlite", fileURI(path, filepath.Separator)+"?mode=ro&immutable=1")
	if err != nil {
		return errNewer
	}
	defer func() { _ = db.Close() }() // it was only read
	release := "the one that has"
	_ = db.QueryRow(`SELECT release FROM read_by`).Scan(&release) //nolint:noctx // of a file that nobody writes
	return fmt.Errorf("%w; use %s, or a later one", errNewer, release)
}

// checkHeader refuses a file by its first bytes, before anything of it is changed. What it
// cannot see, since it is still in a log beside the file, create sees.
func checkHeader(file *os.File, newest int32) error {
	// Where SQLite's file format has what is looked at.
	const (
		magic         = "SQLite format 3\x00"
		atVersion     = 60
		atApplication = 68
		atPageKind    = 100 // of the page that lists the tables
		atEntries     = 103
		leaf          = 0x0d
	)
	var header [atEntries + 2]byte
	switch n, err := file.ReadAt(header[:], 0); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case n < len(header), !bytes.HasPrefix(header[:], []byte(magic)):
		return errNotSQLite
	}
	number := func(at int) int32 { return int32(binary.BigEndian.Uint32(header[at:])) } //nolint:gosec // as SQLite has it
	m := mark{application: number(atApplication), version: number(atVersion)}
	entries := binary.BigEndian.Uint16(header[atEntries:])
	m.empty = m == mark{} && header[atPageKind] == leaf && entries == 0
	return m.refuse(newest)
}

// prepare makes the schema of a new file, refuses a damaged one, and brings an older one up
// to date, of which it keeps a copy.
func (db *DB) prepare(ctx context.Context) error {
	var found int32
	err := retryBusy(ctx, func() (err error) { found, err = db.migrate(ctx, false); return err })
	if err != nil || db.path == memoryPath {
		return err
	}
	if err := retryBusy(ctx, func() error { return check(ctx, db.writer) }); err != nil || found == db.version() {
		return err
	}
	if leads, err := db.Lead(); err != nil || !leads {
		return cmp.Or(err, errors.New("it is of an earlier version, which another process serves; end that one first"))
	}
	if err := db.Snapshot(ctx, fmt.Sprintf("%s.version-%d", db.target, found)); err != nil {
		return fmt.Errorf("it is of an earlier version, of which a copy is kept: %w", err)
	}
	return retryBusy(ctx, func() error { _, err := db.migrate(ctx, true); return err })
}

// migrate returns the version of the file, whichever process has made it. That of a new
// file is the newest, and so is an older one's after migrating.
func (db *DB) migrate(ctx context.Context, older bool) (found int32, err error) {
	c, err := db.writer.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer db.writer.release(c)
	tx := &Tx{conn: c, ctx: context.WithoutCancel(ctx)}
	return found, tx.run("BEGIN IMMEDIATE", func(tx *Tx) error {
		var m mark
		_, err := tx.Get([]any{&m.empty, &m.application, &m.version}, `
			SELECT (SELECT COUNT(*) FROM sqlite_master) = 0, application_id, user_version FROM pragma_application_id, pragma_user_version`)
		found = m.version
		if err = cmp.Or(err, m.refuse(db.version())); err != nil || !m.empty && !older {
			return err
		}
		var script strings.Builder
		if m.empty {
			script.WriteString(schema)
			m.version, found = 1, db.version()
		}
		for _, step := range db.migrations[m.version-1:] {
			fmt.Fprintf(&script, "%s; DROP VIEW read_by; CREATE VIEW read_by AS SELECT '%s' AS release;", step.SQL, step.Release)
		}
		// PRAGMA takes no parameters.
		fmt.Fprintf(&script, "PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, db.version())
		_, err = c.raw.ExecContext(tx.ctx, script.String())
		return err
	})
}

// check refuses a file that is damaged, before anybody believes a balance in it.
func check(ctx context.Context, p *pool) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release(c)
	tx := &Tx{conn: c, ctx: context.WithoutCancel(ctx)}
	found, err := Value[string](tx, `PRAGMA quick_check(1)`)
	if err == nil && found != "ok" {
		return errDamaged
	}
	return err
}
