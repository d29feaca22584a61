package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// inputs returns an exchange in the form that openapi3filter checks.
func (d *document) inputs(asked request, got response) (*openapi3filter.RequestValidationInput, *openapi3filter.ResponseValidationInput) {
	in := &openapi3filter.RequestValidationInput{Request: asked.Clone(context.Background()), Options: d.options}
	in.Request.Body, in.Request.ContentLength = io.NopCloser(bytes.NewReader(asked.body)), int64(len(asked.body))
	var err error
	if in.Route, in.PathParams, err = d.router.FindRoute(asked.Request); err != nil {
		in.Route = d.undocumented
	}
	return in, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: got.status, Header: got.header,
		Body: io.NopCloser(bytes.NewReader(got.body)), Options: d.options,
	}
}

func (d *document) requestBreaks(in *openapi3filter.RequestValidationInput) []string {
	if in.Route == d.undocumented {
		return []string{"there is no such call"}
	}
	return append(
		queryBreaks(in.Route.Operation.Parameters, in.Request.URL),
		rules(openapi3filter.ValidateRequest(context.Background(), in))...,
	)
}

// queryBreaks finds what openapi3filter passes over: it looks at documented
// parameters alone, and at the first value of each.
func queryBreaks(documented openapi3.Parameters, u *url.URL) []string {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return []string{"the query cannot be parsed"}
	}
	var breaks []string
	for name, values := range query {
		if documented.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			breaks = append(breaks, fmt.Sprintf("query parameter %.40q is not documented", name))
		} else if len(values) > 1 {
			breaks = append(breaks, "query parameter "+name+": given more than once")
		}
	}
	slices.Sort(breaks)
	return breaks
}

func responseBreaks(in *openapi3filter.ResponseValidationInput) []string {
	status := fmt.Sprintf("status %d", in.Status)
	// openapi3filter lets some statuses pass, documented or not.
	if in.RequestValidationInput.Route.Operation.Responses.Status(in.Status) == nil {
		return []string{status + " is not documented"}
	}
	return prefixed(status, rules(openapi3filter.ValidateResponse(context.Background(), in)))
}

// rules reduces an error to where it is and to the keyword of the schema that is
// broken, since messages quote values.
func rules(err error) []string {
	// An exact switch: errors.As would look through a oneOf's error into those of
	// its alternatives.
	switch err := err.(type) { //nolint:errorlint // see above
	case nil:
		return nil
	case openapi3.MultiError:
		var all []string
		for _, one := range err {
			all = append(all, rules(one)...)
		}
		return all
	case *openapi3filter.SecurityRequirementsError:
		return []string{"header Authorization: one value of the form Bearer sk_live_… is required"}
	case *openapi3filter.RequestError:
		if err.Parameter != nil {
			return prefixed(err.Parameter.In+" parameter "+err.Parameter.Name, rules(err.Err))
		}
		if err.RequestBody == nil {
			return []string{"body: this call has none"}
		}
		return contentRules(err.Err)
	case *openapi3filter.ResponseError:
		if name, ok := strings.CutPrefix(err.Reason, "response header "); ok && err.Err != nil {
			return prefixed("header "+strings.Split(name, `"`)[1], rules(err.Err))
		}
		return contentRules(err.Err)
	case *openapi3.SchemaError:
		pointer := strings.Join(append([]string{""}, err.JSONPointer()...), "/")
		if err.SchemaField == "properties" {
			return []string{at(pointer, unsupported(strings.Split(err.Reason, `"`)[1]))}
		}
		return []string{at(pointer, err.SchemaField)}
	case textError:
		return []string{err.Error()}
	}
	if errors.Is(err, openapi3filter.ErrInvalidRequired) {
		return []string{"required"}
	}
	return []string{"cannot be read"}
}

// contentRules reduces the error of a body; there is none where its type is not one
// that is documented.
func contentRules(err error) []string {
	if err == nil {
		return []string{"header Content-Type: " + jsonType + " is required"}
	}
	return prefixed("body", rules(err))
}

// fieldName is what no card number, code or secret looks like.
var fieldName = regexp.MustCompile(`^[a-z_]{1,40}$`)

func unsupported(property string) string {
	if fieldName.MatchString(property) {
		return "property " + property + " is unsupported"
	}
	return "property is unsupported"
}

func at(pointer, rule string) string {
	if pointer == "" {
		return rule
	}
	return pointer + ": " + rule
}

func prefixed(prefix string, breaks []string) []string {
	for i := range breaks {
		breaks[i] = prefix + ": " + breaks[i]
	}
	return breaks
}
