package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Operation is a call that is made by hand, not by a client of the API.
type Operation struct {
	Route string            // the method and path of one that there is, as in "POST /api/v1/cards/{card_id}/freeze"
	Path  map[string]string // the path's parameters
	Body  []byte
}

// Reads tells whether the operation changes nothing.
func (o Operation) Reads() bool { return strings.HasPrefix(o.Route, http.MethodGet+" ") }

func (o Operation) request(ctx context.Context) *http.Request {
	method, path, _ := strings.Cut(o.Route, " ")
	r := (&http.Request{Method: method, URL: &url.URL{Path: path}, Header: http.Header{"Content-Type": {jsonType}}}).WithContext(ctx)
	for name, value := range o.Path {
		r.SetPathValue(name, value)
	}
	return r
}

// Do runs an operation for an account as a part of this call, as if nothing limited
// it, and decodes the response, unless into is nil. An error leaves undone what the
// operation has not begun alone.
func (c *Call) Do(by account.Account, o Operation, into any) error {
	part := *c
	part.Account, part.request, part.body = by, o.request(c.request.Context()), wire.Body{Raw: o.Body}
	res, err := c.Routes[o.Route].Handle(&part)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(res.Body, into)
}

// Do runs an operation for an account that has proven who it is. Faults and the
// limits of requests are for clients, and so is the request log; a limit of the
// operation's own holds. The error says to a person why nothing was done.
func (s *Server) Do(ctx context.Context, by account.Account, o Operation) (res wire.Response, refused *wire.Error) {
	x := &exchange{id: vault.Token("req_"), route: s.Routes[o.Route], account: by, request: o.request(ctx), body: wire.Body{Raw: o.Body}}
	if err := s.commitLateNow(ctx); err != nil {
		return wire.Response{}, s.explain(ctx, x.id, err)
	}
	res, err := s.transact(ctx, x, s.DB.ReadLong, func(c *Call) (wire.Response, error) {
		quirks, err := behavior.ReadQuirks(c.Tx)
		if err != nil {
			return wire.Response{}, err
		}
		limits, err := behavior.ReadLimits(c.Tx)
		if err != nil {
			return wire.Response{}, err
		}
		c.Quirks = quirks
		if x.route.Class != "" { // the limits of requests are for clients
			x.limits = limits
		}
		x.now = c.Tx.Now()
		if err := s.authorize(x); err != nil {
			return wire.Response{}, err
		}
		return x.route.Handle(c)
	})
	if err != nil {
		return wire.Response{}, s.explain(ctx, x.id, err)
	}
	return res, nil
}

// Read runs f on a snapshot that may take long to read, as control calls do. The
// error says to a person what went wrong.
func (s *Server) Read(ctx context.Context, f func(*store.Tx) error) *wire.Error {
	err := s.commitLateNow(ctx)
	if err == nil {
		err = s.DB.ReadLong(ctx, f)
	}
	if err != nil {
		return s.explain(ctx, vault.Token("req_"), err)
	}
	return nil
}

// Version returns what changes with every commit to the file, and the service's time.
func (s *Server) Version(ctx context.Context) (string, time.Time, *wire.Error) {
	err := s.commitLateNow(ctx)
	if err != nil {
		return "", time.Time{}, s.explain(ctx, vault.Token("req_"), err)
	}
	version, now, err := s.DB.Version(ctx)
	if err != nil {
		return "", time.Time{}, s.explain(ctx, vault.Token("req_"), err)
	}
	return version, now, nil
}

const (
	idempotencyHeader = "X-Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
	idempotencyAge    = 24 * time.Hour
	// maxIdempotencyKey is in bytes.
	maxIdempotencyKey = 255
)

// idempotent runs a changing call once for each key, method and path. The response is stored
// in the call's own transaction, so that it is there exactly when the effect is, and a second
// call, which waits its turn to write, finds it.
func (c *Call) idempotent(handle func(*Call) (wire.Response, error)) (wire.Response, error) {
	key := c.request.Header.Get(idempotencyHeader)
	if key == "" {
		return handle(c)
	}
	if len(key) > maxIdempotencyKey {
		return wire.Response{}, wire.Invalid("%s has more than %d characters", idempotencyHeader, maxIdempotencyKey)
	}
	if requestlog.Clean(key) != key { // it is kept as it is
		return wire.Response{}, wire.Invalid("%s must be a text that holds neither an API key nor a webhook's secret", idempotencyHeader)
	}
	if c.body.Err != nil {
		return wire.Response{}, c.body.Err
	}
	now := c.Tx.Now()
	if err := c.Tx.Exec(`DELETE FROM idempotent_responses WHERE created_at <= ?`, now.Add(-idempotencyAge).UnixMilli()); err != nil {
		return wire.Response{}, err
	}
	hash := sha256.Sum256(c.body.Raw)
	stored, found, err := c.storedResponse(key, hash[:])
	if err != nil || found {
		return stored, err
	}
	res, err := handle(c)
	if err != nil {
		return wire.Response{}, err
	}
	return res, c.Tx.Exec(`
		INSERT INTO idempotent_responses (account_id, key, method, path, body_hash, status, response, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		c.Account.ID, key, c.request.Method, c.request.URL.Path, hash[:], res.Status, string(res.Body), now.UnixMilli())
}

func (c *Call) storedResponse(key string, hash []byte) (res wire.Response, found bool, err error) {
	var storedHash []byte
	found, err = c.Tx.Get([]any{&storedHash, &res.Status, &res.Body}, `
		SELECT body_hash, status, response FROM idempotent_responses
		WHERE account_id = ? AND key = ? AND method = ? AND path = ?`,
		c.Account.ID, key, c.request.Method, c.request.URL.Path)
	if err != nil || !found {
		return wire.Response{}, false, err
	}
	if !bytes.Equal(storedHash, hash) {
		return wire.Response{}, true, wire.Refuse(wire.CodeIdempotencyKeyReused,
			"this %s was used for the same call with another body; take a new one", idempotencyHeader)
	}
	res.Header = http.Header{replayedHeader: {"true"}}
	return res, true, nil
}

// idempotencyScope is what an idempotency key belongs to.
type idempotencyScope struct {
	account           int64
	key, method, path string
}

func (x *exchange) idempotencyScope() idempotencyScope {
	return idempotencyScope{x.account.ID, x.request.Header.Get(idempotencyHeader), x.request.Method, x.request.URL.Path}
}

// claim refuses a call while another one of this process has its idempotency key, where the
// quirks say so.
func (s *Server) claim(x *exchange) (release func(), err error) {
	scope := x.idempotencyScope()
	if !x.isAPI() || x.quirks.Idempotency != behavior.Conflict || scope.key == "" || !x.route.writes() {
		return func() {}, nil
	}
	busy := wire.NewError(http.StatusConflict, wire.CodeIdempotencyKeyInUse,
		"the first call with this "+idempotencyHeader+" has no response yet")
	if s.isLate(scope) {
		return nil, busy
	}
	if _, claimed := s.inFlight.LoadOrStore(scope, true); claimed {
		return nil, busy
	}
	return func() { s.inFlight.Delete(scope) }, nil
}

func (s *Server) applyFault(ctx context.Context, x *exchange) response {
	f := x.fault
	res := response{Response: wire.Response{Status: http.StatusOK, Body: []byte(`{"data":[],"page":1}`)}} // of a call that is not processed
	switch {
	case f.When == behavior.After:
		res.Response = s.process(ctx, x)
	case f.When == behavior.Later && x.route.writes():
		s.postpone(x, f)
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

// faultResponse is a fault's own. A body that is a text is sent as it is, as proxies do.
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
	select {
	case <-time.After(d):
	case <-s.Stopping:
	}
}
