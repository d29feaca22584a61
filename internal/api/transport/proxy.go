package transport

import (
	"crypto/tls"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

const keyHeader = "X-Idempotency-Key"

// A request's own time bounds the rest.
const (
	connectTime = 15 * time.Second // to connect, and again for TLS
	keepAlive   = 30 * time.Second // below what routers forget a connection after
	idleTime    = 90 * time.Second // of a connection kept for the next call
)

// newTransport returns what carries the requests to a base, through the proxy that an
// environment has for it. The error is a *ConfigError. net/http repeats a request by
// itself, before anyone could verify whether the first one took effect: over HTTP/2
// any, and over HTTP/1.1 one with an idempotency key. It is kept from both.
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
		DialContext:         (&net.Dialer{Timeout: connectTime, KeepAlive: keepAlive}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: connectTime,
		MaxIdleConns:        100,
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
