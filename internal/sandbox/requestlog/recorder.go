// Package requestlog keeps the API calls that a sandbox has responded to.
package requestlog

import (
	"context"
	"encoding/hex"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

const (
	// flushDelay is how long an entry may wait in memory. Gathering some keeps
	// reads from costing a write each.
	flushDelay = 100 * time.Millisecond
	// maxPending is how many entries wait for a file that is locked; older ones
	// make room.
	maxPending = 10_000
	// maxEntries is how many entries a file holds; older ones make room.
	maxEntries = 100_000
	// maxText cuts what callers sent, in bytes.
	maxText = 512
)

// Entry is one API call. Path is relative to the base address.
type Entry struct {
	ID             int64 // of what was read
	AccountID      int64
	Method         string
	Path           string
	Query          string
	Status         int
	IdempotencyKey string
	Replayed       bool // the response was that of an earlier call with the key
	Time           time.Time
}

// Recorder gathers entries, and writes them to the file.
type Recorder struct {
	db     *store.DB
	logger *slog.Logger

	flushing sync.Mutex // keeps batches in order
	mu       sync.Mutex
	pending  []Entry
	timer    *time.Timer // runs while pending is not empty
	closed   bool
}

// New returns a recorder. Close it before the file is closed.
func New(db *store.DB, logger *slog.Logger) *Recorder {
	return &Recorder{db: db, logger: logger}
}

// Record records a call. It never waits for the file.
func (r *Recorder) Record(e Entry) {
	e.Method, e.Path, e.Query, e.IdempotencyKey = Clean(e.Method), Clean(e.Path), Clean(e.Query), Clean(e.IdempotencyKey)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, e)
	r.schedule()
}

// schedule has a batch written soon. The caller holds the lock.
func (r *Recorder) schedule() {
	if r.timer != nil || len(r.pending) == 0 || r.closed {
		return
	}
	r.timer = time.AfterFunc(flushDelay, func() {
		if err := r.Flush(context.Background()); err != nil {
			r.logger.Warn("the request log could not be written, and will be later", "error", err)
		}
	})
}

// Flush writes what was recorded so far. What cannot be written now is kept.
func (r *Recorder) Flush(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	r.mu.Lock()
	entries := r.pending
	r.pending = nil
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.mu.Unlock()
	if len(entries) == 0 {
		return nil
	}
	err := r.db.Write(ctx, func(tx *store.Tx) error { return write(tx, entries) })
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pending = append(entries, r.pending...)
		r.pending = r.pending[max(0, len(r.pending)-maxPending):]
		r.schedule()
	}
	return err
}

// Close writes what was recorded so far. What is recorded later is lost.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.Flush(context.Background())
}

func write(tx *store.Tx, entries []Entry) error {
	var last int64
	for _, e := range entries {
		if e.IdempotencyKey != "" {
			err := tx.Exec(`UPDATE request_log SET superseded = TRUE WHERE id = (
				SELECT MAX(id) FROM request_log WHERE account_id = ? AND idempotency_key <> '' AND idempotency_key = ? AND method = ? AND path = ?)`,
				e.AccountID, e.IdempotencyKey, e.Method, e.Path)
			if err != nil {
				return err
			}
		}
		id, err := tx.Insert(`
			INSERT INTO request_log (account_id, method, path, query, status, idempotency_key, replayed, time)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			e.AccountID, e.Method, e.Path, e.Query, e.Status, e.IdempotencyKey, e.Replayed, e.Time.UnixMilli())
		if err != nil {
			return err
		}
		last = id
	}
	return tx.Exec(`DELETE FROM request_log WHERE id <= ?`, last-maxEntries)
}

var (
	// secret matches keys and webhook secrets, which have no place in a path but
	// may be put there by mistake.
	secret = regexp.MustCompile(`(?i)(sk_live_|whsec_)[^&/\s]*`)
	// escaped matches what a URL may have in place of a character.
	escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
)

// Clean makes a text that a caller sent fit for a log: short, and without
// anything that looks like a key or a secret, however often it is escaped.
func Clean(text string) string {
	end := ""
	if len(text) > maxText { // ahead of all else, which takes long for a long text
		text, end = text[:maxText], "…"
	}
	for plain := text; ; {
		decoded := escaped.ReplaceAllStringFunc(plain, func(code string) string {
			b, _ := hex.DecodeString(code[1:])
			return string(b)
		})
		if secret.MatchString(decoded) {
			text = decoded
		}
		if decoded == plain {
			break
		}
		plain = decoded
	}
	return secret.ReplaceAllString(strings.ToValidUTF8(text, "�"), "$1…") + end
}
