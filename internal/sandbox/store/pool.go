package store

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// conn is a connection with its prepared statements. It keeps them, because preparing a statement is slow.
type conn struct {
	raw        *sql.Conn
	statements map[string]*sql.Stmt
}

// prepare returns the prepared statement of a query.
func (c *conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	prepared, found := c.statements[query]
	if found {
		return prepared, nil
	}
	// The driver would treat white space after a final semicolon like a second statement, and parse the query at each use.
	prepared, err := c.raw.PrepareContext(ctx, strings.TrimSpace(query))
	if err != nil {
		return nil, err
	}
	c.statements[query] = prepared
	return prepared, nil
}

// checkpoint writes SQLite's log into the file and reports whether the log is empty now.
func (c *conn) checkpoint() bool {
	var (
		busy    int // 0 if the checkpoint is complete
		logged  int // not needed
		written int // not needed
	)
	row := c.raw.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	err := row.Scan(&busy, &logged, &written)
	return err == nil && busy == 0
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// pool keeps open connections and lends each of them to one user at a time.
type pool struct {
	db     *sql.DB
	opened int        // the number of connections
	idle   chan *conn // closed when the pool is closed
}

func openPool(ctx context.Context, source string, size int) (*pool, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	p := &pool{db: db, idle: make(chan *conn, size)}
	for range size {
		c, err := openConn(ctx, db)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.opened++
		p.idle <- c
	}
	return p, nil
}

func openConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c := &conn{statements: map[string]*sql.Stmt{}}
	err := retryBusy(ctx, func() error {
		// Without WithoutCancel, db.Conn would return ctx.Err() once ctx has ended. retryBusy checks ctx and returns the
		// reason why it ended, which callers need.
		raw, err := db.Conn(context.WithoutCancel(ctx))
		c.raw = raw
		return err
	})
	return c, err
}

// acquire waits for an idle connection. The caller must release it.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case c, ok := <-p.idle:
		if !ok {
			return nil, errors.New("the database is closed")
		}
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *pool) release(c *conn) { p.idle <- c }

// close waits until all connections are released, and closes them.
func (p *pool) close() error {
	var errs []error
	for range p.opened {
		c := <-p.idle
		errs = append(errs, c.close())
	}
	close(p.idle)
	return errors.Join(append(errs, p.db.Close())...)
}

// access is what a connection may do with a file.
type access string

const (
	writable access = "writable"
	readOnly access = "read-only"
)

// dataSource returns the name under which the driver opens a database. A connection that is readOnly refuses to change a
// file. In memory, all connections are writable.
func dataSource(path string, mode access) string {
	pragmas := url.Values{"_pragma": {
		"busy_timeout(0)", // retryBusy waits instead
		"foreign_keys(1)",
		"temp_store(memory)",
		"cache_size(-4000)", // a negative number is a size in KiB
	}}
	if path == memoryPath {
		return "file::memory:?" + pragmas.Encode()
	}
	if mode == writable {
		// In WAL mode, NORMAL keeps commits if the process dies. A power failure or a crash of the operating system can
		// lose the last ones.
		pragmas["_pragma"] = append(pragmas["_pragma"], "journal_mode(wal)", "synchronous(normal)")
	} else {
		pragmas["_pragma"] = append(pragmas["_pragma"], "query_only(1)")
	}
	return fileURI(path, filepath.Separator) + "?" + pragmas.Encode()
}

// fileURI returns the URI of an absolute path in the form that SQLite expects, such as file:///C:/folder/file for a Windows
// drive and file:////host/share/file for a network share.
func fileURI(path string, separator rune) string {
	slashed := strings.ReplaceAll(path, string(separator), "/")
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return "file://" + (&url.URL{Path: slashed}).EscapedPath()
}
