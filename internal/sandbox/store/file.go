package store

import (
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

// In the texts of errors about a file, "it" is that file: explainOpen puts its path before them.

// errNotSQLite is returned for a file that SQLite does not recognize as a database.
var errNotSQLite = errors.New("it is not a SQLite file; choose another path")

// errDamaged is returned for a file in which SQLite finds damage.
var errDamaged = errors.New("it is damaged; restore its last copy or snapshot, with the Terraform state of that time")

// private is the mode of a file that only its owner can read and write.
const private = 0o600

// prepareFile creates a missing file and reports whether it did. It checks an existing file without changing it. newest is
// the latest version of the schema that this program can read.
func prepareFile(path string, newest int32) (bool, error) {
	folder := filepath.Dir(path)
	info, err := os.Stat(folder)
	if errors.Is(err, fs.ErrPermission) {
		return false, notWritable(path)
	}
	if err != nil || !info.IsDir() {
		return false, fmt.Errorf("cannot open the sandbox file %s: there is no folder %s; create it first", path, folder)
	}
	info, err = os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return false, fmt.Errorf("cannot open the sandbox file %s: it is not a regular file; choose another path", path)
	}
	missing := errors.Is(err, fs.ErrNotExist)                   // OpenFile decides whether another error matters
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, private) //nolint:gosec // the user's own choice of file
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return false, notWritable(path)
	}
	if err != nil {
		return false, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	closeErr := f.Close()
	err = errors.Join(closeErr, inspect(path, newest))
	if err != nil {
		return false, explainOpen(path, err)
	}
	return missing, nil
}

func notWritable(path string) error {
	return fmt.Errorf("cannot open the sandbox file %s: the file or its folder is not writable; "+
		"change the permissions, or choose another path", path)
}

// restrict lets only the owner read the file and the files that SQLite keeps next to it.
func restrict(path string) error {
	// others are the permissions of all users except the owner.
	const others = 0o077
	if runtime.GOOS == "windows" { // modes have no meaning there
		return nil
	}
	for _, suffix := range []string{"-wal", "-shm", ""} {
		info, err := os.Stat(path + suffix)
		if err == nil && info.Mode().Perm()&others != 0 {
			err = os.Chmod(path+suffix, private)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot restrict access to the sandbox file %s, which contains the sandbox's master key: %w; choose another path", path, err)
		}
	}
	return nil
}

// explainOpen rewords an error of opening a file: it names the file and, for some causes, says what to do.
func explainOpen(path string, err error) error {
	reason := err
	switch {
	case errors.Is(err, ErrBusy):
		return fmt.Errorf("another process has locked the sandbox file %s; close that process or wait until it ends, and try again", path)
	case isSQLite(err, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
		return notWritable(path)
	case isFull(err), isSQLite(err, sqlite3.SQLITE_IOERR_SHMSIZE): // there was no room for the file "-shm"
		reason = fmt.Errorf("%w; free some space, or choose another path", ErrFull)
	case isSQLite(err, sqlite3.SQLITE_NOTADB):
		reason = errNotSQLite
	case isSQLite(err, sqlite3.SQLITE_CORRUPT):
		reason = errDamaged
	}
	return fmt.Errorf("cannot open the sandbox file %s: %w", path, reason)
}

// isFull reports whether a write failed because the disk is full or the file would be too large. In the second case,
// SQLite returns SQLITE_IOERR_WRITE, which can also stand for another error of the disk.
func isFull(err error) bool {
	return isSQLite(err, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
}

// isSQLite reports whether err is an error of SQLite with one of the codes. Each code can be a primary or an extended
// one; the lowest byte of an extended code is its primary code.
func isSQLite(err error, codes ...int) bool {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	primary := failure.Code() & 0xff
	return slices.Contains(codes, failure.Code()) || slices.Contains(codes, primary)
}

// applicationID marks a SQLite file as a sandbox's. Its bytes are "vcrd".
const applicationID = 0x76637264

//go:embed schema.sql
var schema string

// Migration changes a file from one version of the schema to the next. Do not change a released migration.
type Migration struct {
	SQL     string
	Release string // the first release of this program that can read the file afterwards
}

// migrations returns the migrations of this program in the order in which they run. The first one changes version 1.
func migrations() []Migration { return nil }

// version returns the user_version of a file with the schema of this program. Version 1 is schema.sql, and each migration
// adds one.
func (db *DB) version() int32 { return int32(1 + len(db.migrations)) } //nolint:gosec // there are few

// mark identifies the program and the version that a SQLite file belongs to.
type mark struct {
	empty       bool // the file has no tables or views
	application int32
	version     int32
}

// readMark selects the fields of a mark.
const readMark = `
	SELECT (SELECT COUNT(*) FROM sqlite_master) = 0, application_id, user_version
	FROM pragma_application_id, pragma_user_version`

// errNewer is returned for a file with a later version of the schema.
var errNewer = errors.New("it was written by a later version of this program")

// check returns an error if the file belongs to another program, or has a version that this program cannot read. It
// accepts an empty file that no program has marked. newest is the latest version that this program can read.
func (m mark) check(newest int32) error {
	newFile := mark{empty: true, application: 0, version: 0}
	if m == newFile {
		return nil
	}
	if m.application != applicationID {
		return errors.New("it is another program's SQLite file; choose another path")
	}
	if m.version > newest {
		return errNewer
	}
	if m.version < 1 {
		return errors.New("it is older than the first release; choose another path, or remove the file")
	}
	return nil
}

// inspect returns an error for a file that this program cannot use. It does not see changes that are still in the log next
// to the file.
func inspect(path string, newest int32) error {
	// With immutable=1, SQLite takes no lock and ignores the log.
	db, err := sql.Open("sqlite", fileURI(path, filepath.Separator)+"?mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing was written
	var m mark
	err = db.QueryRow(readMark).Scan(&m.empty, &m.application, &m.version) //nolint:noctx // it takes no lock, so it does not wait
	if isSQLite(err, sqlite3.SQLITE_CORRUPT) {
		return nil // another process may be writing the file; DB.prepare looks for damage in a transaction
	}
	if err != nil {
		return err
	}
	err = m.check(newest)
	if errors.Is(err, errNewer) {
		release := "that version"
		// If this fails, the error does not name a release.
		_ = db.QueryRow(`SELECT release FROM read_by`).Scan(&release) //nolint:noctx // it takes no lock, so it does not wait
		return fmt.Errorf("%w; use %s or later", errNewer, release)
	}
	return err
}

// prepare creates the schema of a new database, and returns an error for a damaged file. It copies a file
// of an older version and then migrates it.
func (db *DB) prepare(ctx context.Context) error {
	version, err := db.createSchema(ctx)
	if err != nil {
		return err
	}
	if db.path == memoryPath {
		return nil
	}
	t := transaction{
		pool:  db.writer, // the only open pool so far
		begin: "BEGIN",
		ctx:   context.WithoutCancel(ctx), // a check that has started may outlast the timeout of openPools
		wait:  longTimeout,
	}
	err = db.run(ctx, t, checkDamage)
	if err != nil {
		return err
	}
	if version == db.version() {
		return nil
	}
	leads, err := db.TryToLead()
	if err != nil {
		return err
	}
	if !leads {
		return errors.New("it needs a migration, but another process is using it; stop that process first")
	}
	err = db.Snapshot(ctx, fmt.Sprintf("%s.version-%d", db.target, version))
	if err != nil {
		return fmt.Errorf("copying it before its migration failed: %w", err)
	}
	return retryBusy(ctx, func() error { return db.migrate(ctx) })
}

// createSchema creates the schema if the database is empty, and returns the database's version.
func (db *DB) createSchema(ctx context.Context) (int32, error) {
	var version int32
	create := func(tx *Tx, m mark) error {
		if !m.empty {
			version = m.version
			return nil
		}
		version = db.version()
		return db.upgrade(tx, m)
	}
	err := retryBusy(ctx, func() error { return db.change(ctx, create) })
	return version, err
}

// migrate upgrades the file from its current version, which another process may have changed meanwhile.
func (db *DB) migrate(ctx context.Context) error {
	return db.change(ctx, db.upgrade)
}

// change checks the mark of the file and calls f with it, in a transaction that may change the schema. Unlike DB.run, it
// does not read the clock, whose table may be missing.
func (db *DB) change(ctx context.Context, f func(*Tx, mark) error) error {
	c, err := db.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer db.writer.release(c)
	tx := &Tx{conn: c, ctx: context.WithoutCancel(ctx)}
	return tx.run("BEGIN IMMEDIATE", func(tx *Tx) error {
		var m mark
		_, err := tx.Get([]any{&m.empty, &m.application, &m.version}, readMark)
		if err != nil {
			return err
		}
		err = m.check(db.version())
		if err != nil {
			return err
		}
		return f(tx, m)
	})
}

// upgrade creates the schema if the file is empty, and runs the migrations that the file lacks.
func (db *DB) upgrade(tx *Tx, m mark) error {
	var script strings.Builder
	version := m.version
	if m.empty {
		script.WriteString(schema)
		version = 1
	}
	// The first migration changes version 1 to version 2.
	for _, step := range db.migrations[version-1:] {
		fmt.Fprintf(&script, "%s; DROP VIEW read_by; CREATE VIEW read_by AS SELECT '%s' AS release;", step.SQL, step.Release)
	}
	// PRAGMA takes no parameters.
	fmt.Fprintf(&script, "PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, db.version())
	// Do not use tx.Exec, which keeps a prepared statement for later.
	_, err := tx.conn.raw.ExecContext(tx.ctx, script.String())
	return err
}

// checkDamage returns an error for a damaged file.
func checkDamage(tx *Tx) error {
	result, err := Value[string](tx, `PRAGMA quick_check(1)`) // 1 is the maximum number of reported problems
	if err != nil {
		return err
	}
	if result != "ok" {
		return errDamaged
	}
	return nil
}
