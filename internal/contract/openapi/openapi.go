// Package openapi holds the documents of what the sandbox serves: the wire contract of the
// card service, and the control calls.
package openapi

import (
	_ "embed" // for the documents
	"encoding/json"
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
	Summary string `json:"summary"`
}

// Calls lists the control calls in JSON, by their paths.
func Calls() ([]byte, error) {
	var document struct {
		Paths yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(control, &document); err != nil {
		return nil, err
	}
	list := struct {
		Data []call `json:"data"`
	}{}
	for i := 0; i < len(document.Paths.Content); i += 2 {
		operations := document.Paths.Content[i+1].Content
		for j := 0; j < len(operations); j += 2 {
			var described struct {
				Summary string `yaml:"summary"`
			}
			if operations[j].Value == "parameters" {
				continue
			}
			if err := operations[j+1].Decode(&described); err != nil {
				return nil, err
			}
			list.Data = append(list.Data, call{strings.ToUpper(operations[j].Value), "/_sandbox" + document.Paths.Content[i].Value, described.Summary})
		}
	}
	return json.Marshal(list)
}
