package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func (s *Server) applyFault(ctx context.Context, x *exchange) response {
	f := x.fault
	res := response{Response: wire.Response{Status: http.StatusOK, Body: []byte(`{"data":[],"page":1}`)}} // of a call that is not processed
	if f.When == behavior.After {
		res.Response = s.process(ctx, x)
	}
	s.delay(f.Delay())
	switch f.Then.Word {
	case behavior.Drop:
		return response{extent: dropped}
	case behavior.Truncate:
		res.extent = truncated
	case behavior.Pass:
		if f.When == behavior.Before {
			// A service whose caller has gone away meanwhile still does what it was
			// asked: that is the late commit which a client has to reckon with.
			res.Response = s.process(context.WithoutCancel(ctx), x)
		}
	default:
		res.Response = x.faultResponse(f.Then)
	}
	return res
}

// faultResponse is a fault's own. A body that is a text is sent as it is, as
// from something between the service and its caller.
func (x *exchange) faultResponse(t behavior.Then) wire.Response {
	if t.Body == nil {
		return x.errorResponse(wire.NewError(t.Status, wire.CodeInjectedFault, "this response was set with POST "+Control+"/faults"))
	}
	var text *string
	if err := json.Unmarshal(t.Body, &text); err == nil && text != nil {
		return wire.Response{Status: t.Status, Body: []byte(*text), ContentType: textType}
	}
	return wire.Response{Status: t.Status, Body: t.Body}
}

func (s *Server) delay(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.Stopping:
	}
}
