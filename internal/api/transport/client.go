package transport

import (
	"cmp"
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

// Client makes calls as one account. It is safe for concurrent use; its limits are shared
// by all calls.
type Client struct {
	config    Config // without the key
	base      string
	header    func(http.Header) // a closure, so that printing a client shows no key
	scrub     scrubber
	clock     ratelimit.Clock
	limits    *ratelimit.Limiter
	tellsTime atomic.Bool
	ahead     atomic.Int64 // by how many nanoseconds the service's clock is ahead, where it tells its time
	written   atomic.Bool
	breaker   breaker
}

// New returns a client. Its error is a *ConfigError.
func New(config Config) (*Client, error) {
	key := strings.TrimSpace(config.APIKey.Reveal())
	base, err := checkBaseURL(config.BaseURL, key)
	if err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	config.RequestTimeout = cmp.Or(max(0, config.RequestTimeout), DefaultRequestTimeout)
	config.Clock = cmp.Or[ratelimit.Clock](config.Clock, ratelimit.SystemClock{})
	config.APIKey = ""
	var secrets []string
	if config.Transport == nil {
		proxied, err := newTransport(base, httpproxy.FromEnvironment())
		if err != nil {
			return nil, err
		}
		config.Transport = proxied
		secrets = proxied.secrets(base)
	} else if given, ok := config.Transport.(*http.Transport); ok {
		single := oneTry{given}
		config.Transport = single
		secrets = single.secrets(base)
	}
	return &Client{
		config: config,
		base:   base,
		header: func(h http.Header) {
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

// Config returns the configuration of the client with its defaults, without the key.
func (c *Client) Config() Config { return c.config }

// Clock is what the client tells the time by.
func (c *Client) Clock() ratelimit.Clock { return c.clock }

// HasWritten reports whether this client has begun a call that changes something.
func (c *Client) HasWritten() bool { return c.written.Load() }

// KeysHonoured reports whether the service is known to honour idempotency keys.
func (c *Client) KeysHonoured() bool { return c.config.KeysHonoured }

// String names the service and not the key.
func (c *Client) String() string { return "client of " + c.base }

// Deadline is when the own time of a call that begins now is over, by the client's clock:
// with the context's, where that is earlier.
func (c *Client) Deadline(ctx context.Context) time.Time {
	left := OperationTimeout
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	return c.clock.Now().Add(left)
}

// ServiceTime is the time by the service's clock, as far as its responses tell.
func (c *Client) ServiceTime() time.Time {
	return c.clock.Now().Add(time.Duration(c.ahead.Load())).UTC()
}

// KnowsServiceTime reports whether a response has told the service's time.
func (c *Client) KnowsServiceTime() bool { return c.tellsTime.Load() }

// Redact takes keys, webhook secrets, numbers as long as a card's and what would move the
// cursor out of a text of this program, in which people and the service may have their
// say. A nil client does not know its key.
func (c *Client) Redact(text string) string {
	if c == nil {
		return newScrubber("", "").own(text)
	}
	return c.scrub.own(text)
}

// WithoutKeys takes keys and webhook secrets out of a text.
func (c *Client) WithoutKeys(text string) string { return c.scrub.known(&Call{}, text) }

const keyHeader = "X-Idempotency-Key"

// A request's own time bounds the rest.
const (
	connectTime = 15 * time.Second // to connect, and again for TLS
	idleTime    = 90 * time.Second // of a connection kept for the next call
)

// newTransport returns what carries the requests to a base, through the proxy that an
// environment has for it. The error is a *ConfigError. net/http repeats a request by
// itself, before anyone could verify whether the first one took effect: over HTTP/2
// any, and over HTTP/1.1 one with an idempotency key. So HTTP/2 is off, and oneTry hides the key.
func newTransport(base string, environment *httpproxy.Config) (oneTry, error) {
	if name := wrongProxy(base, *environment); name != "" {
		return oneTry{}, &ConfigError{Field: name, Rule: "be the address of a proxy, as in http://proxy.example.com:3128", Secret: true}
	}
	proxy := environment.ProxyFunc()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return oneTry{&http.Transport{
		Protocols:           &protocols,
		Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }, // but for this machine
		DialContext:         (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: connectTime,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     idleTime,
	}}, nil
}

// wrongProxy names the variable of which the environment's proxy for a base cannot be
// made out: httpproxy takes that for another one or for none, and the key would go there.
func wrongProxy(base string, environment httpproxy.Config) string {
	name, value := "HTTPS_PROXY", &environment.HTTPSProxy
	if strings.HasPrefix(base, "http:") {
		name, value = "HTTP_PROXY", &environment.HTTPProxy
	}
	text := *value
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	proxy, err := url.Parse(text)
	if *value == "" || err == nil && proxy.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, proxy.Scheme) {
		return ""
	}
	*value = "http://proxy.example.com"
	to, err := url.Parse(base)
	if valid, _ := environment.ProxyFunc()(to); err != nil || valid == nil { // as for loopback and NO_PROXY
		return ""
	}
	return name
}

// secrets are what a proxy between here and a base is told and no error may repeat.
func (t oneTry) secrets(base string) []string {
	request, err := http.NewRequest(http.MethodGet, base, http.NoBody) //nolint:noctx // it is not sent
	if err != nil || t.Proxy == nil {
		return nil
	}
	proxy, err := t.Proxy(request)
	if err != nil || proxy == nil || proxy.User == nil {
		return nil
	}
	password, _ := proxy.User.Password()
	pair := proxy.User.Username() + ":" + password
	_, escaped, _ := strings.Cut(proxy.User.String(), ":")
	return []string{password, escaped, base64.RawStdEncoding.EncodeToString([]byte(pair))}
}

// oneTry hides the idempotency key from net/http by the case of its name, which
// means nothing on the wire.
type oneTry struct{ *http.Transport }

func (t oneTry) RoundTrip(r *http.Request) (*http.Response, error) {
	if key, ok := r.Header[keyHeader]; ok {
		r = r.Clone(r.Context())
		delete(r.Header, keyHeader)
		r.Header["x-idempotency-key"] = key
	}
	response, err := t.Transport.RoundTrip(r)
	if err == nil || t.Proxy == nil {
		return response, err
	}
	if proxy, invalid := t.Proxy(r); invalid == nil && proxy != nil {
		err = &ProxyError{Address: proxy.Host, Err: err}
	}
	return response, err
}

// ProxyError is a request's failure on its way through a proxy.
type ProxyError struct {
	Address string // host and port, without credentials
	Err     error
}

func (e *ProxyError) Error() string { return "through the proxy " + e.Address + ": " + e.Err.Error() }

func (e *ProxyError) Unwrap() error { return e.Err }
