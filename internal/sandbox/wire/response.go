package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Response is what a request is answered with.
type Response struct {
	Status      int
	Body        []byte
	ContentType string      // empty: JSON
	Header      http.Header // what not every response has; may be nil
}

// OK is a 200.
func OK(body any) Response { return Response{Status: http.StatusOK, Body: Encode(body)} }

// Created is a 201.
func Created(body any) Response { return Response{Status: http.StatusCreated, Body: Encode(body)} }

// List is a list without pages.
type List[T any] struct {
	Data []T `json:"data"`
}

// LargeList is a list with large pages.
type LargeList[T any] struct {
	Data    []T   `json:"data"`
	Page    int64 `json:"page"`
	PerPage int64 `json:"per_page"`
	Total   int64 `json:"total"` // of all pages
}

// Encode writes JSON. It panics over what has no JSON form, which is a mistake
// in the program.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("wire: " + err.Error())
	}
	return b.Bytes()
}

// Time is a time of the file, in milliseconds there and a Timestamp in JSON.
type Time struct{ time.Time }

// Scan reads the milliseconds.
func (t *Time) Scan(column any) error {
	ms, ok := column.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T", column)
	}
	t.Time = time.UnixMilli(ms).UTC()
	return nil
}

// MarshalJSON writes the Timestamp.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(Timestamp(t.Time)) }

// Timestamp writes a time as the API does: UTC, one width, so that the order
// of the texts is the order of the times.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
