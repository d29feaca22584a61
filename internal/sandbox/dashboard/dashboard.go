// Package dashboard is the sandbox's web page: what an account looks like, and
// what the outside world may do to it. It reads with the functions of the nouns,
// and changes nothing but by the calls of the API and of /_sandbox.
//
// A further page is a value of page in a file of its own, a template that assets.go
// embeds, and a line in pages.
package dashboard

import (
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

// Options says what the dashboard is of.
type Options struct {
	Server  *server.Server
	Next    http.Handler     // of the API and the control calls
	Address string           // where both are served, as in http://127.0.0.1:8420
	Names   []string         // of the machine, beside localhost and its addresses
	Now     func() time.Time // the clock on the wall
}

// Dashboard serves the web page, and leaves every other path to the next handler.
type Dashboard struct {
	server      *server.Server
	next        http.Handler
	address     *url.URL
	names       []string
	sessions    *sessions
	link        *link
	pages       []*page
	template    func(w io.Writer, name string, data any) error // the types of this one and the next would have the linker keep all their methods
	crossOrigin func(*http.Request) error
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
		server: o.Server, next: o.Next, address: address, names: append(o.Names, "localhost"),
		crossOrigin: http.NewCrossOriginProtection().Check, sessions: &sessions{now: o.Now, all: map[string]*session{}},
		link: newLink(o.Now), pages: pages(), closing: make(chan struct{}),
	}
	d.close = sync.OnceFunc(func() { close(d.closing) })
	assets := newAssets()
	templates, err := parse(d.pages, assets.path)
	if err != nil {
		return nil, err
	}
	d.template = templates.ExecuteTemplate
	d.mux = http.NewServeMux()
	d.mux.HandleFunc("GET /assets/{name}", assets.serve)
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
	return d.address.JoinPath("login").String() + "?token=" + d.link.token
}
