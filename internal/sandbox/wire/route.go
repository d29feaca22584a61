// Package wire is the HTTP side of the sandbox: routing, authentication,
// decoding of requests, idempotency, and answers. A handler sees a Call inside
// one transaction and returns a Reply; everything else happens here.
package wire

import (
	"context"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/limit"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

// The two trees of paths.
const (
	API     = "/api/v1"   // the service
	Control = "/_sandbox" // what the outside world does to an account, and what tests need
)

// Route is one method on one path.
type Route struct {
	Method string
	Path   string // with {name} for a path parameter
	Handle func(*Call) (Reply, error)
	// Class is what the call counts as; empty is limit.Request.
	Class limit.Class
	// Before, when set, runs ahead of the transaction.
	Before func(context.Context) error
}

// writes tells whether the route changes anything.
func (r Route) writes() bool { return r.Method != http.MethodGet }

// Reply is a successful answer.
type Reply struct {
	Status int
	Body   any
}

// OK is a 200.
func OK(body any) Reply { return Reply{http.StatusOK, body} }

// Created is a 201.
func Created(body any) Reply { return Reply{http.StatusCreated, body} }

// Call is an authenticated request in its transaction: a snapshot for GET,
// else a write that is committed with the answer, and undone by an error.
type Call struct {
	Tx      *store.Tx
	Keys    *vault.Keyring
	Account account.Account
	Quirks  quirk.Quirks

	request *http.Request
	body    body
}

// PathValue returns a path parameter.
func (c *Call) PathValue(name string) string { return c.request.PathValue(name) }

// Query returns a reader of the query string.
func (c *Call) Query() *Query { return newQuery(c.request.URL.RawQuery) }

// Fields returns a reader of the body, which is a JSON object or, for calls
// without required fields, nothing.
func (c *Call) Fields() *Fields { return c.body.fields(c.request.Header.Get("Content-Type")) }

// NoFields refuses a body that holds anything.
func (c *Call) NoFields() error { return c.Fields().Done() }

// Timestamp writes a time as the API does: UTC, one width, so that the order
// of the texts is the order of the times.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
