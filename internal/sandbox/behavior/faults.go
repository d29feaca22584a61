package behavior

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// The values of Fault.When: when the fault is applied.
const (
	Before = "before" // the call is not processed, except with Pass: then it is processed after the delay
	After  = "after"  // the call is processed first
	Later  = "later"  // the call takes effect LaterSeconds after it arrived; a call that only reads is not processed
)

// The values of Then.Action: what happens to the response.
const (
	Drop     = "drop"     // the connection is closed without a response
	Truncate = "truncate" // the body breaks off in the middle
	Pass     = "pass"     // the call's own response is sent
)

// Any is a wildcard for a method, for a whole path, or for a segment of a path.
const Any = "*"

// Fault is a failure or a delay of the next API calls that match it.
type Fault struct {
	ID      int64  `json:"id" db:"id"`
	Method  string `json:"method" db:"method"`
	Path    string `json:"path" db:"path"` // relative to the base URL; segments may be Any
	Times   int64  `json:"times"`          // how many more calls it applies to; 0: until it is deleted
	When    string `json:"when"`
	DelayMS int64  `json:"delay_ms"` // how long the response is delayed
	Then    Then   `json:"then"`

	LaterSeconds int64 `json:"later_seconds,omitempty"` // by the service's clock; used if When is Later
}

// String describes what the fault does to a call.
func (f *Fault) String() string {
	text := fmt.Sprintf("fault %d: ", f.ID)
	switch f.Then.Action {
	case Drop:
		text += "no response"
	case Truncate:
		text += "half of a response"
	case Pass:
		text += "the usual response"
	default:
		text += fmt.Sprintf("response %d", f.Then.Status)
	}
	if f.When == After {
		text += "; the call is processed first"
	} else if f.When == Later {
		text += fmt.Sprintf("; the call is committed %d s later unless it only reads", f.LaterSeconds)
	} else if f.Then.Action != Pass {
		text += "; the call is not processed"
	}
	if f.DelayMS > 0 {
		text += fmt.Sprintf("; delayed by %d ms", f.DelayMS)
	}
	return text
}

// ResponseDelay returns DelayMS as a duration.
func (f *Fault) ResponseDelay() time.Duration { return time.Duration(f.DelayMS) * time.Millisecond }

// CommitDelay returns LaterSeconds as a duration.
func (f *Fault) CommitDelay() time.Duration { return time.Duration(f.LaterSeconds) * time.Second }

// LosesResponse reports whether the fault drops, cuts off or replaces the response. If When is Before, a replacement does
// not count: the call is not processed and has no other response.
func (f *Fault) LosesResponse() bool {
	switch f.Then.Action {
	case Drop, Truncate:
		return true
	case Pass:
		return false
	default: // another response is sent
		return f.When != Before
	}
}

// Then is what happens to the response: Drop, Truncate or Pass, or another response that is sent instead.
type Then struct {
	Action string          // Drop, Truncate or Pass; empty if another response is sent
	Status int             // of the other response
	Body   json.RawMessage // of the other response; if nil, an error with wire.CodeInjectedFault is sent
}

// faultResponse is the JSON of a response that is sent instead.
type faultResponse struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// MarshalJSON implements json.Marshaler: a word, or an object with status and body.
func (t Then) MarshalJSON() ([]byte, error) {
	if t.Action != "" {
		return json.Marshal(t.Action)
	}
	return json.Marshal(faultResponse{Status: t.Status, Body: t.Body})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Then) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, &t.Action)
	if err == nil {
		return nil
	}
	var r faultResponse
	err = json.Unmarshal(data, &r)
	if err != nil {
		return err
	}
	t.Status = r.Status
	t.Body = r.Body
	return nil
}

// matches reports whether the fault applies to a call.
func (f *Fault) matches(method, path string) bool {
	if f.Method != Any && f.Method != method {
		return false
	}
	if f.Path == Any {
		return true
	}
	patterns := strings.Split(f.Path, "/")
	segments := strings.Split(path, "/")
	return slices.EqualFunc(patterns, segments, matchesSegment)
}

// matchesSegment reports whether a segment of a path matches a segment of a fault's path. Any matches all but an empty
// segment.
func matchesSegment(pattern, segment string) bool {
	if pattern == Any && segment != "" {
		return true
	}
	return pattern == segment
}

// Scan implements sql.Scanner. It decodes the JSON that selectFaults selects. FindFault selects columns instead, which
// are assigned by the db tags.
func (f *Fault) Scan(column any) error { return store.JSON{Into: f}.Scan(column) }

// selectFaults selects faults as JSON, with the id and the number of times left from their own columns.
const selectFaults = `SELECT json_set(definition, '$.id', id, '$.times', COALESCE(times_left, 0)) FROM faults `

// ListFaults returns the faults, oldest first.
func ListFaults(tx *store.Tx) ([]Fault, error) {
	return store.Values[Fault](tx, selectFaults+`ORDER BY id`)
}

// FindFault returns the id of the oldest fault that matches a call, or 0.
func FindFault(tx *store.Tx, method, path string) (int64, error) {
	all, err := store.List[Fault](tx, `SELECT id, method, path FROM faults ORDER BY id`)
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		if f.matches(method, path) {
			return f.ID, nil
		}
	}
	return 0, nil
}

// TakeFault returns the oldest fault that matches a call, or nil. It counts the fault as applied, and deletes it if this
// was the last time.
func TakeFault(tx *store.Tx, method, path string) (*Fault, error) {
	id, err := FindFault(tx, method, path)
	if err != nil {
		return nil, err
	}
	if id == 0 {
		return nil, nil
	}
	f, err := store.Value[Fault](tx, selectFaults+`WHERE id = ?`, id)
	if err != nil {
		return nil, err
	}
	// NULL, the value of a fault that applies until it is deleted, stays NULL.
	err = tx.Exec(`UPDATE faults SET times_left = times_left - 1 WHERE id = ?`, id)
	if err != nil {
		return nil, err
	}
	err = tx.Exec(`DELETE FROM faults WHERE times_left = 0`)
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// AddFault adds a fault and sets its id.
func AddFault(tx *store.Tx, f *Fault) error {
	definition, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("writing a fault: %w", err)
	}
	// The column times_left is NULL for a fault that applies until it is deleted.
	f.ID, err = tx.Insert(`INSERT INTO faults (times_left, definition, method, path) VALUES (NULLIF(?, 0), ?, ?, ?)`,
		f.Times, string(definition), f.Method, f.Path)
	return err
}

// RemoveFault removes a fault, and reports whether it existed.
func RemoveFault(tx *store.Tx, id int64) (bool, error) {
	var ignored int64
	return tx.Get([]any{&ignored}, `DELETE FROM faults WHERE id = ? RETURNING id`, id)
}

// ClearFaults removes all faults.
func ClearFaults(tx *store.Tx) error { return tx.Exec(`DELETE FROM faults`) }
