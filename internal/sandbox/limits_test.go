package sandbox_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// A call leaves the window of a minute when it is a minute old; what is refused before
// it is looked at is not counted, by any limit.
func TestLimitsCount(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	s.play(strings.NewReplacer("BIN", `"bin_id":"`+sandboxtest.BIN+`"`, "LIMITS", "PUT /_sandbox/limits", "CLOCK", "POST /_sandbox/clock").Replace, `
		LIMITS {"requests_per_minute":3} → 200
		GET /bins → 200
		CLOCK {"advance":"16500ms"} → 200
		GET /bins → 200
		CLOCK {"advance":"16500ms"} → 200
		GET /bins → 200
		CLOCK {"advance":"16500ms"} → 200
		GET /bins → 429 "rate_limited" &  11 s
		CLOCK {"advance":"10499ms"} → 200
		GET /bins → 429 "rate_limited" &  1 s
		CLOCK {"advance":"1ms"} → 200
		GET /bins → 200
		GET /bins → 429 "rate_limited" &  17 s
		CLOCK {"advance":"1h"} → 200
		LIMITS {"requests_per_minute":4,"creates_per_minute":2,"details_per_minute":1} → 200
		POST /cards {} → 400 "invalid_request"
		POST /cards {BIN,"amount":50} → 201
		POST /cards {} → 429 "rate_limited" &  60 s
		GET /cards/LAST/details → 200
		GET /cards/LAST/details → 429 "rate_limited" &  60 s
		GET /api/v1/nothing → 404 "not_found"
		GET /bins → 429 "rate_limited" &  60 s`)
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).OK(201).Text("api_key"))
	for range 5 {
		s.Get("/_sandbox/clock").OK(200) // never counts
		s.as("sk_live_sandbox_wrong").Get("/bins").Refused(401, "unauthorized", "")
	}
	if read := admitted(6, func() sandboxtest.Response { return other.Get("/bins") }); read != 4 { // of its own key
		t.Errorf("%d calls of another key were let through", read)
	}
	s.Advance("1m")
	for _, again := range []*service{s, other} {
		again.Get("/bins").OK(200)
	}
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
	letsThrough := func(s *service, want int64) {
		t.Helper()
		if read := admitted(3, func() sandboxtest.Response { return s.Get("/bins") }); read != want {
			t.Errorf("%d calls were let through, want %d", read, want)
		}
	}
	one.Put("/_sandbox/limits", `{"requests_per_minute":2}`).OK(200)
	letsThrough(one, 2)
	letsThrough(two, 2)
	letsThrough(open(t, file, stopped), 2)
	two.Post("/_sandbox/reset", "").OK(200)
	two.Put("/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
	letsThrough(two, 1)
}
