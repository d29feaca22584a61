package contract

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

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
