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
func Contract() ([]byte, error) { return contract, nil }

// Control returns the document of the control calls, likewise.
func Control() ([]byte, error) { return control, nil }

// JSON has a document in JSON.
func JSON(document func() ([]byte, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		text, err := document()
		if err != nil {
			return nil, err
		}
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}
}

// call is one of the control document.
type call struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Summary any    `json:"summary"`
}

// Calls lists the control calls in JSON, by their paths.
func Calls() ([]byte, error) {
	var document struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(control, &document); err != nil {
		return nil, err
	}
	var calls []call
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			if operation, ok := document.Paths[path][method].(map[string]any); ok { // not the parameters
				calls = append(calls, call{strings.ToUpper(method), "/_sandbox" + path, operation["summary"]})
			}
		}
	}
	return json.Marshal(map[string][]call{"data": calls})
}
