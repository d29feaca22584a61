package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

// answer is a response before it is sent.
type answer struct {
	status int
	body   []byte
	header http.Header // what is not the same for every answer; may be nil
}

func (r Reply) answer() (answer, error) {
	body, err := encode(r.Body)
	return answer{status: r.Status, body: body}, err
}

func (e *Error) answer() answer {
	body, err := encode(e)
	if err != nil {
		panic("wire: " + err.Error()) // two strings always encode
	}
	return answer{status: e.Status, body: body}
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func (a answer) send(w http.ResponseWriter, requestID string) error {
	h := w.Header()
	maps.Copy(h, a.header)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", requestID)
	w.WriteHeader(a.status)
	_, err := w.Write(a.body)
	return err
}
