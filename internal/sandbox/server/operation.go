package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Operation is a call that is made by hand, not by a client of the API.
type Operation struct {
	Route  string            // its method and path, as in "POST /api/v1/cards/{card_id}/freeze"
	Path   map[string]string // the path's parameters
	Fields map[string]any    // of the body; nil: there is none
}

// Reads tells whether the operation changes nothing.
func (o Operation) Reads() bool { return strings.HasPrefix(o.Route, http.MethodGet+" ") }

// Do runs an operation for an account that has proven who it is. Faults and the
// limits of requests are for clients, and so is the request log; a limit of the
// operation's own holds. The error says to a person why nothing was done.
func (s *Server) Do(ctx context.Context, by account.Account, o Operation) (res wire.Response, refused *wire.Error) {
	route, found := s.routes[o.Route]
	if !found {
		return wire.Response{}, unknownPath()
	}
	x := &exchange{id: vault.Token("req_"), route: route, account: by}
	x.request = (&http.Request{Method: route.Method, URL: &url.URL{}, Header: http.Header{"Content-Type": {jsonType}}}).WithContext(ctx)
	for name, value := range o.Path {
		x.request.SetPathValue(name, value)
	}
	if o.Fields != nil {
		x.body.Raw = wire.Encode(o.Fields)
	}
	if err := s.do(ctx, x, &res); err != nil {
		return wire.Response{}, s.explain(ctx, x.id, err)
	}
	return res, nil
}

func (s *Server) do(ctx context.Context, x *exchange, res *wire.Response) error {
	if x.route.Before != nil {
		if err := x.route.Before(ctx); err != nil {
			return err
		}
	}
	if x.route.Class != "" {
		defer func() { _ = s.Recorder.Flush(ctx) }() // what cannot be written now is written later
	}
	begin := s.DB.ReadLong
	if x.route.writes() {
		begin = s.DB.Write
	}
	return begin(ctx, func(tx *store.Tx) error {
		quirks, err := behavior.ReadQuirks(tx)
		if err != nil {
			return err
		}
		if err := s.admit(tx, x); err != nil {
			return err
		}
		c := &Call{Tx: tx, Keys: s.Keys, Account: x.account, Quirks: quirks, request: x.request, body: x.body}
		*res, err = x.route.Handle(c)
		return err
	})
}

// admit holds an operation of the API to what its account may do.
func (s *Server) admit(tx *store.Tx, x *exchange) error {
	if !strings.HasPrefix(x.route.Path, API+"/") {
		return nil
	}
	if err := readiness(x.account.State); err != nil || x.route.Class == "" {
		return err
	}
	limits, err := behavior.ReadLimits(tx)
	if err != nil {
		return err
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	if wait := s.Counters.Admit(limits, x.account.ID, x.route.Class, now); wait > 0 {
		return rateLimited(wait)
	}
	return nil
}

// Read runs f on a snapshot that may take long to read, as control calls do. The
// error says to a person what went wrong.
func (s *Server) Read(ctx context.Context, f func(*store.Tx) error) *wire.Error {
	if err := s.DB.ReadLong(ctx, f); err != nil {
		return s.explain(ctx, vault.Token("req_"), err)
	}
	return nil
}
