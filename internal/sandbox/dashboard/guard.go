package dashboard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

// ServeHTTP checks that a request comes from where it should before any page sees it.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		reason := recover()
		if reason == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
			panic(reason)
		}
		if reason != nil { // the server would log it with its value
			d.server.Logger.Error("a page panicked", "error", crash.New(reason))
			http.Error(w, "The page could not be shown; the server's log says why.", http.StatusInternalServerError)
		}
	}()
	if !isPage(r.URL) || r.Header.Get("Authorization") != "" { // which browsers do not send, but clients that lost a path's prefix
		d.next.ServeHTTP(w, r)
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
	case d.crossOrigin(r) != nil:
		http.Error(w, "This form was sent from another site. Nothing was done.", http.StatusForbidden)
	default:
		d.mux.ServeHTTP(w, r)
	}
}

// isPage tells whether a path is neither of the API nor of the control calls, which
// answer malformed paths too.
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
	return err == nil || slices.ContainsFunc(d.names, func(own string) bool { return own != "" && strings.EqualFold(own, name) })
}
