// Package contract checks in tests that requests and responses match the OpenAPI documents of the card service.
// [Handler] wraps a service and checks all requests to the service and its responses.
//
// A request must match its document in path, method, query, headers and body. A response must match it in status,
// content type and fields. Each violation fails the test, with a message that names the method, the path and the
// rule. Values are never printed, because bodies contain card numbers, one-time codes and signing secrets.
package contract

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi3"
)

// Option relaxes the checks.
type Option func(*checker)

// RequestsOnly leaves responses unchecked. Use it for services with faults or quirks that the document does not
// describe.
func RequestsOnly() Option {
	return func(c *checker) { c.requestsOnly = true }
}

// TolerateBadRequests allows invalid requests that the service refuses with a 4xx. Use it for tests that send
// invalid requests on purpose.
func TolerateBadRequests() Option {
	return func(c *checker) { c.tolerateBadRequests = true }
}

// checker reports violations to a test.
type checker struct {
	t            testing.TB
	documents    map[string]*document // by the prefix of their paths; other paths are not checked
	requestsOnly bool

	tolerateBadRequests bool
}

func newChecker(t testing.TB, options []Option) *checker {
	t.Helper()
	documents, err := loadDocuments()
	if err != nil {
		t.Fatalf("contract: %v", err)
	}
	c := &checker{t: t, documents: documents}
	for _, option := range options {
		option(c)
	}
	return c
}

// request is a request with its body, which was already read.
type request struct {
	*http.Request

	body []byte
}

// response is a recorded response.
type response struct {
	status int
	header http.Header
	body   []byte
}

// check reports the violations of a request and of its response.
func (c *checker) check(d *document, req request, res response) {
	in := d.requestInput(req)
	refused := res.status >= 400 && res.status < 500
	tolerated := c.tolerateBadRequests && refused
	if !tolerated {
		c.report(req, "request", d.requestViolations(in))
	}
	if !c.requestsOnly {
		c.report(req, "response", responseViolations(d.responseInput(in, res)))
	}
}

// documentOf returns the document that describes a path, or nil.
func (c *checker) documentOf(path string) *document {
	for prefix, d := range c.documents {
		if strings.HasPrefix(path, prefix) {
			return d
		}
	}
	return nil
}

// report fails the test with each violation. The side is "request" or "response".
func (c *checker) report(req request, side string, violations []string) {
	for _, rule := range violations {
		c.t.Errorf("contract: %s %.120s: %s: %s", req.Method, req.URL.Path, side, rule)
	}
}

// Handler wraps a service and checks every request below a documented prefix and its response. Each violation fails t.
// Responses that the service cuts off on purpose, by aborting the handler, are not checked.
func Handler(t testing.TB, service http.Handler, options ...Option) http.Handler {
	t.Helper()
	c := newChecker(t, options)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := c.documentOf(r.URL.Path)
		if d == nil {
			service.ServeHTTP(w, r)
			return
		}
		body, readErr := io.ReadAll(r.Body)
		req := request{Request: r.Clone(r.Context()), body: body}
		r.Body = replay(body, readErr, r.Body)

		rec := &recorder{ResponseWriter: w}
		service.ServeHTTP(rec, r)
		if readErr == nil {
			c.check(d, req, rec.response())
		}
	})
}

// recorder keeps a copy of what a handler writes.
type recorder struct {
	http.ResponseWriter

	status int
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK { // a status below 200 announces another one
		r.status = status
		r.header = r.Header().Clone()
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.body.Write(data)
	return r.ResponseWriter.Write(data)
}

// Unwrap lets a [http.ResponseController] reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// response returns the recorded response. A handler that writes nothing responds with 200.
func (r *recorder) response() response {
	if r.status == 0 {
		return response{status: http.StatusOK, header: r.Header()}
	}
	return response{status: r.status, header: r.header, body: r.body.Bytes()}
}

// replay returns a body that was already read: its data, and then the error that reading it returned, if any.
func replay(data []byte, err error, closer io.Closer) io.ReadCloser {
	readers := []io.Reader{bytes.NewReader(data)}
	if err != nil {
		readers = append(readers, iotest.ErrReader(err))
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(readers...), closer}
}

// Event checks the body of an event that the service sent to a webhook endpoint.
func Event(t testing.TB, body []byte) {
	t.Helper()
	documents, err := loadDocuments()
	if err != nil {
		t.Fatalf("contract: %v", err)
	}
	schemas := documents["/api/v1/"].spec.Components.Schemas
	schema := schemas["Event"]
	header := http.Header{"Content-Type": {jsonType}}
	value, err := decode(bytes.NewReader(body), header, schema, nil)
	if err == nil {
		err = schema.Value.VisitJSON(value, openapi3.MultiErrors(), openapi3.WithStringFormatValidators(formats()))
	}
	for _, rule := range violatedRules(err) {
		t.Errorf("contract: event: %s", rule)
	}
}
