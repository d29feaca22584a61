package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// each kind of fault, before and after a fund of 5 USD on a card of 50 USD.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then    string
		status  int
		respond func(t *testing.T, o sandboxtest.Response, committed bool)
	}{
		"drop": {`"drop"`, 0, func(t *testing.T, o sandboxtest.Response, _ bool) {
			t.Helper()
			if o.Status != 0 || !errors.Is(o.Err, io.EOF) {
				t.Errorf("answered %d %q, error %v", o.Status, o.Raw, o.Err)
			}
		}},
		"truncate": {`"truncate"`, 200, func(t *testing.T, o sandboxtest.Response, committed bool) {
			t.Helper()
			if o.Status != 200 || !errors.Is(o.Err, io.ErrUnexpectedEOF) || len(o.Raw) == 0 || !strings.HasPrefix(o.Raw, `{"`) ||
				strings.Contains(o.Raw, `{"card_id":"card_`) != committed {
				t.Errorf("answered %d %q, error %v", o.Status, o.Raw, o.Err)
			}
		}},
		"pass": {`"pass"`, 200, func(t *testing.T, o sandboxtest.Response, _ bool) {
			t.Helper()
			if o.Status != 200 || o.Err != nil || !strings.Contains(o.Raw, `"card_balance":55.00`) {
				t.Errorf("answered %d %q, error %v", o.Status, o.Raw, o.Err)
			}
		}},
		"status": {`{"status":503}`, 503, func(t *testing.T, o sandboxtest.Response, _ bool) {
			t.Helper()
			if o.Status != 503 || !strings.HasPrefix(o.Raw, `{"error":"injected_fault","message":"`) {
				t.Errorf("answered %d %q, error %v", o.Status, o.Raw, o.Err)
			}
		}},
		"body": {`{"status":418,"body":{"tea":[1.50]}}`, 418, func(t *testing.T, o sandboxtest.Response, _ bool) {
			t.Helper()
			if o.Status != 418 || o.Raw != `{"tea":[1.50]}` || o.Header.Get("Content-Type") != "application/json" {
				t.Errorf("answered %d %q, error %v", o.Status, o.Raw, o.Err)
			}
		}},
		"text": {`{"status":502,"body":"<html>Bad gateway"}`, 502, func(t *testing.T, o sandboxtest.Response, _ bool) {
			t.Helper()
			if o.Status != 502 || o.Raw != "<html>Bad gateway" || !strings.HasPrefix(o.Header.Get("Content-Type"), "text/plain") {
				t.Errorf("answered %d %q, error %v", o.Status, o.Raw, o.Err)
			}
		}},
		"no content": {`{"status":204}`, 204, func(t *testing.T, o sandboxtest.Response, _ bool) {
			t.Helper()
			if o.Status != 204 || o.Raw != "" || o.Err != nil {
				t.Errorf("answered %d %q, error %v", o.Status, o.Raw, o.Err)
			}
		}},
	} {
		for _, when := range []string{"before", "after"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				s := start(t)
				id := s.Issue("50")
				s.Call(http.MethodDelete, "/_sandbox/requests", "").OK(200)
				s.Fault(`{"method":"POST","path":"/cards/*/fund","times":1,"when":"` + when + `","then":` + c.then + `}`)
				committed := when == "after" || name == "pass"

				o := s.Unrepeated().Send(t.Context(), http.MethodPost, "/api/v1/cards/"+id+"/fund", `{"amount":5}`)
				c.respond(t, o, committed)
				if got, want := s.Get("/api/v1/cards/"+id).Text("balance"), map[bool]string{true: "55.00", false: "50.00"}[committed]; got != want {
					t.Errorf("the card holds %s, want %s", got, want)
				}
				logged := s.Get("/_sandbox/requests").Data()[0]
				if got := fmt.Sprint(logged["path"], logged["status"]); got != fmt.Sprint("/cards/"+id+"/fund", c.status) {
					t.Errorf("the request is logged as %s", got)
				}
				s.Post("/api/v1/cards/"+id+"/fund", `{"amount":5}`).OK(200) // one time, and no more
				s.Balanced()
			})
		}
	}
}

func TestFaultAfterCommitIsReplayed(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	s.Fault(`{"method":"POST","path":"/cards/*/fund","times":2,"when":"after","then":"drop"}`)
	path := "/api/v1/cards/" + id + "/fund"
	for range 2 {
		if o := s.Unrepeated().Send(t.Context(), http.MethodPost, path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k"); o.Status != 0 {
			t.Errorf("answered %d", o.Status)
		}
	}
	if a := s.Post(path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k").OK(200); a.Header.Get("Idempotent-Replayed") != "true" || a.Text("card_balance") != "55.00" {
		t.Errorf("answered %s with %v", a.Raw, a.Header)
	}
}

func TestFaultTargets(t *testing.T) {
	t.Parallel()
	for fault, c := range map[string]struct{ hit, missed string }{
		`"method":"GET","path":"/cards"`:           {"GET /cards", "POST /cards, GET /cards/card_x, GET /bins"},
		`"method":"GET","path":"/cards/*"`:         {"GET /cards/card_x", "GET /cards, GET /cards/card_x/details"},
		`"method":"*","path":"/cards/*/*"`:         {"GET /cards/card_x/details, POST /cards/card_x/fund", "GET /cards, GET /cards/card_x, GET /bins"},
		`"method":"*","path":"/*"`:                 {"GET /bins, POST /webhooks, GET /nothing", "GET /cards/card_x, GET /wallet/balance, GET /"},
		`"method":"*","path":"/*/balance"`:         {"GET /wallet/balance", "GET /wallet/deposit-address, GET /balance"},
		`"method":"POST","path":"/cards/card_x/*"`: {"POST /cards/card_x/freeze", "POST /cards/card_xy/freeze, GET /cards/card_x/details"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Fault(`{` + fault + `,"times":0,"when":"before","then":{"status":555}}`)
			for calls, want := range map[string]bool{c.hit: true, c.missed: false} {
				for call := range strings.SplitSeq(calls, ", ") {
					method, path, _ := strings.Cut(call, " ")
					if method == "" {
						continue
					}
					if got := s.Call(method, "/api/v1"+path, "").Status == 555; got != want {
						t.Errorf("%s: hit is %v", call, got)
					}
				}
			}
			if a := s.as("sk_live_x").Call(http.MethodGet, "/_sandbox/clock", ""); a.Status != 401 {
				t.Errorf("a control call answered %d", a.Status)
			}
		})
	}
}

func TestFaultsAreListedUsedUpAndDeleted(t *testing.T) {
	t.Parallel()
	s := start(t)
	ids := map[string]bool{}
	for _, fault := range []string{
		`{"method":"GET","path":"/bins","times":2,"when":"after","delay_ms":1,"then":"pass"}`,
		`{"method":"GET","path":"/bins","then":{"status":500,"body":{"a":null}}}`,
		`{"method":"*","path":"/*","times":0,"when":"before","then":{"status":429}}`,
	} {
		added := s.Fault(fault)
		fields(t, added.Body, "id", "method", "path", "times", "when", "delay_ms", "then")
		ids[added.Text("id")] = true
	}
	if len(ids) != 3 {
		t.Errorf("three faults have the ids %v", ids)
	}
	list := func(wants ...string) {
		t.Helper()
		a := s.Get("/_sandbox/faults").OK(200)
		for _, want := range wants {
			if !strings.Contains(a.Raw, want) {
				t.Errorf("no %s in %s", want, a.Raw)
			}
		}
		if len(a.Data()) != len(wants) {
			t.Errorf("%d faults, want %d: %s", len(a.Data()), len(wants), a.Raw)
		}
	}
	const (
		second = `"times":1,"when":"before","delay_ms":0,"then":{"status":500,"body":{"a":null}}}`
		third  = `"method":"*","path":"/*","times":0,"when":"before","delay_ms":0,"then":{"status":429}}`
	)
	list(`"times":2,"when":"after","delay_ms":1,"then":"pass"}`, second, third)
	s.Get("/api/v1/bins").OK(200)
	list(`"times":1,"when":"after"`, second, third)
	s.Get("/api/v1/bins").OK(200)
	list(second, third)
	s.Get("/api/v1/bins").OK(500)
	for range 3 {
		s.Get("/api/v1/bins").OK(429)
	}
	list(third)
	s.Call(http.MethodDelete, "/_sandbox/faults", "").OK(200)
	list()
	s.Get("/api/v1/bins").OK(200)

	s.Fault(`{"method":"*","path":"/*","times":0,"when":"before","then":"drop"}`)
	s.Post("/_sandbox/reset", "").OK(200)
	s.Get("/api/v1/bins").OK(200)
}

func TestFaultsRefuse(t *testing.T) {
	t.Parallel()
	s := start(t)
	for fault, text := range map[string]string{
		`{}`: "method is required", `{"method":"PUT","path":"/cards","then":"drop"}`: "method must be one of",
		`{"method":"get","path":"/cards","then":"drop"}`: "method must be one of", `{"method":"GET","then":"drop"}`: "path is required",
		`{"method":"GET","path":"/api/v1/cards","then":"drop"}`: "/cards/*/fund", `{"method":"GET","path":"/_sandbox/clock","then":"drop"}`: "what follows /api/v1",
		`{"method":"GET","path":"/cards/[","then":"drop"}`: "* for a segment", `{"method":"GET","path":"/cards/card_*","then":"drop"}`: "* for a segment", `{"method":"GET","path":"/**","then":"drop"}`: "* for a segment", `{"method":"GET","path":"cards","then":"drop"}`: "* for a segment", `{"method":"GET","path":"` + strings.Repeat("*", 257) + `","then":"drop"}`: "at most 256",
		`{"method":"GET","path":"/cards"}`: "then is required", `{"method":"GET","path":"/cards","then":"explode"}`: "drop, truncate, pass",
		`{"method":"GET","path":"/cards","then":{}}`: "status is required", `{"method":"GET","path":"/cards","then":{"status":99}}`: "200 to 599",
		`{"method":"GET","path":"/cards","then":{"status":500,"header":{}}}`: `"header"`, `{"method":"GET","path":"/cards","then":7}`: "then must be a string",
		`{"method":"GET","path":"/cards","then":"drop","times":-1}`: "times", `{"method":"GET","path":"/cards","then":"drop","when":"later"}`: "before, after",
		`{"method":"GET","path":"/cards","then":"drop","delay_ms":100001}`: "delay_ms", `{"method":"GET","path":"/cards","then":"drop","speed":1}`: `"speed"`,
	} {
		s.Post("/_sandbox/faults", fault).Refused(400, "invalid_request", text)
	}
	if got := s.Get("/_sandbox/faults").Data(); len(got) != 0 {
		t.Errorf("refused faults left %v", got)
	}
}

// A caller that does not wait for a slow service has not undone its call.
func TestFaultDelays(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	s.Fault(`{"method":"POST","path":"/cards/*/fund","times":1,"when":"before","delay_ms":300,"then":"pass"}`)
	impatient, giveUp := context.WithCancel(t.Context())
	begun, answered := time.Now(), make(chan sandboxtest.Response, 1)
	go func() {
		answered <- s.Unrepeated().Send(impatient, http.MethodPost, "/api/v1/cards/"+id+"/fund", `{"amount":5}`)
	}()
	sandboxtest.Eventually(t, func() bool { return len(s.Get("/_sandbox/faults").Data()) == 0 }) // it has begun
	giveUp()
	if a := <-answered; a.Err == nil && time.Since(begun) < 300*time.Millisecond {
		t.Errorf("answered %d before the delay", a.Status)
	}
	if got := s.Get("/api/v1/cards/" + id).Text("balance"); got != "50.00" && time.Since(begun) < 300*time.Millisecond {
		t.Errorf("committed before the delay: %s", got)
	}
	sandboxtest.Eventually(t, func() bool { return s.Get("/api/v1/cards/"+id).Text("balance") == "55.00" })
	if took := time.Since(begun); took < 300*time.Millisecond {
		t.Errorf("committed after %v", took)
	}
}

func TestFaultDelayEndsWithTheService(t *testing.T) {
	t.Parallel()
	box, err := sandbox.Open(t.Context(), sandbox.Options{Path: ":memory:"})
	if err != nil {
		t.Fatal(err)
	}
	added := direct(t, box, http.MethodPost, "/_sandbox/faults", `{"method":"GET","path":"/bins","delay_ms":60000,"then":"pass"}`)
	if added.status != 201 {
		t.Fatalf("answered %d %s", added.status, added.body.String())
	}
	ended := make(chan *abortable)
	go func() { ended <- direct(t, box, http.MethodGet, "/api/v1/bins", "") }()
	sandboxtest.Eventually(t, func() bool { // it has begun
		return strings.Contains(direct(t, box, http.MethodGet, "/_sandbox/faults", "").body.String(), `"data":[]`)
	})
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if w := <-ended; !w.aborted() || w.status != 0 {
		t.Errorf("answered %d, ended with %v", w.status, w.panicked)
	}
}

// A handler that cuts its response off tells whoever called it by the panic that
// net/http has for it, after it wrote what the caller is to see.
func TestFaultsWithoutAConnection(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	box, err := sandbox.Open(t.Context(), sandbox.Options{Path: ":memory:", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for then, want := range map[string]string{"pass": `{"data":[],"page":1,"per_page":25,"total":0}` + "\n", "drop": "", "truncate": `{"data":[],"page":1,"p`} {
		direct(t, box, http.MethodPost, "/_sandbox/faults", `{"method":"GET","path":"/cards","when":"after","then":"`+then+`"}`)
		w := direct(t, box, http.MethodGet, "/api/v1/cards", "")
		if w.aborted() != (then != "pass") || (w.status == 0) != (then == "drop") || w.body.String() != want {
			t.Errorf("%s: answered %d %q, ended with %v", then, w.status, w.body.String(), w.panicked)
		}
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "panicked") {
		t.Errorf("an injected fault is logged as a panic:\n%s", log.String())
	}
}

// direct calls the handler without a server.
func direct(t *testing.T, box *sandbox.Sandbox, method, path, body string) (w *abortable) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
	}
	request.Header.Set("Authorization", "Bearer "+box.APIKey())
	request.Header.Set("Content-Type", "application/json")
	w = &abortable{header: http.Header{}}
	defer func() { w.panicked = recover() }()
	box.Handler().ServeHTTP(w, request)
	return w
}

// abortable is a response writer without a connection.
type abortable struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	panicked any
}

func (w *abortable) aborted() bool {
	err, _ := w.panicked.(error)
	return errors.Is(err, http.ErrAbortHandler)
}

func (w *abortable) Header() http.Header { return w.header }

func (w *abortable) WriteHeader(status int) { w.status = status }

func (w *abortable) Write(data []byte) (int, error) { return w.body.Write(data) }

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t)
	const fault = `{"method":"GET","path":"/bins","then":"pass"}`
	for range 100 {
		s.Fault(fault)
	}
	s.Post("/_sandbox/faults", fault).Refused(400, "invalid_request", "100 faults already")
	s.Delete("/_sandbox/faults").OK(200)
	s.Fault(fault)

	long := `{"method":"GET","path":"/bins","then":{"status":500,"body":"` + strings.Repeat("x", 64<<10) + `"}}`
	s.Post("/_sandbox/faults", long).Refused(400, "invalid_request", "body has more than")
	// What once took a minute a match is no path.
	glob := `{"method":"GET","path":"` + strings.Repeat("/**{,a*,*a}", 20) + `","then":"pass"}`
	s.Post("/_sandbox/faults", glob).Refused(400, "invalid_request", "path")
	stars := `{"method":"GET","path":"` + strings.Repeat("/*", 128) + `","then":"pass"}`
	s.Post("/_sandbox/faults", stars).Refused(400, "invalid_request", "no call of the API")
	s.Fault(`{"method":"GET","path":"*","times":0,"then":"pass"}`)
	s.Get("/api/v1/cards"+strings.Repeat("/x", 5000)).Refused(404, "not_found", "")
}
