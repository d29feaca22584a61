package behavior

import (
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

// Counters counts the calls that accounts make, in memory, so that no call waits
// for the file. Processes that share a file tell each other what they counted in
// batches, and may exceed a limit together for as long as that takes.
type Counters struct {
	process string

	mu      sync.Mutex
	read    int64                // the last row of the file that is counted here
	counted map[counted]*history // by all processes
	unsaved Batch                // by this one, since the last batch
}

// counted is what is counted apart.
type counted struct {
	accountID int64
	class     Class
}

// NewCounters returns counters that have counted nothing yet.
func NewCounters() *Counters {
	return &Counters{process: vault.Token("process_"), counted: map[counted]*history{}, unsaved: Batch{}}
}

// Admit counts a call of a class when every window has room for it. Else it
// counts nothing and returns how long the account has to wait.
func (c *Counters) Admit(l Limits, accountID int64, class Class, now time.Time) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	classes := map[Class]bool{}
	for _, w := range l.windows(class) {
		classes[w.class] = true
		wait = max(wait, of(c.counted, counted{accountID, w.class}).wait(w, now))
	}
	if wait > 0 {
		return wait
	}
	for class := range classes {
		key := counted{accountID, class}
		of(c.counted, key).add(moment{now.UnixMilli(), 1})
		of(c.unsaved, key).add(moment{now.UnixMilli(), 1})
	}
	return 0
}

// ReadUsed returns how many calls of an account are in the window of each limit.
// What has no limit is not counted.
func (c *Counters) ReadUsed(tx *store.Tx, accountID int64) (Limits, error) {
	if err := c.Read(tx); err != nil {
		return Limits{}, err
	}
	now, err := tx.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	in := func(class Class, length time.Duration) int64 {
		return of(c.counted, counted{accountID, class}).in(length, now).calls
	}
	return Limits{
		RequestsPerMinute: in(Request, time.Minute),
		CreatesPerMinute:  in(Create, time.Minute),
		RequestsPerHour:   in(Request, longestWindow),
		DetailsPerMinute:  in(Details, time.Minute),
	}, err
}

func of(histories map[counted]*history, key counted) *history {
	if histories[key] == nil {
		histories[key] = &history{}
	}
	return histories[key]
}

// row is what one process counted.
type row struct {
	id      int64
	process string
	counted counted
	moment  moment
}

// Read counts what other processes have saved since.
func (c *Counters) Read(tx *store.Tx) error {
	c.mu.Lock()
	read := c.read
	c.mu.Unlock()
	rows, err := store.Select(tx, func(r store.Row) (x row, err error) {
		return x, r.Scan(&x.id, &x.process, &x.counted.accountID, &x.counted.class, &x.moment.at, &x.moment.calls)
	}, `SELECT id, process, account_id, class, time, calls FROM counted_calls WHERE id > ? ORDER BY id`, read)
	if err != nil || len(rows) == 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rows {
		switch {
		case r.id <= c.read: // by another call meanwhile
			continue
		case r.process == "":
			clear(c.counted)
			clear(c.unsaved)
		case r.process != c.process:
			of(c.counted, r.counted).add(r.moment)
		}
		c.read = r.id
	}
	return nil
}

// Batch is what this process counted since the last batch.
type Batch map[counted]*history

// Take returns what is to be written now. What cannot be written comes back with
// Return.
func (c *Counters) Take() Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.unsaved
	c.unsaved = Batch{}
	return batch
}

// Return makes a batch a part of the next one.
func (c *Counters) Return(batch Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, later := range c.unsaved {
		for _, m := range later.moments {
			of(batch, key).add(m)
		}
	}
	c.unsaved = batch
}

// Write writes a batch for the other processes.
func (c *Counters) Write(tx *store.Tx, batch Batch) error {
	for key, h := range batch {
		for _, m := range h.moments {
			err := tx.Exec(`INSERT INTO counted_calls (process, account_id, class, time, calls) VALUES (?, ?, ?, ?, ?)`,
				c.process, key.accountID, key.class, m.at, m.calls)
			if err != nil {
				return err
			}
		}
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	// A few at a time: that keeps pace.
	return tx.Exec(`
		DELETE FROM counted_calls WHERE time <= ? AND id IN (SELECT id FROM counted_calls ORDER BY id LIMIT 100)`,
		now.Add(-longestWindow).UnixMilli())
}

// ForgetCalls has every process that shares the file begin to count anew.
func ForgetCalls(tx *store.Tx) error {
	return tx.Exec(`INSERT INTO counted_calls (process, account_id, class, time, calls) VALUES ('', 0, '', 0, 0)`)
}
