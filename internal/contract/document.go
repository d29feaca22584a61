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

// loadDocuments loads both documents once for all tests of a process. The keys are the prefixes of their paths.
var loadDocuments = sync.OnceValues(func() (map[string]*document, error) {
	openapi3filter.RegisterBodyDecoder(jsonType, decode)
	openapi3filter.RegisterBodyDecoder("application/yaml", decodeText)
	contract, err := loadDocument(openapi.Contract())
	if err != nil {
		return nil, err
	}
	control, err := loadDocument(openapi.Control())
	if err != nil {
		return nil, err
	}
	return map[string]*document{"/api/v1/": contract, "/_sandbox/": control}, nil
})

func loadDocument(text []byte) (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	router, err := legacy.NewRouter(spec)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	withFormats := openapi3.WithStringFormatValidators(formats())
	return &document{
		spec:         spec,
		router:       router,
		undocumented: undocumentedRoute(spec),
		options: &openapi3filter.Options{
			MultiError:                        true,
			RejectWhenRequestBodyNotSpecified: true,
			AuthenticationFunc:                authenticate,
			SchemaValidationOptions:           []openapi3.SchemaValidationOption{withFormats},
		},
	}, nil
}

// document is an OpenAPI document in the form that the checks use. It never changes.
type document struct {
	spec         *openapi3.T
	router       routers.Router
	undocumented *routers.Route // the route of calls that the document does not describe
	options      *openapi3filter.Options
}

// authenticate checks only the form of the API key. The service checks whether the key is valid.
func authenticate(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	values := in.RequestValidationInput.Request.Header.Values("Authorization")
	if len(values) != 1 || !strings.HasPrefix(values[0], "Bearer sk_live_") {
		return errors.New("no key")
	}
	return nil
}

// undocumentedRoute returns the route of undocumented calls. Their responses may be any of the documented errors.
func undocumentedRoute(spec *openapi3.T) *routers.Route {
	responses := openapi3.NewResponses()
	for _, item := range spec.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				if status >= "400" { // statuses are texts of three digits
					responses.Set(status, response)
				}
			}
		}
	}
	return &routers.Route{
		Spec:      spec,
		PathItem:  &openapi3.PathItem{},
		Operation: &openapi3.Operation{Responses: responses},
	}
}

// textError is a violation of a rule that a schema cannot express. It contains no value.
type textError string

func (e textError) Error() string { return string(e) }

// decode decodes one JSON value. Numbers keep their text. Objects with duplicate names are an error, because
// implementations disagree about their meaning.
func decode(body io.Reader, header http.Header, schema *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	contentType := header.Get("Content-Type")
	if contentType != jsonType && contentType != jsonType+"; charset=utf-8" {
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
	var value any
	err = decoder.Decode(&value)
	if err != nil {
		return nil, err
	}
	violations := checkText(schema.Value, value, "")
	if len(violations) > 0 {
		return nil, violations
	}
	return value, nil
}

// decodeText returns the body as text.
func decodeText(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	text, err := io.ReadAll(body)
	return string(text), err
}

// Numbers are checked as text, because a float64 may lose a third decimal.
var (
	usdText     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]{1,2})?$`)
	integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

// checkText checks what a JSON schema cannot express: the text of numbers and the names of additional properties. The
// pointer is the location of the value.
func checkText(schema *openapi3.Schema, value any, pointer string) openapi3.MultiError {
	var violations openapi3.MultiError
	switch value := value.(type) {
	case json.Number:
		if schema.Format == "usd" && !usdText.MatchString(value.String()) {
			return openapi3.MultiError{textError(withPointer(pointer, "an amount is a plain number with at most two decimals"))}
		}
		if schema.Type.Is(openapi3.TypeInteger) && !integerText.MatchString(value.String()) {
			return openapi3.MultiError{textError(withPointer(pointer, "an integer has neither decimals nor an exponent"))}
		}
	case []any:
		if schema.Items == nil {
			return nil
		}
		for i, item := range value {
			itemPointer := pointer + "/" + strconv.Itoa(i)
			violations = append(violations, checkText(schema.Items.Value, item, itemPointer)...)
		}
	case map[string]any:
		pattern, restricted := schema.Extensions["x-additional-name"].(string)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			property, found := schema.Properties[name]
			if found {
				violations = append(violations, checkText(property.Value, value[name], pointer+"/"+name)...)
			} else if restricted && !regexp.MustCompile(pattern).MatchString(name) {
				violations = append(violations, textError(withPointer(pointer, unsupported(name))))
			}
		}
	}
	return violations
}

// formats returns validators of the string formats of the documents. They also check the meaning of a text:
// 2026-02-30 is not a date.
func formats() map[string]openapi3.StringFormatValidator {
	validator := openapi3.NewCallbackValidator[string]
	return map[string]openapi3.StringFormatValidator{
		"date":         validator(checkTime(time.DateOnly)),
		"date-time":    validator(checkUTC),
		"date-or-time": validator(checkTime(time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05")),
		"https-url":    validator(checkHTTPSURL),
		"retry-after":  validator(checkRetryAfter),
	}
}

var errFormat = errors.New("not in the format")

// checkTime returns a function that checks whether a text is a time in one of the layouts.
func checkTime(layouts ...string) (check func(text string) error) {
	return func(text string) error {
		for _, layout := range layouts {
			_, err := time.Parse(layout, text)
			if err == nil {
				return nil
			}
		}
		return errFormat
	}
}

// checkUTC returns an error unless a text is an RFC 3339 time in UTC.
func checkUTC(text string) error {
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return errFormat
	}
	_, offset := parsed.Zone()
	if offset != 0 {
		return errFormat
	}
	return nil
}

// checkHTTPSURL returns an error unless a text is an https URL with a host.
func checkHTTPSURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errFormat
	}
	if u.Scheme != "https" || u.Host == "" {
		return errFormat
	}
	return nil
}

// checkRetryAfter returns an error unless a text is an HTTP date or a whole number of seconds.
func checkRetryAfter(text string) error {
	_, err := http.ParseTime(text)
	if err == nil {
		return nil
	}
	if !integerText.MatchString(text) || strings.HasPrefix(text, "-") {
		return errFormat
	}
	return nil
}
