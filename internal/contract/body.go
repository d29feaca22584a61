package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

const jsonType = "application/json"

var errNotJSON = errors.New("not one strict JSON value")

// contentBreaks checks the content type and a body that is not empty.
func (d *document) contentBreaks(content openapi3.Content, header http.Header, body []byte) []string {
	mediaType, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || mediaType != jsonType {
		return []string{"header Content-Type: " + jsonType + " is required"}
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return []string{"header Content-Type: the charset of JSON is utf-8"}
	}
	value, err := decode(body)
	if err != nil {
		return []string{"body: " + err.Error()}
	}
	return prefixed("body", d.valueBreaks(content[jsonType].Schema.Value, value))
}

// decode reads one JSON value. Numbers keep their text, and an object that
// names a property twice is refused: readers disagree about what it means.
// Errors never hold a part of the body.
func decode(body []byte) (value any, err error) {
	if !jsontext.Value(body).IsValid() {
		return nil, errNotJSON
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	return value, decoder.Decode(&value)
}
