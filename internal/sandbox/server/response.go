package server

import (
	"cmp"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	jsonType = "application/json"
	textType = "text/plain; charset=utf-8"
)

// LargeList responds with a page of a list that no API has, and how many there are on
// all pages.
func LargeList[T any](c *Call, read func(wire.Page) (data []T, total int64, err error)) (wire.Response, error) {
	query := c.Query()
	page := query.LargePage()
	if err := query.Done(); err != nil {
		return wire.Response{}, err
	}
	data, total, err := read(page)
	return wire.OK(wire.LargeList[T]{Data: data, Page: page.Number, PerPage: page.Size, Total: total}), err
}

type response struct {
	wire.Response

	extent extent
}

type extent int

const (
	whole extent = iota
	truncated
	dropped
)

// sentStatus is what the caller sees; 0 is nothing.
func (r response) sentStatus() int {
	if r.extent == dropped {
		return 0
	}
	return r.Status
}

// send writes the response. One that is cut off ends in http.ErrAbortHandler,
// by which an http.Server closes the connection.
func (r response) send(w http.ResponseWriter, requestID string, now time.Time) error {
	if r.extent == dropped {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	maps.Copy(h, r.Header)
	h.Set("Content-Type", cmp.Or(r.ContentType, jsonType))
	h.Set("Content-Length", strconv.Itoa(len(r.Body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", requestID)
	h.Set("Date", now.UTC().Format(http.TimeFormat)) // the service's own time, which created_at is told by
	if r.Status == http.StatusNoContent || r.Status == http.StatusNotModified {
		h.Del("Content-Length")
		r.Body = nil
	}
	w.WriteHeader(r.Status)
	if r.extent == truncated {
		_, _ = w.Write(r.Body[:len(r.Body)/2])    // the caller is to see it break off
		_ = http.NewResponseController(w).Flush() // where there is a connection
		panic(http.ErrAbortHandler)
	}
	_, err := w.Write(r.Body)
	return err
}
