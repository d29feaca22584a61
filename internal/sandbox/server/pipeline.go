package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

type exchange struct {
	id      string
	route   Route
	request *http.Request
	body    wire.Body

	// What prepare finds.
	now     time.Time       // the service's time
	due     time.Time       // when a late call is committed; zero: it is not late
	account account.Account // of the key; its ID is 0 when the key is not valid
	quirks  behavior.Quirks
	limits  behavior.Limits // of an API call
	fault   *behavior.Fault // of an API call; nil: none

	// What the request log tells of its response.
	refused *wire.Error // nil: it was not
	cardID  string
	change  requestlog.Change
}

func (x *exchange) isAPI() bool { return strings.HasPrefix(x.request.URL.Path, API+"/") }

// path is relative to the base address.
func (x *exchange) path() string { return strings.TrimPrefix(x.request.URL.Path, API) }

// serve is the way of every request. Its steps follow in their order.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route Route) {
	start := time.Now()
	x := &exchange{id: vault.Token("req_"), route: route, request: r, now: start, quirks: behavior.DefaultQuirks()}
	res := s.respond(w, x)
	s.record(x, res, time.Since(start)) //nolint:contextcheck // the log is written before the response
	s.Logger.Debug("answered", "request", x.id, "method", requestlog.Clean(r.Method), "path", requestlog.Clean(r.URL.Path),
		"status", res.sentStatus(), "duration", time.Since(start))
	res.send(w, x.id, x.now)
}

// respond never fails: what goes wrong in a way of its own is a 500.
func (s *Server) respond(w http.ResponseWriter, x *exchange) (res response) {
	ctx := x.request.Context()
	defer func() {
		if p := recover(); p != nil {
			s.Logger.Error("a handler panicked", "request", x.id, "error", crash.New(p))
			res = response{Response: x.errorResponse(internalError(x.id))}
		}
	}()
	if err := s.prepare(ctx, x); err != nil {
		return response{Response: s.refuse(x, err)}
	}
	if x.route.writes() { // ahead of the transaction: a slow caller must not keep others from writing
		x.body = wire.ReadBody(w, x.request)
	}
	release, err := s.claim(x)
	if err != nil {
		return response{Response: s.refuse(x, err)}
	}
	defer release()
	if x.fault != nil {
		return s.applyFault(ctx, x)
	}
	return response{Response: s.process(ctx, x)}
}

// prepare finds the account of the key and how the service is to behave, and
// takes the fault that is meant for the call. The key is looked up only here;
// without a valid one, nothing else is done.
func (s *Server) prepare(ctx context.Context, x *exchange) error {
	fault := int64(0)
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		x.now = tx.Now()
		var err error
		x.quirks, err = behavior.ReadQuirks(tx)
		if err != nil {
			return err
		}
		scheme, key, _ := strings.Cut(x.request.Header.Get("Authorization"), " ")
		if strings.EqualFold(scheme, "Bearer") {
			x.account, err = account.ByKey(tx, key)
			if err != nil {
				return err
			}
		}
		if x.account.ID == 0 && !x.route.Public {
			return wire.NewError(http.StatusUnauthorized, wire.CodeUnauthorized, "send a valid API key as Authorization: Bearer sk_live_…")
		}
		if !x.isAPI() {
			return nil
		}
		x.limits, err = behavior.ReadLimits(tx)
		if err != nil {
			return err
		}
		fault, err = behavior.FindFault(tx, x.request.Method, x.path())
		return err
	})
	if err != nil {
		return err
	}
	s.commitLate(ctx, x.now)
	if fault == 0 {
		return nil
	}
	return s.DB.Write(ctx, func(tx *store.Tx) (err error) {
		x.fault, err = behavior.TakeFault(tx, x.request.Method, x.path())
		return err
	})
}

func (s *Server) process(ctx context.Context, x *exchange) wire.Response {
	if err := s.authorize(x); err != nil {
		return s.refuse(x, err)
	}
	begin := s.DB.Read
	if !x.isAPI() {
		begin = s.DB.ReadLong
	}
	res, err := s.transact(ctx, x, begin, x.handle)
	if err != nil {
		x.change = requestlog.Change{}
		return s.refuse(x, err)
	}
	return res
}

// transact handles a call in a transaction: read begins one that changes nothing.
func (s *Server) transact(
	ctx context.Context, x *exchange, read func(context.Context, func(*store.Tx) error) error, handle func(*Call) (wire.Response, error),
) (res wire.Response, err error) {
	if x.route.NeedsRequestLog {
		if err := s.Recorder.Flush(ctx); err != nil {
			return res, err
		}
	}
	if x.route.writes() {
		read = s.DB.Write
	}
	err = read(ctx, func(tx *store.Tx) (err error) {
		if !x.due.IsZero() {
			tx.SetNow(x.due)
		}
		res, err = handle(&Call{Server: s, Tx: tx, Account: x.account, Quirks: x.quirks, request: x.request, body: x.body})
		return err
	})
	return res, err
}

// authorize checks that the account may make the call, which counts, whatever becomes of it.
func (s *Server) authorize(x *exchange) error {
	if !x.isAPI() {
		return nil
	}
	if wait := s.Counters.Admit(x.limits, x.account.CountedBy(), x.route.Class, x.now); wait > 0 {
		return rateLimited(wait)
	}
	return readiness(x.account.State)
}

func (x *exchange) handle(c *Call) (res wire.Response, err error) {
	if !x.isAPI() {
		return x.route.Handle(c)
	}
	if x.route.writes() {
		res, err = x.observed(c)
	} else {
		res, err = x.route.Handle(c)
	}
	if err != nil {
		return wire.Response{}, err
	}
	res.Body, err = x.quirks.Rewrite(res.Body)
	return res, err
}

// observed runs a handler that writes, and keeps for the request log what it changes.
func (x *exchange) observed(c *Call) (res wire.Response, err error) {
	x.cardID = x.request.PathValue("card_id")
	before, err := requestlog.Read(c.Tx, x.account.ID, x.cardID)
	if err != nil {
		return wire.Response{}, err
	}
	if x.quirks.Idempotency != behavior.Ignored {
		res, err = c.idempotent(x.route.Handle)
	} else {
		res, err = x.route.Handle(c)
	}
	if err != nil {
		return wire.Response{}, err
	}
	if x.route.Class == behavior.Create {
		var issued struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(res.Body, &issued) // our own
		x.cardID = issued.ID
	}
	after, err := requestlog.Read(c.Tx, x.account.ID, x.cardID)
	x.change = before.Until(after)
	return res, err
}

func (s *Server) refuse(x *exchange, err error) wire.Response {
	return x.errorResponse(s.explain(x.request.Context(), x.id, err))
}

// explain returns a refusal in its own words, and anything else as a 500. A caller
// that went away while it waited for its turn has had nothing done: that is the
// only thing which a context ends.
func (s *Server) explain(ctx context.Context, requestID string, err error) *wire.Error {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		return refused
	}
	if ctx.Err() != nil {
		return wire.Invalid("the request was given up before it was processed")
	}
	if errors.Is(err, store.ErrBusy) {
		reason := store.ErrBusy
		if errors.Is(err, store.ErrLocked) {
			reason = store.ErrLocked
		}
		s.Logger.Warn("a request got no turn", "request", requestID, "reason", reason)
		return &wire.Error{
			Status: http.StatusServiceUnavailable, Code: wire.CodeUnavailable, Wait: time.Second,
			Message: reason.Error() + "; nothing was done, try again",
		}
	}
	s.Logger.Error("a request failed", "request", requestID, "error", err)
	if errors.Is(err, store.ErrFull) { // not a 5xx, after which a client looks for what was done
		return wire.Refuse(wire.CodeDiskFull, "the sandbox file could not be written, because %v; nothing was done", store.ErrFull)
	}
	return internalError(requestID)
}

// record logs API calls before their responses are sent: who has one finds its call.
func (s *Server) record(x *exchange, res response, took time.Duration) {
	if !x.isAPI() || x.account.ID == 0 {
		return
	}
	e := requestlog.Entry{
		AccountID:      x.account.ID,
		Run:            requestlog.RunOf(x.request.UserAgent()),
		Method:         x.request.Method,
		Path:           x.path(),
		Query:          x.request.URL.RawQuery,
		Status:         res.sentStatus(),
		IdempotencyKey: x.request.Header.Get(idempotencyHeader),
		Replayed:       res.Header.Get(replayedHeader) != "",
		CardID:         cmp.Or(x.cardID, x.request.PathValue("card_id")),
		Lost:           x.fault != nil && x.fault.Loses() && x.route.writes(),
		Duration:       took,
		Time:           wire.Time{Time: x.now},
		Change:         x.change,
	}
	if x.fault != nil {
		e.Fault = x.fault.String()
	}
	if x.refused != nil {
		e.Error, e.Message = x.refused.Code, x.refused.Message
	}
	s.Recorder.Record(e)
}
