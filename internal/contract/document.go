package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
)

const jsonType = "application/json"

// loadDocuments reads both documents once for all tests of a process, by where their
// paths begin.
var loadDocuments = sync.OnceValues(func() (map[string]*document, error) {
	openapi3filter.RegisterBodyDecoder(jsonType, decode)
	openapi3filter.RegisterBodyDecoder("application/yaml", plain)
	contract, err := loadDocument(openapi.Contract())
	if err != nil {
		return nil, err
	}
	control, err := loadDocument(openapi.Control())
	return map[string]*document{"/api/v1/": contract, "/_sandbox/": control}, err
})

func loadDocument(text []byte) (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	router, err := legacy.NewRouter(spec)
	return &document{spec, router, anyDocumentedError(spec), &openapi3filter.Options{
		MultiError:                        true,
		RejectWhenRequestBodyNotSpecified: true,
		AuthenticationFunc:                authenticate,
		SchemaValidationOptions:           []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidators(formats())},
	}}, err
}

// document is the contract in the form that checks use. It never changes.
type document struct {
	spec         *openapi3.T
	router       routers.Router
	undocumented *routers.Route
	options      *openapi3filter.Options
}

// authenticate is no proof of a key, which is the service's to check.
func authenticate(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	values := in.RequestValidationInput.Request.Header.Values("Authorization")
	if len(values) != 1 || !strings.HasPrefix(values[0], "Bearer sk_live_") {
		return errors.New("no key")
	}
	return nil
}

// anyDocumentedError is the route of every call that the contract does not know: any
// of the documented errors, in the documented form.
func anyDocumentedError(spec *openapi3.T) *routers.Route {
	responses := openapi3.NewResponses()
	for _, item := range spec.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				if status >= "400" {
					responses.Set(status, response)
				}
			}
		}
	}
	return &routers.Route{Spec: spec, PathItem: &openapi3.PathItem{}, Operation: &openapi3.Operation{Responses: responses}}
}

// textError is a break that a schema cannot say. It holds no value.
type textError string

func (e textError) Error() string { return string(e) }

// decode reads one JSON value. Numbers keep their text, and an object that
// names a property twice is refused: readers disagree about what it means.
func decode(body io.Reader, header http.Header, schema *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (value any, err error) {
	if kind := header.Get("Content-Type"); kind != jsonType && kind != jsonType+"; charset=utf-8" {
		return nil, textError("the charset of JSON is utf-8")
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	if !jsontext.Value(data).IsValid() {
		return nil, textError("not one strict JSON value")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	var breaks openapi3.MultiError
	checkText(schema.Value, value, "", func(pointer, rule string) {
		breaks = append(breaks, textError(at(pointer, rule)))
	})
	if len(breaks) > 0 {
		return nil, breaks
	}
	return value, nil
}

// plain leaves a document as it is.
func plain(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	text, err := io.ReadAll(body)
	return string(text), err
}

// Numbers are checked on their text: in a float64, a third decimal may be gone.
var (
	usdText     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]{1,2})?$`)
	integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

// checkText checks what a JSON schema cannot say: the text of numbers, and the
// names of additional properties.
func checkText(schema *openapi3.Schema, value any, pointer string, report func(pointer, rule string)) {
	switch value := value.(type) {
	case json.Number:
		if schema.Format == "usd" && !usdText.MatchString(value.String()) {
			report(pointer, "an amount is a plain number with at most two decimals")
		} else if schema.Type.Is(openapi3.TypeInteger) && !integerText.MatchString(value.String()) {
			report(pointer, "an integer has neither decimals nor an exponent")
		}
	case []any:
		for i, item := range value {
			if schema.Items != nil {
				checkText(schema.Items.Value, item, pointer+"/"+strconv.Itoa(i), report)
			}
		}
	case map[string]any:
		names, restricted := schema.Extensions["x-additional-name"].(string)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if property, ok := schema.Properties[name]; ok {
				checkText(property.Value, value[name], pointer+"/"+name, report)
			} else if restricted && !regexp.MustCompile(names).MatchString(name) {
				report(pointer, unsupported(name))
			}
		}
	}
}

// formats are the forms of text that the contract names. Each checks the meaning as
// well as the form, so that 2026-02-30 is no date.
func formats() map[string]openapi3.StringFormatValidator {
	text := openapi3.NewCallbackValidator[string]
	return map[string]openapi3.StringFormatValidator{
		"date":         text(isTime(time.DateOnly)),
		"date-time":    text(isUTC),
		"date-or-time": text(isTime(time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05")),
		"https-url":    text(isHTTPSURL),
		"retry-after":  text(isRetryAfter),
	}
}

var errFormat = errors.New("not in the format")

func isTime(layouts ...string) func(string) error {
	return func(text string) error {
		for _, layout := range layouts {
			if _, err := time.Parse(layout, text); err == nil {
				return nil
			}
		}
		return errFormat
	}
}

func isUTC(text string) error {
	moment, err := time.Parse(time.RFC3339Nano, text)
	if _, offset := moment.Zone(); err != nil || offset != 0 {
		return errFormat
	}
	return nil
}

func isHTTPSURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" {
		return errFormat
	}
	return nil
}

func isRetryAfter(text string) error {
	if _, err := http.ParseTime(text); err != nil && (!integerText.MatchString(text) || text[0] == '-') {
		return errFormat
	}
	return nil
}
