package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errNotSQLite is what a path leads to that no SQLite file is at.
var errNotSQLite = errors.New("it is not a SQLite file; choose another path")

// prepareFile makes a missing file, for its owner alone: it holds the key that
// card numbers are derived from. A file that is none of a sandbox's it refuses,
// and leaves as it is; a symbolic link it follows.
func prepareFile(path string) (info fs.FileInfo, created bool, err error) {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, false, fmt.Errorf("cannot open the sandbox file %s: there is no folder %s; create it first", path, folder)
	}
	info, err = os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("cannot open the sandbox file %s: it is not a regular file", path)
	}
	created = errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user's own choice of file
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return nil, false, fmt.Errorf("cannot open the sandbox file %s: it or its folder is not writable for this user", path)
	case err != nil:
		return nil, false, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := look(f); err != nil {
		return nil, false, explainOpen(path, err)
	}
	info, err = f.Stat()
	return info, created, err
}

// besides are what SQLite keeps beside a file, by the ends of their names.
func besides() []string { return []string{"-wal", "-shm"} }

// restrict takes a file, and what is beside it, away from other users.
func restrict(path string) error {
	const others = 0o077
	if runtime.GOOS == "windows" { // there, the mode says nothing
		return nil
	}
	for _, suffix := range append(besides(), "") {
		info, err := os.Stat(path + suffix)
		if err == nil && info.Mode().Perm()&others != 0 {
			err = os.Chmod(path+suffix, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot open the sandbox file %s: it holds the key of all its secrets, other users may read it, and that cannot be changed: %w", path, err)
		}
	}
	return nil
}

// errReplaced is what a running service finds where its file was.
var errReplaced = errors.New("the sandbox file, or its -wal or -shm, was removed or replaced while it was open; nothing more is written to it")

// Lost is closed when the path no longer names the file that was opened, or one
// beside it is another. Every change is refused from then on.
func (db *DB) Lost() <-chan struct{} { return db.lost }

// inPlace returns an error unless every path still names the file that was opened.
func (db *DB) inPlace() error {
	for path, opened := range db.files {
		if info, err := os.Stat(path); err != nil || !os.SameFile(info, opened) {
			db.lose()
			return errReplaced
		}
	}
	return nil
}

// explainOpen says in words what SQLite's refusal of a path means.
func explainOpen(path string, err error) error {
	if errors.Is(err, ErrBusy) {
		return fmt.Errorf("cannot open the sandbox file %s: another process has locked it; try again: %w", path, err)
	}
	if refused, ok := errors.AsType[*sqlite.Error](err); ok && refused.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
		err = ErrFull
	}
	switch errorCode(err) {
	case sqlite3.SQLITE_NOTADB:
		err = errNotSQLite
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return fmt.Errorf("cannot open the sandbox file %s: it or its folder is not writable for this user", path)
	}
	return fmt.Errorf("cannot open the sandbox file %s: %w", path, err)
}

// errorCode is the primary code of SQLite's error, 0 where err is another or none.
func errorCode(err error) int {
	if refused, ok := errors.AsType[*sqlite.Error](err); ok {
		return refused.Code() & 0xff
	}
	return 0
}
