package sandboxtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
)

// IdempotencyKey is the header that makes a call safe to repeat.
const IdempotencyKey = "X-Idempotency-Key"

// Client speaks to a sandbox with one key, and fails its test where a call goes
// wrong that must not.
type Client struct {
	process.Address

	T         testing.TB
	Transport http.RoundTripper
}

// NewClient is a client of a sandbox that runs at an address.
func NewClient(t testing.TB, address process.Address) *Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{address, t, transport}
}

// As is this client with another key.
func (c *Client) As(key string) *Client {
	other := *c
	other.Key = key
	return &other
}

// Unrepeated is this client with a connection of its own for each call: on one
// that was used before, net/http repeats by itself what got no response.
func (c *Client) Unrepeated() *Client {
	other := *c
	if _, network := c.Transport.(*http.Transport); network {
		other.Transport = &http.Transport{DisableKeepAlives: true}
	}
	return &other
}

// Send makes a call and returns whatever came of it. The path is one of the API,
// such as /cards, or begins with /_sandbox or /api. A body is a text, or what is
// sent as JSON, or nil. Headers come as names and values; "" takes one away.
func (c *Client) Send(ctx context.Context, method, path string, body any, headers ...string) Response {
	c.T.Helper()
	text, isText := body.(string)
	if body != nil && !isText {
		encoded, err := json.Marshal(body)
		if err != nil {
			c.T.Fatal(err)
		}
		text = string(encoded)
	}
	request, err := c.NewRequest(ctx, method, path, text)
	if err != nil {
		c.T.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if request.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			request.Header.Del(headers[i])
		}
	}
	return c.Do(request)
}

// Do sends a request as it is.
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

// Call makes a call that must be answered with a JSON object, whatever the
// status. It takes what Send takes.
func (c *Client) Call(method, path string, body any, headers ...string) Response {
	c.T.Helper()
	r := c.Send(c.T.Context(), method, path, body, headers...)
	if r.Err != nil || r.Body == nil {
		c.T.Fatalf("%s %s answered %d with something that is not a JSON object: %q %v", method, path, r.Status, r.Raw, r.Err)
	}
	return r
}

// Get is Call.
func (c *Client) Get(path string) Response { c.T.Helper(); return c.Call(http.MethodGet, path, nil) }

// Post is Call.
func (c *Client) Post(path string, body any, headers ...string) Response {
	c.T.Helper()
	return c.Call(http.MethodPost, path, body, headers...)
}

// Put is Call.
func (c *Client) Put(path string, body any) Response {
	c.T.Helper()
	return c.Call(http.MethodPut, path, body)
}

// Delete is Call.
func (c *Client) Delete(path string) Response {
	c.T.Helper()
	return c.Call(http.MethodDelete, path, nil)
}
