// Package server is the HTTP side of the sandbox: it takes a request from its
// key to its response. A handler sees a Call inside one transaction and returns
// a response; everything else happens here.
package server

import (
	"log/slog"
	"net/http"
	"net/url"
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
	Public bool // needs no key
	// Class is what the call counts as; empty is behavior.Request.
	Class behavior.Class
	// NeedsRequestLog has the request log written to the file before the transaction.
	NeedsRequestLog bool
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
	*Server

	Tx      *store.Tx
	Account account.Account
	Quirks  behavior.Quirks
	request *http.Request
	body    wire.Body
}

// PathValue returns a path parameter.
func (c *Call) PathValue(name string) string { return c.request.PathValue(name) }

// Query returns a reader of the query string.
func (c *Call) Query() *wire.Query { return wire.ReadQuery(c.request.URL.RawQuery) }

// Fields returns a reader of the body, which is a JSON object or nothing.
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
	Stopping <-chan struct{}  // ends the delays of faults
	Routes   map[string]Route // by their methods and paths; Handler fills it
	inFlight sync.Map         // the calls with an idempotency key that have no response yet
	late     lateCalls
}

// Handler returns the handler of the routes.
func (s *Server) Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	s.Routes = map[string]Route{}
	for _, route := range routes {
		s.Routes[route.Method+" "+route.Path] = route
		mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
	}
	serveUnknown := func(w http.ResponseWriter, r *http.Request) {
		unknown := Route{Method: http.MethodGet, Handle: func(*Call) (wire.Response, error) { return wire.Response{}, s.unknown(mux, r) }}
		if strings.HasPrefix(r.URL.Path, API+"/") || strings.HasPrefix(r.URL.Path, Control+"/") {
			s.serve(w, r, unknown)
			return
		}
		x := &exchange{id: vault.Token("req_"), request: r}
		response{Response: x.errorResponse(s.unknown(mux, r))}.send(w, x.id, x.now)
	}
	mux.HandleFunc("/", serveUnknown)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect these to their clean form.
		if p := r.URL.EscapedPath(); !strings.HasPrefix(p, "/") || !isClean(p) || p == Control {
			serveUnknown(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// unknown refuses a method and path that no route has.
func (s *Server) unknown(mux *http.ServeMux, r *http.Request) *wire.Error {
	has := func(method, path string) bool {
		_, pattern := mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: path}})
		return pattern != "/"
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if isClean(r.URL.Path) && r.URL.Path != Control && has(method, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		return &wire.Error{
			Status: http.StatusMethodNotAllowed, Code: wire.CodeMethodNotAllowed, Allow: strings.Join(allowed, ", "),
			Message: "this path takes " + strings.Join(allowed, " and ") + ", not " + r.Method,
		}
	}
	e := unknownPath()
	switch meant := s.alike(r.URL.Path); {
	case meant != "":
		e.Message += "; there is " + meant
	case strings.HasPrefix(r.URL.Path, Control):
		e.Message += "; GET " + Control + "/ lists the calls"
	case !strings.HasPrefix(r.URL.Path, API+"/"):
		e.Message += "; the API is below " + API + ", as in " + API + "/cards"
	}
	return e
}

// alike is the control call whose name begins most like that of a path, if it is half of it.
func (s *Server) alike(path string) (meant string) {
	asked, found := strings.CutPrefix(path, Control+"/")
	best := 1
	for key, route := range s.Routes {
		name, control := strings.CutPrefix(route.Path, Control+"/")
		same := 0
		for same < min(len(name), len(asked)) && name[same] == asked[same] {
			same++
		}
		if found && control && 2*same >= len(asked) && (same > best || same == best && key < meant) {
			best, meant = same, key
		}
	}
	return meant
}

// isClean tells whether a path has neither empty segments nor dots for names.
func isClean(p string) bool {
	clean := path.Clean(p)
	return p == clean || p == strings.TrimSuffix(clean, "/")+"/"
}
