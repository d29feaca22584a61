// Package openapi contains the OpenAPI documents of the card service and of the sandbox's control calls.
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

// Contract returns the document of the card service: OpenAPI 3.0 in YAML.
func Contract() []byte { return contract }

// Control returns the document of the control calls, in the same format.
func Control() []byte { return control }

// JSON turns Contract or Control into a function that returns the same document as JSON.
func JSON(document func() []byte) func() []byte {
	return func() []byte {
		value := decode[any](document())
		return encode(value)
	}
}

// decode decodes one of the embedded YAML documents. It ignores errors, because the documents are valid.
func decode[T any](document []byte) T {
	var value T
	_ = yaml.Unmarshal(document, &value)
	return value
}

func encode(value any) []byte {
	text, _ := json.Marshal(value) //nolint:errchkjson // values from the embedded documents can be encoded
	return text
}

// call is an entry of the list that Calls returns.
type call struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Summary any    `json:"summary"`
}

// Calls returns the list of the control calls as JSON, sorted by path and method.
func Calls() []byte {
	type document struct {
		Paths map[string]map[string]any // operations by path and method
	}
	paths := decode[document](control).Paths
	var calls []call
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		operations := paths[path]
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			operation, ok := operations[method].(map[string]any)
			if !ok {
				continue // not an operation, such as the parameters of the path
			}
			calls = append(calls, call{
				Method:  strings.ToUpper(method),
				Path:    "/_sandbox" + path, // the paths in the document are relative to this server URL
				Summary: operation["summary"],
			})
		}
	}
	return encode(map[string][]call{"data": calls})
}
