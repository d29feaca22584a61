package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

const jsonType = "application/json"

var (
	errNotUTF8   = errors.New("not valid UTF-8")
	errNotJSON   = errors.New("not valid JSON")
	errTrailing  = errors.New("more than one JSON value")
	errDuplicate = errors.New("a property occurs twice")
	errTooDeep   = errors.New("nested too deeply")
)

// maxDepth bounds the recursion over foreign bodies.
const maxDepth = 64

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
func decode(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errNotUTF8
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := decodeValue(decoder, 0)
	if errors.Is(err, errDuplicate) || errors.Is(err, errTooDeep) {
		return nil, err
	}
	if err != nil {
		return nil, errNotJSON
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return value, nil
}

func decodeValue(decoder *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, fmt.Errorf("read a token: %w", err)
	}
	switch token {
	case json.Delim('{'):
		return decodeObject(decoder, depth)
	case json.Delim('['):
		return decodeArray(decoder, depth)
	}
	return token, nil
}

func decodeObject(decoder *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, errNotJSON
		}
		if _, ok := object[name]; ok {
			return nil, errDuplicate
		}
		if object[name], err = decodeValue(decoder, depth+1); err != nil {
			return nil, err
		}
	}
	return object, closeDelim(decoder)
}

func decodeArray(decoder *json.Decoder, depth int) (any, error) {
	array := []any{}
	for decoder.More() {
		value, err := decodeValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	return array, closeDelim(decoder)
}

func closeDelim(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("read the end: %w", err)
	}
	return nil
}
