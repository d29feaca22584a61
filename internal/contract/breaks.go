package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

func (d *document) requestBreaks(op *operation, asked request) []string {
	if op == d.undocumented {
		return []string{"there is no such call"}
	}
	return slices.Concat(
		authorizationBreaks(asked.Header),
		d.queryBreaks(op, asked.URL),
		d.requestHeaderBreaks(op, asked.Header),
		d.requestBodyBreaks(op, asked),
	)
}

func authorizationBreaks(header http.Header) []string {
	values := header.Values("Authorization")
	if len(values) != 1 || !strings.HasPrefix(values[0], "Bearer sk_live_") {
		return []string{"header Authorization: one value of the form Bearer sk_live_… is required"}
	}
	return nil
}

func (d *document) queryBreaks(op *operation, u *url.URL) []string {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return []string{"the query cannot be parsed"}
	}
	var breaks []string
	for name, values := range query {
		parameter, ok := op.query[name]
		if !ok {
			breaks = append(breaks, fmt.Sprintf("query parameter %.40q is not documented", name))
			continue
		}
		breaks = append(breaks, d.parameterBreaks(parameter, values)...)
	}
	slices.Sort(breaks)
	return breaks
}

func (d *document) requestHeaderBreaks(op *operation, header http.Header) []string {
	var breaks []string
	for name, parameter := range op.header {
		if values := header.Values(name); len(values) > 0 {
			breaks = append(breaks, d.parameterBreaks(parameter, values)...)
		}
	}
	return breaks
}

func (d *document) parameterBreaks(parameter *openapi3.Parameter, values []string) []string {
	name := parameter.In + " parameter " + parameter.Name
	if len(values) > 1 {
		return []string{name + ": given more than once"}
	}
	var value any = values[0]
	if parameter.Schema.Value.Type.Is(openapi3.TypeInteger) {
		if !integerText.MatchString(values[0]) {
			return []string{name + ": value must be an integer"}
		}
		value = json.Number(values[0])
	}
	return prefixed(name, d.valueBreaks(parameter.Schema.Value, value))
}

func (d *document) requestBodyBreaks(op *operation, asked request) []string {
	switch {
	case op.body == nil && len(asked.body) > 0:
		return []string{"body: this call has none"}
	case op.body != nil && op.body.Required && len(asked.body) == 0:
		return []string{"body: required"}
	case len(asked.body) == 0:
		return nil
	}
	return d.contentBreaks(op.body.Content, asked.Header, asked.body)
}

func (d *document) responseBreaks(op *operation, got response) []string {
	documented, ok := op.responses[got.status]
	if !ok {
		return []string{fmt.Sprintf("status %d is not documented", got.status)}
	}
	var breaks []string
	for name, header := range documented.Headers {
		for _, value := range got.header.Values(name) {
			breaks = append(breaks, prefixed("header "+name, d.valueBreaks(header.Value.Schema.Value, value))...)
		}
	}
	return prefixed(
		fmt.Sprintf("status %d", got.status),
		slices.Concat(breaks, d.contentBreaks(documented.Content, got.header, got.body)),
	)
}
