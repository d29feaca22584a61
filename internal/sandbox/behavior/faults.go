package behavior

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// When a fault is applied.
const (
	Before = "before" // the call is not processed
	After  = "after"  // what the call does is committed first
	Later  = "later"  // what the call does is committed a while after it was answered
)

// What may become of a response, beside another one in its place.
const (
	Drop     = "drop"     // the connection is closed without a response
	Truncate = "truncate" // the body breaks off in the middle
	Pass     = "pass"     // the response is sent; for faults that only delay
)

// Any stands for all methods, for all paths, and for one segment of a path, whatever it is.
const Any = "*"

// Fault is a failure that a test has set for the next calls that match it.
type Fault struct {
	ID      int64  `json:"id" db:"id"`
	Method  string `json:"method" db:"method"`
	Path    string `json:"path" db:"path"` // below the base address, with Any
	Times   int64  `json:"times"`          // how often it will be applied; 0: until it is deleted
	When    string `json:"when"`
	DelayMS int64  `json:"delay_ms"` // before it is applied
	Then    Then   `json:"then"`

	LaterSeconds int64 `json:"later_seconds,omitempty"` // by the service's clock; 0 unless When is Later
}

// String says in words what the fault does to a call.
func (f *Fault) String() string {
	then := fmt.Sprintf("fault %d: ", f.ID)
	switch f.Then.Word {
	case Drop:
		then += "no answer"
	case Truncate:
		then += "half of an answer"
	case Pass:
		then += "answered as usual"
	default:
		then += fmt.Sprintf("answered %d", f.Then.Status)
	}
	switch {
	case f.When == After:
		then += ", once the call is committed"
	case f.When == Later:
		then += fmt.Sprintf(", and the call is committed %d s later", f.LaterSeconds)
	case f.Then.Word != Pass:
		then += ", nothing is done"
	}
	if f.DelayMS > 0 {
		then += fmt.Sprintf(", %d ms later", f.DelayMS)
	}
	return then
}

// Delay is how long a call waits before the fault is applied.
func (f *Fault) Delay() time.Duration { return time.Duration(f.DelayMS) * time.Millisecond }

// Later is how long after its response a call is committed.
func (f *Fault) Later() time.Duration { return time.Duration(f.LaterSeconds) * time.Second }

// Loses tells whether the caller does not learn from the response what was done.
func (f *Fault) Loses() bool {
	return f.Then.Word == Drop || f.Then.Word == Truncate || f.Then.Word == "" && f.When != Before
}

// Then is what happens: Drop, Truncate, Pass, or a response of the fault's own.
type Then struct {
	Word   string          // empty: a response
	Status int             // of the response
	Body   json.RawMessage // of the response; nil: an error as the service words it
}

type faultResponse struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// MarshalJSON writes a word, or an object of status and body.
func (t Then) MarshalJSON() ([]byte, error) {
	if t.Word != "" {
		return json.Marshal(t.Word)
	}
	return json.Marshal(faultResponse{t.Status, t.Body})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Then) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &t.Word); err == nil {
		return nil
	}
	var r faultResponse
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	t.Status, t.Body = r.Status, r.Body
	return nil
}

func (f *Fault) matches(method, path string) bool {
	if f.Method != Any && f.Method != method {
		return false
	}
	return f.Path == Any || slices.EqualFunc(strings.Split(f.Path, "/"), strings.Split(path, "/"), func(pattern, segment string) bool {
		return pattern == segment || (pattern == Any && segment != "")
	})
}

// Scan reads what the file has of a fault.
func (f *Fault) Scan(column any) error { return store.JSON{Into: f}.Scan(column) }

const selectFaults = `SELECT json_set(definition, '$.id', id, '$.times', COALESCE(times_left, 0)) FROM faults `

// Faults returns the faults that will still be applied, the oldest first.
func Faults(tx *store.Tx) ([]Fault, error) {
	return store.Values[Fault](tx, selectFaults+`ORDER BY id`)
}

// FindFault returns the id of the oldest fault for a call to a path, 0 when there is none.
func FindFault(tx *store.Tx, method, path string) (id int64, err error) {
	all, err := store.List[Fault](tx, `SELECT id, method, path FROM faults ORDER BY id`)
	for _, f := range all {
		if f.matches(method, path) {
			return f.ID, err
		}
	}
	return 0, err
}

// TakeFault returns the fault that FindFault finds, if any, and counts that it is applied.
func TakeFault(tx *store.Tx, method, path string) (*Fault, error) {
	id, err := FindFault(tx, method, path)
	if err != nil || id == 0 {
		return nil, err
	}
	f, err := store.Value[Fault](tx, selectFaults+`WHERE id = ?`, id)
	if err != nil {
		return nil, err
	}
	if err := tx.Exec(`UPDATE faults SET times_left = times_left - 1 WHERE id = ?`, id); err != nil {
		return nil, err
	}
	return &f, tx.Exec(`DELETE FROM faults WHERE times_left = 0`)
}

// AddFault sets a fault and gives it an id.
func AddFault(tx *store.Tx, f *Fault) error {
	definition, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("writing a fault: %w", err)
	}
	f.ID, err = tx.Insert(`INSERT INTO faults (times_left, definition, method, path) VALUES (NULLIF(?, 0), ?, ?, ?)`,
		f.Times, string(definition), f.Method, f.Path)
	return err
}

// RemoveFault removes a fault, and tells whether it was there.
func RemoveFault(tx *store.Tx, id int64) (found bool, err error) {
	return tx.Get([]any{&id}, `DELETE FROM faults WHERE id = ? RETURNING id`, id)
}

// ClearFaults removes all faults.
func ClearFaults(tx *store.Tx) error { return tx.Exec(`DELETE FROM faults`) }
