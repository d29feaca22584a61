package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// target is a sandbox without a server before it: the fuzzer wants speed. It
// begins again now and then, lest it grows.
type target struct {
	box  *sandbox.Sandbox
	left int // calls before it begins again
	// Ids that fuzzed calls may use.
	card, authorization, settlement, challenge, deposit string
}

func newTarget(f *testing.F) *target {
	f.Helper()
	box, err := sandbox.Open(f.Context(), sandbox.Options{Path: ":memory:", InitialBalance: 1_000 * usd.Dollar})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := box.Close(); err != nil {
			f.Error(err)
		}
	})
	return &target{box: box}
}

// ready begins again when it is time: one card with 90 USD, one transaction of
// each kind, a challenge and a deposit.
func (s *target) ready(t *testing.T) {
	t.Helper()
	if s.left--; s.left > 0 {
		return
	}
	s.left = 200
	do := func(method, path, body, member string) string {
		t.Helper()
		w := s.call(t, method, path, "", strings.ReplaceAll(body, "CARD", s.card), nil)
		var answer struct {
			ID          string `json:"id"`
			Transaction struct {
				ID string `json:"id"`
			} `json:"transaction"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code > 201 {
			t.Fatalf("%s %s answered %d %s", method, path, w.Code, w.Body)
		}
		return map[string]string{"id": answer.ID, "transaction": answer.Transaction.ID}[member]
	}
	do(http.MethodPost, "/_sandbox/reset", "", "")
	do(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":0,"requests_per_hour":0,"creates_per_minute":0,"details_per_minute":0}`, "")
	s.card = do(http.MethodPost, "/api/v1/cards", `{"bin_id":"`+adsBIN+`","amount":120,"auto_freeze_at":20}`, "id")
	const merchant = `,"merchant":{"name":"Ads","mcc":"7311"}}`
	settled := do(http.MethodPost, "/_sandbox/authorizations", `{"card_id":"CARD","amount":20`+merchant, "transaction")
	s.settlement = do(http.MethodPost, "/_sandbox/settlements", `{"transaction_id":"`+settled+`"}`, "transaction")
	s.authorization = do(http.MethodPost, "/_sandbox/authorizations", `{"card_id":"CARD","amount":10`+merchant, "transaction")
	s.challenge = do(http.MethodPost, "/_sandbox/3ds-challenges", `{"card_id":"CARD","merchant":"Ads","amount":5}`, "id")
	s.deposit = do(http.MethodPost, "/_sandbox/deposits", `{"currency":"btc","amount":5}`, "id")
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

func (s *target) call(t *testing.T, method, path, query, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := (&http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: header, Host: "sandbox",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(body)),
	}).WithContext(t.Context())
	if header == nil {
		r.Header = http.Header{"Authorization": {"Bearer " + s.box.APIKey()}, "Content-Type": {"application/json"}}
	}
	w := httptest.NewRecorder()
	s.box.Handler().ServeHTTP(w, r)
	return w
}

func (s *target) ledger(t *testing.T) string {
	t.Helper()
	w := s.call(t, http.MethodGet, "/_sandbox/ledger", "", "", nil)
	if w.Code != http.StatusOK {
		t.Fatalf("the ledger answered %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// survives makes a call and fails the test when it breaks the service: a 5xx,
// an answer that is not JSON, an error that is not in its form or moved money,
// books that are not in order.
func (s *target) survives(t *testing.T, method, path, query, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	before := s.ledger(t)
	w := s.call(t, method, path, query, body, header)
	after := s.ledger(t)
	var answer map[string]any
	decoder := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	if err := decoder.Decode(&answer); err != nil {
		t.Fatalf("answered %d with no JSON object: %q", w.Code, w.Body)
	}
	switch {
	case w.Code == http.StatusOK || w.Code == http.StatusCreated:
		if !strings.Contains(after, `"balanced":true`) {
			t.Errorf("answered %d %s, and the books are %s", w.Code, w.Body, after)
		}
	case w.Code < 400 || w.Code >= 500:
		t.Errorf("answered %d %s", w.Code, w.Body)
	case len(answer) != 2 || answer["error"] == "" || fmt.Sprint(answer["message"]) == "":
		t.Errorf("answered %d in another form: %s", w.Code, w.Body)
	case after != before:
		t.Errorf("answered %d %s, and moved money:\n%s%s", w.Code, w.Body, before, after)
	}
	return w
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
