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
	// flushDelay is how long an entry may wait in memory. Gathering a few
	// keeps reads from costing a write each.
	flushDelay = 20 * time.Millisecond
	// maxEntries is how many entries a file holds; older ones make room.
	maxEntries = 100_000
	// maxText cuts paths and queries.
	maxText = 512
)

// Entry is one API call. Path is relative to the base address.
type Entry struct {
	AccountID      int64
	Method         string
	Path           string
	Query          string
	Status         int
	IdempotencyKey string
	Time           time.Time
}

// Recorder gathers entries and writes them to the file.
type Recorder struct {
	db     *store.DB
	logger *slog.Logger

	flushing sync.Mutex // keeps batches in order
	mu       sync.Mutex
	pending  []Entry
	timer    *time.Timer // runs while pending is not empty
}

// New returns a recorder. Flush it before the file is closed.
func New(db *store.DB, logger *slog.Logger) *Recorder {
	return &Recorder{db: db, logger: logger}
}

// Record records a call. It never waits for the file.
func (r *Recorder) Record(e Entry) {
	e.Path, e.Query, e.IdempotencyKey = Clean(e.Path), Clean(e.Query), Clean(e.IdempotencyKey)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, e)
	if len(r.pending) == 1 {
		r.timer = time.AfterFunc(flushDelay, func() {
			if err := r.Flush(context.Background()); err != nil {
				r.logger.Error("writing the request log", "error", err)
			}
		})
	}
}

// Flush writes what was recorded so far.
func (r *Recorder) Flush(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	r.mu.Lock()
	batch := r.pending
	r.pending = nil
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	return r.db.Write(ctx, func(tx *store.Tx) error {
		var last int64
		for _, e := range batch {
			id, err := tx.Insert(`
				INSERT INTO request_log (account_id, method, path, query, status, idempotency_key, time)
				VALUES (?, ?, ?, ?, ?, ?, ?)`,
				e.AccountID, e.Method, e.Path, e.Query, e.Status, e.IdempotencyKey, e.Time.UnixMilli())
			if err != nil {
				return err
			}
			last = id
		}
		return tx.Exec(`DELETE FROM request_log WHERE id <= ?`, last-maxEntries)
	})
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
	text = secret.ReplaceAllString(strings.ToValidUTF8(text, "�"), "$1…")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// List returns the calls of an account, the oldest first.
func List(tx *store.Tx, accountID int64) ([]Entry, error) {
	return store.Select(tx, func(row store.Row) (e Entry, err error) {
		var at int64
		err = row.Scan(&e.AccountID, &e.Method, &e.Path, &e.Query, &e.Status, &e.IdempotencyKey, &at)
		e.Time = time.UnixMilli(at).UTC()
		return e, err
	}, `SELECT account_id, method, path, query, status, idempotency_key, time FROM request_log
		WHERE account_id = ? ORDER BY id`, accountID)
}

// Forget removes what List returns.
func Forget(tx *store.Tx, accountID int64) error {
	return tx.Exec(`DELETE FROM request_log WHERE account_id = ?`, accountID)
}
