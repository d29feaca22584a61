// Package store keeps the sandbox's data in one SQLite file that several
// processes may share. It gives out transactions and knows nothing of cards.
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
	// readers is how many short reads, such as the API's, run at once.
	readers = 4
	// longReaders is how many long reads run at once, such as pages of the dashboard. They
	// have connections of their own, so that no short read waits for them.
	longReaders = 3
	// memoryPath is the path that keeps nothing.
	memoryPath = ":memory:"
	// busyTimeout is how long a transaction waits for others of this process, or of another one.
	// On a slow or busy machine several seconds pass, and a client whose call gets a 503 waits
	// much longer, to find out whether it took effect.
	busyTimeout = 15 * time.Second
	// longTimeout is how long a long read waits for others of its kind, and how long
	// it is waited for others that open the file as well.
	longTimeout = 30 * time.Second
	// busyPause is how long to wait before a lock is tried again.
	busyPause = 2 * time.Millisecond
)

// ErrBusy is a transaction that did not get its turn in time. Nothing happened.
var ErrBusy = errors.New("the sandbox is busy")

// ErrLocked is an ErrBusy because another process has locked the file.
var ErrLocked = fmt.Errorf("%w: another process has locked its file", ErrBusy)

// ErrFull is a transaction that the disk has no room for. Nothing happened.
var ErrFull = errors.New("its disk is full, or no file may be larger")

// DB is an open file. Writers take turns; readers see the last commit and
// never wait for a writer.
type DB struct {
	path       string // absolute, or memoryPath
	target     string // where a symbolic link at path leads: SQLite keeps its files there
	file       fs.FileInfo
	created    bool
	migrations []Migration
	wall       func() time.Time
	writer     *pool
	reader     *pool
	long       *pool
	versions   *pool         // whose only connection sees each commit as another one's
	signal     chan struct{} // holds at most one
	lock       *flock.Flock  // of what one process does for all that have the file open; none in memory

	stop    chan struct{}
	stopped chan struct{} // closed when no goroutine of it is left
}

// Options says what to open.
type Options struct {
	Path string           // a SQLite file, made when missing, or ":memory:"
	Wall func() time.Time // the clock on the wall; nil is time.Now

	Migrations []Migration // nil: those of this program
}

// Open opens the file, or begins one. The error says what is wrong with the path:
// no such folder, not writable, not a sandbox's file or one of a later version.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.Migrations == nil {
		o.Migrations = migrations()
	}
	db := &DB{
		path: o.Path, migrations: o.Migrations, wall: o.Wall,
		signal: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if o.Path == memoryPath {
		close(db.stopped)
		return db, db.open(ctx)
	}
	var err error
	if db.path, err = filepath.Abs(o.Path); o.Path == "" || err != nil {
		return nil, errors.New("the sandbox needs a file: give a path, or :memory: to keep nothing")
	}
	if db.created, err = prepareFile(db.path, db.version()); err != nil {
		return nil, err
	}
	if db.target, err = filepath.EvalSymlinks(db.path); err != nil {
		return nil, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	if db.file, err = os.Stat(db.target); err != nil {
		return nil, fmt.Errorf("cannot open the sandbox file: %w", err)
	}
	db.lock = flock.New(db.target+".lock", flock.SetPermissions(private))
	if err := db.open(ctx); err != nil {
		return nil, explainOpen(db.path, err)
	}
	if err := restrict(db.target); err != nil {
		return nil, errors.Join(err, db.closePools())
	}
	go db.watch()
	return db, nil
}

// open opens every connection at once: later, the name may be another file's.
func (db *DB) open(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longTimeout, ErrBusy)
	defer cancel()
	if db.writer, err = openPool(ctx, dataSource(db.path, true), 1); err != nil {
		return err
	}
	// A database in memory belongs to its one connection.
	db.reader = db.writer
	db.long = db.writer
	db.versions = db.writer
	if err := db.prepare(ctx); err != nil {
		db.unlock()
		return errors.Join(err, db.closePools())
	}
	if db.path == memoryPath {
		return nil
	}
	for _, p := range []struct {
		pool **pool
		size int
	}{{&db.reader, readers}, {&db.long, longReaders}, {&db.versions, 1}} {
		opened, err := openPool(ctx, dataSource(db.path, false), p.size)
		if err != nil {
			return errors.Join(err, db.closePools())
		}
		*p.pool = opened
	}
	return nil
}

// Path is the file's absolute path.
func (db *DB) Path() string { return db.path }

// Created tells whether Open made the file.
func (db *DB) Created() bool { return db.created }

// retryBusy tries again what met a lock, until the context ends.
func retryBusy(ctx context.Context, try func() error) error {
	for {
		err := try()
		if !isSQLite(err, sqlite3.SQLITE_BUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, ErrBusy) {
				return errors.Join(cause, err)
			}
			return errors.Join(ErrLocked, err)
		case <-time.After(busyPause):
		}
	}
}

// Lead tells whether this is the one, of all that have the file open, that does what is to be
// done once. Whoever asks next becomes it when that one has closed the file, or was killed.
func (db *DB) Lead() (bool, error) {
	if db.path == memoryPath {
		return true, nil
	}
	if !db.exists() {
		db.unlock() // another file may have taken its place, with the same lock
		return false, nil
	}
	if locked, err := db.lock.TryLock(); err != nil || !locked {
		return false, err
	}
	held, err := db.lock.Stat()
	if at, failed := os.Stat(db.lock.Path()); err == nil && failed == nil && os.SameFile(at, held) {
		return true, nil
	}
	return false, errors.Join(err, db.lock.Unlock()) // who had it has removed the file since this one opened it
}

// exists reports whether the file is still at its path.
func (db *DB) exists() bool {
	at, err := os.Stat(db.target)
	return err == nil && os.SameFile(at, db.file)
}

// unlock lets another one lead.
func (db *DB) unlock() {
	if db.lock != nil && db.lock.Locked() {
		_ = os.Remove(db.lock.Path()) // an empty file; the next one makes its own
		_ = db.lock.Unlock()          // at the latest, the end of the process does it
	}
}

// Snapshot writes all that there is now to a new file.
func (db *DB) Snapshot(ctx context.Context, path string) (err error) {
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private) //nolint:gosec // the user's own choice of file
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; a snapshot is a new file", path)
	}
	if err != nil {
		return fmt.Errorf("cannot write the snapshot: %w", err)
	}
	c, err := db.writer.acquire(ctx)
	if err == nil {
		defer db.writer.release(c)
		_, err = c.raw.ExecContext(ctx, `VACUUM INTO ?`, path)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("cannot write the snapshot %s: %w", path, err), os.Remove(path))
	}
	return nil
}

// Close waits for running transactions and closes the file.
func (db *DB) Close() error {
	close(db.stop)
	<-db.stopped
	defer db.unlock()
	return db.closePools()
}

func (db *DB) closePools() error {
	var errs []error
	for _, p := range []*pool{db.versions, db.long, db.reader} {
		if p != db.writer {
			errs = append(errs, p.close())
		}
	}
	return errors.Join(append(errs, db.writer.close())...)
}

// Signals tells that a transaction of this process called Signal and is
// committed. Several may become one; it is for one receiver.
func (db *DB) Signals() <-chan struct{} { return db.signal }

// Read runs f on a snapshot. f must not change anything, and may be run again
// when it met a lock.
func (db *DB) Read(ctx context.Context, f func(*Tx) error) error {
	return db.run(ctx, transaction{db.reader, "BEGIN", context.WithoutCancel(ctx), busyTimeout}, f)
}

// ReadLong is Read for what may take long: no Read waits for it, and the context ends it.
func (db *DB) ReadLong(ctx context.Context, f func(*Tx) error) error {
	return db.run(ctx, transaction{db.long, "BEGIN", ctx, longTimeout}, f)
}

// Version returns a text that changes with every commit to the file, whichever process
// makes it. It compares with other versions that this DB has returned.
// It also returns the service's time.
func (db *DB) Version(ctx context.Context) (string, time.Time, error) {
	var version string
	var now time.Time
	err := db.run(ctx, transaction{db.versions, "BEGIN", context.WithoutCancel(ctx), busyTimeout}, func(tx *Tx) error {
		now = tx.Now()
		_, err := tx.Get([]any{&version}, `SELECT data_version || '.' || total_changes() FROM pragma_data_version`)
		return err
	})
	return version, now, err
}

// Write runs f alone among all writers of the file and commits what it did; when f fails,
// nothing happened. The context ends the wait for the turn, not the transaction.
func (db *DB) Write(ctx context.Context, f func(*Tx) error) error {
	return db.run(ctx, transaction{db.writer, "BEGIN IMMEDIATE", context.WithoutCancel(ctx), busyTimeout}, f)
}

// Begin is Write for the first transaction, which waits as long as Open does.
func (db *DB) Begin(ctx context.Context, f func(*Tx) error) error {
	return db.run(ctx, transaction{db.writer, "BEGIN IMMEDIATE", context.WithoutCancel(ctx), longTimeout}, f)
}

type transaction struct {
	pool  *pool
	begin string
	ctx   context.Context //nolint:containedctx // of its statements; what it is run with ends the wait for its turn
	wait  time.Duration   // for its turn, at most
}

func (db *DB) run(ctx context.Context, t transaction, f func(*Tx) error) error {
	turn, cancel := context.WithTimeoutCause(ctx, t.wait, ErrBusy)
	defer cancel()
	c, err := t.pool.acquire(turn)
	if err != nil {
		return fmt.Errorf("waiting for the database: %w", err)
	}
	defer t.pool.release(c)
	tx := &Tx{conn: c, ctx: t.ctx}
	timed := func(tx *Tx) error {
		offset, err := Value[int64](tx, `SELECT clock_offset_ms FROM service`) // there is none before the first transaction
		if err != nil {
			return err
		}
		tx.wall = db.wall()
		tx.SetNow(time.UnixMilli(tx.wall.UnixMilli() + offset))
		return f(tx)
	}
	if err := retryBusy(turn, func() error { return tx.run(t.begin, timed) }); isFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	} else if err != nil {
		return err
	}
	if tx.signal {
		select {
		case db.signal <- struct{}{}:
		default:
		}
	}
	return nil
}

const (
	// watchInterval is how long the log has to be left alone to be idle.
	watchInterval = 200 * time.Millisecond
	// maxLog is how many bytes the log may have before other transactions have to wait
	// until it is written into the file.
	maxLog = 16 << 20
	// quietTimeout is how long to wait for running transactions to end before that.
	quietTimeout = 5 * time.Second
)

// watch keeps the named file whole, as people copy that one file: it writes the log into the
// file when nobody else writes, and when the log has grown large.
func (db *DB) watch() {
	defer crash.End()
	defer close(db.stopped)
	ticks := time.Tick(watchInterval)
	var before fs.FileInfo
	limit := int64(maxLog)
	for {
		select {
		case <-db.stop:
			return
		case <-ticks:
		}
		log, err := os.Stat(db.target + "-wal")
		if err != nil {
			continue
		}
		idle := before != nil && log.ModTime().Equal(before.ModTime()) && log.Size() == before.Size()
		before = log
		if log.Size() > limit {
			limit = maxLog
			if !db.quietCheckpoint() {
				limit += log.Size() // another process reads; try again when the log has grown further
			}
		} else if idle && log.Size() > 0 {
			db.idleCheckpoint()
		}
	}
}

// idleCheckpoint writes the log into the file, unless a transaction is writing.
func (db *DB) idleCheckpoint() {
	select {
	case c := <-db.writer.idle:
		defer db.writer.release(c)
		c.checkpoint()
	default:
	}
}

// quietCheckpoint writes the log into the file at a moment without a transaction of this
// process, which it waits for, and reports whether the log is empty then. SQLite begins the
// log anew only when nobody reads it, which under steady load never happens by itself.
func (db *DB) quietCheckpoint() bool {
	ctx, cancel := context.WithTimeout(context.Background(), quietTimeout)
	defer cancel()
	// Long reads first: while these end, short transactions go on.
	for _, p := range []*pool{db.long, db.versions, db.reader} {
		for range cap(p.idle) {
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
