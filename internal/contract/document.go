package contract

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
)

// loadDocument compiles the contract once for all tests of a process.
var loadDocument = sync.OnceValues(func() (*document, error) { return compile(openapi.Document()) })

// document is the contract in the form that checks use. It never changes.
type document struct {
	// operations are the documented ones by method and pattern, as in
	// "GET /cards/?*/details". A path has no parameters but those in it.
	operations map[string]*openapi3.Operation
	// undocumented stands for every call that the contract does not know: any
	// of the documented errors, in the documented form.
	undocumented *openapi3.Operation
	// additionalNames holds the patterns of x-additional-name.
	additionalNames map[*openapi3.Schema]*regexp.Regexp
	schemaOptions   []openapi3.SchemaValidationOption
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

func compile(source []byte) (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(source)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	if err := spec.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("validate the contract: %w", err)
	}
	d := &document{
		operations:      map[string]*openapi3.Operation{},
		undocumented:    &openapi3.Operation{Responses: openapi3.NewResponses()},
		additionalNames: map[*openapi3.Schema]*regexp.Regexp{},
		schemaOptions: []openapi3.SchemaValidationOption{
			openapi3.MultiErrors(),
			openapi3.DisableSchemaErrorDetails(),
			openapi3.WithStringFormatValidators(stringFormats()),
		},
	}
	for name, schema := range spec.Components.Schemas {
		pattern, ok := schema.Value.Extensions["x-additional-name"].(string)
		if !ok {
			continue
		}
		if d.additionalNames[schema.Value], err = regexp.Compile(pattern); err != nil {
			return nil, fmt.Errorf("x-additional-name of %s: %w", name, err)
		}
	}
	for documented, item := range spec.Paths.Map() {
		pattern := pathParameter.ReplaceAllLiteralString(documented, "?*")
		for method, op := range item.Operations() {
			d.operations[method+" "+pattern] = op
			for status, response := range op.Responses.Map() {
				if status >= "400" {
					d.undocumented.Responses.Set(status, response)
				}
			}
		}
	}
	return d, nil
}

// find returns the operation that an escaped path under the prefix calls, or
// the undocumented one.
func (d *document) find(method, escaped string) *openapi3.Operation {
	call := method + " /" + strings.TrimPrefix(escaped, pathPrefix)
	for pattern, op := range d.operations {
		if matches, _ := path.Match(pattern, call); matches {
			return op
		}
	}
	return d.undocumented
}
