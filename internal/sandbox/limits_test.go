package sandbox_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// limited begins a sandbox whose clock stands still, with limits as they are in
// a JSON object.
func limited(t *testing.T, limits string) *service {
	t.Helper()
	s := conforming(t, stopped)
	s.call(http.MethodPut, "/_sandbox/limits", limits).ok(200)
	return s
}

// overLimit fails the test unless the answer is a 429 that asks for a pause.
func (a answer) overLimit(seconds string) {
	a.t.Helper()
	a.refused(http.StatusTooManyRequests, "rate_limited", seconds+" s")
	if got := a.header.Get("Retry-After"); got != seconds {
		a.t.Errorf("Retry-After is %q, want %s", got, seconds)
	}
}

func TestLimitsSlide(t *testing.T) {
	t.Parallel()
	s := limited(t, `{"requests_per_minute":3}`)
	for range 3 { // at 0 s, 16.5 s and 33 s
		s.get("/api/v1/bins").ok(200)
		s.advance("16500ms")
	}
	s.get("/api/v1/bins").overLimit("11") // 10.5 s, rounded up
	s.advance("10499ms")
	s.get("/api/v1/bins").overLimit("1")
	s.advance("1ms")
	s.get("/api/v1/bins").ok(200) // the first one has left the window
	s.get("/api/v1/bins").overLimit("17")
	s.advance("16500ms")
	s.get("/api/v1/bins").ok(200)
}

func TestLimitsCount(t *testing.T) {
	t.Parallel()
	s := limited(t, `{"requests_per_minute":4,"creates_per_minute":2,"details_per_minute":1}`)
	s.post("/api/v1/cards", `{}`).refused(400, "invalid_request", "") // a refusal counts
	id := s.issue("50")
	s.post("/api/v1/cards", `{}`).overLimit("60") // of creates: not counted
	s.get("/api/v1/cards/" + id + "/details").ok(200)
	s.get("/api/v1/cards/" + id + "/details").overLimit("60")
	s.get("/api/v1/nothing").refused(404, "not_found", "") // the fourth
	s.get("/api/v1/bins").overLimit("60")
	for range 5 {
		s.get("/_sandbox/clock").ok(200) // never counts
	}

	other := s.as(s.post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).ok(201).text("api_key"))
	for range 4 {
		other.get("/api/v1/bins").ok(200) // counts for its own key
	}
	other.get("/api/v1/bins").overLimit("60")
	for range 5 {
		s.as("sk_live_sandbox_wrong").get("/api/v1/bins").refused(401, "unauthorized", "")
	}
	s.advance("1m")
	s.get("/api/v1/bins").ok(200)
	other.get("/api/v1/bins").ok(200)
}

func TestLimitsAreSettings(t *testing.T) {
	t.Parallel()
	s := limited(t, `{}`)
	const documented = `{"requests_per_minute":1000,"creates_per_minute":50,"requests_per_hour":10000,"details_per_minute":30}`
	if got := s.get("/_sandbox/limits").ok(200).raw; got != documented+"\n" {
		t.Errorf("the limits are %s", got)
	}
	s.call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":0,"details_per_minute":7}`).ok(200)
	if got := s.get("/_sandbox/limits").text("details_per_minute"); got != "7" {
		t.Errorf("details_per_minute is %s", got)
	}
	for body, text := range map[string]string{
		`{"requests_per_minute":-1}`: "from 0", `{"requests_per_minute":1.5}`: "integer", `{"requests_per_minute":"5"}`: "integer",
		`{"requests_per_day":5}`: `"requests_per_day"`, `[]`: "object",
	} {
		s.call(http.MethodPut, "/_sandbox/limits", body).refused(400, "invalid_request", text)
	}
	if got := s.get("/_sandbox/limits").text("details_per_minute"); got != "7" {
		t.Errorf("a refused change left details_per_minute at %s", got)
	}
	for range 1100 {
		s.get("/api/v1/bins").ok(200) // 0 is no limit
	}
	s.post("/_sandbox/reset", "").ok(200)
	if got := s.get("/_sandbox/limits").raw; got != documented+"\n" {
		t.Errorf("after a reset the limits are %s", got)
	}
}

func TestLimitsForgetOldCalls(t *testing.T) {
	t.Parallel()
	s := limited(t, `{}`)
	counted := func() (n int) {
		t.Helper()
		db, err := sql.Open("sqlite", s.path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM counted_calls`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 20 {
		s.get("/api/v1/bins").ok(200)
	}
	if n := counted(); n != 20 {
		t.Errorf("%d calls are counted, want 20", n)
	}
	s.advance("1h")
	for range 15 {
		s.get("/api/v1/bins").ok(200)
	}
	if n := counted(); n != 15 {
		t.Errorf("an hour later %d calls are counted, want 15", n)
	}
}

// A limit holds exactly, whatever comes at the same moment to whichever of two
// services on one file.
func TestLimitsHoldAcrossServices(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: sandbox.DefaultInitialBalance}
	stopped(&o)
	one, stopOne := serveFile(t, o)
	defer stopOne()
	two, stopTwo := serveFile(t, o)
	defer stopTwo()
	one.call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":60,"creates_per_minute":20}`).ok(200)
	together := func(n int, call func(*service) answer) (admitted int64) {
		var (
			group sync.WaitGroup
			count atomic.Int64
		)
		for i := range n {
			group.Go(func() {
				switch a := call([]*service{one, two}[i%2]); a.status {
				case 200, 201:
					count.Add(1)
				case 429:
				default:
					t.Errorf("answered %d: %s", a.status, a.raw)
				}
			})
		}
		group.Wait()
		return count.Load()
	}
	created := together(50, func(s *service) answer { return s.post("/api/v1/cards", `{"bin_id":"`+adsBIN+`","amount":50}`) })
	read := together(80, func(s *service) answer { return s.get("/api/v1/bins") })
	if created != 20 || read != 40 {
		t.Errorf("%d creates and %d reads were let through, want 20 and 40", created, read)
	}
	one.post("/_sandbox/clock", `{"advance":"1m"}`).ok(200)
	if total := two.get("/api/v1/cards").text("total"); total != "20" {
		t.Errorf("%s cards", total)
	}
}
