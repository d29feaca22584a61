// Package openapi holds the documents of what the sandbox serves: the wire contract of the
// card service, and the control calls.
package openapi

import (
	_ "embed" // for the documents
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	//go:embed openapi.yaml
	contract []byte
	//go:embed control.yaml
	control []byte
)

// Contract returns the contract: OpenAPI 3.0 in YAML.
func Contract() []byte { return contract }

// Control returns the document of the control calls, likewise.
func Control() []byte { return control }

// JSON has a document in JSON.
func JSON(document func() []byte) func() []byte {
	return func() []byte { return encode(decode[any](document())) }
}

// decode and encode cannot fail: the documents are the program's own.
func decode[T any](document []byte) (value T) {
	_ = yaml.Unmarshal(document, &value)
	return value
}

func encode(value any) []byte {
	text, _ := json.Marshal(value) //nolint:errchkjson // of what was read
	return text
}

// call is one of the control document.
type call struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Summary any    `json:"summary"`
}

// Calls lists the control calls in JSON, by their paths.
func Calls() []byte {
	paths := decode[struct{ Paths map[string]map[string]any }](control).Paths
	var calls []call
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, method := range slices.Sorted(maps.Keys(paths[path])) {
			if operation, ok := paths[path][method].(map[string]any); ok { // not the parameters
				calls = append(calls, call{strings.ToUpper(method), "/_sandbox" + path, operation["summary"]})
			}
		}
	}
	return encode(map[string][]call{"data": calls})
}
