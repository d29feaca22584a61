// Package limit keeps an API key to its number of calls in a sliding window of
// time. The calls are counted in the file, for all processes that share it.
package limit

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/setting"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Limits are how many calls a key may make; 0 is no limit.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute"`
	CreatesPerMinute  int64 `json:"creates_per_minute"`
	RequestsPerHour   int64 `json:"requests_per_hour"`
	DetailsPerMinute  int64 `json:"details_per_minute"`
}

// Documented returns the limits of API §8.
func Documented() Limits {
	return Limits{RequestsPerMinute: 1_000, CreatesPerMinute: 50, RequestsPerHour: 10_000, DetailsPerMinute: 30}
}

const name = "limits"

// Read returns the limits of the file.
func Read(tx *store.Tx) (Limits, error) {
	l := Documented()
	return l, setting.Read(tx, name, &l)
}

// Write replaces the limits of the file.
func (l Limits) Write(tx *store.Tx) error { return setting.Write(tx, name, l) }

// Class says what a call counts as, beside being a request.
type Class string

// The classes of calls.
const (
	Request Class = "request" // any call; nothing else
	Create  Class = "create"  // issuing a card
	Details Class = "details" // reading a card's number and code
)

// longest is the longest window; older calls are forgotten.
const longest = time.Hour

// window is a limit that a call has to pass.
type window struct {
	class Class
	most  int64
	span  time.Duration
}

// windows returns those that limit a class.
func (l Limits) windows(class Class) []window {
	all := []window{{Request, l.RequestsPerMinute, time.Minute}, {Request, l.RequestsPerHour, time.Hour}}
	switch class {
	case Create:
		all = append(all, window{Create, l.CreatesPerMinute, time.Minute})
	case Details:
		all = append(all, window{Details, l.DetailsPerMinute, time.Minute})
	}
	limited := all[:0]
	for _, w := range all {
		if w.most > 0 {
			limited = append(limited, w)
		}
	}
	return limited
}

// Apply tells whether calls of a class are counted at all.
func (l Limits) Apply(class Class) bool { return len(l.windows(class)) > 0 }
