// Package dashboard serves the sandbox's web pages. They show the state of an account, and have forms that make calls
// of the API and of /_sandbox.
//
// To add a page, add a row to pages, a function that reads its data, and a template.
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
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Options are the settings of a dashboard.
type Options struct {
	Server         *server.Server
	FirstAccountID int64            // the account that Link logs in to
	Next           http.Handler     // serves the API and the control calls
	Address        string           // of the server, such as http://127.0.0.1:8420
	Names          []string         // host names of the machine, besides localhost; empty ones are ignored
	Now            func() time.Time // the real clock, not the sandbox's
}

// Dashboard serves the web pages and passes other requests to the next handler.
type Dashboard struct {
	options     Options
	address     *url.URL // Address of the options
	sessions    *sessions
	link        *loginLink
	pages       []*page
	templates   *template.Template
	crossOrigin *http.CrossOriginProtection
	mux         *http.ServeMux
	closing     chan struct{} // closed by closeOnce
	closeOnce   func()        // closes closing; may be called several times
}

// New returns a dashboard on which no user is logged in.
func New(o Options) (*Dashboard, error) {
	address, err := url.Parse(o.Address)
	if err != nil {
		return nil, err
	}
	d := &Dashboard{
		options:     o,
		address:     address,
		sessions:    &sessions{now: o.Now, all: map[string]*session{}},
		link:        newLoginLink(o.Now()),
		pages:       pages(),
		crossOrigin: http.NewCrossOriginProtection(),
		closing:     make(chan struct{}),
	}
	d.closeOnce = sync.OnceFunc(func() { close(d.closing) })
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

// Link returns an address that logs in to the first account. It works once, for a limited time.
func (d *Dashboard) Link() string {
	return d.address.JoinPath("login").String() + "?token=" + d.link.token
}

// ServeHTTP serves a page, or passes the request to the next handler. It refuses pages under unknown host
// names, and forms that other sites send.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		reason := recover()
		if reason == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
			panic(reason)
		}
		if reason != nil {
			// net/http would log the value of the panic, which may be a secret.
			d.options.Server.Logger.Error("a page panicked", "error", crash.New(reason))
			http.Error(w, "The request failed because of a bug. The server's log has the error. "+
				"If you submitted a form, check what it did before you try again.", http.StatusInternalServerError)
		}
	}()
	// If the base URL of an API client lacks /api/v1, the client needs an error of the API instead of a page.
	isClient := r.Header.Get("Authorization") != ""
	if isClient || !isPage(r.URL) {
		d.options.Next.ServeHTTP(w, r)
		return
	}
	headers := w.Header()
	headers.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	headers.Set("X-Content-Type-Options", "nosniff")
	headers.Set("X-Frame-Options", "DENY")
	headers.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send forms with the Origin "null"
	headers.Set("Cross-Origin-Resource-Policy", "same-origin")
	headers.Set("Cache-Control", "no-store")
	if !d.isKnown(r.Host) {
		http.Error(w, "The dashboard is not served under this name. Open "+d.address.String(), http.StatusForbidden)
		return
	}
	if d.crossOrigin.Check(r) != nil {
		http.Error(w, "This form was sent from another site. Nothing was done.", http.StatusForbidden)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// isPage reports whether the path of a URL belongs to the dashboard, and not to the API or the control calls.
func isPage(u *url.URL) bool {
	p := u.Path
	for _, tree := range []string{"/api", server.Control} {
		if p == tree || strings.HasPrefix(p, tree+"/") {
			return false
		}
	}
	if !strings.HasPrefix(p, "/") {
		return false
	}
	// A path that is not clean, such as /cards/../api, may lead to the API after a redirect.
	clean := path.Clean(p)
	if p == clean {
		return true
	}
	// A clean path may have one more slash at its end, except the path /, which already ends with one.
	return clean != "/" && p == clean+"/"
}

// isKnown reports whether a Host header has an IP address or one of the server's own names. Any other
// name may belong to an attacker who makes it resolve to this address.
func (d *Dashboard) isKnown(host string) bool {
	name := host
	withoutPort, _, err := net.SplitHostPort(host)
	if err == nil {
		name = withoutPort
	}
	withoutBrackets := strings.Trim(name, "[]") // an IPv6 address without a port still has its brackets
	_, err = netip.ParseAddr(withoutBrackets)
	if err == nil || strings.EqualFold(name, "localhost") {
		return true
	}
	for _, own := range d.options.Names {
		if own != "" && strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

const (
	// liveHeader marks the request of a page that updates itself.
	liveHeader = "X-Dashboard-Live"
	// refreshInterval is how often a page updates itself even if no data changes.
	refreshInterval = 10 * time.Second
	// watchInterval is how often the server looks for changes.
	watchInterval = 250 * time.Millisecond
	// eventTimeout is how long the server tries to send an event.
	eventTimeout = 10 * time.Second
)

// liveVersion returns a text that changes with the version of the file, and after each refreshInterval.
func liveVersion(fileVersion string, now time.Time) string {
	return fmt.Sprintf("%s.%d", fileVersion, now.UnixMilli()/refreshInterval.Milliseconds())
}

// liveState is the data of the event that informs a page of the newest version.
type liveState struct {
	Version string `json:"version"` // from liveVersion
	Now     string `json:"now"`     // by the service's clock
}

// live sends a server-sent event at once and whenever liveVersion returns another text, and a last one when the session
// has ended. It ignores errors from setting deadlines, because not every http.ResponseWriter supports them.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // no deadline, because the connection stays open
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string) error {
		_ = connection.SetWriteDeadline(time.Now().Add(eventTimeout))
		_, err := fmt.Fprint(w, event, "\n\n")
		if err != nil {
			return err
		}
		return connection.Flush()
	}
	tick := time.Tick(watchInterval)
	lastVersion := ""
	for {
		_, found := d.sessions.accountID(cookieValue(r))
		if !found {
			// Browsers ignore an event that has no data line. An error cannot be reported to the client.
			_ = send("event: ended\ndata:")
			return
		}
		fileVersion, now, refused := d.options.Server.Version(r.Context())
		if refused != nil {
			return // the browser connects again
		}
		state := liveState{Version: liveVersion(fileVersion, now), Now: wire.Timestamp(now)}
		if state.Version != lastVersion {
			err := send("data: " + string(wire.Encode(state)))
			if err != nil {
				return
			}
			lastVersion = state.Version
		}
		select {
		case <-tick:
		case <-r.Context().Done():
			return
		case <-d.closing:
			return
		}
	}
}

// Close ends the event streams of open pages, so that a server that shuts down does not wait for them.
func (d *Dashboard) Close() { d.closeOnce() }

// files are the templates, and the style sheets, scripts and images that pages load.
//
//go:embed templates assets
var files embed.FS

// assetPath returns the path of a file of assets. The path contains a hash of the content, so that browsers may cache
// the file.
func assetPath(file string) (string, error) {
	content, err := files.ReadFile("assets/" + file)
	if err != nil {
		return "", err
	}
	return hashedPath(file, content), nil
}

// hashedPath returns the path of a file of assets with this content.
func hashedPath(file string, content []byte) string {
	hash := sha256.Sum256(content)
	short := hex.EncodeToString(hash[:8]) // enough to distinguish the versions of a file
	return "/assets/" + short + "." + file
}

// serveAsset serves a file under the path that assetPath returns.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	_, file, _ := strings.Cut(r.PathValue("name"), ".") // the hash is before the first dot
	content, err := files.ReadFile("assets/" + file)
	if err != nil || hashedPath(file, content) != r.URL.Path {
		http.NotFound(w, r)
		return
	}
	types := map[string]string{
		".css": "text/css; charset=utf-8",
		".js":  "text/javascript; charset=utf-8",
		".svg": "image/svg+xml",
	}
	w.Header().Set("Content-Type", types[path.Ext(file)])
	const oneYear = 365 * 24 * 60 * 60 // in seconds
	w.Header().Set("Cache-Control", fmt.Sprintf("private, max-age=%d, immutable", oneYear))
	// An error cannot be reported to the client.
	_, _ = w.Write(content) //nolint:gosec // the content is one of our own files
}
