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

// Operation is a call of the sandbox to one of its own routes.
type Operation struct {
	Route string            // the key of a route, such as "POST /api/v1/cards/{card_id}/freeze"
	Path  map[string]string // the path's parameters
	Body  []byte
}

// IsRead reports whether the operation only reads.
func (o Operation) IsRead() bool { return strings.HasPrefix(o.Route, http.MethodGet+" ") }

// request returns the request that a handler sees. The path of its URL is the route's, with {name} for a parameter.
func (o Operation) request(ctx context.Context) *http.Request {
	method, path, _ := strings.Cut(o.Route, " ")
	r := &http.Request{
		Method: method,
		URL:    &url.URL{Path: path},
		Header: http.Header{"Content-Type": {jsonType}},
	}
	r = r.WithContext(ctx)
	for name, value := range o.Path {
		r.SetPathValue(name, value)
	}
	return r
}

// Do runs an operation for an account in the transaction of this call, without rate limits. If into is not nil, Do
// decodes the response into the value that it points to. If Do fails, the caller must roll back the whole transaction.
func (c *Call) Do(owner account.Account, o Operation, into any) error {
	nested := *c
	nested.Account = owner
	nested.request = o.request(c.request.Context())
	nested.body = wire.Body{Raw: o.Body}
	res, err := c.Routes[o.Route].Handle(&nested)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(res.Body, into)
}

// Do commits the postponed calls that are due, and then runs an operation for an authenticated account. Faults do not
// apply, quirks do not rewrite the response, and the operation is not added to the request log. Rate limits apply if the
// operation's route has a Class. If Do returns an error, the operation has changed nothing in the file. The error's
// message may be shown to users.
func (s *Server) Do(ctx context.Context, owner account.Account, o Operation) (wire.Response, *wire.Error) {
	x := &exchange{
		id:       vault.Token("req_"),
		route:    s.Routes[o.Route],
		longRead: true,
		account:  owner,
		request:  o.request(ctx),
		body:     wire.Body{Raw: o.Body},
	}
	err := s.commitCallsDueNow(ctx)
	if err != nil {
		return wire.Response{}, s.explain(ctx, x.id, err)
	}
	res, err := s.transact(ctx, x, func(c *Call) (wire.Response, error) {
		return s.handleOperation(x, c)
	})
	if err != nil {
		return wire.Response{}, s.explain(ctx, x.id, err)
	}
	return res, nil
}

// handleOperation runs an operation in its transaction.
func (s *Server) handleOperation(x *exchange, c *Call) (wire.Response, error) {
	var err error
	c.Quirks, err = behavior.ReadQuirks(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	if x.route.Class != "" { // otherwise, x.limits stays empty, so there are no limits
		x.limits, err = behavior.ReadLimits(c.Tx)
		if err != nil {
			return wire.Response{}, err
		}
	}
	x.now = c.Tx.Now()
	err = s.admit(x)
	if err != nil {
		return wire.Response{}, err
	}
	return x.route.Handle(c)
}

// Read commits the postponed calls that are due, and then runs f on a snapshot. f may take long: unless the database is
// in memory, API calls do not wait for it. The error's message may be shown to users.
func (s *Server) Read(ctx context.Context, f func(*store.Tx) error) *wire.Error {
	err := s.commitCallsDueNow(ctx)
	if err != nil {
		return s.explain(ctx, vault.Token("req_"), err)
	}
	err = s.DB.ReadLong(ctx, f)
	if err != nil {
		return s.explain(ctx, vault.Token("req_"), err)
	}
	return nil
}

// Version commits the postponed calls that are due. It then returns a text that changes when a process changes the file.
// It also returns the service's time. The error's message may be shown to users.
func (s *Server) Version(ctx context.Context) (string, time.Time, *wire.Error) {
	err := s.commitCallsDueNow(ctx)
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
	// idempotencyLifetime is how long a key gets the stored response.
	idempotencyLifetime = 24 * time.Hour
	// maxIdempotencyKey is the maximum length of a key, in bytes.
	maxIdempotencyKey = 255
)

// idempotent runs the handler of a call that writes. If the call has an idempotency key and succeeds, its response is
// stored in the same transaction as its effect. For idempotencyLifetime, a call of the account with the same key,
// method, path and body then gets the stored response, and one with another body gets an error. This also holds for
// concurrent calls, because transactions that write run one after another.
func (c *Call) idempotent(handle func(*Call) (wire.Response, error)) (wire.Response, error) {
	key := c.request.Header.Get(idempotencyHeader)
	if key == "" {
		return handle(c)
	}
	if len(key) > maxIdempotencyKey {
		return wire.Response{}, wire.Invalid("%s has more than %d bytes", idempotencyHeader, maxIdempotencyKey)
	}
	if requestlog.Clean(key) != key { // the key is stored as it is, without masking secrets in it
		return wire.Response{}, wire.Invalid("%s must not contain an API key, a webhook secret or an unprintable character",
			idempotencyHeader)
	}
	if c.body.Err != nil {
		return wire.Response{}, c.body.Err
	}
	now := c.Tx.Now()
	newestExpired := now.Add(-idempotencyLifetime) // a response of this time has just expired
	err := c.Tx.Exec(`DELETE FROM idempotent_responses WHERE created_at <= ?`, newestExpired.UnixMilli())
	if err != nil {
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
	err = c.Tx.Exec(`
		INSERT INTO idempotent_responses (account_id, key, method, path, body_hash, status, response, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		c.Account.ID, key, c.request.Method, c.request.URL.Path, hash[:], res.Status, string(res.Body), now.UnixMilli())
	return res, err
}

// storedResponse returns the stored response of an earlier call of the account with the same idempotency key, method and
// path, and reports whether there is one. It returns an error if that call had a different body.
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
			"this %s was already used with a different body; use a new key", idempotencyHeader)
	}
	res.Header = http.Header{replayedHeader: {"true"}}
	return res, true, nil
}

// idempotencyScope identifies the call that an idempotency key belongs to.
type idempotencyScope struct {
	accountID int64
	key       string
	method    string
	path      string
}

func (x *exchange) idempotencyScope() idempotencyScope {
	return idempotencyScope{
		accountID: x.account.ID,
		key:       x.request.Header.Get(idempotencyHeader),
		method:    x.request.Method,
		path:      x.request.URL.Path,
	}
}

// claim reserves the idempotencyScope of an API call that writes, if the call has an idempotency key and a quirk asks for
// that. It returns an error if another call of this server has claimed the same scope or is postponed with it. Without an
// error, release is not nil, and the caller must call it after the call.
func (s *Server) claim(x *exchange) (release func(), err error) {
	releaseNothing := func() {}
	needsClaim := x.quirks.Idempotency == behavior.Conflict && x.isAPI() && x.route.isWrite()
	if !needsClaim {
		return releaseNothing, nil
	}
	scope := x.idempotencyScope()
	if scope.key == "" {
		return releaseNothing, nil
	}
	inUse := s.isPostponed(scope)
	if !inUse {
		_, inUse = s.inFlight.LoadOrStore(scope, true) // only the key of the map matters
	}
	if inUse {
		return nil, wire.NewError(http.StatusConflict, wire.CodeIdempotencyKeyInUse,
			"the first call with this %s is still in progress; try again later", idempotencyHeader)
	}
	return func() { s.inFlight.Delete(scope) }, nil
}

// applyFault processes the call as its fault configures, and returns the response to send.
func (s *Server) applyFault(ctx context.Context, x *exchange) response {
	f := x.fault
	// Unless the call is processed first, Truncate sends half of this example.
	res := wire.Response{Status: http.StatusOK, Body: []byte(`{"data":[],"page":1}`)}
	if f.When == behavior.After {
		res = s.process(ctx, x)
	}
	if f.When == behavior.Later && x.route.isWrite() { // a call that only reads has nothing to commit
		s.postpone(x, f)
	}
	s.delay(f.ResponseDelay())
	if f.When == behavior.Before && f.Then.Action == behavior.Pass {
		// The call is processed even if the client has disconnected during the delay. Clients must expect such late
		// commits.
		res = s.process(context.WithoutCancel(ctx), x)
	}
	switch f.Then.Action {
	case behavior.Drop:
		return response{extent: dropped}
	case behavior.Truncate:
		return response{Response: res, extent: truncated}
	case behavior.Pass: // the call has been processed: Pass cannot be configured with Later
		return response{Response: res}
	default:
		return response{Response: x.faultResponse(f.Then)}
	}
}

// faultResponse returns the response that a fault configures. A body that is a JSON string is sent as plain text,
// like the error page of a proxy. Without a body, the response is an error with the code CodeInjectedFault.
func (x *exchange) faultResponse(t behavior.Then) wire.Response {
	if t.Body == nil {
		return x.errorResponse(wire.NewError(t.Status, wire.CodeInjectedFault,
			"this response was configured with POST "+Control+"/faults"))
	}
	var text *string // stays nil if the body is null
	err := json.Unmarshal(t.Body, &text)
	isText := err == nil && text != nil // an error means that the body is JSON, but not a string
	if isText {
		return wire.Response{Status: t.Status, Body: []byte(*text), ContentType: textType}
	}
	return wire.Response{Status: t.Status, Body: t.Body}
}

// delay waits for the given time, or until Stopping is closed.
func (s *Server) delay(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.Stopping:
	}
}
