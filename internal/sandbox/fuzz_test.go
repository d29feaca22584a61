package sandbox_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Each target's seeds are run by a plain go test as well. To look further:
// go test -fuzz '^FuzzBodies$' ./internal/sandbox

// target is a sandbox without a server before it: the fuzzer wants speed. It is
// populated anew after a call that may have changed something.
type target struct {
	*service

	used bool
	fill func(string) string
}

func newTarget(f *testing.F) *target {
	f.Helper()
	return &target{service: open(f, on(":memory:"), wallet(1_000*usd.Dollar), func(o *sandboxtest.Options) { o.Direct = true }), used: true}
}

// call makes a call that net/http might refuse to make, and fails the test when it
// breaks the service: a 5xx, a response that is not JSON, an error that is not in its
// form or moved money, a ledger that is not in order. Words stand for ids, and for
// what is long: the fuzzer works best on short texts.
func (s *target) call(t *testing.T, call, query, body string, header http.Header) sandboxtest.Response {
	t.Helper()
	s.T = t
	if s.used {
		s.Post("/_sandbox/reset", "").OK(200)
		s.Unlimited()
		ids := s.populate()
		s.fill = func(text string) string { return sandboxtest.Expand(ids.Replace(text)) }
	}
	if header == nil {
		header = http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": {"application/json"}}
	}
	before := s.Get("/_sandbox/ledger").OK(200).Raw
	method, path, _ := strings.Cut(s.fill(call), " ")
	if strings.HasPrefix(path, "/cards") || strings.HasPrefix(path, "/webhooks") {
		path = "/api/v1" + path
	}
	a := s.Do((&http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: s.fill(query)}, Header: header, Host: "sandbox",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(s.fill(body))),
	}).WithContext(t.Context()))
	s.used = a.Status < 400 && method != http.MethodGet
	switch after := s.Send(t.Context(), http.MethodGet, "/_sandbox/ledger", nil).Raw; {
	case a.Body == nil:
		t.Fatalf("answered %d with no JSON object: %q", a.Status, a.Raw)
	case a.Status == http.StatusOK || a.Status == http.StatusCreated:
		if !strings.Contains(after, `"balanced":true`) {
			t.Errorf("answered %d %s, and the ledger is %s", a.Status, a.Raw, after)
		}
	case a.Status < 400 || a.Status >= 500:
		t.Errorf("answered %d %s", a.Status, a.Raw)
	case len(a.Body) != 2 || a.Body["error"] == "" || fmt.Sprint(a.Body["message"]) == "":
		t.Errorf("answered %d in another form: %s", a.Status, a.Raw)
	case after != before:
		t.Errorf("answered %d %s, and moved money:\n%s%s", a.Status, a.Raw, before, after)
	}
	return a
}

// FuzzBodies sends bodies; ‹amount› in one stands for every amount that is worth a try.
// Whatever quirks and faults are accepted, the service goes on.
func FuzzBodies(f *testing.F) {
	amounts := []string{ // in every notation
		"1", "1.5", "1.50", "5e1", "5E+1", "500e-1", "1.005e2", "0", "-0", "0.00", "-1", "0.01", "0.001", "1e-2", "1e-3", "1e-400", "1e400",
		"1e999999999", "999999999999.99", "1000000000000", "99999999999999999999", "00", "01", ".5", "5.", "+5", "NaN", "Infinity", "0x10", "1_000",
		`"50"`, `""`, "null", "true", "[1]", `{"amount":1}`, `5,"amount":6`, "1‹5000×0›", "1.‹5000×0›",
	}
	bad := []string{
		``, ` `, `null`, `[]`, `"x"`, `1`, `{`, `{}`, `{}{}`, `{"":1}`, `{"a":1}`, `{"amount"}`, "{\"amount\":\"\xff\"}", "\xef\xbb\xbf{}", `{"amount":1,}`,
		`‹10000×{"a":[›`, `{"amount":‹10000×{"a":[›`, `{"amount":1}‹2097152× ›`, "\x00", `{"\u0061mount":1,"amount":2}`,
	}
	all := bodies()
	calls := slices.Sorted(maps.Keys(all))
	for i, call := range calls {
		for _, body := range slices.Concat(slices.Sorted(maps.Keys(all[call])), bad) {
			for _, amount := range amounts {
				if f.Add(uint8(i), strings.ReplaceAll(body, "‹amount›", amount)); !strings.Contains(body, "‹amount›") {
					break
				}
			}
		}
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, call uint8, body string) {
		a := s.call(t, calls[int(call)%len(calls)], "", body, nil)
		if !s.used || strings.Contains(a.Raw, `"delay_ms":`) && !strings.Contains(a.Raw, `"delay_ms":0,"then":{`) {
			return
		}
		for _, path := range []string{"/cards", "/bins", "/cards/card_x", "/wallet/balance", "/transactions"} {
			if w := s.Send(t.Context(), http.MethodGet, path, nil); strings.Contains(w.Raw, "internal_error") {
				t.Errorf("after %s, %s answered %d %s", a.Raw, path, w.Status, w.Raw)
			}
		}
	})
}

// FuzzQueries asks for lists with filters, and for what has none.
func FuzzQueries(f *testing.F) {
	pages := []string{
		"", "&&&", "=", "a=%zz", "a;b", "%00=%00", "page=\xff", "a=‹10240×x›", "page=1&page=2",
		"page=1", "page=0", "page=-1", "page=+1", "page=01", "page=1.0", "page=1e3", "page=", "page=x", "page=%31", "page=٣",
		"page=9223372036854775807", "page=9223372036854775808", "page=9223372036854775807&per_page=100", "per_page=1", "per_page=100",
		"per_page=101", "per_page=0", "per_page=-1", "page=92233720368547758&per_page=100", "page=2&per_page=2&page=2",
	}
	all := queries()
	calls := slices.Sorted(maps.Keys(all))
	for i, call := range calls {
		for _, query := range slices.Concat(slices.Sorted(maps.Keys(all[call])), pages) {
			f.Add(uint8(i), query)
		}
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, call uint8, query string) {
		s.call(t, calls[int(call)%len(calls)], query, "", nil)
	})
}

// FuzzPath calls whatever a path may name.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"/api/v1/cards/CARD", "/api/v1/cards/‹10240×x›", "/api/v1/cards/CARD/", "/api/v1/cards//CARD", "/api/v1/cards/\x00", "/api/v1/cards/\xff",
		"/api/v1/cards/..", "/api/v1/cards/../bins", "/api/v1/cards/%2e%2e", "/api/v1/cards/' OR 1=1--", "/api/v1/cards/CARD/fund",
		"/api/v1/cards/CARD/details/x", "", "*", "/", "//", "api/v1/cards", "/_sandbox", "/_sandbox/", "/_sandbox/3ds-challenges/x/complete",
		"/_sandbox/deliveries/dlv_x/redeliver", "/API/V1/cards",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "get", ""} {
			f.Add(method + " " + path)
		}
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, call string) { s.call(t, call, "", "", nil) })
}

func FuzzHeaders(f *testing.F) {
	for _, authorization := range []string{"", "Bearer", "Bearer ", "bearer KEY", "Bearer  KEY", "Basic KEY", "KEY", "Bearer KEY x", "Bearer sk_live_", "Bearer \x00"} {
		f.Add(authorization, "application/json", "")
	}
	for _, kind := range []string{"", "text/json", "application/json;charset=utf-16", "application/json; charset=UTF-8", "application/json;;", "application/json, text/plain"} {
		f.Add("Bearer KEY", kind, "")
	}
	for _, key := range []string{"k", " ", strings.Repeat("k", 255), strings.Repeat("k", 256), "\xff", "k\x00"} {
		f.Add("Bearer KEY", "application/json", key)
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, authorization, kind, key string) {
		header := http.Header{
			"Authorization": {strings.ReplaceAll(authorization, "KEY", s.Key)}, "Content-Type": {kind}, "X-Idempotency-Key": {key},
		}
		first := s.call(t, "POST /cards/CARD/fund", "", `{"amount":0.01}`, header)
		s.used = false
		again := s.call(t, "POST /cards/CARD/fund", "", `{"amount":0.01}`, header)
		if key != "" && first.Status == http.StatusOK && again.Raw != first.Raw {
			t.Errorf("one key was answered %s and %s", first.Raw, again.Raw)
		}
	})
}
