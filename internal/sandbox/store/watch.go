package store

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	// watchInterval is how long the log has to be left alone to be idle.
	watchInterval = 200 * time.Millisecond
	// maxLog is in bytes. A longer log is emptied amid traffic as well.
	maxLog = 32 << 20
)

// watch keeps the named file whole: people copy that one file. What is in the
// log beside it is brought in as soon as nobody writes.
func (db *DB) watch() {
	defer crash.End()
	defer close(db.stopped)
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	var before fs.FileInfo
	for {
		select {
		case <-db.stop:
			return
		case <-ticker.C:
		}
		log, err := os.Stat(db.target + "-wal")
		if err != nil {
			continue
		}
		idle := before != nil && log.ModTime().Equal(before.ModTime()) && log.Size() == before.Size()
		if log.Size() > 0 && (idle || log.Size() > maxLog) {
			db.checkpoint()
		}
		before = log
	}
}

// checkpoint brings the log into the file and empties it. When somebody is in
// the way, the next one does.
func (db *DB) checkpoint() {
	ctx, cancel := context.WithTimeout(context.Background(), watchInterval)
	defer cancel()
	c, err := db.writer.acquire(ctx)
	if err != nil {
		return
	}
	defer db.writer.release(c)
	_, _ = c.raw.ExecContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(TRUNCATE)")
}
