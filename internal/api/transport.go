package api

import (
	"crypto/tls"
	"net"
	"net/http"
)

const keyHeader = "X-Idempotency-Key"

// newTransport returns what carries the requests. net/http repeats a request by
// itself, before anyone could verify whether the first one took effect: over HTTP/2
// any, and over HTTP/1.1 one with an idempotency key. It is kept from both.
func newTransport() oneTry {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return oneTry{&http.Transport{
		Protocols:           &protocols,
		Proxy:               http.ProxyFromEnvironment, // but for this machine, in lower case as the base URL is
		DialContext:         (&net.Dialer{Timeout: connectTime, KeepAlive: keepAlive}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: connectTime,
		MaxIdleConns:        100,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     idleTime,
	}}
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
