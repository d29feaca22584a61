// Package wire is the JSON of requests and responses: what a body and a query
// hold, what is sent for them, and how the service words an error.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is how many bytes a body may have.
const MaxBody = 1 << 20

// Body is what a request carries. Err is why it cannot be used.
type Body struct {
	Raw []byte
	Err error
}

// ReadBody reads all of it.
func ReadBody(w http.ResponseWriter, r *http.Request) Body {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return Body{Err: Invalid("the body is larger than 1 MiB")}
	case err != nil:
		return Body{Err: Invalid("the body could not be read to its end")}
	}
	return Body{Raw: raw}
}

// Fields returns a reader of the body, which is a JSON object or nothing.
func (b Body) Fields(contentType string) *Fields {
	if b.Err != nil {
		return &Fields{err: b.Err}
	}
	if len(bytes.TrimSpace(b.Raw)) == 0 {
		return &Fields{}
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || media != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return &Fields{err: Invalid("a request with a body needs Content-Type: application/json")}
	}
	if err := checkStrict(b.Raw); err != nil {
		return &Fields{err: err}
	}
	f := &Fields{}
	if err := json.Unmarshal(b.Raw, &f.values); err != nil || f.values == nil {
		return &Fields{err: Invalid("the body must be a JSON object")}
	}
	return f
}

// checkStrict refuses what encoding/json would let pass: bytes that are not
// UTF-8, a second value after the first, and a name twice in one object.
func checkStrict(raw []byte) error {
	if !utf8.Valid(raw) {
		return Invalid("the body is not valid UTF-8")
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	_, err := decoder.ReadValue()
	if err == nil {
		_, err = decoder.ReadToken()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return Invalid("%.64q is there twice", broken.JSONPointer.LastToken())
	}
	return Invalid("the body is not valid JSON")
}
