// Package requestlog keeps the API calls that a sandbox has responded to.
package requestlog

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	// flushDelay is how long an entry may wait in memory, lest each read cost a write.
	flushDelay = 100 * time.Millisecond
	// maxPending is how many entries, the newest, wait for a file that is locked.
	maxPending = 10_000
	// maxEntries is how many entries a file holds; older ones make room.
	maxEntries = 100_000
	// pause is what ends a run of a client that does not name its runs.
	pause = 10 * time.Minute
	// maxText cuts what callers sent, in bytes.
	maxText = 512
)

// Entry is one API call.
type Entry struct {
	ID             int64         `json:"-" db:"id"` // of what was read
	AccountID      int64         `json:"-" db:"account_id"`
	RunID          int64         `json:"-" db:"run_id"` // of what was read
	Method         string        `json:"method" db:"method"`
	Path           string        `json:"path" db:"path"` // relative to the base address
	Query          string        `json:"query" db:"query"`
	Status         int           `json:"status" db:"status"`   // 0: there was no response
	Error          string        `json:"error" db:"error"`     // the code of a refusal; "": it was none
	Message        string        `json:"message" db:"message"` // of a refusal, for people
	Run            string        `json:"run" db:"run"`         // by which the client tells its processes apart; "": it does not
	IdempotencyKey string        `json:"-" db:"idempotency_key"`
	Replayed       bool          `json:"replayed" db:"replayed"` // the response was that of an earlier call with the key
	CardID         string        `json:"card_id" db:"card_id"`   // that it was about, or has issued; "": none
	Label          string        `json:"-" db:"label"`           // of the card that was read
	Last4          string        `json:"-" db:"last4"`           // likewise
	Fault          string        `json:"fault" db:"fault"`       // that it met, in words; "": none
	Lost           bool          `json:"-" db:"lost"`            // a change whose response did not arrive as it was written
	Duration       time.Duration `json:"-" db:"duration"`
	Time           wire.Time     `json:"time" db:"time"`
	Change
}

// Key names the entry's run in an address.
func (e *Entry) Key() string { return (&Run{ID: e.RunID, Name: e.Run}).Key() }

// Recorder gathers entries, and writes them to the file.
type Recorder struct {
	db     *store.DB
	logger *slog.Logger

	flushing sync.Mutex // keeps batches in order
	mu       sync.Mutex
	pending  []Entry
	closed   bool
}

// New returns a recorder. Close it before the file is closed.
func New(db *store.DB, logger *slog.Logger) *Recorder {
	return &Recorder{db: db, logger: logger}
}

// Record records a call. It never waits for the file.
func (r *Recorder) Record(e Entry) {
	for _, text := range []*string{&e.Method, &e.Path, &e.Query, &e.IdempotencyKey, &e.CardID, &e.Message} {
		*text = Clean(*text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, e)
	if len(r.pending) == 1 {
		r.schedule()
	}
}

// schedule has a batch written soon. The caller holds the lock.
func (r *Recorder) schedule() {
	if r.closed {
		return
	}
	time.AfterFunc(flushDelay, func() {
		defer crash.End()
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
	r.mu.Unlock()
	if len(entries) == 0 {
		return nil
	}
	err := r.db.Write(ctx, func(tx *store.Tx) error { return write(tx, entries) })
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.pending) == 0 { // else a batch is due already
			r.schedule()
		}
		r.pending = append(entries, r.pending...)
		r.pending = r.pending[max(0, len(r.pending)-maxPending):]
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
		id, err := e.write(tx)
		if err != nil {
			return err
		}
		last = id
	}
	if err := tx.Exec(`DELETE FROM request_log WHERE id <= ?`, last-maxEntries); err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM runs WHERE last_entry <= ?`, last-maxEntries)
}

// write adds the entry to its run, which it may begin, and returns its id.
func (e *Entry) write(tx *store.Tx) (id int64, err error) {
	begun := e.Time.UnixMilli()
	run, err := store.Value[int64](tx, `
		SELECT id FROM runs WHERE account_id = ? AND name = ? AND (name <> '' OR ended > ?) ORDER BY id DESC LIMIT 1`,
		e.AccountID, e.Run, begun-pause.Milliseconds())
	if err == nil && run == 0 {
		run, err = tx.Insert(`
			INSERT INTO runs (account_id, name, requests, refused, lost, changes, onto, back, fees, begun, ended, last_entry)
			VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, ?3, ?3, 0)`, e.AccountID, e.Run, begun)
	}
	if err != nil {
		return 0, err
	}
	id, err = tx.Insert(`
		INSERT INTO request_log (account_id, run_id, method, path, query, status, error, idempotency_key, replayed, card_id, fault,
		                         lost, duration_us, time, message, wallet, fee, balance_before, balance_after, status_before, status_after,
		                         entry_id, status_change)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, 0), NULLIF(?, 0))`,
		e.AccountID, run, e.Method, e.Path, e.Query, e.Status, e.Error, e.IdempotencyKey, e.Replayed, e.CardID, e.Fault,
		e.Lost, e.Duration.Microseconds(), begun, e.Message, e.Wallet, e.Fee, e.Before.Balance, e.After.Balance, e.Before.Status, e.After.Status,
		e.EntryID, e.StatusChangeID)
	if err != nil {
		return 0, err
	}
	return id, tx.Exec(`
		UPDATE runs SET requests = requests + 1, lost = lost + ?2, refused = refused + ?3, ended = MAX(ended, ?4), last_entry = ?5,
			changes = changes + ?6, onto = onto + ?7, back = back + ?8, fees = fees + ?9 WHERE id = ?1`,
		run, e.Lost, e.Status >= http.StatusBadRequest && !e.Lost, e.Time.Add(e.Duration).UnixMilli(), id,
		e.Changes(), max(0, e.Moved()), max(0, -e.Moved()), e.Fee)
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
	return secret.ReplaceAllString(display.Printable(text), "$1…") + end
}

// Change is what a call has changed.
type Change struct {
	Wallet         usd.Amount `json:"wallet" db:"wallet"` // what it brought into the wallet; below zero, it left it
	Fee            usd.Amount `json:"fee" db:"fee"`       // what of that the service got
	Before         Standing   `json:"-" db:"before_"`     // of the card
	After          Standing   `json:"-" db:"after_"`
	EntryID        int64      `json:"-" db:"entry_id"`      // of the ledger; 0: it posted none
	StatusChangeID int64      `json:"-" db:"status_change"` // 0: the status stayed
}

// Standing is what a card holds, and its status. Without a status there is no card.
type Standing struct {
	Balance usd.Amount `db:"balance"`
	Status  string     `db:"status"`
}

// Moved is what came onto a card from the wallet; below zero, it went back.
func (c Change) Moved() usd.Amount { return -c.Wallet - c.Fee }

// Changes tells whether the call asked for a change.
func (e *Entry) Changes() bool { return e.Method != http.MethodGet }

// Reading is what a change is told by.
type Reading struct {
	wallet, fees        usd.Amount
	entry, statusChange int64
	card                Standing
}

// Read reads an account and one of its cards, of which there may be none. The calls of a
// file change something one after the other: what differs afterwards in the same
// transaction is the call's doing.
func Read(tx *store.Tx, accountID int64, cardID string) (r Reading, err error) {
	_, err = tx.Get([]any{&r.wallet, &r.fees, &r.entry, &r.statusChange, &r.card.Balance, &r.card.Status}, `
		SELECT w.balance, f.balance, (SELECT COALESCE(MAX(id), 0) FROM ledger_entries), (SELECT COALESCE(MAX(id), 0) FROM status_changes),
		       COALESCE(l.balance, 0), COALESCE(c.status, '')
		FROM ledger_accounts w JOIN ledger_accounts f ON f.account_id = w.account_id AND f.kind = 'fees'
		LEFT JOIN cards c ON c.public_id = ? AND c.account_id = w.account_id LEFT JOIN ledger_accounts l ON l.id = c.ledger_account_id
		WHERE w.account_id = ? AND w.kind = 'wallet'`, cardID, accountID)
	return r, err
}

// Until returns what was changed between the reading and a later one.
func (r Reading) Until(later Reading) Change {
	c := Change{Wallet: later.wallet - r.wallet, Fee: later.fees - r.fees, Before: r.card, After: later.card}
	if later.entry != r.entry {
		c.EntryID = later.entry
	}
	if later.statusChange != r.statusChange {
		c.StatusChangeID = later.statusChange
	}
	if c.EntryID == 0 && c.StatusChangeID == 0 { // as a response that was given before
		c.Before = c.After
	}
	return c
}
