package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// prepareFile makes a missing file, for its owner alone: it holds the key that
// card numbers are derived from.
func prepareFile(path string) error {
	if path == "" {
		return errors.New("the sandbox needs a file: give a path, or :memory: to keep nothing")
	}
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("cannot open the sandbox file %s: there is no folder %s; create it first", path, folder)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("cannot open the sandbox file %s: it is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user's own choice of file
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot open the sandbox file %s: it or its folder is not writable for this user", path)
	case err != nil:
		return fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	return f.Close()
}

// explainOpen says in words what SQLite's refusal of a path means.
func explainOpen(path string, err error) error {
	switch errorCode(err) {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("cannot open the sandbox file %s: it is not a SQLite file; choose another path", path)
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
