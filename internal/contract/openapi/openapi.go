// Package openapi is the wire contract of the card service as a document.
package openapi

import _ "embed" // for the document

//go:embed openapi.yaml
var document []byte

// Document returns the contract: OpenAPI 3.0 in YAML.
func Document() []byte { return document }
