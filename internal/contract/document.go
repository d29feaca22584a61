package contract

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
)

// loadDocument compiles the contract once for all tests of a process.
var loadDocument = sync.OnceValues(func() (*document, error) { return compile(openapi.Document()) })

// document is the contract in the form that checks use. It never changes.
type document struct {
	operations []*operation
	// undocumented stands for every call that the contract does not know: any
	// of the documented errors, in the documented form.
	undocumented *operation
	// additionalNames holds the patterns of x-additional-name.
	additionalNames map[*openapi3.Schema]*regexp.Regexp
	schemaOptions   []openapi3.SchemaValidationOption
}

// operation is one endpoint.
type operation struct {
	method string
	// segments are the parts of the path; a parameter is an empty one.
	segments  []string
	query     map[string]*openapi3.Parameter
	header    map[string]*openapi3.Parameter
	body      *openapi3.RequestBody
	responses map[int]*openapi3.Response
}

func compile(source []byte) (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(source)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	if err := spec.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("validate the contract: %w", err)
	}
	d := &document{
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
	for path, item := range spec.Paths.Map() {
		for method, documented := range item.Operations() {
			op, err := compileOperation(method, path, item, documented)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			d.operations = append(d.operations, op)
		}
	}
	d.undocumented = &operation{responses: map[int]*openapi3.Response{}}
	for _, op := range d.operations {
		for status, documented := range op.responses {
			if status >= http.StatusBadRequest {
				d.undocumented.responses[status] = documented
			}
		}
	}
	return d, nil
}

func compileOperation(method, path string, item *openapi3.PathItem, documented *openapi3.Operation) (*operation, error) {
	op := &operation{
		method:    method,
		query:     map[string]*openapi3.Parameter{},
		header:    map[string]*openapi3.Parameter{},
		responses: map[int]*openapi3.Response{},
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if strings.HasPrefix(segment, "{") {
			segment = ""
		}
		op.segments = append(op.segments, segment)
	}
	for _, parameters := range []openapi3.Parameters{item.Parameters, documented.Parameters} {
		for _, ref := range parameters {
			switch ref.Value.In {
			case openapi3.ParameterInQuery:
				op.query[ref.Value.Name] = ref.Value
			case openapi3.ParameterInHeader:
				op.header[ref.Value.Name] = ref.Value
			}
		}
	}
	if documented.RequestBody != nil {
		op.body = documented.RequestBody.Value
	}
	for status, ref := range documented.Responses.Map() {
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("status %q: %w", status, err)
		}
		op.responses[code] = ref.Value
	}
	return op, nil
}

// find returns the operation that an escaped path under the prefix calls, or
// the undocumented one.
func (d *document) find(method, path string) *operation {
	segments := strings.Split(strings.TrimPrefix(path, pathPrefix), "/")
	for _, op := range d.operations {
		if op.method == method && op.matches(segments) {
			return op
		}
	}
	return d.undocumented
}

func (op *operation) matches(segments []string) bool {
	if len(segments) != len(op.segments) {
		return false
	}
	for i, segment := range op.segments {
		if segments[i] == "" || segment != "" && segment != segments[i] {
			return false
		}
	}
	return true
}
