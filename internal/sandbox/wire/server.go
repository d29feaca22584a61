package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

// Server answers HTTP requests by its routes.
type Server struct {
	DB       *store.DB
	Keys     *vault.Keyring
	Recorder *requestlog.Recorder
	Logger   *slog.Logger
	Closing  <-chan struct{} // ends the delays of faults

	inFlight sync.Map // by scope: the calls that are not answered yet
}

// Handler returns the handler of the routes. Whatever is not among them is
// answered 404, unknown methods too.
func (s *Server) Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
	}
	unknown := func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, API+"/") && !strings.HasPrefix(r.URL.Path, Control+"/") {
			_ = unknownPath().answer().send(w, vault.Token("req_")) // nobody to tell when the caller went away
			return
		}
		s.serve(w, r, Route{Method: http.MethodGet, Handle: func(*Call) (Reply, error) { return Reply{}, unknownPath() }})
	}
	mux.HandleFunc("/", unknown)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect these to their clean form.
		if p := r.URL.EscapedPath(); !strings.HasPrefix(p, "/") || !isClean(p) {
			unknown(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isClean tells whether a path has neither empty segments nor dots for names.
func isClean(p string) bool {
	clean := path.Clean(p)
	return p == clean || p == strings.TrimSuffix(clean, "/")+"/"
}

// exchange is a request on its way to its answer.
type exchange struct {
	id      string
	route   Route
	request *http.Request
	body    body
	account account.Account // once the key is known
	now     time.Time       // the service's time, once a transaction has run
	conditions
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, route Route) {
	start := time.Now()
	x := &exchange{id: vault.Token("req_"), route: route, request: r, now: start}
	if route.writes() {
		x.body = readBody(w, r)
	}
	a := x.shape(s.respond(r.Context(), x))
	s.record(x, a) //nolint:contextcheck // the log is written before the answer
	s.Logger.Info("answered", "request", x.id, "method", r.Method, "path", requestlog.Clean(r.URL.Path),
		"status", a.sentStatus(), "duration", time.Since(start))
	if err := a.send(w, x.id); err != nil {
		s.Logger.Debug("the caller went away", "request", x.id, "error", err)
	}
}

// answer runs a call that nothing stands in the way of.
func (s *Server) answer(ctx context.Context, x *exchange) answer {
	a, err := s.transact(ctx, x)
	if err != nil {
		return s.refuse(x, err)
	}
	return a
}

// refuse answers what went wrong: a refusal in its own words, anything else
// with a 500. A caller that went away while it waited for its turn has had
// nothing done: that is the only thing which a context ends.
func (s *Server) refuse(x *exchange, err error) answer {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.answer()
	}
	if x.request.Context().Err() != nil {
		return Invalid("the request was given up before it was processed").answer()
	}
	s.Logger.Error("a request failed", "request", x.id, "error", err)
	return internalError(x).answer()
}

func internalError(x *exchange) *Error {
	return &Error{
		Status: http.StatusInternalServerError, Code: codeInternal,
		Message: fmt.Sprintf("the sandbox failed; its log says why, under request %s", x.id),
	}
}

// transact runs a call from its limits to the commit.
func (s *Server) transact(ctx context.Context, x *exchange) (a answer, err error) {
	if err := s.admit(ctx, x); err != nil {
		return answer{}, err
	}
	if x.route.Before != nil {
		if err := x.route.Before(ctx); err != nil {
			return answer{}, err
		}
	}
	begin := s.DB.Read
	if x.route.writes() {
		begin = s.DB.Write
	}
	err = begin(ctx, func(tx *store.Tx) error {
		if err := x.authenticate(tx); err != nil {
			return err
		}
		a, err = s.handle(x, tx)
		return err
	})
	return a, err
}

func (s *Server) handle(x *exchange, tx *store.Tx) (a answer, err error) {
	call := &Call{Tx: tx, Keys: s.Keys, Account: x.account, Quirks: x.quirks, request: x.request, body: x.body}
	run := func() (answer, error) {
		reply, err := x.route.Handle(call)
		if err != nil {
			return answer{}, err
		}
		return reply.answer()
	}
	if !x.isAPI() {
		return run()
	}
	if x.route.writes() && x.quirks.Idempotency != quirk.Ignored {
		a, err = call.idempotent(run)
	} else {
		a, err = run()
	}
	if err != nil {
		return answer{}, err
	}
	a.body, err = x.quirks.WriteAmounts(a.body)
	return a, err
}

func (x *exchange) isAPI() bool { return strings.HasPrefix(x.request.URL.Path, API+"/") }

// path is relative to the base address.
func (x *exchange) path() string { return strings.TrimPrefix(x.request.URL.Path, API) }

// identify finds the account of the request's key.
func (x *exchange) identify(tx *store.Tx) (found bool, err error) {
	if x.now, err = tx.Now(); err != nil {
		return false, err
	}
	scheme, key, _ := strings.Cut(x.request.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false, nil
	}
	x.account, found, err = account.ByKey(tx, key)
	return found, err
}

// authenticate checks that the account of the key may do what is asked.
func (x *exchange) authenticate(tx *store.Tx) error {
	found, err := x.identify(tx)
	if err != nil {
		return err
	}
	if !found {
		return unauthorized()
	}
	if !x.isAPI() {
		return nil
	}
	return readiness(x.account.State)
}

func readiness(state account.State) error {
	switch state {
	case account.Ready:
		return nil
	case account.APINotEnabled:
		return &Error{
			Status: http.StatusForbidden, Code: CodeAPINotEnabled,
			Message: "API access is not switched on for this account yet; ask support to enable it",
		}
	case account.EmailUnconfirmed, account.NoDeposit:
		return &Error{
			Status: http.StatusForbidden, Code: CodeOnboardingIncomplete,
			Message: "confirm the account's e-mail address and make a first deposit",
		}
	}
	return fmt.Errorf("account state %q is unknown", state)
}

// record notes API calls before they are answered, so that whoever has an
// answer finds its call in the log.
func (s *Server) record(x *exchange, a answer) {
	select {
	case <-s.Closing:
		return // the log is closed
	default:
	}
	if !x.isAPI() {
		return
	}
	s.Recorder.Record(requestlog.Entry{
		AccountID:      x.account.ID,
		Method:         x.request.Method,
		Path:           x.path(),
		Query:          x.request.URL.RawQuery,
		Status:         a.sentStatus(),
		IdempotencyKey: x.request.Header.Get(idempotencyHeader),
		Time:           x.now,
	})
}
