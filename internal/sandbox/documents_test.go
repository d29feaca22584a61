package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/served"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	wallets "github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
)

// described is a document as far as tests look at it.
type described struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Example any `json:"example"`
		} `json:"schemas"`
		Parameters map[string]struct {
			Name    string `json:"name"`
			In      string `json:"in"`
			Example any    `json:"example"`
		} `json:"parameters"`
	} `json:"components"`
}

func document(of func() []byte) (d described) {
	sandboxtest.Must(0, json.Unmarshal(openapi.JSON(of)(), &d))
	return d
}

// The documents have every call that there is, and no other.
func TestDocumentsHaveEveryCall(t *testing.T) {
	t.Parallel()
	var handled, documented []string
	for _, route := range slices.Concat(card.Routes(), transaction.Routes(), wallets.Routes(), threeds.Routes(), webhook.Routes(false),
		served.Routes()) {
		handled = append(handled, route.Method+" "+strings.TrimSuffix(route.Path, "{$}"))
	}
	for prefix, of := range map[string]func() []byte{server.API: openapi.Contract, server.Control: openapi.Control} {
		for path, operations := range document(of).Paths {
			for method := range operations {
				if method != "parameters" {
					documented = append(documented, strings.ToUpper(method)+" "+prefix+path)
				}
			}
		}
	}
	slices.Sort(handled)
	slices.Sort(documented)
	if !slices.Equal(handled, documented) {
		t.Errorf("handled are\n%s\ndocumented are\n%s", strings.Join(handled, "\n"), strings.Join(documented, "\n"))
	}
	for _, call := range start(t).Get("/_sandbox/").OK(200).Data() {
		i := slices.Index(documented, fmt.Sprint(call["method"], " ", call["path"]))
		if i < 0 || call["summary"] == "" {
			t.Errorf("listed is %v", call)
		}
		documented = slices.Delete(documented, i, i+1)
	}
	if slices.ContainsFunc(documented, func(call string) bool { return strings.Contains(call, server.Control) }) {
		t.Errorf("not listed are %v", documented)
	}
}

// What the examples of the contract show is what the sandbox responds with in the world of
// the guide, asked with the examples of the parameters.
func TestExamplesAreResponses(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, func(o *sandboxtest.Options) {
		o.Clock = func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
	})
	world := sandboxtest.Must(os.ReadFile("../../examples/world.yaml"))
	s.Post("/_sandbox/seed", string(world), "Content-Type", "application/yaml").OK(201)
	d, schemaName := document(openapi.Contract), regexp.MustCompile(`"200":\{"content":\{"application/json":\{"schema":\{"\$ref":"#/components/schemas/(\w+)"`)
	compared := 0
	for path, operations := range d.Paths {
		operation, reads := operations["get"]
		if !reads {
			continue
		}
		query := url.Values{}
		for _, p := range d.Components.Parameters {
			if p.In == "path" {
				path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Example))
			}
		}
		for _, name := range regexp.MustCompile(`parameters/(\w+)`).FindAllStringSubmatch(string(operation), -1) {
			if p := d.Components.Parameters[name[1]]; p.In == "query" {
				query.Set(p.Name, fmt.Sprint(p.Example))
			}
		}
		got := s.Get(path + "?" + query.Encode()).OK(200)
		name := schemaName.FindStringSubmatch(string(operation))[1]
		compared++
		var body any
		raw := regexp.MustCompile("sandbox-btc-[0-9a-f]+").ReplaceAllString(got.Raw, "sandbox-btc-35828cf2a00ff0530c9a740ff43af710") // which no file has twice
		sandboxtest.Must(0, json.Unmarshal([]byte(raw), &body))
		if want := d.Components.Schemas[name].Example; !reflect.DeepEqual(body, want) {
			t.Errorf("%s: the example of %s is\n%v\nthe response is\n%s", path, name, want, got.Raw)
		}
	}
	sandboxtest.Equal(t, "responses that were compared", compared, 8)
}

// Each of the twelve events is as the contract has it.
func TestEventsKeepTheContract(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := startWithContract(t, inbox.Trusted)
	s.subscribe(inbox.URL, `"*"`)
	card := s.Issue("100", `"metadata":{"team":"ads"}`)
	s.Post("/cards/"+card+"/fund", `{"amount":5}`).OK(200)
	s.Refund(s.Settle(s.Authorize(card, "40", "7311").Transaction(), "").Transaction(), "1").OK(201)
	s.Authorize(card, "4000", "7311").OK(201)
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Ads", "amount": 5}).OK(201)
	s.Post("/_sandbox/deposits/"+s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")+"/confirm", nil).OK(200)
	s.Freeze(card)
	s.Post("/cards/"+card+"/unfreeze", nil).OK(200)
	s.Terminate(card)
	kinds := map[string]bool{}
	for _, event := range inbox.Wait(12) {
		contract.Event(t, event.Body)
		var told struct {
			Type string `json:"type"`
		}
		sandboxtest.Must(0, json.Unmarshal(event.Body, &told))
		kinds[told.Type] = true
	}
	if len(kinds) != 12 {
		t.Errorf("told of %v", slices.Sorted(maps.Keys(kinds)))
	}
}

// Whatever is called with another account's key shows and changes nothing of the first one.
func TestEveryControlCallKeepsAccountsApart(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	own := map[string]string{}
	own["card_id"] = s.Issue("100")
	own["transaction_id"] = s.Authorize(own["card_id"], "40", "7311").Transaction()
	own["webhook_id"] = s.subscribe("https://127.0.0.1:1", `"*"`).Text("id")
	s.Freeze(own["card_id"])
	own["delivery_id"] = s.Get("/_sandbox/deliveries").Data()[0]["id"].(string)
	own["/3ds-challenges"] = s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": own["card_id"], "merchant": "Ads", "amount": 5}).OK(201).Text("id")
	own["/deposits"] = s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")
	own["/keys"] = s.Post("/_sandbox/keys", nil).OK(201).Text("id")
	own["/faults"] = fmt.Sprint(s.Fault(`{"method":"GET","path":"/bins","then":"drop","times":0}`).Body["id"])
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	seen := func() string {
		all := ""
		for _, path := range []string{"/cards", "/transactions", "/wallet/balance", "/_sandbox/deliveries", "/_sandbox/faults", "/_sandbox/quirks", "/_sandbox/limits", "/_sandbox/clock"} {
			all += s.Get(path).Raw
		}
		return all
	}
	sandboxtest.Eventually(t, func() bool { return strings.Count(s.Get("/_sandbox/deliveries").Raw, `"retrying"`) == 3 })
	before, d, calls := seen(), document(openapi.Control), 0
	for path, operations := range d.Paths {
		for method, operation := range operations {
			asked := regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(path, func(name string) string {
				if id, found := own[strings.Trim(name, "{}")]; found {
					return id
				}
				return own[path[:strings.Index(path[1:], "/")+1]]
			})
			var body any
			if schema := regexp.MustCompile(`"requestBody":.*?schemas/(\w+)`).FindStringSubmatch(string(operation)); schema != nil {
				fields, _ := d.Components.Schemas[schema[1]].Example.(map[string]any)
				for name := range fields {
					if id, found := own[name]; found {
						fields[name] = id
					}
				}
				body = fields
			}
			got := other.Send(t.Context(), strings.ToUpper(method), "/_sandbox"+asked, body)
			calls++
			for _, id := range own {
				if len(id) > 8 && strings.Contains(strings.ReplaceAll(got.Raw, `"there is no`, ""), `"`+id+`"`) && got.Status < 400 {
					t.Errorf("%s %s shows %s", method, path, id)
				}
			}
			named := asked != path || regexp.MustCompile(`schemas/(Authorize|FollowUp|BeginChallenge)"`).Match(operation)
			if all := strings.Contains(string(operation), "FirstAccountOnly"); all && got.Status != 403 || !all && named && got.Status != 404 || !all && !named && got.Status >= 300 {
				t.Errorf("%s %s was answered %d %.200s", method, path, got.Status, got.Raw)
			}
		}
	}
	if after := seen(); after != before || calls != 38 {
		t.Errorf("after %d calls, there is\n%s\nthere was\n%s", calls, after, before)
	}
}

// A key is rotated: a further one opens the account, is counted by itself, and ends.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	card := s.Issue("100")
	made := s.Post("/_sandbox/keys", nil).OK(201)
	next := s.as(made.Text("api_key"))
	s.Put("/_sandbox/limits", `{"requests_per_minute":2}`).OK(200)
	next.Get("/cards/" + card).OK(200)
	next.Get("/bins").OK(200)
	next.Get("/bins").Refused(429, "rate_limited", "")
	s.Get("/bins").OK(200) // which has made one call so far
	next.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201)
	next.Delete("/_sandbox/keys/" + made.Text("id")).OK(200)
	next.Get("/bins").Refused(401, "unauthorized", "")
	s.Delete("/_sandbox/keys/"+made.Text("id")).Refused(404, "not_found", "additional key")
	s.Post("/_sandbox/reset", nil).OK(200)
	s.Get("/bins").OK(200)
}

// What does not exist says what may have been meant.
func TestWhatMayHaveBeenMeant(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.checkCalls(s.populate(), []call{
		{method: "GET", path: "/_sandbox/authorization", status: 404, has: []string{`"not_found"`, "did you mean POST /_sandbox/authorizations?"}},
		{method: "POST", path: "/_sandbox/authorisation", body: "{}", status: 404, has: []string{`"not_found"`, "did you mean POST /_sandbox/authorizations?"}},
		{method: "GET", path: "/_sandbox/clok", status: 404, has: []string{`"not_found"`, "did you mean GET /_sandbox/clock?"}},
		{method: "GET", path: "/_sandbox/cl", status: 404, has: []string{`"not_found"`, "did you mean GET /_sandbox/clock?"}},
		{method: "GET", path: "/_sandbox/c", status: 404, has: []string{`"not_found"`, "GET /_sandbox/ lists the calls"}},
		{method: "POST", path: "/_sandbox/xyz", status: 404, has: []string{`"not_found"`, "GET /_sandbox/ lists the calls"}},
		{method: "DELETE", path: "/_sandbox/authorizations", status: 405, has: []string{`"method_not_allowed"`, "this path accepts POST, not DELETE"}},
		{method: "PUT", path: "/_sandbox/faults", status: 405, has: []string{`"method_not_allowed"`, "this path accepts GET and POST and DELETE, not PUT"}},
		{method: "POST", path: "/cards/CARD", status: 405, has: []string{`"method_not_allowed"`, "this path accepts GET and DELETE, not POST"}},
		{method: "GET", path: "/_sandbox/", status: 200, has: []string{`{"method":"POST","path":"/_sandbox/clock","summary":"`, `{"method":"DELETE","path":"/_sandbox/faults/{id}"`}},
	})
	sandboxtest.Equal(t, "Allow", s.Call(http.MethodPut, "/_sandbox/faults", nil).Header.Get("Allow"), "GET, POST, DELETE")
	short := sandboxtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.URL, server.API)+"/cards", nil))
	s.Do(short).Refused(404, "not_found", "paths of the API start with /api/v1/")
	for _, path := range []string{"openapi.yaml", "openapi.json", "control.yaml", "control.json", ""} {
		s.Send(t.Context(), http.MethodGet, "/_sandbox/"+path, nil, "Authorization", "").OK(200)
	}
}

// Endpoints on this machine need no TLS while the sandbox listens to nobody else.
func TestPlainWebhooks(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("X-Webhook-Id") }))
	defer plain.Close()
	s := start(t, func(o *sandboxtest.Options) { o.PlainWebhooks = true })
	body := func(url string) string { return `{"url":"` + url + `","events":["card.created"]}` }
	s.Post("/webhooks", body(plain.URL)).OK(201)
	for _, url := range []string{"http://example.com/", "http://10.0.0.1/", "http://localhost.example.com", "http://u:p@localhost/", "ftp://localhost/"} {
		s.Post("/webhooks", body(url)).Refused(400, "invalid_request", "url")
	}
	s.Issue("50")
	if id := <-told; !strings.HasPrefix(id, "evt_") {
		t.Errorf("told of %q", id)
	}
	start(t).Post("/webhooks", body(plain.URL)).Refused(400, "invalid_request", "https URL")
}
