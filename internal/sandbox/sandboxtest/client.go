package sandboxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// IdempotencyKey is the header with the idempotency key.
const IdempotencyKey = "X-Idempotency-Key"

// Client sends requests to a sandbox with one key. It fails the test if a request fails unexpectedly.
type Client struct {
	process.Address

	T         testing.TB
	Transport http.RoundTripper
}

// NewClient returns a client of the sandbox at an address.
func NewClient(t testing.TB, address process.Address) *Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{Address: address, T: t, Transport: transport}
}

// As returns a copy of the client with another key.
func (c *Client) As(key string) *Client {
	other := *c
	other.Key = key
	return &other
}

// WithoutRetries returns a copy of the client that uses a new connection for each request. On a reused connection,
// net/http may send a request again if there is no response.
func (c *Client) WithoutRetries() *Client {
	other := *c
	_, isNetwork := c.Transport.(*http.Transport)
	if isNetwork {
		other.Transport = &http.Transport{DisableKeepAlives: true}
	}
	return &other
}

// Send sends a request and returns the response or the error. The path is one of the API, such as /cards, or starts
// with /_sandbox or /api. The body is nil, a string, or a value to encode as JSON. Headers are pairs of names and
// values; the value "" removes a header.
func (c *Client) Send(ctx context.Context, method, path string, body any, headers ...string) Response {
	c.T.Helper()
	text, isText := body.(string)
	if body != nil && !isText {
		text = string(Must(json.Marshal(body)))
	}
	request := Must(c.NewRequest(ctx, method, path, text))
	for i := 0; i < len(headers); i += 2 {
		name := headers[i]
		value := headers[i+1]
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
	return c.Do(request)
}

// Do sends a request without changes.
func (c *Client) Do(request *http.Request) Response {
	response, err := c.Transport.RoundTrip(request)
	if err != nil {
		return Response{T: c.T, Err: err}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return Response{
		Status: response.StatusCode, Header: response.Header, Raw: string(raw), Body: object(raw), Err: err, T: c.T,
	}
}

// Call sends a request like Send. The response must be a JSON object, with any status.
func (c *Client) Call(method, path string, body any, headers ...string) Response {
	c.T.Helper()
	r := c.Send(c.T.Context(), method, path, body, headers...)
	if r.Err != nil || r.Body == nil {
		c.T.Fatalf("%s %s: the response, with status %d, is not a JSON object: %q %v", method, path, r.Status, r.Raw, r.Err)
	}
	return r
}

// Get is Call with GET.
func (c *Client) Get(path string) Response {
	c.T.Helper()
	return c.Call(http.MethodGet, path, nil)
}

// Post is Call with POST.
func (c *Client) Post(path string, body any, headers ...string) Response {
	c.T.Helper()
	return c.Call(http.MethodPost, path, body, headers...)
}

// Put is Call with PUT.
func (c *Client) Put(path string, body any) Response {
	c.T.Helper()
	return c.Call(http.MethodPut, path, body)
}

// Delete is Call with DELETE.
func (c *Client) Delete(path string) Response {
	c.T.Helper()
	return c.Call(http.MethodDelete, path, nil)
}

// Response is the response to a request, or its error.
type Response struct {
	Status int // 0 if there is no response
	Header http.Header
	Raw    string
	Body   map[string]any // nil if it is not a JSON object; numbers keep their text
	Err    error          // why there is no response, or why it is incomplete
	T      testing.TB
}

// object decodes a JSON object. It returns nil for anything else.
func object(raw []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var decoded map[string]any
	err := decoder.Decode(&decoded)
	if err != nil {
		return nil
	}
	return decoded
}

// OK fails the test unless the response has this status.
func (r Response) OK(status int) Response {
	r.T.Helper()
	if r.Err != nil || r.Status != status {
		r.T.Fatalf("status %d, want %d: %s %v", r.Status, status, r.Raw, r.Err)
	}
	return r
}

// Refused fails the test unless the response is an error with this status and code, exactly two fields, and a message
// that contains the text.
func (r Response) Refused(status int, code, text string) {
	r.T.Helper()
	message, _ := r.Body["message"].(string)
	if r.Status != status || r.Body["error"] != code || len(r.Body) != 2 || !strings.Contains(message, text) {
		r.T.Errorf("got status %d and %s, want status %d, error %q and a message with %q", r.Status, r.Raw, status, code, text)
	}
}

// ContainsAll fails the test unless a text contains all these words. The subject names the text.
func ContainsAll(t testing.TB, subject, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s: %q is missing in %q", subject, word, text)
		}
	}
}

// Must returns the value. It panics if there is an error, which then is a fault of the machine or of the test.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Equal fails the test unless two values are equal. The subject names the value.
func Equal[T comparable](t testing.TB, subject string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", subject, got, want)
	}
}

var repetition = regexp.MustCompile(`‹(\d+)×([^›]+)›`)

// Expand replaces abbreviations in the test data: ‹65×ü› stands for the text ü 65 times, ‹ff› and ‹1b› for those bytes.
func Expand(text string) string {
	text = strings.NewReplacer("‹ff›", "\xff", "‹1b›", "\x1b").Replace(text)
	return repetition.ReplaceAllStringFunc(text, func(short string) string {
		parts := repetition.FindStringSubmatch(short)
		count := Must(strconv.Atoi(parts[1]))
		return strings.Repeat(parts[2], count)
	})
}

// Table reads a file with one row per line and | between the cells. It skips empty lines and lines that start with #.
// The last column may contain a | itself.
func Table(t testing.TB, path string, columns int) [][]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(File(t, path)) {
		if line == "\n" || line[0] == '#' {
			continue
		}
		cells := strings.SplitN(line, "|", columns)
		for i, cell := range cells {
			cells[i] = Expand(strings.TrimSpace(cell))
		}
		if len(cells) != columns {
			t.Fatalf("%s: %q has %d cells, want %d", path, cells, len(cells), columns)
		}
		rows = append(rows, cells)
	}
	return rows
}

// Must fails the test unless the call succeeded.
func (r Response) Must() Response {
	r.T.Helper()
	if r.Status/100 != 2 {
		r.T.Fatalf("status %d: %s %v", r.Status, r.Raw, r.Err)
	}
	return r
}

// Into decodes the response to a call that must succeed.
func (r Response) Into(target any) {
	r.T.Helper()
	r.Must()
	if err := json.Unmarshal([]byte(r.Raw), target); err != nil {
		r.T.Fatalf("%v in %s", err, r.Raw)
	}
}

// Text returns a field that is a text, or a number as it is written in the JSON.
func (r Response) Text(field string) string {
	r.T.Helper()
	switch v := r.Body[field].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	r.T.Fatalf("no text or number %s in %s", field, r.Raw)
	return ""
}

// Data returns the objects of a list.
func (r Response) Data() []map[string]any {
	r.T.Helper()
	all, found := r.Body["data"].([]any)
	if !found {
		r.T.Fatalf("no data in %s", r.Raw)
	}
	objects := make([]map[string]any, len(all))
	for i, v := range all {
		objects[i], _ = v.(map[string]any)
	}
	return objects
}

// Replayed reports whether the response is that of an earlier request with the same idempotency key.
func (r Response) Replayed() bool { return r.Header.Get("Idempotent-Replayed") == "true" }

// Transaction returns the id of the transaction in the response to a control call.
func (r Response) Transaction() string {
	r.T.Helper()
	transaction, _ := r.OK(http.StatusCreated).Body["transaction"].(map[string]any)
	id, _ := transaction["id"].(string)
	if id == "" {
		r.T.Fatalf("no transaction in %s", r.Raw)
	}
	return id
}

// BIN is a BIN on which cards with any amount can be issued.
const BIN = "bin_ads_visa_us"

// members returns a JSON object with the first members, separated by commas, and more members.
func members(first string, more []string) string {
	all := append([]string{first}, more...)
	return "{" + strings.Join(all, ",") + "}"
}

// Issue issues a card and returns its id. more are additional members of the body, in JSON.
func (c *Client) Issue(amount string, more ...string) string {
	c.T.Helper()
	body := members(fmt.Sprintf(`"bin_id":%q,"amount":%s`, BIN, amount), more)
	return c.Post("/cards", body).OK(http.StatusCreated).Text("id")
}

// Freeze freezes a card.
func (c *Client) Freeze(card string) {
	c.T.Helper()
	c.Post("/cards/"+card+"/freeze", nil).OK(http.StatusOK)
}

// Terminate terminates a card.
func (c *Client) Terminate(card string) {
	c.T.Helper()
	c.Delete("/cards/" + card).OK(http.StatusOK)
}

// LiveCards returns the active cards of the account, then the frozen ones, the newest first.
func (c *Client) LiveCards() []map[string]any {
	c.T.Helper()
	var live []map[string]any
	for _, status := range []string{"active", "frozen"} {
		for number := 1; ; number++ {
			page := c.Get(fmt.Sprintf("/cards?status=%s&per_page=100&page=%d", status, number)).OK(http.StatusOK).Data()
			if len(page) == 0 {
				break
			}
			live = append(live, page...)
		}
	}
	return live
}

// Wallet returns the wallet's balance, rounded down to whole cents.
func (c *Client) Wallet() usd.Amount {
	c.T.Helper()
	var wallet struct {
		Balance usd.Decimal `json:"balance"`
	}
	c.Get("/wallet/balance").Into(&wallet)
	return Must(wallet.Balance.Floor())
}

// Authorize uses a card at a merchant with a category code. more are additional members of the body, in JSON.
func (c *Client) Authorize(card, amount, mcc string, more ...string) Response {
	c.T.Helper()
	first := fmt.Sprintf(`"card_id":%q,"amount":%s,"merchant":{"name":"Big Ads","mcc":%q}`, card, amount, mcc)
	return c.Post("/_sandbox/authorizations", members(first, more))
}

// Settle settles an amount of an authorization; "" stands for its whole amount.
func (c *Client) Settle(authorization, amount string, more ...string) Response {
	c.T.Helper()
	return c.followUp("/_sandbox/settlements", authorization, amount, more)
}

// Refund refunds an amount of a settlement; "" stands for its whole amount.
func (c *Client) Refund(settlement, amount string, more ...string) Response {
	c.T.Helper()
	return c.followUp("/_sandbox/refunds", settlement, amount, more)
}

func (c *Client) followUp(path, transaction, amount string, more []string) Response {
	c.T.Helper()
	if amount != "" {
		more = append(more, `"amount":`+amount)
	}
	first := fmt.Sprintf(`"transaction_id":%q`, transaction)
	return c.Post(path, members(first, more))
}

// Advance moves the service's clock forward by a duration such as "720h".
func (c *Client) Advance(by string) {
	c.T.Helper()
	c.Post("/_sandbox/clock", map[string]string{"advance": by}).OK(http.StatusOK)
}

// Unlimited removes all rate limits.
func (c *Client) Unlimited() {
	c.T.Helper()
	unlimited := map[string]int{"requests_per_minute": 0, "requests_per_hour": 0, "creates_per_minute": 0, "details_per_minute": 0}
	c.Put("/_sandbox/limits", unlimited).OK(http.StatusOK)
}

// Request is a request in the sandbox's log.
type Request struct{ Method, Path, Query string }

// Requests returns the API requests in the sandbox's log, the oldest first.
func (c *Client) Requests() []Request {
	c.T.Helper()
	var log struct{ Data []Request }
	c.Get("/_sandbox/requests?per_page=1000").Into(&log)
	return log.Data
}

// Fault adds a fault.
func (c *Client) Fault(fault any) Response {
	c.T.Helper()
	return c.Post("/_sandbox/faults", fault).OK(http.StatusCreated)
}

// Balanced fails the test unless the ledger is balanced.
func (c *Client) Balanced() {
	c.T.Helper()
	report := c.Get("/_sandbox/ledger").OK(http.StatusOK)
	if report.Body["balanced"] != true {
		c.T.Errorf("the ledger is not balanced: %s", report.Raw)
	}
}
