package behavior

import (
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Limits are how many calls a key may make in a sliding window of time; 0 is
// no limit.
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

const longestWindow = time.Hour

type window struct {
	class  Class
	limit  int64
	length time.Duration
}

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
