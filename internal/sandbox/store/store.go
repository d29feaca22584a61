// Package store keeps the sandbox's data in one SQLite file, which several
// processes can share, or in memory. It creates the tables and runs transactions.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	// readers is the number of connections for short reads.
	readers = 4
	// longReaders is the number of connections for long reads. They are separate, so that long reads do not use
	// up the connections for short ones.
	longReaders = 3
	// memoryPath stands for a database in memory.
	memoryPath = ":memory:"
	// busyTimeout is the longest time that a transaction waits until it can start. It is generous, because on a busy
	// machine other transactions can take several seconds.
	busyTimeout = 15 * time.Second
	// longTimeout replaces busyTimeout for long reads, for Open, and for WriteFirst.
	longTimeout = 30 * time.Second
	// busyPause is the time between two attempts to get a lock.
	busyPause = 2 * time.Millisecond
)

// ErrBusy means that a transaction could not start in time. It had no effect.
var ErrBusy = errors.New("the sandbox is busy")

// ErrLocked is an ErrBusy whose cause is a lock on the file.
var ErrLocked = fmt.Errorf("%w: another process has locked its file", ErrBusy)

// ErrFull means that there was no room for the changes of a transaction, which had no effect, or for opening the file. In
// the text of the error, "its" refers to the sandbox file.
var ErrFull = errors.New("its disk is full, or the maximum file size is reached")

// DB is an open file, or a database in memory. Writers run one after another. Readers of a file see a snapshot and can
// run at the same time. In memory, readers wait like writers.
type DB struct {
	path       string      // absolute, or memoryPath
	target     string      // the path without symbolic links: SQLite puts its other files next to it
	file       fs.FileInfo // of target, to notice that the file was replaced
	created    bool
	migrations []Migration
	wall       func() time.Time
	writer     *pool
	reader     *pool         // for short reads
	longReader *pool         // for long reads
	versions   *pool         // for Version
	signal     chan struct{} // has a capacity of one
	lock       *flock.Flock  // held by the leader, see TryToLead; nil in memory

	stop    chan struct{} // closed by Close
	stopped chan struct{} // closed when watch has returned; in memory, closed from the start
}

// Options are the options of Open.
type Options struct {
	Path string           // of a SQLite file, which is created if it is missing, or ":memory:"
	Wall func() time.Time // returns the real time; if nil, time.Now

	Migrations []Migration // if nil, those of this program
}

// Open opens a database, and creates its file if it is missing.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.Migrations == nil {
		o.Migrations = migrations()
	}
	db := &DB{
		path:       o.Path,
		migrations: o.Migrations,
		wall:       o.Wall,
		signal:     make(chan struct{}, 1),
		stop:       make(chan struct{}),
		stopped:    make(chan struct{}),
	}
	if o.Path == memoryPath {
		close(db.stopped) // there is no file to watch
		err := db.openPools(ctx)
		if err != nil {
			return nil, err
		}
		return db, nil
	}
	if o.Path == "" {
		return nil, errors.New("the sandbox needs a file: set a path, or :memory: to store nothing")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the sandbox file %s: the current folder is unknown; set an absolute path: %w", o.Path, err)
	}
	db.path = path
	db.created, err = prepareFile(path, db.version())
	if err != nil {
		return nil, err
	}
	db.target, err = filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	db.file, err = os.Stat(db.target)
	if err != nil {
		return nil, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	db.lock = flock.New(db.target+".lock", flock.SetPermissions(private))
	err = db.openPools(ctx)
	if err != nil {
		db.stopLeading() // to migrate the file, this DB may have become the leader
		return nil, explainOpen(path, err)
	}
	err = restrict(db.target)
	if err != nil {
		db.stopLeading()
		return nil, errors.Join(err, db.closePools())
	}
	go db.watch()
	return db, nil
}

// openPools opens all connections at once, because later another file could be at the path. It also creates the
// tables of a new database and migrates those of an older file.
func (db *DB) openPools(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longTimeout, ErrBusy)
	defer cancel()
	writer, err := openPool(ctx, dataSource(db.path, writable), 1)
	if err != nil {
		return err
	}
	// A database in memory exists only in this one connection. For a file, the other pools are opened below.
	db.writer = writer
	db.reader = writer
	db.longReader = writer
	db.versions = writer
	err = db.prepare(ctx)
	if err != nil {
		return errors.Join(err, db.closePools())
	}
	if db.path == memoryPath {
		return nil
	}
	source := dataSource(db.path, readOnly)
	reader, err := openPool(ctx, source, readers)
	if err != nil {
		return errors.Join(err, db.closePools())
	}
	db.reader = reader
	longReader, err := openPool(ctx, source, longReaders)
	if err != nil {
		return errors.Join(err, db.closePools())
	}
	db.longReader = longReader
	versions, err := openPool(ctx, source, 1)
	if err != nil {
		return errors.Join(err, db.closePools())
	}
	db.versions = versions
	return nil
}

// Path returns the absolute path of the file, or ":memory:".
func (db *DB) Path() string { return db.path }

// Created reports whether Open created the file.
func (db *DB) Created() bool { return db.created }

// retryBusy calls try until no lock blocks it, or until the context ends.
func retryBusy(ctx context.Context, try func() error) error {
	for {
		err := try()
		if !isSQLite(err, sqlite3.SQLITE_BUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if errors.Is(cause, ErrBusy) {
				cause = ErrLocked
			}
			return errors.Join(cause, err)
		case <-time.After(busyPause):
		}
	}
}

// TryToLead makes this DB the leader among those that have the file open, unless another one leads, and reports whether
// it is the leader now. The leader does the work that only one process should do. TryToLead may return false although no
// DB leads, for example if the file is no longer at its path. A database in memory leads.
func (db *DB) TryToLead() (bool, error) {
	if db.path == memoryPath {
		return true, nil
	}
	if !db.exists() {
		db.stopLeading() // a new file may be at the path, with the same lock
		return false, nil
	}
	locked, err := db.lock.TryLock()
	if err != nil {
		return false, err
	}
	if !locked { // another DB leads
		return false, nil
	}
	opened, err := db.lock.Stat()
	if err != nil {
		return false, errors.Join(err, db.lock.Unlock())
	}
	current, err := os.Stat(db.lock.Path())
	if err == nil && os.SameFile(current, opened) {
		return true, nil
	}
	// The lock's file was removed after this DB opened it, for example by the previous leader, or cannot be checked. The
	// next call opens the file at the path.
	return false, db.lock.Unlock()
}

// exists reports whether the file is still at its path. It returns false if that cannot be checked: this DB then does not
// lead until a later call of TryToLead.
func (db *DB) exists() bool {
	current, err := os.Stat(db.target)
	return err == nil && os.SameFile(current, db.file)
}

// stopLeading lets another DB lead, if this one is the leader.
func (db *DB) stopLeading() {
	if db.lock != nil && db.lock.Locked() {
		_ = os.Remove(db.lock.Path()) // the next leader creates its own
		_ = db.lock.Unlock()          // if this fails, the end of the process unlocks it
	}
}

// Snapshot writes the current data to a new file. It fails if the file exists.
func (db *DB) Snapshot(ctx context.Context, path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(absolute, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private) //nolint:gosec // the user's own choice of file
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists; move that file, or choose another path", absolute)
	}
	if err != nil {
		return fmt.Errorf("cannot write the snapshot: %w", err)
	}
	copyErr := db.copyTo(ctx, absolute)
	err = errors.Join(copyErr, file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("cannot write the snapshot %s: %w", absolute, err), os.Remove(absolute))
	}
	return nil
}

// copyTo copies the database to an empty file.
func (db *DB) copyTo(ctx context.Context, path string) error {
	c, err := db.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer db.writer.release(c)
	_, err = c.raw.ExecContext(ctx, `VACUUM INTO ?`, path)
	return err
}

// Close waits for running transactions and closes the file.
func (db *DB) Close() error {
	close(db.stop)
	<-db.stopped
	defer db.stopLeading()
	return db.closePools()
}

func (db *DB) closePools() error {
	var errs []error
	for _, p := range []*pool{db.versions, db.longReader, db.reader} {
		if p != db.writer {
			errs = append(errs, p.close())
		}
	}
	return errors.Join(append(errs, db.writer.close())...)
}

// Signals returns a channel that receives a value after this DB has committed a transaction in which Tx.Signal was
// called. Several signals can become one value. The channel is meant for one receiver.
func (db *DB) Signals() <-chan struct{} { return db.signal }

// Read runs f on a snapshot. f must not change anything. If a lock blocks the transaction, f may run again. The context
// ends the wait for the start of the transaction, but not a transaction that has started.
func (db *DB) Read(ctx context.Context, f func(*Tx) error) error {
	t := transaction{
		pool:  db.reader,
		begin: "BEGIN",
		ctx:   context.WithoutCancel(ctx),
		wait:  busyTimeout,
	}
	return db.run(ctx, t, f)
}

// ReadLong is like Read, for long reads. The context can also end a transaction that has started.
func (db *DB) ReadLong(ctx context.Context, f func(*Tx) error) error {
	t := transaction{
		pool:  db.longReader,
		begin: "BEGIN",
		ctx:   ctx,
		wait:  longTimeout,
	}
	return db.run(ctx, t, f)
}

// Version returns a text that changes when a process changes the file. Compare it with versions that the same DB has
// returned, not with those of another one. Version also returns the service's time.
func (db *DB) Version(ctx context.Context) (string, time.Time, error) {
	var version string
	var now time.Time
	t := transaction{
		pool:  db.versions,
		begin: "BEGIN",
		ctx:   context.WithoutCancel(ctx),
		wait:  busyTimeout,
	}
	err := db.run(ctx, t, func(tx *Tx) error {
		now = tx.Now()
		// data_version changes with the commits of other connections, and total_changes with the changes of this one,
		// which is also the writer if the database is in memory.
		_, err := tx.Get([]any{&version}, `SELECT data_version || '.' || total_changes() FROM pragma_data_version`)
		return err
	})
	return version, now, err
}

// Write runs f as the only writer of the file and commits its changes. If f fails, nothing changes. If a lock blocks the
// transaction, f may run again. The context ends the wait for the start of the transaction, but not a transaction that
// has started.
func (db *DB) Write(ctx context.Context, f func(*Tx) error) error {
	return db.write(ctx, busyTimeout, f)
}

// WriteFirst is like Write, but waits longer. It is meant for the first transaction after Open.
func (db *DB) WriteFirst(ctx context.Context, f func(*Tx) error) error {
	return db.write(ctx, longTimeout, f)
}

func (db *DB) write(ctx context.Context, wait time.Duration, f func(*Tx) error) error {
	t := transaction{
		pool:  db.writer,
		begin: "BEGIN IMMEDIATE",
		ctx:   context.WithoutCancel(ctx),
		wait:  wait,
	}
	return db.run(ctx, t, f)
}

// transaction describes how run runs a transaction.
type transaction struct {
	pool  *pool
	begin string          // the statement that begins it
	ctx   context.Context //nolint:containedctx // of the statements; run's own context ends the wait for the start
	wait  time.Duration   // the longest wait for the start
}

// run runs f in a transaction. The context ends the wait for its start.
func (db *DB) run(ctx context.Context, t transaction, f func(*Tx) error) error {
	startCtx, cancel := context.WithTimeoutCause(ctx, t.wait, ErrBusy)
	defer cancel()
	c, err := t.pool.acquire(startCtx)
	if err != nil {
		return fmt.Errorf("waiting for the database: %w", err)
	}
	defer t.pool.release(c)
	setTimeAndRun := func(tx *Tx) error {
		err := db.setTime(tx)
		if err != nil {
			return err
		}
		return f(tx)
	}
	var tx *Tx // of the last attempt
	err = retryBusy(startCtx, func() error {
		tx = &Tx{conn: c, ctx: t.ctx}
		return tx.run(t.begin, setTimeAndRun)
	})
	if isFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	if err != nil {
		return err
	}
	if tx.signal {
		select {
		case db.signal <- struct{}{}:
		default: // the channel already contains a signal
		}
	}
	return nil
}

// setTime sets the time of a transaction by the file's clock. The offset is 0 if the table service is still empty.
func (db *DB) setTime(tx *Tx) error {
	offset, err := Value[int64](tx, `SELECT clock_offset_ms FROM service`)
	if err != nil {
		return err
	}
	tx.wall = db.wall()
	tx.SetNow(time.UnixMilli(tx.wall.UnixMilli() + offset))
	return nil
}

const (
	// watchInterval is the time between two checks of SQLite's log. A log that did not change in between counts as idle.
	watchInterval = 200 * time.Millisecond
	// maxLog is the size of the log, in bytes, above which it counts as large.
	maxLog = 16 << 20
	// quietTimeout is the longest time that quietCheckpoint waits for running transactions to end.
	quietTimeout = 5 * time.Second
)

// watch writes the log into the file when the log is idle or has grown large. People copy the file without its log, so
// the file itself should be up to date.
func (db *DB) watch() {
	defer crash.ExitOnPanic()
	defer close(db.stopped)
	ticks := time.Tick(watchInterval)
	var previous fs.FileInfo
	limit := int64(maxLog)
	for {
		select {
		case <-db.stop:
			return
		case <-ticks:
		}
		log, err := os.Stat(db.target + "-wal")
		if err != nil { // typically because there is no log
			continue
		}
		idle := previous != nil && isUnchanged(log, previous)
		previous = log
		if log.Size() > limit {
			if db.quietCheckpoint() {
				limit = maxLog
			} else {
				// Do not make transactions wait again until the log has grown by another maxLog.
				limit = log.Size() + maxLog
			}
		} else if idle && log.Size() > 0 {
			db.idleCheckpoint()
		}
	}
}

// isUnchanged reports whether the log has the same time and size as before.
func isUnchanged(log, previous fs.FileInfo) bool {
	return log.ModTime().Equal(previous.ModTime()) && log.Size() == previous.Size()
}

// idleCheckpoint writes the log into the file, unless this DB is writing. It may fail, and watch then tries again.
func (db *DB) idleCheckpoint() {
	select {
	case c := <-db.writer.idle:
		defer db.writer.release(c)
		_ = c.checkpoint()
	default:
	}
}

// quietCheckpoint waits until no transaction of this DB runs, writes the log into the file, and reports whether the log
// is empty afterwards. It returns false if the wait exceeds quietTimeout. New transactions may have to wait meanwhile:
// SQLite cannot empty a log that is being read, and under steady load there may always be a reader.
func (db *DB) quietCheckpoint() bool {
	ctx, cancel := context.WithTimeout(context.Background(), quietTimeout)
	defer cancel()
	// Wait for long reads first. Short transactions can still run meanwhile.
	for _, p := range []*pool{db.longReader, db.versions, db.reader} {
		for range cap(p.idle) { // once for each connection of the pool
			c, err := p.acquire(ctx)
			if err != nil {
				return false
			}
			defer p.release(c)
		}
	}
	c, err := db.writer.acquire(ctx)
	if err != nil {
		return false
	}
	defer db.writer.release(c)
	return c.checkpoint()
}
