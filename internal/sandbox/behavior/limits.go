package behavior

import (
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Limits are how many calls a key may make in a sliding window of time; 0 is
// no limit. The calls are counted in the file, for all processes that share it.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute"`
	CreatesPerMinute  int64 `json:"creates_per_minute"`
	RequestsPerHour   int64 `json:"requests_per_hour"`
	DetailsPerMinute  int64 `json:"details_per_minute"`
}

// DocumentedLimits returns the limits of API §8.
func DocumentedLimits() Limits {
	return Limits{RequestsPerMinute: 1_000, CreatesPerMinute: 50, RequestsPerHour: 10_000, DetailsPerMinute: 30}
}

const limitsSetting = "limits"

// ReadLimits returns the limits of the file.
func ReadLimits(tx *store.Tx) (Limits, error) {
	l := DocumentedLimits()
	return l, tx.ReadSetting(limitsSetting, &l)
}

// Write replaces the limits of the file.
func (l Limits) Write(tx *store.Tx) error { return tx.WriteSetting(limitsSetting, l) }

// Class says what a call counts as, beside being a request.
type Class string

// The classes of calls.
const (
	Request Class = "request" // any call; nothing else
	Create  Class = "create"  // issuing a card
	Details Class = "details" // reading a card's number and code
)

// longestWindow is how long calls are counted.
const longestWindow = time.Hour

// window is a limit that a call has to pass.
type window struct {
	class  Class
	limit  int64
	length time.Duration
}

// windows returns those that limit a class.
func (l Limits) windows(class Class) []window {
	all := []window{{Request, l.RequestsPerMinute, time.Minute}, {Request, l.RequestsPerHour, longestWindow}}
	switch class {
	case Create:
		all = append(all, window{Create, l.CreatesPerMinute, time.Minute})
	case Details:
		all = append(all, window{Details, l.DetailsPerMinute, time.Minute})
	}
	return slices.DeleteFunc(all, func(w window) bool { return w.limit == 0 })
}

// Apply tells whether calls of a class are counted at all.
func (l Limits) Apply(class Class) bool { return len(l.windows(class)) > 0 }

// counter counts the calls of one class that an account has made.
type counter struct {
	tx        *store.Tx
	accountID int64
	class     Class
}

// Admit counts a call of a class when every window has room for it. Else it
// counts nothing and returns how long the account has to wait.
func (l Limits) Admit(tx *store.Tx, accountID int64, class Class) (wait time.Duration, err error) {
	now, err := tx.Now()
	if err != nil {
		return 0, err
	}
	var counters []counter
	for _, w := range l.windows(class) {
		c := counter{tx, accountID, w.class}
		free, err := c.freeAt(w, now)
		if err != nil {
			return 0, err
		}
		wait = max(wait, free.Sub(now))
		if !slices.Contains(counters, c) {
			counters = append(counters, c)
		}
	}
	if wait > 0 {
		return wait, nil
	}
	for _, c := range counters {
		if err := c.add(now); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// freeAt tells when a window has room.
func (c counter) freeAt(w window, now time.Time) (time.Time, error) {
	last, _, err := c.last()
	if err != nil {
		return time.Time{}, err
	}
	var oldest int64
	found, err := c.tx.Get([]any{&oldest},
		`SELECT time FROM counted_calls WHERE account_id = ? AND class = ? AND number = ?`,
		c.accountID, c.class, last+1-w.limit)
	if err != nil || !found {
		return now, err
	}
	return time.UnixMilli(oldest).Add(w.length), nil
}

func (c counter) last() (number, at int64, err error) {
	_, err = c.tx.Get([]any{&number, &at},
		`SELECT number, time FROM counted_calls WHERE account_id = ? AND class = ? ORDER BY number DESC LIMIT 1`,
		c.accountID, c.class)
	return number, at, err
}

// add counts a call, and forgets up to two old ones: that keeps pace.
func (c counter) add(now time.Time) error {
	last, at, err := c.last()
	if err != nil {
		return err
	}
	err = c.tx.Exec(`INSERT INTO counted_calls (account_id, class, number, time) VALUES (?, ?, ?, ?)`,
		c.accountID, c.class, last+1, max(at, now.UnixMilli()))
	if err != nil {
		return err
	}
	return c.tx.Exec(`
		DELETE FROM counted_calls WHERE account_id = ?1 AND class = ?2 AND time <= ?3 AND number IN (
			SELECT number FROM counted_calls WHERE account_id = ?1 AND class = ?2 ORDER BY number LIMIT 2)`,
		c.accountID, c.class, now.Add(-longestWindow).UnixMilli())
}
