// Package contract holds the wire contract of the card service, openapi.yaml,
// and checks in tests that service and client keep it: [Handler] watches what
// passes between them.
//
// An exchange under /api/v1 breaks the contract when its request is not a
// documented one (path, method, query, headers, body), or when its response has
// another status, content type, set of fields or form than documented. Each
// break fails the test and names the method, the path and the rule. Values are
// never printed, since bodies carry card numbers, one-time codes and signing
// secrets.
package contract

import (
	"net/http"
	"strings"
	"testing"
)

// pathPrefix is where the service lives; everything else passes unchecked.
const pathPrefix = "/api/v1/"

// Option changes what a checker holds the two sides to.
type Option func(*checker)

// RequestsOnly leaves responses unchecked. It is for services that are switched
// to faults or to forms that the contract does not know.
func RequestsOnly() Option {
	return func(c *checker) { c.requestsOnly = true }
}

// TolerateBadRequests allows a request that breaks the contract if its response
// is a 4xx or never comes. Accepting it stays a break. It is for tests that
// send bad requests on purpose.
func TolerateBadRequests() Option {
	return func(c *checker) { c.badRequests = true }
}

// checker reports to one test.
type checker struct {
	t            testing.TB
	document     *document
	requestsOnly bool
	badRequests  bool
}

func newChecker(t testing.TB, options []Option) *checker {
	t.Helper()
	d, err := loadDocument()
	if err != nil {
		t.Fatalf("contract: openapi.yaml: %v", err)
	}
	c := &checker{t: t, document: d}
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
func (c *checker) check(asked request, got response) {
	op := c.document.find(asked.Method, asked.URL.EscapedPath())

	refused := got.status >= 400 && got.status < 500
	if !c.badRequests || !refused {
		c.report(asked, "request", c.document.requestBreaks(op, asked))
	}
	if !c.requestsOnly {
		c.report(asked, "response", c.document.responseBreaks(op, got))
	}
}

func (c *checker) report(asked request, side string, breaks []string) {
	for _, rule := range breaks {
		c.t.Errorf("contract: %s %.120s: %s: %s", asked.Method, asked.URL.Path, side, rule)
	}
}

func underContract(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, pathPrefix)
}
