package server

import (
	"context"
	"encoding/json"
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
	Route string            // its method and path, as in "POST /api/v1/cards/{card_id}/freeze"
	Path  map[string]string // the path's parameters
	Body  []byte
}

// Reads tells whether the operation changes nothing.
func (o Operation) Reads() bool { return strings.HasPrefix(o.Route, http.MethodGet+" ") }

func (o Operation) request(ctx context.Context) *http.Request {
	method, _, _ := strings.Cut(o.Route, " ")
	r := (&http.Request{Method: method, URL: &url.URL{}, Header: http.Header{"Content-Type": {jsonType}}}).WithContext(ctx)
	for name, value := range o.Path {
		r.SetPathValue(name, value)
	}
	return r
}

// Do runs an operation for an account as a part of this call, as if nothing limited
// it, and decodes the response, unless into is nil. An error leaves undone what the
// operation has not begun alone.
func (c *Call) Do(by account.Account, o Operation, into any) error {
	route, found := c.routes[o.Route]
	if !found {
		return unknownPath()
	}
	part := *c
	part.Account, part.request, part.body = by, o.request(c.request.Context()), wire.Body{Raw: o.Body}
	res, err := route.Handle(&part)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(res.Body, into)
}

// Do runs an operation for an account that has proven who it is. Faults and the
// limits of requests are for clients, and so is the request log; a limit of the
// operation's own holds. The error says to a person why nothing was done.
func (s *Server) Do(ctx context.Context, by account.Account, o Operation) (res wire.Response, refused *wire.Error) {
	route, found := s.routes[o.Route]
	if !found {
		return wire.Response{}, unknownPath()
	}
	x := &exchange{id: vault.Token("req_"), route: route, account: by, request: o.request(ctx), body: wire.Body{Raw: o.Body}}
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
	return begin(ctx, func(tx *store.Tx) (err error) {
		quirks, err := behavior.ReadQuirks(tx)
		if err != nil {
			return err
		}
		if err := s.admit(tx, x); err != nil {
			return err
		}
		c := &Call{Tx: tx, Keys: s.Keys, Account: x.account, Quirks: quirks, request: x.request, body: x.body, routes: s.routes}
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
	if wait := s.Counters.Admit(limits, x.account.CountedBy(), x.route.Class, tx.Now()); wait > 0 {
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
