package transport

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

// Client makes calls as one account. It is safe for concurrent use. Its calls share the rate limits.
type Client struct {
	config    Config            // without the key
	base      string            // the base URL, without a slash at the end
	setHeader func(http.Header) // a closure, so that printing a client shows no key
	scrub     scrubber
	clock     ratelimit.Clock
	limits    *ratelimit.Limiter
	written   atomic.Bool
	breaker   breaker

	knowsServiceTime atomic.Bool
	clockOffset      atomic.Int64 // nanoseconds by which the service's clock is ahead, if it is known
}

// New returns a client. Its error is a *ConfigError.
func New(config Config) (*Client, error) {
	key := strings.TrimSpace(config.APIKey.Reveal())
	base, err := checkBaseURL(config.BaseURL, key)
	if err != nil {
		return nil, err
	}
	err = checkKey(key)
	if err != nil {
		return nil, err
	}
	if config.RequestTimeout <= 0 {
		config.RequestTimeout = DefaultRequestTimeout
	}
	if config.Clock == nil {
		config.Clock = ratelimit.SystemClock{}
	}
	config.APIKey = "" // setHeader and scrub keep the key
	var secrets []string
	if config.Transport == nil {
		transport, err := newTransport(base, httpproxy.FromEnvironment())
		if err != nil {
			return nil, err
		}
		config.Transport = transport
		secrets = transport.proxySecrets(base)
	} else if standard, ok := config.Transport.(*http.Transport); ok {
		transport := singleAttempt{standard}
		config.Transport = transport
		secrets = transport.proxySecrets(base)
	}
	return &Client{
		config: config,
		base:   base,
		setHeader: func(h http.Header) {
			h.Set("Authorization", "Bearer "+key)
			h.Set("Accept", "application/json")
			h.Set("User-Agent", config.UserAgent)
		},
		scrub:   newScrubber(key, base, secrets...),
		clock:   config.Clock,
		limits:  ratelimit.New(config.Clock, config.Limits),
		breaker: breaker{clock: config.Clock, outages: map[string]*outage{}},
	}, nil
}

// Clock returns the client's clock.
func (c *Client) Clock() ratelimit.Clock { return c.clock }

// HasWritten reports whether this client has begun a call that changes something.
func (c *Client) HasWritten() bool { return c.written.Load() }

// KeysHonoured reports whether the configuration says that the service honours idempotency keys.
func (c *Client) KeysHonoured() bool { return c.config.KeysHonoured }

// String returns a text with the service's address and without the key.
func (c *Client) String() string { return "client of " + c.base }

// Deadline returns the deadline of a call that starts now, by the client's clock. It is OperationTimeout from
// now, or the context's deadline if that is earlier.
func (c *Client) Deadline(ctx context.Context) time.Time {
	timeout := OperationTimeout
	deadline, ok := ctx.Deadline()
	if ok {
		remaining := time.Until(deadline) // the deadline of a context is a time of the system's clock
		timeout = min(timeout, remaining)
	}
	return c.clock.Now().Add(timeout)
}

// ServiceTime returns the time by the service's clock. Until a response has shown that time, ServiceTime returns the
// time by the client's clock.
func (c *Client) ServiceTime() time.Time {
	offset := time.Duration(c.clockOffset.Load())
	now := c.clock.Now().Add(offset)
	return now.UTC()
}

// KnowsServiceTime reports whether a response has shown the service's time.
func (c *Client) KnowsServiceTime() bool { return c.knowsServiceTime.Load() }

// Redact redacts keys, webhook secrets, the proxy's password and possible card numbers in a text that this program
// wrote. It also replaces non-graphic characters, except line breaks. On a nil client, Redact knows no key and no proxy,
// but recognizes the form of keys and webhook secrets.
func (c *Client) Redact(text string) string {
	if c == nil {
		withoutKey := newScrubber("", "")
		return withoutKey.redactOwn(text)
	}
	return c.scrub.redactOwn(text)
}

// WithoutKeys redacts keys, webhook secrets and the proxy's password in a text.
func (c *Client) WithoutKeys(text string) string {
	return c.scrub.keys.ReplaceAllString(text, Redacted)
}

// keyHeader is the header with the idempotency key.
const keyHeader = "X-Idempotency-Key"

// The limits of connections.
const (
	connectTimeout     = 15 * time.Second // for the connection, and again for the TLS handshake
	idleTimeout        = 90 * time.Second // of a connection that is kept for the next call
	maxIdleConnections = 32               // more than Terraform's default parallelism
)

// newTransport returns the transport for requests to base. It uses the proxy that environment configures for base. The
// error is a *ConfigError.
func newTransport(base string, environment *httpproxy.Config) (singleAttempt, error) {
	invalidVariable := invalidProxyVariable(base, *environment)
	if invalidVariable != "" {
		return singleAttempt{}, &ConfigError{
			Field:  invalidVariable,
			Rule:   "be the address of a proxy, as in http://proxy.example.com:3128",
			Secret: true,
		}
	}
	proxy := environment.ProxyFunc()
	// net/http may repeat a change by itself, before anyone can verify whether it took effect: over HTTP/2, or if the
	// request has an idempotency key. So this transport does not use HTTP/2, and singleAttempt hides the key.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return singleAttempt{&http.Transport{
		Protocols:           &protocols,
		Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: connectTimeout,
		MaxIdleConnsPerHost: maxIdleConnections,
		IdleConnTimeout:     idleTimeout,
	}}, nil
}

// invalidProxyVariable returns the upper-case name of the environment variable that configures the proxy for base, if
// its value is not a proxy's address. With such a value, requests with the API key might use another proxy, or none.
// The result is "" if the variable is empty or valid, or if requests to base use no proxy.
func invalidProxyVariable(base string, environment httpproxy.Config) string {
	name := "HTTPS_PROXY"
	address := environment.HTTPSProxy
	if strings.HasPrefix(base, "http:") {
		name = "HTTP_PROXY"
		address = environment.HTTPProxy
	}
	if address == "" || isProxyAddress(address) {
		return ""
	}
	// Requests to loopback addresses and to those of NO_PROXY use no proxy, so the variable does not matter for
	// them. With a valid address instead, httpproxy shows whether requests to base use a proxy.
	probe := environment
	probe.HTTPSProxy = "http://proxy.example.com"
	probe.HTTPProxy = "http://proxy.example.com"
	target, err := url.Parse(base)
	if err != nil {
		return ""
	}
	proxyFor := probe.ProxyFunc()
	proxy, _ := proxyFor(target) // an error comes without a proxy
	if proxy == nil {
		return ""
	}
	return name
}

func isProxyAddress(address string) bool {
	if !strings.Contains(address, "://") {
		address = "http://" + address // the scheme may be left out
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return false
	}
	return slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}

// proxySecrets returns the password for the proxy that requests to base use, in the forms that an error may contain. It
// returns nil if there is no such proxy, or if the proxy's URL has no credentials.
func (t singleAttempt) proxySecrets(base string) []string {
	request, err := http.NewRequest(http.MethodGet, base, http.NoBody) //nolint:noctx // it is not sent
	if err != nil || t.Proxy == nil {
		return nil
	}
	proxy, err := t.Proxy(request)
	if err != nil || proxy == nil {
		return nil
	}
	user := proxy.User
	if user == nil {
		return nil
	}
	password, _ := user.Password()
	_, escapedPassword, _ := strings.Cut(user.String(), ":") // as in the proxy's URL
	credentials := user.Username() + ":" + password
	// The header Proxy-Authorization contains the credentials in base64, possibly followed by padding.
	encoded := base64.RawStdEncoding.EncodeToString([]byte(credentials))
	return []string{password, escapedPassword, encoded}
}

// singleAttempt hides the idempotency key from net/http, which may repeat a request that has one. net/http recognizes
// the header by its canonical name, so singleAttempt writes the name in lower case, which HTTP treats as the same name.
type singleAttempt struct{ *http.Transport }

// RoundTrip makes one request. If a request through a proxy fails, the error is a *ProxyError.
func (t singleAttempt) RoundTrip(r *http.Request) (*http.Response, error) {
	keys, ok := r.Header[keyHeader]
	if ok {
		r = r.Clone(r.Context())
		delete(r.Header, keyHeader)
		r.Header["x-idempotency-key"] = keys
	}
	response, err := t.Transport.RoundTrip(r)
	if err == nil || t.Proxy == nil {
		return response, err
	}
	proxy, proxyErr := t.Proxy(r)
	if proxyErr == nil && proxy != nil {
		err = &ProxyError{Address: proxy.Host, Err: err}
	}
	return response, err
}
