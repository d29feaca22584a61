// Package requestlog stores and lists the authenticated API calls that a sandbox has received.
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
	// flushDelay is how long the recorder collects entries in memory, so that one transaction writes several of them.
	flushDelay = 100 * time.Millisecond
	// maxPending is the maximum number of entries that stay in memory after a failed write. The recorder drops older ones.
	maxPending = 10_000
	// maxEntries is the maximum number of entries in the file. The recorder deletes older ones.
	maxEntries = 100_000
	// runPause separates the runs of clients that do not name them. A request without a run name starts a new run if the
	// account's last such request ended at least this long before.
	runPause = 10 * time.Minute
	// maxText is the number of bytes after which Clean cuts off a text.
	maxText = 512
)

// Entry is one API call.
type Entry struct {
	ID             int64         `json:"-" db:"id"` // set when the entry is read
	AccountID      int64         `json:"-" db:"account_id"`
	RunID          int64         `json:"-" db:"run_id"` // set when the entry is read
	Method         string        `json:"method" db:"method"`
	Path           string        `json:"path" db:"path"` // relative to the base URL
	Query          string        `json:"query" db:"query"`
	Status         int           `json:"status" db:"status"`   // 0 if there was no response
	Error          string        `json:"error" db:"error"`     // the code of the error, if any
	Message        string        `json:"message" db:"message"` // the message of that error
	Run            string        `json:"run" db:"run"`         // the name of the run; empty if the client does not name its runs
	IdempotencyKey string        `json:"-" db:"idempotency_key"`
	Replayed       bool          `json:"replayed" db:"replayed"` // whether the response is that of an earlier call with the same idempotency key
	CardID         string        `json:"card_id" db:"card_id"`   // the card in the path, or the issued one; empty if there is none
	Label          string        `json:"-" db:"label"`           // the label of that card; set when the entry is read
	Last4          string        `json:"-" db:"last4"`           // the last four digits of its number; set when the entry is read
	Fault          string        `json:"fault" db:"fault"`       // describes the fault that matched the call, if any
	Lost           bool          `json:"-" db:"lost"`            // whether the call requests a change and a fault lost its response; see behavior.Fault.LosesResponse
	Duration       time.Duration `json:"-" db:"duration"`
	Time           wire.Time     `json:"time" db:"time"` // when the call arrived, by the service's clock
	Change
}

// RunKey returns the key of the entry's run.
func (e *Entry) RunKey() string {
	run := Run{ID: e.RunID, Name: e.Run}
	return run.Key()
}

// IsChange reports whether the method of the call is neither GET nor HEAD. Such a call counts as a request for a change.
func (e *Entry) IsChange() bool { return e.Method != http.MethodGet && e.Method != http.MethodHead }

// Recorder collects entries and writes them to the file in batches.
type Recorder struct {
	db     *store.DB
	logger *slog.Logger

	flushing sync.Mutex // held while Flush writes a batch, so that batches stay in order
	mu       sync.Mutex // guards the fields below
	pending  []Entry
	closed   bool
}

// New returns a recorder. Close it before you close the file.
func New(db *store.DB, logger *slog.Logger) *Recorder {
	return &Recorder{db: db, logger: logger}
}

// Record adds an entry. It cleans the texts that may come from the client, and does not wait for the file.
func (r *Recorder) Record(e Entry) {
	for _, text := range []*string{&e.Method, &e.Path, &e.Query, &e.IdempotencyKey, &e.CardID, &e.Message} {
		*text = Clean(*text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, e)
	if len(r.pending) == 1 { // otherwise, the next batch is already scheduled
		r.schedule()
	}
}

// schedule starts a timer for the next batch, unless the recorder is closed. The caller must hold mu.
func (r *Recorder) schedule() {
	if r.closed {
		return
	}
	time.AfterFunc(flushDelay, func() {
		defer crash.ExitOnPanic()
		err := r.Flush(context.Background())
		if err != nil {
			r.logger.Warn("cannot write the request log; trying again", "error", err)
		}
	})
}

// Flush writes the pending entries. If that fails, up to maxPending of them stay pending.
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
	err := r.db.Write(ctx, func(tx *store.Tx) error { return writeAll(tx, entries) })
	if err != nil {
		r.restore(entries)
	}
	return err
}

// restore makes entries pending again, before the entries that Record has added meanwhile.
func (r *Recorder) restore(entries []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 { // otherwise, Record has scheduled a batch
		r.schedule()
	}
	r.pending = append(entries, r.pending...)
	excess := len(r.pending) - maxPending
	if excess > 0 {
		r.pending = r.pending[excess:] // without the oldest entries
	}
}

// Close writes the pending entries. Entries that are recorded later may be lost.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.Flush(context.Background())
}

// writeAll writes entries to the file, and deletes the oldest entries beyond maxEntries and the runs that have none left.
func writeAll(tx *store.Tx, entries []Entry) error {
	var newestID int64
	for _, e := range entries {
		id, err := e.write(tx)
		if err != nil {
			return err
		}
		newestID = id
	}
	lastDeletedID := newestID - maxEntries
	err := tx.Exec(`DELETE FROM request_log WHERE id <= ?`, lastDeletedID)
	if err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM runs WHERE last_entry <= ?`, lastDeletedID)
}

// write writes the entry and updates its run, which it creates if necessary. It returns the entry's id. Entries of an
// account with the same run name share a run. Entries without a run name share one until runPause passes between two.
func (e *Entry) write(tx *store.Tx) (int64, error) {
	start := e.Time.UnixMilli() // of the call
	runID, err := store.Value[int64](tx, `
		SELECT id
		FROM runs
		WHERE account_id = ? AND name = ? AND (name <> '' OR ended > ?)
		ORDER BY id DESC
		LIMIT 1`,
		e.AccountID, e.Run, start-runPause.Milliseconds())
	if err != nil {
		return 0, err
	}
	if runID == 0 { // no row was found
		runID, err = tx.Insert(`
			INSERT INTO runs (account_id, name, requests, refused, lost, changes, to_cards, from_cards, fees, begun, ended, last_entry)
			VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, ?3, ?3, 0)`, e.AccountID, e.Run, start)
		if err != nil {
			return 0, err
		}
	}
	id, err := tx.Insert(`
		INSERT INTO request_log (account_id, run_id, method, path, query, status, error, idempotency_key, replayed, card_id, fault,
		                         lost, duration_us, time, message, wallet, fee, balance_before, balance_after, status_before, status_after,
		                         entry_id, status_change)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, 0), NULLIF(?, 0))`,
		e.AccountID, runID, e.Method, e.Path, e.Query, e.Status, e.Error, e.IdempotencyKey, e.Replayed, e.CardID, e.Fault,
		e.Lost, e.Duration.Microseconds(), start, e.Message, e.Wallet, e.Fee, e.Before.Balance, e.After.Balance,
		e.Before.Status, e.After.Status, e.EntryID, e.StatusChangeID)
	if err != nil {
		return 0, err
	}
	// A call whose response is lost counts as lost and not as refused, even if a fault sent an error instead of the response.
	refused := e.Status >= http.StatusBadRequest && !e.Lost
	toCard := e.AmountToCard() // negative for a withdrawal or a termination
	end := e.Time.Add(e.Duration).UnixMilli()
	err = tx.Exec(`
		UPDATE runs
		SET requests = requests + 1, lost = lost + ?, refused = refused + ?, changes = changes + ?,
		    to_cards = to_cards + ?, from_cards = from_cards + ?, fees = fees + ?,
		    begun = MIN(begun, ?), ended = MAX(ended, ?), last_entry = ?
		WHERE id = ?`,
		e.Lost, refused, e.IsChange(),
		max(0, toCard), max(0, -toCard), e.Fee,
		start, end, id,
		runID)
	if err != nil {
		return 0, err
	}
	return id, nil
}

var (
	// secret matches what looks like an API key or a webhook secret, which a client may send in the wrong place.
	secret = regexp.MustCompile(`(?i)(sk_live_|whsec_)[^&/\s]*`)
	// escaped matches an escaped byte of a URL.
	escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
)

// Clean makes a text fit for a log. It shortens a long text, replaces the characters that display.Printable replaces, and
// masks what looks like an API key or a webhook secret. If a secret is escaped as in a URL, Clean decodes the text to mask
// it.
func Clean(text string) string {
	suffix := ""
	if len(text) > maxText { // before the rest, which is slow for a long text
		text = text[:maxText]
		suffix = "…"
	}
	plain := text // decoded step by step; replaces text only if a secret is in it
	for escaped.MatchString(plain) {
		plain = unescape(plain)
		if secret.MatchString(plain) {
			text = plain
		}
	}
	masked := secret.ReplaceAllString(display.Printable(text), "$1…")
	return masked + suffix
}

// unescape decodes all escaped bytes of a text once.
func unescape(text string) string {
	return escaped.ReplaceAllStringFunc(text, func(code string) string {
		b, _ := hex.DecodeString(code[1:]) // escaped matches a percent sign and two valid digits
		return string(b)
	})
}

// Change is the effect that a call has had when its entry is recorded. It is empty for a call that only reads, and for one
// that has failed, is postponed or is not processed.
type Change struct {
	Wallet         usd.Amount `json:"wallet" db:"wallet"` // the change of the wallet's balance
	Fee            usd.Amount `json:"fee" db:"fee"`       // the part of it that is a fee, as a positive amount
	Before         CardState  `json:"-" db:"before_"`
	After          CardState  `json:"-" db:"after_"`
	EntryID        int64      `json:"-" db:"entry_id"`      // the id of the call's newest ledger entry; 0 if there is none
	StatusChangeID int64      `json:"-" db:"status_change"` // the id of the call's newest row in status_changes; 0 if there is none
}

// CardState is a card's balance and status at one moment. It is empty if there was no card, and in an empty Change.
type CardState struct {
	Balance usd.Amount `db:"balance"`
	Status  string     `db:"status"`
}

// AmountToCard returns the amount that the call moved from the wallet to a card, in USD. It is negative if the money
// moved back to the wallet.
func (c Change) AmountToCard() usd.Amount { return -c.Wallet - c.Fee }

// Reading is the state of an account before or after a call.
type Reading struct {
	wallet         usd.Amount
	fees           usd.Amount
	entryID        int64 // the id of the newest ledger entry of all accounts
	statusChangeID int64 // the id of the newest row in status_changes, of all accounts
	card           CardState
}

// TakeReading reads the state of an account and of one of its cards, if that card exists. Two readings in one transaction
// that writes differ by what the transaction has changed, because it is the only writer.
func TakeReading(tx *store.Tx, accountID int64, cardID string) (Reading, error) {
	var r Reading
	_, err := tx.Get([]any{&r.wallet, &r.fees, &r.entryID, &r.statusChangeID, &r.card.Balance, &r.card.Status}, `
		SELECT wallet.balance,
		       fees.balance,
		       (SELECT COALESCE(MAX(id), 0) FROM ledger_entries),
		       (SELECT COALESCE(MAX(id), 0) FROM status_changes),
		       COALESCE(on_card.balance, 0),
		       COALESCE(c.status, '')
		FROM ledger_accounts wallet
		JOIN ledger_accounts fees ON fees.account_id = wallet.account_id AND fees.kind = 'fees'
		LEFT JOIN cards c ON c.public_id = ? AND c.account_id = wallet.account_id
		LEFT JOIN ledger_accounts on_card ON on_card.id = c.ledger_account_id
		WHERE wallet.account_id = ? AND wallet.kind = 'wallet'`, cardID, accountID)
	return r, err
}

// ChangeBetween returns the change between two readings of one transaction.
func ChangeBetween(before, after Reading) Change {
	c := Change{
		Wallet: after.wallet - before.wallet,
		Fee:    after.fees - before.fees,
		Before: before.card,
		After:  after.card,
	}
	if after.entryID != before.entryID {
		c.EntryID = after.entryID
	}
	if after.statusChangeID != before.statusChangeID {
		c.StatusChangeID = after.statusChangeID
	}
	if c.EntryID == 0 && c.StatusChangeID == 0 {
		// The call changed nothing. If it replayed the issuance of a card, the first reading did not include the card,
		// whose id only the response contains.
		c.Before = c.After
	}
	return c
}
