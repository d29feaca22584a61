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

var errDamaged = errors.New("it is damaged; restore its last copy or snapshot, with the Terraform state of that time")

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
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user's own choice of file
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return false, fmt.Errorf("cannot open the sandbox file %s: it or its folder is not writable for this user", path)
	case err != nil:
		return false, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := checkHeader(f, newest); err != nil {
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
			err = os.Chmod(path+suffix, 0o600)
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
	if refused, ok := errors.AsType[*sqlite.Error](err); isFull(err) || ok && refused.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
		err = ErrFull
	}
	if errors.Is(err, errNewer) {
		err = newer(path)
	}
	switch errorCode(err) {
	case sqlite3.SQLITE_NOTADB:
		err = errNotSQLite
	case sqlite3.SQLITE_CORRUPT:
		err = errDamaged
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return fmt.Errorf("cannot open the sandbox file %s: it or its folder is not writable for this user", path)
	}
	return fmt.Errorf("cannot open the sandbox file %s: %w", path, err)
}

// isFull tells whether the disk has no room for a write, or the system lets no file be so large.
func isFull(err error) bool {
	refused, ok := errors.AsType[*sqlite.Error](err)
	return ok && (refused.Code() == sqlite3.SQLITE_FULL || refused.Code() == sqlite3.SQLITE_IOERR_WRITE)
}

// errorCode is the primary code of SQLite's error, 0 where err is another or none.
func errorCode(err error) int {
	if refused, ok := errors.AsType[*sqlite.Error](err); ok {
		return refused.Code() & 0xff
	}
	return 0
}
