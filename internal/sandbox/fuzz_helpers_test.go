package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// target is a sandbox without a server before it: the fuzzer wants speed. It
// begins again now and then, lest it grows.
type target struct {
	*sandboxtest.Client

	left int // calls before it begins again
	// Ids that fuzzed calls may use.
	card, authorization, settlement, challenge, deposit string
}

func newTarget(f *testing.F) *target {
	f.Helper()
	s := sandboxtest.Start(f, on(":memory:"), wallet(1_000*usd.Dollar), func(o *sandboxtest.Options) { o.Direct = true })
	return &target{Client: s.Client}
}

// ready begins again when it is time: one card with 90 USD, one transaction of
// each kind, a challenge and a deposit.
func (s *target) ready(t *testing.T) {
	t.Helper()
	s.T = t
	if s.left--; s.left > 0 {
		return
	}
	s.left = 200
	s.Post("/_sandbox/reset", "").OK(200)
	s.Unlimited()
	s.card = s.Issue("120", `"auto_freeze_at":20`)
	s.settlement = s.Settle(s.Authorize(s.card, "20", adsMCC).Transaction(), "").Transaction()
	s.authorization = s.Authorize(s.card, "10", adsMCC).Transaction()
	s.challenge = s.Post("/_sandbox/3ds-challenges", `{"card_id":"`+s.card+`","merchant":"Ads","amount":5}`).OK(201).Text("id")
	s.deposit = s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")
}

// fill puts the ids of this target into a text that names them, and what is
// long where a short word stands for it: the fuzzer works best on short texts.
func (s *target) fill(text string) string {
	for name, id := range map[string]string{
		"CARD": s.card, "AUTHORIZATION": s.authorization, "SETTLEMENT": s.settlement, "CHALLENGE": s.challenge, "DEPOSIT": s.deposit,
	} {
		text = strings.ReplaceAll(text, name, id)
	}
	if !strings.Contains(text, "‹") {
		return text
	}
	return strings.NewReplacer("‹2 MiB›", strings.Repeat(" ", 2<<20), "‹deep›", strings.Repeat(`{"a":[`, 10_000),
		"‹digits›", strings.Repeat("0", 5_000), "‹10 KiB›", strings.Repeat("x", 10<<10)).Replace(text)
}

// request makes a call that net/http might refuse to make.
func (s *target) request(t *testing.T, method, path, query, body string, header http.Header) sandboxtest.Response {
	t.Helper()
	if header == nil {
		header = http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": {"application/json"}}
	}
	return s.Do((&http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: header, Host: "sandbox",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(body)),
	}).WithContext(t.Context()))
}

// survives makes a call and fails the test when it breaks the service: a 5xx, a
// response that is not JSON, an error that is not in its form or moved money, a
// ledger that is not in order.
func (s *target) survives(t *testing.T, method, path, query, body string, header http.Header) sandboxtest.Response {
	t.Helper()
	before := s.Get("/_sandbox/ledger").OK(200).Raw
	a := s.request(t, method, path, query, body, header)
	after := s.Get("/_sandbox/ledger").OK(200).Raw
	switch {
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

// fuzzBody fuzzes the body of a call. Seeds name ids as fill does; ‹amount› in
// one stands for every amount that is worth a try.
func fuzzBody(f *testing.F, method, path string, seeds ...string) {
	f.Helper()
	for _, seed := range append(seeds, badBodies()...) {
		if !strings.Contains(seed, "‹amount›") {
			f.Add([]byte(seed))
			continue
		}
		for _, amount := range amounts() {
			f.Add([]byte(strings.ReplaceAll(seed, "‹amount›", amount)))
		}
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		s.ready(t)
		s.survives(t, method, s.fill(path), "", s.fill(string(body)), nil)
	})
}

// fuzzQuery fuzzes the query string of a call.
func fuzzQuery(f *testing.F, path string, seeds ...string) {
	f.Helper()
	for _, seed := range append(seeds, "", "&&&", "=", "a=%zz", "a;b", "%00=%00", "page=\xff", "a=‹10 KiB›", "page=1&page=2") {
		f.Add(seed)
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, query string) {
		s.ready(t)
		s.survives(t, http.MethodGet, path, s.fill(query), "", nil)
	})
}

// pages are the pages that a list may be asked for.
func pages() []string {
	return []string{
		"page=1", "page=0", "page=-1", "page=+1", "page=01", "page=1.0", "page=1e3", "page=", "page=x", "page=%31", "page=٣",
		"page=9223372036854775807", "page=9223372036854775808", "page=9223372036854775807&per_page=100", "per_page=1", "per_page=100",
		"per_page=101", "per_page=0", "per_page=-1", "page=92233720368547758&per_page=100", "page=2&per_page=2&page=2",
	}
}

// amounts are the notations that an amount may come in.
func amounts() []string {
	return []string{
		"1", "1.5", "1.50", "5e1", "5E+1", "500e-1", "1.005e2", "0", "-0", "0.00", "-1", "0.01", "0.001", "1e-2", "1e-3", "1e-400", "1e400",
		"1e999999999", "999999999999.99", "1000000000000", "99999999999999999999", "00", "01", ".5", "5.", "+5", "NaN", "Infinity", "0x10", "1_000",
		`"50"`, `""`, "null", "true", "[1]", `{"amount":1}`, `5,"amount":6`, "1‹digits›", "1.‹digits›",
	}
}

func badBodies() []string {
	return []string{
		``, ` `, `null`, `[]`, `"x"`, `1`, `{`, `{}`, `{}{}`, `{"":1}`, `{"a":1}`, `{"amount"}`, "{\"amount\":\"\xff\"}", "\xef\xbb\xbf{}", `{"amount":1,}`,
		`‹deep›`, `{"amount":‹deep›`, `{"amount":1}‹2 MiB›`, "\x00", `{"\u0061mount":1,"amount":2}`,
	}
}
