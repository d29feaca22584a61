package behavior

import (
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Counters counts the calls that accounts make at this process, in memory, so that
// no call waits for the file.
type Counters struct {
	mu      sync.Mutex
	counted map[counted]*history
}

// counted is what is counted apart.
type counted struct {
	accountID int64
	class     Class
}

// NewCounters returns counters that have counted nothing yet.
func NewCounters() *Counters { return &Counters{counted: map[counted]*history{}} }

// Admit counts a call of a class when every window has room for it. Else it
// counts nothing and returns how long the account has to wait.
func (c *Counters) Admit(l Limits, accountID int64, class Class, now time.Time) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	classes := map[Class]bool{}
	for _, w := range l.windows(class) {
		classes[w.class] = true
		wait = max(wait, c.of(accountID, w.class).wait(w, now))
	}
	if wait > 0 {
		return wait
	}
	for class := range classes {
		c.of(accountID, class).add(now)
	}
	return 0
}

// ReadUsed returns how many calls of an account are in the window of each limit.
// What has no limit is not counted.
func (c *Counters) ReadUsed(tx *store.Tx, accountID int64) Limits {
	now := tx.Now()
	if tx.Failed() { // it is not the time, by which calls are forgotten
		return Limits{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	in := func(class Class, length time.Duration) int64 { return c.of(accountID, class).used(length, now) }
	return Limits{
		RequestsPerMinute: in(Request, time.Minute),
		CreatesPerMinute:  in(Create, time.Minute),
		RequestsPerHour:   in(Request, longestWindow),
		DetailsPerMinute:  in(Details, time.Minute),
	}
}

// Forget begins to count anew.
func (c *Counters) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.counted)
}

func (c *Counters) of(accountID int64, class Class) *history {
	key := counted{accountID, class}
	if c.counted[key] == nil {
		c.counted[key] = newHistory()
	}
	return c.counted[key]
}
