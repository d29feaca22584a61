package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Each kind of fault, before and after a fund of 5 USD, over the network, and as whoever
// calls the handler itself is told by net/http's panic.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, transport := range []func(*sandboxtest.Options){withoutNetwork, func(*sandboxtest.Options) {}} {
		var log bytes.Buffer
		s := start(t, transport, logTo(slog.NewTextHandler(&log, nil)))
		card := "/cards/" + s.Issue("50")
		for then, c := range map[string]struct {
			status    int
			err       error
			kind, raw string // raw is a pattern
		}{
			`"drop"`:                               {0, io.EOF, "", `^$`},
			`"truncate"`:                           {200, io.ErrUnexpectedEOF, "application/json", `^{"`},
			`"pass"`:                               {200, nil, "application/json", `"card_balance":`},
			`{"status":503}`:                       {503, nil, "application/json", `^{"error":"injected_fault","message":"`},
			`{"status":418,"body":{"tea":[1.50]}}`: {418, nil, "application/json", `^{"tea":\[1.50\]}$`},
			`{"status":502,"body":"<html>Bad gateway"}`: {502, nil, "text/plain; charset=utf-8", `^<html>Bad gateway$`},
			`{"status":204}`: {204, nil, "application/json", `^$`},
		} {
			for _, when := range []string{"before", "after"} {
				committed := when == "after" || then == `"pass"`
				s.Fault(`{"method":"POST","path":"/cards/*/fund","times":1,"when":"` + when + `","then":` + then + `}`)
				held := s.Get(card).Text("balance")
				o := s.Unrepeated().Send(t.Context(), http.MethodPost, card+"/fund", `{"amount":5}`)
				if o.Status != c.status || !errors.Is(o.Err, c.err) || o.Header.Get("Content-Type") != c.kind ||
					!regexp.MustCompile(c.raw).MatchString(o.Raw) || strings.Contains(o.Raw, "card_id") != (committed && c.status == 200) {
					t.Errorf("%s %s: answered %d %q, %v, error %v", then, when, o.Status, o.Raw, o.Header, o.Err)
				}
				if got := s.Get(card).Text("balance"); (got != held) != committed {
					t.Errorf("%s %s: the card holds %s, after %s", then, when, got, held)
				}
				s.Post(card+"/fund", `{"amount":5}`).OK(200) // one time, and no more
			}
		}
		s.Balanced()
		s.close()
		if strings.Contains(log.String(), "panicked") {
			t.Errorf("an injected fault is logged as a panic:\n%s", log.String())
		}
	}
}

func TestFaultTargets(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, row := range sandboxtest.Table(t, "testdata/targets.txt", 3) {
		fault := row[0]
		s.Fault(`{` + fault + `,"times":0,"when":"before","then":{"status":555}}`)
		for calls, want := range map[string]bool{row[1]: true, row[2]: false} {
			for call := range strings.SplitSeq(calls, ", ") {
				method, path, _ := strings.Cut(call, " ")
				sandboxtest.Equal(t, fault+": "+call+" is hit", s.Call(method, "/api/v1"+path, "").Status == 555, want)
			}
		}
		s.as("sk_live_x").Get("/_sandbox/clock").OK(401)
		s.Delete("/_sandbox/faults").OK(200)
	}
}

func TestFaultsAreListedUsedUpAndDeleted(t *testing.T) {
	t.Parallel()
	s := start(t)
	const (
		second = `"times":1,"when":"before","delay_ms":0,"then":{"status":500,"body":{"a":null}}}`
		third  = `"method":"*","path":"/*","times":0,"when":"before","delay_ms":0,"then":{"status":429}}`
	)
	s.play(strings.NewReplacer("SECOND", second, "THIRD", third, "FAULTS", "/_sandbox/faults").Replace, sandboxtest.File(t, "testdata/faults.txt"))
}

// A caller that does not wait for a slow service has not undone its call; the service
// does not wait for the call to end.
func TestFaultDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withoutNetwork)
		card := "/cards/" + s.Issue("50")
		s.Fault(`{"method":"POST","path":"/cards/*/fund","times":2,"when":"before","delay_ms":60000,"then":"pass"}`)
		answered := make(chan sandboxtest.Response, 1)
		fund := func(ctx context.Context) {
			answered <- s.Send(ctx, http.MethodPost, card+"/fund", `{"amount":5}`)
		}
		impatient, giveUp := context.WithCancel(t.Context())
		go fund(impatient)
		time.Sleep(59 * time.Second)
		giveUp()
		synctest.Wait()
		sandboxtest.Equal(t, "the card, before the delay", s.Get(card).Text("balance"), "50.00")
		<-answered
		time.Sleep(2 * time.Second)
		sandboxtest.Equal(t, "the card, after the delay", s.Get(card).Text("balance"), "55.00")
		go fund(t.Context())
		synctest.Wait()
		s.close()
		<-answered
	})
}

// A call that is committed later takes effect at its time by the service's clock, whoever
// looks first, and counts once with an earlier attempt under its key.
func TestFaultCommitsLater(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	card := "/cards/" + s.Issue("50")
	later := func(path, then string) {
		s.Fault(`{"method":"POST","path":"` + path + `","when":"later","later_seconds":45,"then":` + then + `}`)
	}
	fund := func(key string) sandboxtest.Response {
		return s.Unrepeated().Send(t.Context(), http.MethodPost, card+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, key)
	}
	holds := func(when, balance string) {
		t.Helper()
		sandboxtest.Equal(t, when+": the card holds", s.Get(card).Text("balance"), balance)
	}

	later("/cards/*/fund", `"drop"`)
	if o := fund("lost"); !errors.Is(o.Err, io.EOF) {
		t.Errorf("answered %d %q, %v", o.Status, o.Raw, o.Err)
	}
	s.Advance("44999ms")
	holds("before its time", "50.00")
	s.Advance("1ms")
	holds("at its time", "55.00")
	s.Advance("1h")
	holds("an hour later", "55.00")

	later("/cards", `{"status":503}`)
	before := s.Get("/_sandbox/clock").Text("now")
	s.Post("/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":60}`).OK(503)
	sandboxtest.Equal(t, "cards at once", s.Get("/cards").Text("total"), "1")
	s.Advance("1h")
	issued := s.Get("/cards/" + s.Get("/cards").Data()[0]["id"].(string))
	due := sandboxtest.Must(time.Parse(time.RFC3339, before)).Add(45 * time.Second)
	sandboxtest.Equal(t, "created_at", issued.Text("created_at"), due.Format("2006-01-02T15:04:05.000Z"))

	for idempotency, c := range map[string]struct {
		status  int // of the second attempt
		balance string
	}{
		"honoured": {200, "60.00"},
		"conflict": {409, "55.00"},
		"ignored":  {200, "60.00"},
	} {
		s.Quirks(map[string]any{"idempotency": idempotency})
		s.Post(card+"/withdraw", nil).OK(200)
		s.Post(card+"/fund", `{"amount":55}`).OK(200)
		later("/cards/*/fund", `{"status":500}`)
		fund(idempotency).OK(500)
		fund(idempotency).OK(c.status)
		holds(idempotency+", at once", c.balance)
		s.Advance("45s")
		want := "60.00"
		if idempotency == "ignored" {
			want = "65.00"
		}
		holds(idempotency+", later", want)
		fund(idempotency).OK(200)
	}

	later("/cards/*/fund", `"truncate"`)
	s.Unrepeated().Send(t.Context(), http.MethodPost, card+"/fund", `{"amount":9999}`)
	s.Get("/cards/card_x").Refused(404, "not_found", "")
	s.Advance("1m")
	s.Get("/bins").OK(200)
	s.Balanced()

	later("/cards", `"drop"`)
	s.Unrepeated().Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":60}`)
	s.Post("/_sandbox/reset", "").OK(200)
	s.Advance("1h")
	sandboxtest.Equal(t, "cards after a reset", s.Get("/cards").Text("total"), "0")
	s.Balanced()
}

// However many calls find a fault at once, it is applied as often as it says.
func TestAFaultIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 10 {
		s.Fault(`{"method":"GET","path":"/bins","times":1,"then":{"status":429}}`)
		sandboxtest.Equal(t, "calls of 12 that did not meet the fault", admitted(12, func() sandboxtest.Response { return s.Get("/bins") }), 11)
	}
}

// Settings are as documented, take what is named, refuse what they cannot be and stay
// then, and are as documented again after a reset.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	settings := map[string][][]string{}
	for _, row := range sandboxtest.Table(t, "testdata/settings.txt", 3) {
		settings[row[0]] = append(settings[row[0]], row)
	}
	for path, rows := range settings {
		usual, others := rows[0][1], rows[1][1]
		shows := func(when, want string) {
			t.Helper()
			sandboxtest.Equal(t, when+": "+path+" shows", s.Get(path).OK(200).Raw, want+"\n")
		}
		shows("at first", usual)
		for range 2 {
			s.Put(path, others).OK(200)
			for _, row := range rows[2:] {
				s.Put(path, row[1]).Refused(400, "invalid_request", row[2])
			}
			shows("after what was refused", others)
			s.Put(path, `{}`).OK(200)
			shows("after {}", usual)
		}
		s.Put(path, others).OK(200)
		s.Post("/_sandbox/reset", "").OK(200)
		shows("after a reset", usual)
	}
}

// The sandbox is every other service that its document may be of.
func TestQuirks(t *testing.T) {
	t.Parallel()
	s := start(t, sandboxtest.Stopped(time.Date(2026, 3, 31, 15, 0, 0, 0, time.UTC)))
	fill := s.populate()
	for part := range strings.SplitSeq(sandboxtest.File(t, "testdata/quirks.txt"), "\n= ") {
		quirks, script, _ := strings.Cut(part, "\n")
		if strings.HasPrefix(quirks, "#") {
			continue
		}
		s.Put("/_sandbox/quirks", "{"+quirks+"}").OK(200)
		s.T = &named{t, quirks}
		s.play(fill, script)
		s.T = t
	}
	s.Balanced()
	s.Put("/_sandbox/quirks", `{"error_body":"text"}`).OK(200)
	o := s.as("sk_live_x").Send(t.Context(), http.MethodGet, "/bins", "")
	if o.Status != 401 || json.Valid([]byte(o.Raw)) || !strings.HasPrefix(o.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("without a key: %d %q, %v", o.Status, o.Raw, o.Header)
	}
	s.Put("/_sandbox/quirks", `{"error_body":"extended"}`).OK(200)
	if extended := s.Get("/cards/card_x"); extended.Text("request_id") != extended.Header.Get("X-Request-Id") {
		t.Errorf("answered %s with %v", extended.Raw, extended.Header)
	}
}

func TestQuirkIdempotencyConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withoutNetwork)
		s.Quirks(map[string]any{"idempotency": "conflict"})
		id := s.Issue("50")
		path, first := "/api/v1/cards/"+id+"/fund", make(chan sandboxtest.Response)
		s.Post("/_sandbox/faults", `{"method":"POST","path":"/cards/*/fund","times":1,"when":"after","delay_ms":3000,"then":"pass"}`).OK(201)
		go func() {
			first <- s.Send(t.Context(), http.MethodPost, path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k")
		}()
		synctest.Wait()
		s.Post(path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k").Refused(409, "idempotency_key_in_use", "")
		s.Post(path, `{"amount":1}`, sandboxtest.IdempotencyKey, "other").OK(200)
		s.Post(path, `{"amount":1}`).OK(200)
		answered := <-first
		again := s.Post(path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k").OK(200)
		if answered.Status != 200 || again.Raw != answered.Raw || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the first call answered %d %s, a later one %s", answered.Status, answered.Raw, again.Raw)
		}
		sandboxtest.Equal(t, "the card holds", s.Get("/api/v1/cards/"+id).Text("balance"), "57.00")
	})
}

func TestQuirkRetryAfter(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	s.Put("/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
	s.Get("/api/v1/bins").OK(200)
	s.Advance("19500ms")
	for kind, want := range map[string]string{"seconds": "41", "date": "Sun, 15 Mar 2026 12:01:01 GMT", "absent": ""} {
		s.Put("/_sandbox/quirks", `{"retry_after":"`+kind+`"}`).OK(200)
		sandboxtest.Equal(t, kind+": Retry-After", s.Get("/bins").OK(429).Header.Get("Retry-After"), want)
	}
}
