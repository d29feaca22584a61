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
)

// maxBody is in bytes.
const maxBody = 1 << 20

// body is what a request carried, and why it cannot be used.
type body struct {
	raw []byte
	err error
}

// readBody reads all of it, ahead of the transaction: a slow caller must not
// keep others from writing.
func readBody(w http.ResponseWriter, r *http.Request) body {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return body{err: Invalid("the body is larger than 1 MiB")}
	case err != nil:
		return body{err: Invalid("the body could not be read to its end")}
	}
	return body{raw: raw}
}

func (b body) fields(contentType string) *Fields {
	if b.err != nil {
		return &Fields{err: b.err}
	}
	if len(bytes.TrimSpace(b.raw)) == 0 {
		return &Fields{}
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || media != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return &Fields{err: Invalid("a request with a body needs Content-Type: application/json")}
	}
	if err := checkStrict(b.raw); err != nil {
		return &Fields{err: err}
	}
	f := &Fields{}
	if err := json.Unmarshal(b.raw, &f.values); err != nil || f.values == nil {
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
	if !json.Valid(raw) {
		return Invalid("the body is not valid JSON")
	}
	type level struct {
		object bool
		name   bool // the next token of an object is a name
		seen   map[string]bool
	}
	var open []*level
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return Invalid("the body is not valid JSON")
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].object {
			in := open[n-1]
			if in.name {
				name, _ := token.(string)
				if in.seen[name] {
					return Invalid("%.64q is there twice", name)
				}
				in.seen[name], in.name = true, false
				continue
			}
			in.name = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &level{object: true, name: true, seen: map[string]bool{}})
		case json.Delim('['):
			open = append(open, &level{})
		}
	}
}
