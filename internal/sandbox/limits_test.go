package sandbox_test

import (
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// limited begins a sandbox whose clock stands still, with limits as they are in
// a JSON object.
func withLimits(t *testing.T, limits string) *service {
	t.Helper()
	s := startWithContract(t, stopped)
	s.Call(http.MethodPut, "/_sandbox/limits", limits).OK(200)
	return s
}

// overLimit fails the test unless the response is a 429 that asks for a pause.
func overLimit(a sandboxtest.Response, seconds string) {
	a.T.Helper()
	a.Refused(http.StatusTooManyRequests, "rate_limited", seconds+" s")
	if got := a.Header.Get("Retry-After"); got != seconds {
		a.T.Errorf("Retry-After is %q, want %s", got, seconds)
	}
}

func TestLimitsSlide(t *testing.T) {
	t.Parallel()
	s := withLimits(t, `{"requests_per_minute":3}`)
	for range 3 { // at 0 s, 16.5 s and 33 s
		s.Get("/api/v1/bins").OK(200)
		s.Advance("16500ms")
	}
	overLimit(s.Get("/api/v1/bins"), "11") // 10.5 s, rounded up
	s.Advance("10499ms")
	overLimit(s.Get("/api/v1/bins"), "1")
	s.Advance("1ms")
	s.Get("/api/v1/bins").OK(200) // the first one has left the window
	overLimit(s.Get("/api/v1/bins"), "17")
	s.Advance("16500ms")
	s.Get("/api/v1/bins").OK(200)
}

func TestLimitsCount(t *testing.T) {
	t.Parallel()
	s := withLimits(t, `{"requests_per_minute":4,"creates_per_minute":2,"details_per_minute":1}`)
	s.Post("/api/v1/cards", `{}`).Refused(400, "invalid_request", "") // a refusal counts
	id := s.Issue("50")
	overLimit(s.Post("/api/v1/cards", `{}`), "60") // of creates: not counted
	s.Get("/api/v1/cards/" + id + "/details").OK(200)
	overLimit(s.Get("/api/v1/cards/"+id+"/details"), "60")
	s.Get("/api/v1/nothing").Refused(404, "not_found", "") // the fourth
	overLimit(s.Get("/api/v1/bins"), "60")
	for range 5 {
		s.Get("/_sandbox/clock").OK(200) // never counts
	}

	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).OK(201).Text("api_key"))
	for range 4 {
		other.Get("/api/v1/bins").OK(200) // counts for its own key
	}
	overLimit(other.Get("/api/v1/bins"), "60")
	for range 5 {
		s.as("sk_live_sandbox_wrong").Get("/api/v1/bins").Refused(401, "unauthorized", "")
	}
	s.Advance("1m")
	s.Get("/api/v1/bins").OK(200)
	other.Get("/api/v1/bins").OK(200)
}

func TestLimitsAreSettings(t *testing.T) {
	t.Parallel()
	s := withLimits(t, `{}`)
	const documented = `{"requests_per_minute":1000,"creates_per_minute":50,"requests_per_hour":10000,"details_per_minute":30}`
	if got := s.Get("/_sandbox/limits").OK(200).Raw; got != documented+"\n" {
		t.Errorf("the limits are %s", got)
	}
	s.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":0,"details_per_minute":7}`).OK(200)
	if got := s.Get("/_sandbox/limits").Text("details_per_minute"); got != "7" {
		t.Errorf("details_per_minute is %s", got)
	}
	for body, text := range map[string]string{
		`{"requests_per_minute":-1}`: "from 0", `{"requests_per_minute":1.5}`: "integer", `{"requests_per_minute":"5"}`: "integer",
		`{"requests_per_day":5}`: `"requests_per_day"`, `[]`: "object",
	} {
		s.Call(http.MethodPut, "/_sandbox/limits", body).Refused(400, "invalid_request", text)
	}
	if got := s.Get("/_sandbox/limits").Text("details_per_minute"); got != "7" {
		t.Errorf("a refused change left details_per_minute at %s", got)
	}
	for range 1100 {
		s.Get("/api/v1/bins").OK(200) // 0 is no limit
	}
	s.Post("/_sandbox/reset", "").OK(200)
	if got := s.Get("/_sandbox/limits").Raw; got != documented+"\n" {
		t.Errorf("after a reset the limits are %s", got)
	}
}

func TestLimitsForgetOldCalls(t *testing.T) {
	t.Parallel()
	s := withLimits(t, `{}`)
	counted := func() int {
		t.Helper()
		return queryInt(t, s.path, `SELECT COUNT(*) FROM counted_calls`)
	}
	for range 20 {
		s.Get("/api/v1/bins").OK(200)
	}
	if n := counted(); n != 20 {
		t.Errorf("%d calls are counted, want 20", n)
	}
	s.Advance("1h")
	for range 15 {
		s.Get("/api/v1/bins").OK(200)
	}
	if n := counted(); n != 15 {
		t.Errorf("an hour later %d calls are counted, want 15", n)
	}
}

// A limit holds exactly, whatever comes at the same moment to whichever of two
// services on one file.
func TestLimitsHoldAcrossServices(t *testing.T) {
	t.Parallel()
	file := on(filepath.Join(t.TempDir(), "s.db"))
	one := open(t, file, stopped)
	two := open(t, file, stopped)
	one.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":60,"creates_per_minute":20}`).OK(200)
	together := func(n int, call func(*service) sandboxtest.Response) (admitted int64) {
		var (
			group sync.WaitGroup
			count atomic.Int64
		)
		for i := range n {
			group.Go(func() {
				switch a := call([]*service{one, two}[i%2]); a.Status {
				case 200, 201:
					count.Add(1)
				case 429:
				default:
					t.Errorf("answered %d: %s", a.Status, a.Raw)
				}
			})
		}
		group.Wait()
		return count.Load()
	}
	created := together(50, func(s *service) sandboxtest.Response {
		return s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
	})
	read := together(80, func(s *service) sandboxtest.Response { return s.Get("/api/v1/bins") })
	if created != 20 || read != 40 {
		t.Errorf("%d creates and %d reads were let through, want 20 and 40", created, read)
	}
	one.Post("/_sandbox/clock", `{"advance":"1m"}`).OK(200)
	if total := two.Get("/api/v1/cards").Text("total"); total != "20" {
		t.Errorf("%s cards", total)
	}
}
