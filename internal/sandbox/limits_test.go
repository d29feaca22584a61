package sandbox_test

import (
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// A clock that was set back does not hold calls up until it has caught up.
func TestLimitsWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	var back atomic.Int64
	s := open(t, func(o *sandboxtest.Options) {
		o.Clock = func() time.Time {
			return time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC).Add(-time.Duration(back.Load()))
		}
	})
	s.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":2}`).OK(200)
	for range 2 {
		s.Get("/api/v1/bins").OK(200)
	}
	overLimit(s.Get("/api/v1/bins"), "60")
	back.Store(int64(time.Hour))
	for range 2 {
		s.Get("/api/v1/bins").OK(200)
	}
	overLimit(s.Get("/api/v1/bins"), "60")
}

// A limit holds exactly, whatever comes at the same moment.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	s.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":60,"creates_per_minute":20}`).OK(200)
	if created := admitted(50, func() sandboxtest.Response {
		return s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
	}); created != 20 {
		t.Errorf("%d creates were let through, want 20", created)
	}
	if read := admitted(80, func() sandboxtest.Response { return s.Get("/api/v1/bins") }); read != 40 {
		t.Errorf("%d reads were let through, want 40", read)
	}
	s.Advance("1m")
	if total := s.Get("/api/v1/cards").Text("total"); total != "20" {
		t.Errorf("%s cards", total)
	}
}

// admitted makes calls side by side, and returns how many were not over the limit.
func admitted(n int, call func() sandboxtest.Response) int64 {
	var (
		group sync.WaitGroup
		count atomic.Int64
	)
	for range n {
		group.Go(func() {
			switch a := call(); a.Status {
			case 200, 201:
				count.Add(1)
			case 429:
			default:
				a.T.Errorf("answered %d: %s", a.Status, a.Raw)
			}
		})
	}
	group.Wait()
	return count.Load()
}

// Each service counts the calls that are made at it, and begins anew when it does.
func TestEachServiceCountsItsOwn(t *testing.T) {
	t.Parallel()
	file := on(filepath.Join(t.TempDir(), "s.db"))
	one, two := open(t, file, stopped), open(t, file, stopped)
	one.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":2}`).OK(200)
	for _, s := range []*service{one, two} {
		for range 2 {
			s.Get("/api/v1/bins").OK(200)
		}
		overLimit(s.Get("/api/v1/bins"), "60")
	}
	open(t, file, stopped).Get("/api/v1/bins").OK(200)
	two.Post("/_sandbox/reset", "").OK(200)
	two.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
	two.Get("/api/v1/bins").OK(200)
	overLimit(two.Get("/api/v1/bins"), "60")
}
