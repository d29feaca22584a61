package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// conn is a connection with the statements that it has prepared. Preparing is
// the dearest part of a small query.
type conn struct {
	raw        *sql.Conn
	statements map[string]*sql.Stmt
}

func (c *conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := c.statements[query]; s != nil {
		return s, nil
	}
	s, err := c.raw.PrepareContext(ctx, strings.TrimSpace(query))
	if err != nil {
		return nil, err
	}
	c.statements[query] = s
	return s, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// pool hands out connections, each to one transaction at a time, in the order
// of asking. A nil in the channel is a connection not yet opened.
type pool struct {
	db   *sql.DB
	idle chan *conn
}

func newPool(source string, size int) *pool {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		panic("store: " + err.Error()) // only an unregistered driver or a bad source of our own
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	p := &pool{db: db, idle: make(chan *conn, size)}
	for range size {
		p.idle <- nil
	}
	return p
}

func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case c, open := <-p.idle:
		if !open {
			return nil, errors.New("the database is closed")
		}
		if c != nil {
			return c, nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	raw, err := p.db.Conn(context.WithoutCancel(ctx))
	if err != nil {
		p.idle <- nil
		return nil, err
	}
	return &conn{raw: raw, statements: map[string]*sql.Stmt{}}, nil
}

func (p *pool) release(c *conn) { p.idle <- c }

// close waits until every connection is back.
func (p *pool) close() error {
	var errs []error
	for range cap(p.idle) {
		if c, open := <-p.idle; open && c != nil {
			errs = append(errs, c.close())
		}
	}
	close(p.idle)
	return errors.Join(append(errs, p.db.Close())...)
}

// dataSource is the driver's address of a file.
func dataSource(path string, write bool) string {
	pragmas := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"foreign_keys(1)",
		"temp_store(memory)",
		"cache_size(-4000)",
	}}
	if path == memoryPath {
		return "file::memory:?" + pragmas.Encode()
	}
	if write {
		// In WAL mode, NORMAL keeps every commit when the process dies; only
		// a power cut can take the last ones.
		pragmas["_pragma"] = append(pragmas["_pragma"], "journal_mode(wal)", "synchronous(normal)")
	} else {
		pragmas["_pragma"] = append(pragmas["_pragma"], "query_only(1)")
	}
	slashed := filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		slashed = "/" + slashed
	}
	return "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?" + pragmas.Encode()
}
