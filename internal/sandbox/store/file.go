package store

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed" // for the schema
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errNotSQLite is what a path leads to that no SQLite file is at.
var errNotSQLite = errors.New("it is not a SQLite file; choose another path")

var errDamaged = errors.New("it is damaged; restore its last copy or snapshot, with the Terraform state of that time")

// private is the mode of all files: their owner's alone.
const private = 0o600

// prepareFile makes a missing file, for its owner alone: it holds the key that
// card numbers are derived from. It refuses a file that is not a
// sandbox's, and leaves it as it is; it follows a symbolic link.
func prepareFile(path string, newest int32) (created bool, err error) {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false, fmt.Errorf("cannot open the sandbox file %s: there is no folder %s; create it first", path, folder)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return false, fmt.Errorf("cannot open the sandbox file %s: it is not a regular file", path)
	}
	created = errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, private) //nolint:gosec // the user's own choice of file
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return false, fmt.Errorf("cannot open the sandbox file %s: it or its folder is not writable for this user", path)
	case err != nil:
		return false, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	if err := errors.Join(f.Close(), inspect(path, newest)); err != nil {
		return false, explainOpen(path, err)
	}
	return created, nil
}

func restrict(path string) error {
	const others = 0o077
	if runtime.GOOS == "windows" { // there, the mode says nothing
		return nil
	}
	for _, suffix := range []string{"-wal", "-shm", ""} {
		info, err := os.Stat(path + suffix)
		if err == nil && info.Mode().Perm()&others != 0 {
			err = os.Chmod(path+suffix, private)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot open the sandbox file %s: it holds the key of all its secrets, other users may read it, and that cannot be changed: %w", path, err)
		}
	}
	return nil
}

func explainOpen(path string, err error) error {
	if errors.Is(err, ErrBusy) {
		return fmt.Errorf("cannot open the sandbox file %s: another process has locked it; try again: %w", path, err)
	}
	switch {
	case isFull(err), isSQLite(err, sqlite3.SQLITE_IOERR_SHMSIZE):
		err = ErrFull
	case isSQLite(err, sqlite3.SQLITE_NOTADB):
		err = errNotSQLite
	case isSQLite(err, sqlite3.SQLITE_CORRUPT):
		err = errDamaged
	case isSQLite(err, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
		return fmt.Errorf("cannot open the sandbox file %s: it or its folder is not writable for this user", path)
	}
	return fmt.Errorf("cannot open the sandbox file %s: %w", path, err)
}

// isFull tells whether the disk has no room for a write, or the system lets no file be so large.
func isFull(err error) bool {
	return isSQLite(err, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
}

// isSQLite tells whether an error of SQLite has one of some codes, as it is or as the kind that it is of.
func isSQLite(err error, codes ...int) bool {
	refused, ok := errors.AsType[*sqlite.Error](err)
	return ok && (slices.Contains(codes, refused.Code()) || slices.Contains(codes, refused.Code()&0xff))
}

// applicationID marks a SQLite file as a sandbox's ("vcrd").
const applicationID = 0x76637264

//go:embed schema.sql
var schema string

// Migration takes a file to the next version of the schema. No released one changes.
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

// inspect refuses another program's file. What is in a log beside the file, migrate sees.
func inspect(path string, newest int32) error {
	db, _ := sql.Open("sqlite", fileURI(path, filepath.Separator)+"?mode=ro&immutable=1") // the driver is there
	defer func() { _ = db.Close() }()                                                     // it was only read
	var m mark
	err := db.QueryRow(readMark).Scan(&m.empty, &m.application, &m.version) //nolint:noctx // without a lock there is no wait
	if isSQLite(err, sqlite3.SQLITE_CORRUPT) {
		return nil // another process may be writing it at this moment: prepare looks again, under a lock
	}
	if err = cmp.Or(err, m.refuse(newest)); errors.Is(err, errNewer) {
		release := "the one that has"
		_ = db.QueryRow(`SELECT release FROM read_by`).Scan(&release) //nolint:noctx // likewise
		err = fmt.Errorf("%w; use %s, or a later one", errNewer, release)
	}
	return err
}

// readMark selects the fields of a mark.
const readMark = `SELECT (SELECT COUNT(*) FROM sqlite_master) = 0, application_id, user_version FROM pragma_application_id, pragma_user_version`

// prepare makes the schema of a new file, refuses a damaged one, and brings an older one up
// to date, of which it keeps a copy.
func (db *DB) prepare(ctx context.Context) error {
	var found int32
	err := retryBusy(ctx, func() (err error) { found, err = db.migrate(ctx, false); return err })
	if err != nil || db.path == memoryPath {
		return err
	}
	err = db.run(ctx, transaction{db.writer, "BEGIN", context.WithoutCancel(ctx), longTimeout}, check)
	if err != nil || found == db.version() {
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
		_, err := tx.Get([]any{&m.empty, &m.application, &m.version}, readMark)
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
func check(tx *Tx) error {
	found, err := Value[string](tx, `PRAGMA quick_check(1)`)
	if err == nil && found != "ok" {
		return errDamaged
	}
	return err
}
