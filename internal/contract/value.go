package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// Numbers are checked on their text: in a float64, a third decimal may be gone.
var (
	usdText     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]{1,2})?$`)
	integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

// valueBreaks returns what a decoded value breaks of its schema, each with a
// pointer into the value, and never with the value.
func (d *document) valueBreaks(schema *openapi3.Schema, value any) []string {
	return append(
		schemaBreaks(schema.VisitJSON(value, d.schemaOptions...)),
		d.textBreaks(schema, value, "")...,
	)
}

func schemaBreaks(err error) []string {
	// An exact switch: errors.As would look through a oneOf's error into those of
	// its alternatives.
	switch err := err.(type) { //nolint:errorlint // see above
	case nil:
		return nil
	case openapi3.MultiError:
		var breaks []string
		for _, one := range err {
			breaks = append(breaks, schemaBreaks(one)...)
		}
		return breaks
	case *openapi3.SchemaError:
		return []string{at(strings.Join(append([]string{""}, err.JSONPointer()...), "/"), err.Reason)}
	default:
		return []string{"does not match its schema"}
	}
}

// textBreaks checks what a JSON schema cannot say: the text of numbers, and the
// names of additional properties.
func (d *document) textBreaks(schema *openapi3.Schema, value any, pointer string) []string {
	var breaks []string
	switch value := value.(type) {
	case json.Number:
		switch {
		case schema.Format == "usd" && !usdText.MatchString(value.String()):
			breaks = append(breaks, at(pointer, "an amount is a plain number with at most two decimals"))
		case schema.Type.Is(openapi3.TypeInteger) && !integerText.MatchString(value.String()):
			breaks = append(breaks, at(pointer, "an integer has neither decimals nor an exponent"))
		}
	case []any:
		if schema.Items == nil {
			break
		}
		for i, item := range value {
			breaks = append(breaks, d.textBreaks(schema.Items.Value, item, pointer+"/"+strconv.Itoa(i))...)
		}
	case map[string]any:
		names := d.additionalNames[schema]
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if property, ok := schema.Properties[name]; ok {
				breaks = append(breaks, d.textBreaks(property.Value, value[name], pointer+"/"+name)...)
			} else if names != nil && !names.MatchString(name) {
				breaks = append(breaks, at(pointer, fmt.Sprintf("property %q is unsupported", name)))
			}
		}
	}
	return breaks
}

func at(pointer, reason string) string {
	if pointer == "" {
		return reason
	}
	return pointer + ": " + reason
}

func prefixed(prefix string, breaks []string) []string {
	for i := range breaks {
		breaks[i] = prefix + ": " + breaks[i]
	}
	return breaks
}

// stringFormats are the forms of text that the contract names. Each checks the
// meaning as well as the form, so that 2026-02-30 is no date.
func stringFormats() map[string]openapi3.StringFormatValidator {
	return map[string]openapi3.StringFormatValidator{
		"date":         openapi3.NewCallbackValidator(isDate),
		"date-time":    openapi3.NewCallbackValidator(isUTC),
		"date-or-time": openapi3.NewCallbackValidator(isDateOrTime),
		"https-url":    openapi3.NewCallbackValidator(isHTTPSURL),
		"retry-after":  openapi3.NewCallbackValidator(isRetryAfter),
	}
}

func isDate(text string) error {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return errors.New("not a calendar date")
	}
	return nil
}

func isUTC(text string) error {
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return errors.New("not a time")
	}
	if _, offset := moment.Zone(); offset != 0 {
		return errors.New("not in UTC")
	}
	return nil
}

func isDateOrTime(text string) error {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if _, err := time.Parse(layout, text); err == nil {
			return nil
		}
	}
	return errors.New("neither a date nor a time")
}

func isHTTPSURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("not an https URL")
	}
	return nil
}

func isRetryAfter(text string) error {
	if _, err := http.ParseTime(text); err != nil && (!integerText.MatchString(text) || text[0] == '-') {
		return errors.New("neither whole seconds nor an HTTP date")
	}
	return nil
}
