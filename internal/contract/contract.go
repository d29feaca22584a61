// Package contract holds the wire contract of the card service, openapi.yaml, and checks in
// tests that service and client keep it: [Handler] watches what passes between them.
//
// An exchange under /api/v1, or one of the control calls below /_sandbox, breaks its document
// when its request is not a documented one (path, method, query, headers, body), or when its
// response has another status, content type, set of fields or form than documented. Each break
// fails the test and names the method, the path and the rule. Values are never printed, since
// bodies carry card numbers, one-time codes and signing secrets.
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

// Option changes what a checker holds the two sides to.
type Option func(*checker)

// RequestsOnly leaves responses unchecked. It is for services that are switched
// to faults or to forms that the contract does not know.
func RequestsOnly() Option {
	return func(c *checker) { c.requestsOnly = true }
}

// TolerateBadRequests allows a request that breaks the contract if its response is a 4xx or
// never comes. Accepting it stays a break. It is for tests that send bad requests on purpose.
func TolerateBadRequests() Option {
	return func(c *checker) { c.badRequests = true }
}

// checker reports to one test.
type checker struct {
	t            testing.TB
	documents    map[string]*document // by where their paths begin; everything else passes unchecked
	requestsOnly bool
	badRequests  bool
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

// request is what was asked.
type request struct {
	*http.Request

	body []byte
}

// response is what came back.
type response struct {
	status int
	header http.Header
	body   []byte
}

// check holds an exchange to the contract.
func (c *checker) check(d *document, asked request, got response) {
	in, out := d.inputs(asked, got)
	refused := got.status >= 400 && got.status < 500
	if !c.badRequests || !refused {
		c.report(asked, "request", d.requestBreaks(in))
	}
	if !c.requestsOnly {
		c.report(asked, "response", responseBreaks(out))
	}
}

// document is that of a path; nil: none is.
func (c *checker) document(path string) *document {
	for prefix, d := range c.documents {
		if strings.HasPrefix(path, prefix) {
			return d
		}
	}
	return nil
}

func (c *checker) report(asked request, side string, breaks []string) {
	for _, rule := range breaks {
		c.t.Errorf("contract: %s %.120s: %s: %s", asked.Method, asked.URL.Path, side, rule)
	}
}

// Handler wraps a service so that every exchange under /api/v1 is held to the
// contract; each break fails t. A response that the service cuts off on purpose, by
// aborting the handler, is not checked.
func Handler(t testing.TB, service http.Handler, options ...Option) http.Handler {
	t.Helper()
	c := newChecker(t, options)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := c.document(r.URL.Path)
		if d == nil {
			service.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		whole := err == nil
		asked := request{Request: r.Clone(r.Context()), body: body}
		r.Body = replay(body, err, r.Body)

		recorder := &recorder{ResponseWriter: w}
		service.ServeHTTP(recorder, r)
		if whole {
			c.check(d, asked, recorder.response())
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
	if r.status == 0 && status >= http.StatusOK {
		r.status, r.header = status, r.Header().Clone()
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

func (r *recorder) response() response {
	if r.status == 0 {
		return response{status: http.StatusOK, header: r.Header()}
	}
	return response{status: r.status, header: r.header, body: r.body.Bytes()}
}

// replay gives back a body that was read for the check, with the error that
// ended it if there was one.
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

// Event holds a body that an endpoint was sent to the contract.
func Event(t testing.TB, body []byte) {
	t.Helper()
	documents, err := loadDocuments()
	if err != nil {
		t.Fatalf("contract: %v", err)
	}
	schema := documents["/api/v1/"].spec.Components.Schemas["Event"]
	value, err := decode(bytes.NewReader(body), http.Header{"Content-Type": {jsonType}}, schema, nil)
	if err == nil {
		err = schema.Value.VisitJSON(value, openapi3.MultiErrors(), openapi3.WithStringFormatValidators(formats()))
	}
	for _, rule := range rules(err) {
		t.Errorf("contract: an event: %s", rule)
	}
}
