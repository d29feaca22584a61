package contract_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Documented exchanges pass, and so does every documented error on each endpoint.
func TestDocumentedExchangesPass(t *testing.T) {
	t.Parallel()
	codes := map[int]string{0: "", 400: "invalid_request", 401: "unauthorized", 403: "api_not_enabled", 404: "not_found", 429: "rate_limited"}
	for name, e := range documented(t) {
		for status, code := range codes {
			if status > 0 {
				e.status, e.response, e.responseHeader = status, `{"error": "`+code+`", "message": "no"}`, map[string]string{"Retry-After": "7"}
			}
			if reports := e.reports(t); len(reports) > 0 {
				t.Errorf("%s, %d: reported %q, want nothing", name, status, reports)
			}
			e = documented(t)[name]
		}
	}
}

// TestExchanges changes one thing of a good exchange. Most changes are breaks, which the
// report names. The others are what the contract allows on purpose although the sandbox
// does not have it by default: one for each x-wider, and no other.
func TestExchanges(t *testing.T) {
	t.Parallel()
	text := sandboxtest.File(t, "openapi/openapi.yaml")
	wider := map[string]bool{}
	for _, match := range regexp.MustCompile(`x-wider: ([^}\n]+?) *[}\n]`).FindAllStringSubmatch(text, -1) {
		wider[match[1]] = true
	}
	for _, cells := range sandboxtest.Table(t, "testdata/exchanges.txt", 6) {
		name, of, want := cells[0], cells[1], cells[5]
		e, found := documented(t)[of]
		if !found {
			t.Fatalf("no exchange %q", of)
		}
		e.change(cells[2], cells[3], cells[4])
		reports := e.reports(t)
		switch all := strings.Join(reports, "\n"); {
		case want == "" && (all != "" || !wider[name]):
			t.Errorf("%s: reported %q, want nothing, and openapi.yaml to mark it", name, all)
		case !strings.Contains(all, want):
			t.Errorf("%s: reported %q, want %q", name, all, want)
		case want != "" && !strings.HasPrefix(all, "contract: "+e.method+" /api/v1/"):
			t.Errorf("%s: reported %q, want method and path", name, all)
		}
		delete(wider, name)
	}
	if len(wider) > 0 {
		t.Errorf("openapi.yaml marks %v, which no exchange has", wider)
	}
}

// TestReportsHoldNoValues breaks each field of the responses that carry secrets
// and of the requests that do, and looks for them in the reports.
func TestReportsHoldNoValues(t *testing.T) {
	t.Parallel()
	secrets := []string{"0000123412341234", "957", "271828", "planted"}
	for name := range documented(t) {
		for kind, breaks := range map[string]*strings.Replacer{
			"status": strings.NewReplacer(), "cut": strings.NewReplacer("}", ""), "fields": strings.NewReplacer(`":`, `_":`),
			"types": strings.NewReplacer(`": "`, `": ["`, `", "`, `"], "`, `"}`, `"]}`), // every text becomes an array that holds it
			"forms": strings.NewReplacer(`": "`, `": "?`), "names": strings.NewReplacer(`{"`, `{"0000123412341234": 0, "`),
		} {
			e := documented(t)[name]
			e.response, e.body = breaks.Replace(e.response), breaks.Replace(e.body)
			if kind == "status" {
				e.status = 500
			}
			e.header = map[string]string{"Authorization": "Basic planted"}
			reports := e.reports(t)
			if len(reports) < 2 && kind != "forms" { // not every text has one
				t.Errorf("%s, %s: reported %q, want a break on both sides", name, kind, reports)
			}
			for _, secret := range secrets {
				if all := strings.Join(reports, "\n"); strings.Contains(all, secret) {
					t.Errorf("%s, %s: a report holds %q: %s", name, kind, secret, all)
				}
			}
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	tolerant, asked := []contract.Option{contract.TolerateBadRequests()}, []contract.Option{contract.RequestsOnly()}
	created := documented(t)["create card"].response
	const refusal = `{"error": "invalid_request", "message": "no"}`
	for name, test := range map[string]struct {
		options  []contract.Option
		path     string
		status   int
		response string
		want     []string // of the request whose amount is a text
	}{
		"refused":               {tolerant, "/cards", 400, refusal, nil},
		"accepted":              {tolerant, "/cards", 201, created, []string{"request: body"}},
		"refused in a bad form": {tolerant, "/cards", 400, "no", []string{"response: status 400: body"}},
		"unknown path":          {tolerant, "/nowhere", 404, refusal, nil},
		"unknown path accepted": {tolerant, "/nowhere", 201, created, []string{"this call is not documented", "status 201 is not documented"}},
		"an odd response":       {asked, "/cards", 502, "<html>", []string{"request: body"}},
	} {
		e := documented(t)["create card"]
		e.path, e.status, e.response, e.body = test.path, test.status, test.response, `{"amount": "a lot"}`
		reports := e.reports(t, test.options...)
		all := strings.Join(reports, "\n")
		if len(reports) < len(test.want) || len(test.want) == 0 && all != "" || strings.Contains(all, "response: ") && test.status == 502 {
			t.Errorf("%s: reported %q, want %q", name, reports, test.want)
		}
		sandboxtest.ContainsAll(t, name+": the reports", all, test.want...)
	}
}

// exchange is a request and the response that a scripted service gives.
type exchange struct {
	method, path string
	header       map[string]string
	body         string

	status         int
	responseHeader map[string]string
	response       string
}

// documented holds a good exchange of each of the 15 endpoints.
func documented(t testing.TB) map[string]exchange {
	t.Helper()
	header := func(cell string) map[string]string {
		if name, value, found := strings.Cut(cell, ": "); found {
			return map[string]string{name: value}
		}
		return nil
	}
	all := map[string]exchange{}
	for _, row := range sandboxtest.Table(t, "testdata/documented.txt", 7) {
		method, path, _ := strings.Cut(row[1], " ")
		all[row[0]] = exchange{
			method: method, path: path, header: header(row[2]), body: row[3],
			status: sandboxtest.Must(strconv.Atoi(row[4])), responseHeader: header(row[5]), response: row[6],
		}
	}
	return all
}

// change changes one part, and panics where it would change nothing.
func (e *exchange) change(part, old, replacement string) {
	replace := func(text *string) {
		if !strings.Contains(*text, old) {
			panic("nothing to replace: " + old)
		}
		*text = strings.Replace(*text, old, replacement, 1)
	}
	switch part {
	case "method":
		e.method = replacement
	case "path":
		e.path = replacement
	case "header":
		e.header = map[string]string{old: replacement}
	case "asks":
		replace(&e.body)
	case "status":
		e.status, _ = strconv.Atoi(old) // none at all could not be written
		e.response = replacement
	case "answer header":
		e.responseHeader = map[string]string{old: replacement}
	case "answers":
		replace(&e.response)
	default:
		panic("no part " + part)
	}
}

// reports runs the exchange, which the client must see as it is, and returns what the
// checker reported.
func (e exchange) reports(t *testing.T, options ...contract.Option) []string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), e.method, "/api/v1"+e.path, strings.NewReader(e.body))
	request.Header.Set("Authorization", "Bearer sk_live_planted")
	if e.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range e.header {
		request.Header.Set(name, value)
	}
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for name, value := range e.responseHeader {
			w.Header().Set(name, value)
		}
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, e.response)
	})
	report, got := &reporter{TB: t}, httptest.NewRecorder()
	contract.Handler(report, service, options...).ServeHTTP(got, request)
	sandboxtest.Equal(t, "what the client read", got.Body.String(), e.response)
	return report.reports
}

// reporter is a test that keeps its failures.
type reporter struct {
	testing.TB

	reports []string
}

func (r *reporter) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}
