// Package server is the HTTP side of the sandbox: it takes a request from its
// key to its response. A handler sees a Call inside one transaction and returns
// a response; everything else happens here.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
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
	Handle func(*Call) (wire.Response, error)
	// Class is what the call counts as; empty is behavior.Request.
	Class behavior.Class
	// Before, when set, runs ahead of the transaction.
	Before func(context.Context) error
}

func (r Route) writes() bool { return r.Method != http.MethodGet }

// NoFields has a handler refuse a body that holds anything.
func NoFields(handle func(*Call) (wire.Response, error)) func(*Call) (wire.Response, error) {
	return func(c *Call) (wire.Response, error) {
		if err := c.Fields().Done(); err != nil {
			return wire.Response{}, err
		}
		return handle(c)
	}
}

// Call is an authenticated request in its transaction: a snapshot for GET,
// else a write that is committed with the response, and undone by an error.
type Call struct {
	Tx      *store.Tx
	Keys    *vault.Keyring
	Account account.Account
	Quirks  behavior.Quirks

	request *http.Request
	body    wire.Body
	routes  map[string]Route
}

// PathValue returns a path parameter.
func (c *Call) PathValue(name string) string { return c.request.PathValue(name) }

// Query returns a reader of the query string.
func (c *Call) Query() *wire.Query { return wire.ReadQuery(c.request.URL.RawQuery) }

// Fields returns a reader of the body, which is a JSON object or, for calls
// without required fields, nothing.
func (c *Call) Fields() *wire.Fields { return c.body.Fields(c.request.Header.Get("Content-Type")) }

// Text returns a body that need not be JSON, as it is.
func (c *Call) Text() ([]byte, error) { return c.body.Raw, c.body.Err }

// Server responds to HTTP requests by its routes.
type Server struct {
	DB       *store.DB
	Keys     *vault.Keyring
	Recorder *requestlog.Recorder
	Counters *behavior.Counters
	Logger   *slog.Logger
	Stopping <-chan struct{} // ends the delays of faults

	routes   map[string]Route // by their methods and paths
	inFlight sync.Map         // by idempotencyScope: the calls without a response yet
}

// Handler returns the handler of the routes. Whatever is not among them is a
// 404, unknown methods too.
func (s *Server) Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	s.routes = make(map[string]Route, len(routes))
	for _, route := range routes {
		s.routes[route.Method+" "+route.Path] = route
		mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
	}
	unknown := Route{Method: http.MethodGet, Handle: func(*Call) (wire.Response, error) { return wire.Response{}, unknownPath() }}
	serveUnknown := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, API+"/") || strings.HasPrefix(r.URL.Path, Control+"/") {
			s.serve(w, r, unknown)
			return
		}
		x := &exchange{id: vault.Token("req_"), request: r}
		_ = response{Response: x.errorResponse(unknownPath())}.send(w, x.id, x.now) // nobody to tell when the caller went away
	}
	mux.HandleFunc("/", serveUnknown)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect these to their clean form.
		if p := r.URL.EscapedPath(); !strings.HasPrefix(p, "/") || !isClean(p) {
			serveUnknown(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isClean tells whether a path has neither empty segments nor dots for names.
func isClean(p string) bool {
	clean := path.Clean(p)
	return p == clean || p == strings.TrimSuffix(clean, "/")+"/"
}
