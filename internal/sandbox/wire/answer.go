package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

const (
	jsonType = "application/json"
	textType = "text/plain; charset=utf-8"
)

// answer is a response before it is sent.
type answer struct {
	status      int
	body        []byte
	contentType string      // empty: jsonType
	header      http.Header // what is not the same for every answer; may be nil
	refusal     *Error      // what the body says, unless it says something else
	cut         cut
}

// cut tells how much of an answer is sent.
type cut int

const (
	whole cut = iota
	truncated
	dropped
)

// sentStatus is what the caller sees; 0 is nothing.
func (a answer) sentStatus() int {
	if a.cut == dropped {
		return 0
	}
	return a.status
}

func (r Reply) answer() (answer, error) {
	body, err := encode(r.Body)
	return answer{status: r.Status, body: body}, err
}

func (e *Error) answer() answer { return answer{status: e.Status, body: mustEncode(e), refusal: e} }

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// mustEncode is encode for what always encodes.
func mustEncode(v any) []byte {
	body, err := encode(v)
	if err != nil {
		panic("wire: " + err.Error())
	}
	return body
}

// plainText returns what a JSON string holds.
func plainText(value json.RawMessage) (text string, ok bool) {
	return text, json.Unmarshal(value, &text) == nil && string(value) != "null"
}

// send writes the answer. One that is cut off ends in http.ErrAbortHandler, by
// which an http.Server closes the connection.
func (a answer) send(w http.ResponseWriter, requestID string) error {
	if a.cut == dropped {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	maps.Copy(h, a.header)
	h.Set("Content-Type", jsonType)
	if a.contentType != "" {
		h.Set("Content-Type", a.contentType)
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", requestID)
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		h.Del("Content-Length")
		a.body = nil
	}
	w.WriteHeader(a.status)
	if a.cut == truncated {
		_, _ = w.Write(a.body[:len(a.body)/2])    // the caller is to see it break off
		_ = http.NewResponseController(w).Flush() // where there is a connection
		panic(http.ErrAbortHandler)
	}
	_, err := w.Write(a.body)
	return err
}
