package contract

import (
	"fmt"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Every schema, parameter and header of both documents has an example that is one, and
// every call says what it is for.
func TestExamples(t *testing.T) {
	t.Parallel()
	documents, err := loadDocuments()
	if err != nil {
		t.Fatal(err)
	}
	for prefix, d := range documents {
		examples := 0
		check := func(name string, schema *openapi3.SchemaRef, example any) {
			examples++
			if example == nil {
				t.Errorf("%s: %s has no example", prefix, name)
			} else if err := schema.Value.VisitJSON(example, openapi3.MultiErrors(), openapi3.WithStringFormatValidators(formats())); err != nil {
				t.Errorf("%s: the example of %s: %v", prefix, name, violatedRules(err))
			}
		}
		for name, schema := range d.spec.Components.Schemas {
			check(name, schema, schema.Value.Example)
		}
		for name, parameter := range d.spec.Components.Parameters {
			check(name, parameter.Value.Schema, parameter.Value.Example)
		}
		for name, header := range d.spec.Components.Headers {
			check(name, header.Value.Schema, header.Value.Example)
		}
		for path, item := range d.spec.Paths.Map() {
			for method, op := range item.Operations() {
				if op.Description == "" || op.Summary == "" {
					t.Errorf("%s%s %s is not described", prefix, method, path)
				}
			}
		}
		t.Log(fmt.Sprint(prefix, ": ", examples, " examples"))
	}
}
