// Package store keeps the sandbox's data in one SQLite file that several
// processes may share. It gives out transactions and knows nothing of cards.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// readers is how many read transactions run side by side.
	readers = 4
	// memoryPath is the path that keeps nothing.
	memoryPath = ":memory:"
	// busyTimeout is how long the lock of another process is waited for.
	busyTimeout = 20 * time.Second
	// busyPause is how long to wait where SQLite does not.
	busyPause = 5 * time.Millisecond
)

// DB is an open file. Writers take turns; readers see the last commit and
// never wait for a writer.
type DB struct {
	wall   func() time.Time
	writer *pool
	reader *pool
	signal chan struct{} // holds at most one
}

// Options says what to open.
type Options struct {
	Path string           // a SQLite file, made when missing, or ":memory:"
	Wall func() time.Time // the clock on the wall; nil is time.Now
}

// Open opens the file and brings its schema up to date. The error says what is
// wrong with the path: no such folder, not writable, not a sandbox file.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Wall == nil {
		o.Wall = time.Now
	}
	inMemory := o.Path == memoryPath
	if !inMemory {
		if err := prepareFile(o.Path); err != nil {
			return nil, err
		}
	}
	db := &DB{wall: o.Wall, writer: newPool(dataSource(o.Path, true), 1), signal: make(chan struct{}, 1)}
	db.reader = db.writer // a database in memory belongs to its one connection
	if !inMemory {
		db.reader = newPool(dataSource(o.Path, false), readers)
	}
	if err := retryBusy(ctx, func() error { return migrate(ctx, db.writer) }); err != nil {
		return nil, errors.Join(explainOpen(o.Path, err), db.Close())
	}
	return db, nil
}

// retryBusy tries again what met a lock: SQLite does not wait for one, whatever
// its busy_timeout, where a new file is switched to WAL.
func retryBusy(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		err := try()
		if errorCode(err) != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(busyPause):
		}
	}
}

// Close waits for running transactions and closes the file.
func (db *DB) Close() error {
	if db.reader == db.writer {
		return db.writer.close()
	}
	return errors.Join(db.reader.close(), db.writer.close())
}

// Signals tells that a transaction of this process called Signal and is
// committed. Several may become one; it is for one receiver.
func (db *DB) Signals() <-chan struct{} { return db.signal }

// Read runs f on a snapshot. f must not change anything.
func (db *DB) Read(ctx context.Context, f func(*Tx) error) error {
	return db.run(ctx, db.reader, "BEGIN", f)
}

// Write runs f alone among all writers of the file and commits what it did;
// when f fails, nothing happened. The context ends the wait for the turn, not
// the transaction.
func (db *DB) Write(ctx context.Context, f func(*Tx) error) error {
	return db.run(ctx, db.writer, "BEGIN IMMEDIATE", f)
}

func (db *DB) run(ctx context.Context, p *pool, begin string, f func(*Tx) error) (err error) {
	c, err := p.acquire(ctx)
	if err != nil {
		return fmt.Errorf("waiting for the database: %w", err)
	}
	defer p.release(c)
	tx := &Tx{conn: c, wall: db.wall, ctx: context.WithoutCancel(ctx)}
	if err = tx.Exec(begin); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	committed := false
	defer func() { // also when f panics
		if !committed {
			err = errors.Join(err, tx.Exec("ROLLBACK"))
		}
	}()
	if err = f(tx); err != nil {
		return err
	}
	if err = tx.Exec("COMMIT"); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	committed = true
	if tx.signal {
		select {
		case db.signal <- struct{}{}:
		default:
		}
	}
	return nil
}
