package server

import (
	"context"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	// maxBodies is how many bytes of bodies are in memory together.
	maxBodies = 32 << 20
	// bodyTime is how long a caller may take to send a body.
	bodyTime = 10 * time.Second
	// bodyWait is how long a body waits for room in memory.
	bodyWait = 3 * time.Second
	// leftoverTime is how long the rest of a request is waited for that nobody has
	// read, so that its caller reads the response before the connection closes.
	leftoverTime = time.Second
)

// send does not wait for the whole of a body that nobody has read.
func (x *exchange) send(w http.ResponseWriter, res response) error {
	if x.request.ContentLength != 0 && x.body.Raw == nil {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(leftoverTime)) // where there is a connection
	}
	return res.send(w, x.id, x.now)
}

// readBody reads the body once there is room for it. The room is given back when
// the request is over.
func (s *Server) readBody(ctx context.Context, w http.ResponseWriter, x *exchange) error {
	size := x.request.ContentLength
	if size < 0 || size > wire.MaxBody {
		size = wire.MaxBody
	}
	wait, cancel := context.WithTimeoutCause(ctx, bodyWait, store.ErrBusy)
	defer cancel()
	if err := s.bodies.Acquire(wait, size); err != nil {
		return context.Cause(wait)
	}
	x.reserved = size
	connection := http.NewResponseController(w) // where there is one
	_ = connection.SetReadDeadline(time.Now().Add(bodyTime))
	x.body = wire.ReadBody(w, x.request)
	if x.body.Err == nil {
		_ = connection.SetReadDeadline(time.Time{})
	}
	return nil
}
