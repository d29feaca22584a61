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

// requestInput returns a request in the form that openapi3filter validates.
func (d *document) requestInput(req request) *openapi3filter.RequestValidationInput {
	in := &openapi3filter.RequestValidationInput{
		Request: req.Clone(context.Background()),
		Options: d.options,
	}
	in.Request.Body = io.NopCloser(bytes.NewReader(req.body))
	in.Request.ContentLength = int64(len(req.body))
	route, params, err := d.router.FindRoute(req.Request)
	if err != nil {
		in.Route = d.undocumented
		return in
	}
	in.Route = route
	in.PathParams = params
	return in
}

// responseInput returns the response to a request in the form that openapi3filter validates.
func (d *document) responseInput(in *openapi3filter.RequestValidationInput, res response) *openapi3filter.ResponseValidationInput {
	return &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in,
		Status:                 res.status,
		Header:                 res.header,
		Body:                   io.NopCloser(bytes.NewReader(res.body)),
		Options:                d.options,
	}
}

// requestViolations returns the rules that a request violates.
func (d *document) requestViolations(in *openapi3filter.RequestValidationInput) []string {
	if in.Route == d.undocumented {
		return []string{"this call is not documented"}
	}
	violations := queryViolations(in.Route.Operation.Parameters, in.Request.URL)
	err := openapi3filter.ValidateRequest(context.Background(), in)
	return append(violations, violatedRules(err)...)
}

// queryViolations returns the violations in the query that openapi3filter misses: it checks only documented
// parameters, and only the first value of each.
func queryViolations(documented openapi3.Parameters, u *url.URL) []string {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return []string{"the query cannot be parsed"}
	}
	var violations []string
	for name, values := range query {
		if documented.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			violations = append(violations, fmt.Sprintf("query parameter %.40q is not documented", name))
		} else if len(values) > 1 {
			violations = append(violations, "query parameter "+name+": given more than once")
		}
	}
	slices.Sort(violations)
	return violations
}

// responseViolations returns the rules that a response violates.
func responseViolations(in *openapi3filter.ResponseValidationInput) []string {
	status := fmt.Sprintf("status %d", in.Status)
	// openapi3filter accepts some undocumented statuses.
	documented := in.RequestValidationInput.Route.Operation.Responses
	if documented.Status(in.Status) == nil {
		return []string{status + " is not documented"}
	}
	err := openapi3filter.ValidateResponse(context.Background(), in)
	return addPrefix(status, violatedRules(err))
}

// violatedRules reduces an error to the locations and the keywords of the schema that are violated, because the full
// messages quote values.
func violatedRules(err error) []string {
	// A type switch, because errors.As would unwrap the error of a oneOf to the errors of its alternatives.
	switch err := err.(type) { //nolint:errorlint // see above
	case nil:
		return nil
	case openapi3.MultiError:
		var all []string
		for _, violation := range err {
			all = append(all, violatedRules(violation)...)
		}
		return all
	case *openapi3filter.SecurityRequirementsError:
		return []string{"header Authorization: one value of the form Bearer sk_live_… is required"}
	case *openapi3filter.RequestError:
		if err.Parameter != nil {
			return addPrefix(err.Parameter.In+" parameter "+err.Parameter.Name, violatedRules(err.Err))
		}
		if err.RequestBody == nil {
			return []string{"body: this call must not have one"}
		}
		return contentRules(err.Err)
	case *openapi3filter.ResponseError:
		aboutHeader := strings.HasPrefix(err.Reason, "response header ")
		if aboutHeader && err.Err != nil {
			return addPrefix("header "+firstQuoted(err.Reason), violatedRules(err.Err))
		}
		return contentRules(err.Err)
	case *openapi3.SchemaError:
		pointer := strings.Join(append([]string{""}, err.JSONPointer()...), "/") // as in "/card/label"
		if err.SchemaField == "properties" {
			property := firstQuoted(err.Reason)
			return []string{withPointer(pointer, unsupported(property))}
		}
		return []string{withPointer(pointer, err.SchemaField)}
	case textError:
		return []string{err.Error()}
	}
	if errors.Is(err, openapi3filter.ErrInvalidRequired) {
		return []string{"required"}
	}
	return []string{"cannot be read"}
}

// firstQuoted returns the first text in double quotes of a reason, which is the name that the reason is about.
func firstQuoted(reason string) string {
	return strings.Split(reason, `"`)[1]
}

// contentRules reduces the error of a body. A nil error means that the content type is not documented.
func contentRules(err error) []string {
	if err == nil {
		return []string{"header Content-Type: " + jsonType + " is required"}
	}
	return addPrefix("body", violatedRules(err))
}

// fieldName matches names that cannot be a card number, a code or a secret.
var fieldName = regexp.MustCompile(`^[a-z_]{1,40}$`)

// unsupported returns the violation of a property that the schema does not have. It contains the property's name
// only if the name cannot be a secret.
func unsupported(property string) string {
	if fieldName.MatchString(property) {
		return "property " + property + " is unsupported"
	}
	return "property is unsupported"
}

// withPointer adds the location of a value to a rule that the value violates.
func withPointer(pointer, rule string) string {
	if pointer == "" {
		return rule
	}
	return pointer + ": " + rule
}

// addPrefix adds a prefix to each violation, in place.
func addPrefix(prefix string, violations []string) []string {
	for i, violation := range violations {
		violations[i] = prefix + ": " + violation
	}
	return violations
}
