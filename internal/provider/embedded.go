package provider

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// embeddedSandbox is a service that this process alone reaches, in memory.
type embeddedSandbox struct {
	*sandbox.Sandbox

	transport *http.Transport // reaches the service until Close
	web       http.Server
	dialed    chan net.Conn
	ended     chan struct{}
	end       sync.Once
}

func embed(service *sandbox.Sandbox) *embeddedSandbox {
	e := &embeddedSandbox{
		Sandbox: service, dialed: make(chan net.Conn), ended: make(chan struct{}),
		web: http.Server{
			Handler: service.Handler(), ReadHeaderTimeout: time.Minute,
			ErrorLog: log.New(io.Discard, "", 0), // the service has a log of its own
		},
	}
	e.transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64, DialContext: e.dial}
	go func() { _ = e.web.Serve(memoryListener{e}) }()
	return e
}

// Close ends the connections and the service.
func (e *embeddedSandbox) Close() error {
	const lastCalls = 500 * time.Millisecond // for those that are under way
	ctx, cancel := context.WithTimeout(context.Background(), lastCalls)
	defer cancel()
	e.transport.CloseIdleConnections() // a server waits for one that was never used
	_ = e.web.Shutdown(ctx)            // what takes longer is cut off
	return errors.Join(e.web.Close(), e.Sandbox.Close())
}

func (e *embeddedSandbox) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case e.dialed <- far:
		return near, nil
	case <-e.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memoryListener accepts what the transport dials. (A connection of grpc's bufconn may keep a
// deadline that net/http has taken back, and cancel the next request for it.)
type memoryListener struct{ *embeddedSandbox }

func (l memoryListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.dialed:
		return connection, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l memoryListener) Close() error {
	l.end.Do(func() { close(l.ended) })
	return nil
}

func (l memoryListener) Addr() net.Addr { return &net.UnixAddr{Net: "memory"} }

// sandboxes are the embedded services that configurations have opened. They stay
// open until the provider ends: resources are served long after Configure.
type sandboxes struct {
	mu   sync.Mutex
	open []*embeddedSandbox
}

func (s *sandboxes) keep(service *embeddedSandbox) {
	if service == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, service)
}

func (s *sandboxes) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, service := range s.open {
		errs = append(errs, service.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}
