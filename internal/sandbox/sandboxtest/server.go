// Package sandboxtest runs a sandbox for a test, as net/http/httptest runs a
// server, with a client and a receiver of webhooks. Only tests and their kits
// import it.
package sandboxtest

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
)

// Options of a Server. By default it is a new file with 10,000 USD in the wallet.
type Options struct {
	sandbox.Options

	Wrap   func(http.Handler) http.Handler // put around the service, such as contract.Handler
	Direct bool                            // no network: the client calls the handler itself

	Dashboard bool // serve the web page too; not where Direct
}

// WithDashboard is an option: the web page is served too.
func WithDashboard(o *Options) { o.Dashboard = true }

// Stopped is an option: a clock that only Advance moves.
func Stopped(at time.Time) func(*Options) {
	return func(o *Options) { o.Clock = func() time.Time { return at } }
}

// StartingAt is an option: a clock that runs on from a time, whatever day the
// tests run on.
func StartingAt(at time.Time) func(*Options) {
	begun := time.Now()
	return func(o *Options) { o.Clock = func() time.Time { return at.Add(time.Since(begun)) } }
}

// Server is a running sandbox, and a client with its first account's key.
type Server struct {
	*Client

	Path string // of its file
	Link string // logs in to the dashboard, where there is one
	stop func()
}

// Start serves a sandbox until the test ends or Close.
func Start(t testing.TB, options ...func(*Options)) *Server {
	t.Helper()
	o := Options{Options: sandbox.Options{InitialBalance: sandbox.DefaultInitialBalance}}
	for _, option := range options {
		option(&o)
	}
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "sandbox.db")
	}
	box, err := sandbox.Open(t.Context(), o.Options)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Path: o.Path}
	handler := box.Handler()
	if o.Wrap != nil {
		handler = o.Wrap(handler)
	}
	disconnect, endStreams := func() {}, func() {}
	switch {
	case o.Direct:
		s.Client = &Client{process.Address{URL: "http://sandbox/api/v1", Key: box.APIKey()}, t, Direct(handler)}
	default:
		server := httptest.NewUnstartedServer(handler)
		if o.Dashboard {
			dashboard, err := box.Dashboard("http://" + server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			server.Config.Handler, s.Link, endStreams = dashboard, dashboard.Link(), dashboard.Close
		}
		if o.Logger != nil {
			server.Config.ErrorLog = slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)
		}
		server.Start()
		s.Client, disconnect = NewClient(t, process.Address{URL: server.URL + "/api/v1", Key: box.APIKey()}), server.Close
	}
	s.stop = sync.OnceFunc(func() {
		endStreams()
		disconnect()
		if err := box.Close(); err != nil {
			t.Errorf("closing the sandbox: %v", err)
		}
	})
	t.Cleanup(s.stop)
	if WithQuirks() {
		s.Quirks(compatibleQuirks())
	}
	return s
}

// Close ends the service; its file can be opened again.
func (s *Server) Close() { s.stop() }

// Direct carries requests to a handler, without a network.
func Direct(handler http.Handler) http.RoundTripper { return direct{handler} }

type direct struct{ handler http.Handler }

// RoundTrip ends as a server would where the handler cuts its response off.
func (d direct) RoundTrip(request *http.Request) (response *http.Response, err error) {
	recorder := httptest.NewRecorder()
	defer func() {
		thrown := recover()
		if thrown == nil {
			return
		}
		cut, _ := thrown.(error)
		switch {
		case !errors.Is(cut, http.ErrAbortHandler):
			panic(thrown)
		case recorder.Body.Len() == 0:
			response, err = nil, io.EOF
		default:
			response = recorder.Result()
			response.Body = io.NopCloser(io.MultiReader(response.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
		}
	}()
	d.handler.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}
