// Package dashboard is the sandbox's web page: what an account looks like, and
// what the outside world may do to it. It reads with the functions of the nouns,
// and changes nothing but by the calls of the API and of /_sandbox.
//
// A further page is a row of pages, what reads it, and a file of templates.
package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Options says what the dashboard is of.
type Options struct {
	Server  *server.Server
	First   int64            // the account that Link logs in to
	Next    http.Handler     // of the API and the control calls
	Address string           // where both are served, as in http://127.0.0.1:8420
	Names   []string         // of the machine, beside localhost and its addresses
	Now     func() time.Time // the clock on the wall
}

// Dashboard serves the web page, and leaves every other path to the next handler.
type Dashboard struct {
	Options

	address     *url.URL
	sessions    *sessions
	link        string // a token
	useLink     func(token string) bool
	pages       []*page
	templates   *template.Template
	crossOrigin *http.CrossOriginProtection
	mux         *http.ServeMux
	closing     chan struct{}
	close       func()
}

// New returns a dashboard without sessions. It fails over a bad address or template.
func New(o Options) (*Dashboard, error) {
	address, err := url.Parse(o.Address)
	if err != nil {
		return nil, err
	}
	d := &Dashboard{
		Options: o, address: address,
		crossOrigin: http.NewCrossOriginProtection(), sessions: &sessions{now: o.Now, all: map[string]*session{}},
		pages: pages(), closing: make(chan struct{}),
	}
	d.link, d.useLink = newLink(o.Now)
	d.close = sync.OnceFunc(func() { close(d.closing) })
	templates, err := template.New("").Funcs(functions()).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	d.templates = templates
	d.mux = http.NewServeMux()
	d.mux.HandleFunc("GET /assets/{name}", serveAsset)
	d.mux.HandleFunc("GET /login", d.showLogin)
	d.mux.HandleFunc("POST /login", d.logIn)
	d.mux.HandleFunc("POST /logout", d.logOut)
	d.mux.HandleFunc("GET /live", d.live)
	for _, p := range d.pages {
		d.mux.HandleFunc("GET "+p.Path, func(w http.ResponseWriter, r *http.Request) { d.get(w, r, p) })
		if len(p.actions) > 0 {
			d.mux.HandleFunc("POST "+p.Path, func(w http.ResponseWriter, r *http.Request) { d.post(w, r, p) })
		}
	}
	d.mux.HandleFunc("/", d.notFound)
	return d, nil
}

// Link is an address that logs in to the file's first account, once and soon.
func (d *Dashboard) Link() string {
	return d.address.JoinPath("login").String() + "?token=" + d.link
}

// ServeHTTP checks that a request comes from where it should before any page sees it.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		reason := recover()
		if reason == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
			panic(reason)
		}
		if reason != nil { // the server would log it with its value
			d.Server.Logger.Error("a page panicked", "error", crash.New(reason))
			http.Error(w, "The page could not be shown; the server's log says why.", http.StatusInternalServerError)
		}
	}()
	if !isPage(r.URL) || r.Header.Get("Authorization") != "" { // which browsers do not send, but clients that lost a path's prefix
		d.Next.ServeHTTP(w, r)
		return
	}
	for _, header := range [][2]string{
		{"Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "same-origin"}, // no-referrer would take the Origin away from forms
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cache-Control", "no-store"},
	} {
		w.Header().Set(header[0], header[1])
	}
	switch {
	case !d.isKnown(r.Host):
		http.Error(w, "The dashboard is not served under this name. Open "+d.address.String(), http.StatusForbidden)
	case d.crossOrigin.Check(r) != nil:
		http.Error(w, "This form was sent from another site. Nothing was done.", http.StatusForbidden)
	default:
		d.mux.ServeHTTP(w, r)
	}
}

// isPage tells whether a path is neither of the API nor of the control calls.
func isPage(u *url.URL) bool {
	p := u.Path // decoded, as redirects and the API's own routes take it
	for _, tree := range []string{"/api", server.Control} {
		if p == tree || strings.HasPrefix(p, tree+"/") {
			return false
		}
	}
	clean := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == clean || p == clean+"/" && clean != "/")
}

// isKnown tells whether a Host header names this server by an address or a name of
// its own. Any other name may be an attacker's, who has it resolve to this address.
func (d *Dashboard) isKnown(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || slices.ContainsFunc(append([]string{"localhost"}, d.Names...), func(own string) bool { return own != "" && strings.EqualFold(own, name) })
}

const (
	// liveHeader marks the request of a page that is shown already.
	liveHeader = "X-Dashboard-Live"
	// refreshInterval is how often a page is brought up to date because of the time alone.
	refreshInterval = 10 * time.Second
	// watchInterval is how soon a page hears of a change.
	watchInterval = 250 * time.Millisecond
)

// liveVersion changes when a page may have changed: with the file, and with the time.
func liveVersion(file string, now time.Time) string {
	return fmt.Sprintf("%s.%d", file, now.UnixMilli()/refreshInterval.Milliseconds())
}

// liveState is what a page that is shown needs to know to be up to date.
type liveState struct {
	Version string `json:"version"`
	Now     string `json:"now"`
}

// live tells a page of each change, as server-sent events, while the session lasts.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // where there is a connection
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string) error {
		_ = connection.SetWriteDeadline(time.Now().Add(refreshInterval)) // as above
		if _, err := fmt.Fprint(w, event, "\n\n"); err != nil {
			return err
		}
		return connection.Flush()
	}
	tick := time.Tick(watchInterval)
	for last := ""; ; {
		if _, found := d.sessions.account(cookie(r)); !found {
			_ = send("event: ended\ndata:") // nobody to tell when the page was closed
			return
		}
		version, now, err := d.Server.Version(r.Context())
		if err != nil {
			return // the browser asks again
		}
		state := liveState{Version: liveVersion(version, now), Now: wire.Timestamp(now)}
		if state.Version != last && send("data: "+string(wire.Encode(state))) != nil {
			return
		}
		last = state.Version
		select {
		case <-tick:
		case <-r.Context().Done():
			return
		case <-d.closing:
			return
		}
	}
}

// Close ends what pages listen to, for which a server that shuts down would wait.
func (d *Dashboard) Close() { d.close() }

// files are the templates, and what pages load beside themselves.
//
//go:embed templates assets
var files embed.FS

// assetPath returns where a file of assets is served: it changes with the content, so that
// browsers keep it for good.
func assetPath(file string) (string, error) {
	content, err := files.ReadFile("assets/" + file)
	hash := sha256.Sum256(content)
	return "/assets/" + hex.EncodeToString(hash[:8]) + "." + file, err
}

// serveAsset serves a file under the name that assetPath gives it, and under no other.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	_, file, _ := strings.Cut(r.PathValue("name"), ".")
	content, err := files.ReadFile("assets/" + file)
	if is, _ := assetPath(file); err != nil || is != r.URL.Path { // both read the same file
		http.NotFound(w, r)
		return
	}
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", kinds[path.Ext(file)])
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(content) //nolint:gosec // one of our files; there is nobody to tell when the reader went away
}
