package sandbox

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// Transport carries requests to the service without a network, until Close: what a
// handler does to a connection happens to one in memory.
func (s *Sandbox) Transport() *http.Transport {
	const buffer = 64 << 10 // bytes that wait to be read, in each direction
	listener := bufconn.Listen(buffer)
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // the service has a log of its own
	}
	go func() { _ = server.Serve(listener) }() // until it is closed
	s.served = append(s.served, server)
	return &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) },
		MaxIdleConnsPerHost: 64,
	}
}
