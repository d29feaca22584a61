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

// exchange is one request or Operation, and the state that the steps of its handling share.
type exchange struct {
	id      string // for the server's log and, if there is an HTTP response, for its X-Request-Id
	route   Route
	request *http.Request
	body    wire.Body

	// longRead allows a call that only reads to take long.
	longRead bool

	// due is the time at which a postponed call is committed. It is zero for other calls.
	due time.Time

	now     time.Time       // the service's time; the real time if a request fails before that is read
	account account.Account // the account that makes the call; its ID is 0 if a request has no valid key
	quirks  behavior.Quirks
	limits  behavior.Limits // if empty, there are no limits
	fault   *behavior.Fault // the fault to apply to the call; nil if there is none

	// The following fields are for the request log.
	refused *wire.Error // the last error that became a response; nil if there is none
	cardID  string
	change  requestlog.Change
}

func (x *exchange) isAPI() bool { return strings.HasPrefix(x.request.URL.Path, API+"/") }

// path returns the path of an API call, relative to the API's base URL.
func (x *exchange) path() string { return strings.TrimPrefix(x.request.URL.Path, API) }

// serve handles a request: it finds the response, adds an authenticated API call to the request log, and sends the
// response.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route Route) {
	start := time.Now()
	x := &exchange{
		id:      vault.Token("req_"),
		route:   route,
		request: r,
		now:     start, // until prepare reads the service's time
		quirks:  behavior.DefaultQuirks(),
	}
	x.longRead = !x.isAPI()
	res := s.respond(w, x)
	// Record the call first, so that a client that has the response finds the call in the log.
	s.record(x, res, time.Since(start)) //nolint:contextcheck // the entry is written even if the client has disconnected
	s.Logger.Debug("answered", "request", x.id, "method", requestlog.Clean(r.Method), "path", requestlog.Clean(r.URL.Path),
		"status", res.sentStatus(), "duration", time.Since(start))
	res.send(w, x.id, x.now)
}

// respond returns the response to a request. It also turns errors and panics into responses.
func (s *Server) respond(w http.ResponseWriter, x *exchange) (res response) {
	ctx := x.request.Context()
	defer func() {
		if reason := recover(); reason != nil {
			s.Logger.Error("a handler panicked", "request", x.id, "error", crash.New(reason))
			res = response{Response: x.errorResponse(internalError(x.id))}
		}
	}()
	err := s.prepare(ctx, x)
	if err != nil {
		return response{Response: s.refuse(ctx, x, err)}
	}
	if x.route.isWrite() { // before the transaction, because a slow client must not block other writers
		x.body = wire.ReadBody(w, x.request)
	}
	release, err := s.claim(x)
	if err != nil {
		return response{Response: s.refuse(ctx, x, err)}
	}
	defer release()
	if x.fault != nil {
		return s.applyFault(ctx, x)
	}
	return response{Response: s.process(ctx, x)}
}

// prepare reads the settings of the service, authenticates the request, commits the postponed calls that are due, and
// takes the fault that is set for the call, if any.
func (s *Server) prepare(ctx context.Context, x *exchange) error {
	var faultID int64
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		x.now = tx.Now()
		var err error
		x.quirks, err = behavior.ReadQuirks(tx) // first, because they decide the format of errors
		if err != nil {
			return err
		}
		err = x.authenticate(tx)
		if err != nil {
			return err
		}
		if !x.isAPI() {
			return nil
		}
		x.limits, err = behavior.ReadLimits(tx)
		if err != nil {
			return err
		}
		faultID, err = behavior.FindFault(tx, x.request.Method, x.path())
		return err
	})
	if err != nil {
		return err
	}
	s.commitCallsDueAt(ctx, x.now)
	if faultID == 0 {
		return nil
	}
	// Another call may have taken that fault meanwhile, so TakeFault looks for a fault again.
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		var err error
		x.fault, err = behavior.TakeFault(tx, x.request.Method, x.path())
		return err
	})
}

// authenticate finds the account of the request's API key. It returns an error if the route needs a key and the request
// has no valid one.
func (x *exchange) authenticate(tx *store.Tx) error {
	scheme, key, _ := strings.Cut(x.request.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		var err error
		x.account, err = account.ByKey(tx, key)
		if err != nil {
			return err
		}
	}
	if x.account.ID == 0 && !x.route.Public {
		return wire.NewError(http.StatusUnauthorized, wire.CodeUnauthorized,
			"send a valid API key as Authorization: Bearer sk_live_…")
	}
	return nil
}

// process handles a call and returns its response. A call that fails changes nothing in the file.
func (s *Server) process(ctx context.Context, x *exchange) wire.Response {
	err := s.admit(x)
	if err != nil {
		return s.refuse(ctx, x, err)
	}
	res, err := s.transact(ctx, x, x.handle)
	if err != nil {
		// x.handle may have set these before it failed or the commit failed.
		x.change = requestlog.Change{}
		x.cardID = ""
		return s.refuse(ctx, x, err)
	}
	return res
}

// transact handles a call in a transaction of the kind that the call needs.
func (s *Server) transact(
	ctx context.Context, x *exchange, handle func(*Call) (wire.Response, error),
) (wire.Response, error) {
	if x.route.NeedsRequestLog {
		err := s.Recorder.Flush(ctx)
		if err != nil {
			return wire.Response{}, err
		}
	}
	run := s.DB.Read
	if x.route.isWrite() {
		run = s.DB.Write
	} else if x.longRead {
		run = s.DB.ReadLong
	}
	var res wire.Response
	err := run(ctx, func(tx *store.Tx) error {
		if !x.due.IsZero() {
			tx.SetNow(x.due) // a postponed call is committed as of the time that it was due
		}
		call := &Call{
			Server:  s,
			Tx:      tx,
			Account: x.account,
			Quirks:  x.quirks,
			request: x.request,
			body:    x.body,
		}
		var err error
		res, err = handle(call)
		return err
	})
	return res, err
}

// admit checks the rate limits and the state of the account for an API call. Control calls pass. A call that the limits
// allow counts towards them, even if it is refused for another reason or fails later.
func (s *Server) admit(x *exchange) error {
	if !x.isAPI() {
		return nil
	}
	wait := s.Counters.Admit(x.limits, x.account.CounterID(), x.route.Class, x.now)
	if wait > 0 {
		return rateLimited(wait)
	}
	return requireReady(x.account.State)
}

// handle runs the handler of a call. It rewrites the response of an API call in the notation of the quirks.
func (x *exchange) handle(c *Call) (wire.Response, error) {
	if !x.isAPI() {
		return x.route.Handle(c)
	}
	run := x.route.Handle
	if x.route.isWrite() {
		run = x.handleWrite
	}
	res, err := run(c)
	if err != nil {
		return wire.Response{}, err
	}
	res.Body, err = x.quirks.Rewrite(res.Body)
	return res, err
}

// handleWrite runs a handler that writes. It sets the card and the change of the call for the request log.
func (x *exchange) handleWrite(c *Call) (wire.Response, error) {
	x.cardID = x.request.PathValue("card_id")
	before, err := requestlog.TakeReading(c.Tx, x.account.ID, x.cardID)
	if err != nil {
		return wire.Response{}, err
	}
	var res wire.Response
	if x.quirks.Idempotency == behavior.Ignored {
		res, err = x.route.Handle(c)
	} else {
		res, err = c.idempotent(x.route.Handle)
	}
	if err != nil {
		return wire.Response{}, err
	}
	if x.route.Class == behavior.Create { // only the response contains the id of the issued card
		var issued struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(res.Body, &issued)
		if err != nil {
			return wire.Response{}, err
		}
		x.cardID = issued.ID
	}
	after, err := requestlog.TakeReading(c.Tx, x.account.ID, x.cardID)
	if err != nil {
		return wire.Response{}, err
	}
	x.change = requestlog.ChangeBetween(before, after)
	return res, nil
}

// refuse returns the response for an error.
func (s *Server) refuse(ctx context.Context, x *exchange, err error) wire.Response {
	return x.errorResponse(s.explain(ctx, x.id, err))
}

// explain returns the error that the client sees. A *wire.Error stays as it is. Another error is replaced by one whose
// message may be shown to users, and is logged unless the client has disconnected.
func (s *Server) explain(ctx context.Context, requestID string, err error) *wire.Error {
	refused, ok := errors.AsType[*wire.Error](err)
	if ok {
		return refused
	}
	if ctx.Err() != nil {
		return wire.Invalid("the client disconnected before the request was processed")
	}
	if errors.Is(err, store.ErrBusy) {
		reason := store.ErrBusy
		if errors.Is(err, store.ErrLocked) {
			reason = store.ErrLocked
		}
		s.Logger.Warn("a request waited too long for the database", "request", requestID, "reason", reason)
		return &wire.Error{
			Status:  http.StatusServiceUnavailable,
			Code:    wire.CodeUnavailable,
			Wait:    time.Second,
			Message: reason.Error() + "; nothing was done, so try again",
		}
	}
	s.Logger.Error("a request failed", "request", requestID, "error", err)
	if errors.Is(err, store.ErrFull) {
		// This is a 400, because after a 5xx a client may check whether the request took effect.
		return wire.Refuse(wire.CodeDiskFull,
			"cannot write the sandbox file, because %v; nothing was done; make room and try again", store.ErrFull)
	}
	return internalError(requestID)
}

// record adds an authenticated API call to the request log. It ignores other calls.
func (s *Server) record(x *exchange, res response, duration time.Duration) {
	if !x.isAPI() || x.account.ID == 0 {
		return
	}
	e := requestlog.Entry{
		AccountID:      x.account.ID,
		Run:            requestlog.RunName(x.request.UserAgent()),
		Method:         x.request.Method,
		Path:           x.path(),
		Query:          x.request.URL.RawQuery,
		Status:         res.sentStatus(),
		IdempotencyKey: x.request.Header.Get(idempotencyHeader),
		Replayed:       res.Header.Get(replayedHeader) != "",
		CardID:         cmp.Or(x.cardID, x.request.PathValue("card_id")), // x.cardID is empty unless a write succeeded
		Duration:       duration,
		Time:           wire.Time{Time: x.now},
		Change:         x.change,
	}
	if x.fault != nil {
		e.Fault = x.fault.String()
		e.Lost = x.route.isWrite() && x.fault.LosesResponse()
	}
	if x.refused != nil {
		e.Error = x.refused.Code
		e.Message = x.refused.Message
	}
	s.Recorder.Record(e)
}
