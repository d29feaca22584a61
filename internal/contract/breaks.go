package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

func (d *document) requestBreaks(op *openapi3.Operation, asked request) []string {
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

func (d *document) queryBreaks(op *openapi3.Operation, u *url.URL) []string {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return []string{"the query cannot be parsed"}
	}
	var breaks []string
	for name, values := range query {
		parameter := op.Parameters.GetByInAndName(openapi3.ParameterInQuery, name)
		if parameter == nil {
			breaks = append(breaks, fmt.Sprintf("query parameter %.40q is not documented", name))
			continue
		}
		breaks = append(breaks, d.parameterBreaks(parameter, values)...)
	}
	slices.Sort(breaks)
	return breaks
}

func (d *document) requestHeaderBreaks(op *openapi3.Operation, header http.Header) []string {
	var breaks []string
	for _, parameter := range op.Parameters {
		values := header.Values(parameter.Value.Name)
		if parameter.Value.In == openapi3.ParameterInHeader && len(values) > 0 {
			breaks = append(breaks, d.parameterBreaks(parameter.Value, values)...)
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

func (d *document) requestBodyBreaks(op *openapi3.Operation, asked request) []string {
	switch documented := op.RequestBody; {
	case len(asked.body) == 0 && documented != nil && documented.Value.Required:
		return []string{"body: required"}
	case len(asked.body) == 0:
		return nil
	case documented == nil:
		return []string{"body: this call has none"}
	default:
		return d.contentBreaks(documented.Value.Content, asked.Header, asked.body)
	}
}

func (d *document) responseBreaks(op *openapi3.Operation, got response) []string {
	documented := op.Responses.Status(got.status)
	if documented == nil {
		return []string{fmt.Sprintf("status %d is not documented", got.status)}
	}
	var breaks []string
	for name, header := range documented.Value.Headers {
		for _, value := range got.header.Values(name) {
			breaks = append(breaks, prefixed("header "+name, d.valueBreaks(header.Value.Schema.Value, value))...)
		}
	}
	return prefixed(
		fmt.Sprintf("status %d", got.status),
		slices.Concat(breaks, d.contentBreaks(documented.Value.Content, got.header, got.body)),
	)
}

const jsonType = "application/json"

var errNotJSON = errors.New("not one strict JSON value")

// contentBreaks checks the content type and a body that is not empty.
func (d *document) contentBreaks(content openapi3.Content, header http.Header, body []byte) []string {
	mediaType, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || mediaType != jsonType {
		return []string{"header Content-Type: " + jsonType + " is required"}
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return []string{"header Content-Type: the charset of JSON is utf-8"}
	}
	value, err := decode(body)
	if err != nil {
		return []string{"body: " + err.Error()}
	}
	return prefixed("body", d.valueBreaks(content[jsonType].Schema.Value, value))
}

// decode reads one JSON value. Numbers keep their text, and an object that
// names a property twice is refused: readers disagree about what it means.
// Errors never hold a part of the body.
func decode(body []byte) (value any, err error) {
	if !jsontext.Value(body).IsValid() {
		return nil, errNotJSON
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	return value, decoder.Decode(&value)
}
