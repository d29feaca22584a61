package sandboxtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Response is all that a caller sees of a call.
type Response struct {
	Status int // 0: none came
	Header http.Header
	Raw    string
	Body   map[string]any // nil where it is not a JSON object; numbers keep their text
	Err    error          // none came, or not to its end
	T      testing.TB
}

func object(raw []byte) (decoded map[string]any) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&decoded) != nil {
		return nil
	}
	return decoded
}

// OK fails the test unless the status is as wanted.
func (r Response) OK(status int) Response {
	r.T.Helper()
	if r.Err != nil || r.Status != status {
		r.T.Fatalf("answered %d, want %d: %s %v", r.Status, status, r.Raw, r.Err)
	}
	return r
}

// Refused fails the test unless the response is an error with a code, in exactly
// two fields, whose message holds a text.
func (r Response) Refused(status int, code, text string) {
	r.T.Helper()
	message, _ := r.Body["message"].(string)
	if r.Status != status || r.Body["error"] != code || len(r.Body) != 2 || !strings.Contains(message, text) {
		r.T.Errorf("answered %d %s, want %d with error %q and a message with %q", r.Status, r.Raw, status, code, text)
	}
}

// Says fails the test unless a text that somebody is told has each of these words.
func Says(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s: %q is missing in %q", what, word, text)
		}
	}
}

// Must fails the test unless the call succeeded.
func (r Response) Must() Response {
	r.T.Helper()
	if r.Status/100 != 2 {
		r.T.Fatalf("answered %d: %s %v", r.Status, r.Raw, r.Err)
	}
	return r
}

// Into decodes the response to a call that must succeed.
func (r Response) Into(target any) {
	r.T.Helper()
	r.Must()
	if err := json.Unmarshal([]byte(r.Raw), target); err != nil {
		r.T.Fatalf("%v in %s", err, r.Raw)
	}
}

// Text returns a field that is a text or a number, as it stands in the JSON.
func (r Response) Text(field string) string {
	r.T.Helper()
	switch v := r.Body[field].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	r.T.Fatalf("no text or number %s in %s", field, r.Raw)
	return ""
}

// Data returns the objects of a list.
func (r Response) Data() []map[string]any {
	r.T.Helper()
	all, found := r.Body["data"].([]any)
	if !found {
		r.T.Fatalf("no data in %s", r.Raw)
	}
	objects := make([]map[string]any, len(all))
	for i, v := range all {
		objects[i], _ = v.(map[string]any)
	}
	return objects
}

// Replayed reports whether this is the response to an earlier call.
func (r Response) Replayed() bool { return r.Header.Get("Idempotent-Replayed") == "true" }

// Transaction returns the id of the transaction in the response to a control call.
func (r Response) Transaction() string {
	r.T.Helper()
	transaction, _ := r.OK(http.StatusCreated).Body["transaction"].(map[string]any)
	id, _ := transaction["id"].(string)
	if id == "" {
		r.T.Fatalf("no transaction in %s", r.Raw)
	}
	return id
}
