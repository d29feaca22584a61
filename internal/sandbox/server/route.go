// Package server is the HTTP side of the sandbox. It authenticates and limits requests, injects faults
// and sends responses. Handlers see a Call inside one transaction and return a response.
package server

import (
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

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
	Control = "/_sandbox" // the control calls, which simulate merchants and other outside events, and support tests
)

// Route is one method on one path.
type Route struct {
	Method string
	Path   string // with {name} for a path parameter
	Handle func(*Call) (wire.Response, error)
	Public bool // needs no key
	// Class selects the limit that applies to a request of the API in addition to the limits for all requests. It is empty
	// if only those apply.
	Class behavior.Class
	// NeedsRequestLog makes the server write the request log to the file before the transaction.
	NeedsRequestLog bool
}

func (r Route) isWrite() bool { return r.Method != http.MethodGet }

// NoFields makes a handler refuse a body, unless it is empty or an empty JSON object.
func NoFields(handle func(*Call) (wire.Response, error)) func(*Call) (wire.Response, error) {
	return func(c *Call) (wire.Response, error) {
		err := c.Fields().Done()
		if err != nil {
			return wire.Response{}, err
		}
		return handle(c)
	}
}

// Call is a request or an Operation in its transaction. If the route is public, the call may be unauthenticated; Account
// is then empty. A handler for GET must only read. For another method, an error of the handler rolls the transaction
// back.
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

// Fields returns a reader of the body, which must be a JSON object or empty.
func (c *Call) Fields() *wire.Fields { return c.body.Fields(c.request.Header.Get("Content-Type")) }

// RawBody returns the body, which need not be JSON.
func (c *Call) RawBody() ([]byte, error) { return c.body.Raw, c.body.Err }

// Server responds to HTTP requests according to its routes.
type Server struct {
	DB       *store.DB
	Keys     *vault.Keyring
	Recorder *requestlog.Recorder
	Counters *behavior.Counters
	Logger   *slog.Logger
	Stopping <-chan struct{}  // closed to end the delays of faults
	Routes   map[string]Route // by method and path, such as "GET /api/v1/cards"; Handler fills it
	// inFlight contains the idempotencyScope of each running call that has claimed one.
	inFlight  sync.Map
	postponed postponedCalls
}

// Handler returns the handler of the routes. It also sets Routes.
func (s *Server) Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	s.Routes = map[string]Route{}
	for _, route := range routes {
		pattern := route.Method + " " + route.Path
		s.Routes[pattern] = route
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
	}
	serveUnknown := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, API+"/") || strings.HasPrefix(r.URL.Path, Control+"/") {
			// With the method GET, the server reads no body and handles the call in a transaction that only reads.
			handle := func(*Call) (wire.Response, error) { return wire.Response{}, s.unknownRoute(mux, r) }
			s.serve(w, r, Route{Method: http.MethodGet, Handle: handle})
			return
		}
		// Outside both trees, a request needs no key and is not logged.
		x := &exchange{id: vault.Token("req_"), request: r, now: time.Now()}
		unknown := s.unknownRoute(mux, r)
		res := response{Response: x.errorResponse(unknown)}
		res.send(w, x.id, x.now)
	}
	mux.HandleFunc(unknownPattern, serveUnknown)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.EscapedPath()
		// The mux could redirect other paths. It would add a slash to Control, because listOfCalls has one.
		routable := strings.HasPrefix(p, "/") && isClean(p) && p != Control
		if !routable {
			serveUnknown(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// unknownPattern is the pattern of all requests that no route handles.
const unknownPattern = "/"

// unknownRoute returns the error for a method and path that no route has: a 405 if the path has other methods, otherwise
// a 404.
func (s *Server) unknownRoute(mux *http.ServeMux, r *http.Request) *wire.Error {
	var allowed []string
	// Handler checks the escaped path; this is the decoded one.
	decodedRoutable := isClean(r.URL.Path) && r.URL.Path != Control
	if decodedRoutable { // otherwise, the mux could return the pattern of a redirect
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			_, pattern := mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: r.URL.Path}})
			if pattern != unknownPattern {
				allowed = append(allowed, method)
			}
		}
	}
	// If the request had an escaped slash, the decoded path can be that of a route with the same method.
	if len(allowed) > 0 && !slices.Contains(allowed, r.Method) {
		return &wire.Error{
			Status:  http.StatusMethodNotAllowed,
			Code:    wire.CodeMethodNotAllowed,
			Allow:   strings.Join(allowed, ", "),
			Message: "this path accepts " + strings.Join(allowed, " and ") + ", not " + r.Method,
		}
	}
	return wire.NewError(http.StatusNotFound, wire.CodeNotFound, "this path does not exist%s", s.pathHint(r.URL.Path))
}

// listOfCalls is the route that lists the control calls. The embedded sandbox does not have it.
const listOfCalls = "GET " + Control + "/{$}"

// pathHint returns a hint for the end of the message about an unknown path. It may be empty.
func (s *Server) pathHint(urlPath string) string {
	similar := s.similarCall(urlPath)
	if similar != "" {
		return "; did you mean " + similar + "?"
	}
	if strings.HasPrefix(urlPath, Control) {
		_, listed := s.Routes[listOfCalls]
		if listed {
			return "; GET " + Control + "/ lists the calls"
		}
		return "; the embedded sandbox serves only some control calls; run vcard sandbox to use all of them"
	}
	if !strings.HasPrefix(urlPath, API+"/") {
		return "; paths of the API start with " + API + "/, as in " + API + "/cards"
	}
	return ""
}

// similarCall returns the control call whose path has the longest common prefix with a path, both without Control. It
// returns "" if the prefix is too short, or if the path is not below Control.
func (s *Server) similarCall(urlPath string) string {
	requested, ok := strings.CutPrefix(urlPath, Control+"/")
	if !ok {
		return ""
	}
	similar := ""
	longest := 1 // a common prefix of one character is no similarity
	for key, route := range s.Routes {
		name, ok := strings.CutPrefix(route.Path, Control+"/")
		if !ok {
			continue
		}
		common := commonPrefix(name, requested)
		if 2*common < len(requested) {
			continue
		}
		// Of several calls, take the first by method and path, because the order of the map is random.
		precedes := common == longest && key < similar
		if common > longest || precedes {
			longest = common
			similar = key
		}
	}
	return similar
}

// commonPrefix returns the length of the longest common prefix.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// isClean reports whether a path has the form that path.Clean returns, with or without a slash at the end.
func isClean(p string) bool {
	clean := path.Clean(p) // without a slash at the end, except for "/"
	withSlash := strings.TrimSuffix(clean, "/") + "/"
	return p == clean || p == withSlash
}
