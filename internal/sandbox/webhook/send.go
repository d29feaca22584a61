package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	defaultTimeout = 15 * time.Second
	// maxResponse is the maximum number of bytes of an endpoint's response that are stored.
	maxResponse = 1 << 10

	signatureHeader = "X-Webhook-Signature"
	idHeader        = "X-Webhook-Id" // contains the event's id
)

// outcome is the outcome of an attempt to deliver an event.
type outcome struct {
	status      int    // 0 if there was no response
	failure     string // why the attempt failed; empty if it succeeded
	response    []byte // the first bytes of the body
	duration    time.Duration
	interrupted bool // whether Close interrupted the attempt, so that it does not count
}

// sender sends deliveries to endpoints.
type sender struct {
	client *http.Client
}

func newSender(o WorkerOptions) sender {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		MaxIdleConns:           maxInFlight,
		MaxIdleConnsPerHost:    perEndpoint,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if o.PublicOnly {
		transport.Proxy = nil // the sender could not check the addresses to which a proxy connects
		guard := ssrf.New(ssrf.WithAnyPort())
		dialer := &net.Dialer{Control: guard.Safe}
		transport.DialContext = dialer.DialContext
	}
	return sender{
		client: &http.Client{
			Timeout:       cmp.Or(o.Timeout, defaultTimeout),
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// send makes one attempt to deliver an event.
func (s sender) send(ctx context.Context, d *dueDelivery) outcome {
	start := time.Now()
	status, body, err := s.post(ctx, d)
	o := outcome{status: status, response: body, duration: time.Since(start)}
	switch {
	case status == 0 && ctx.Err() != nil:
		o.interrupted = true
	case err != nil:
		o.failure = s.explain(err)
	case status/100 == 3:
		o.failure = fmt.Sprintf("answered %d %s; redirects are not followed", status, http.StatusText(status))
	case status/100 != 2:
		o.failure = fmt.Sprintf("answered %d %s", status, http.StatusText(status))
	}
	return o
}

// post sends a delivery. It returns the status of the response and the first bytes of its body. A panic becomes an error,
// so that a bug here does not end the process.
func (s sender) post(ctx context.Context, d *dueDelivery) (status int, body []byte, err error) {
	defer crash.Catch(&err)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Target.URL, bytes.NewReader(d.Payload))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "vcard-sandbox")
	request.Header.Set(signatureHeader, sign(d.Target.Secret, d.Payload))
	request.Header.Set(idHeader, d.EventID)
	// With this header, the transport retries the request if an idle connection turns out to be closed. The transport does
	// not send the header itself, because its list of values is empty.
	request.Header["Idempotency-Key"] = []string{}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, _ = io.ReadAll(io.LimitReader(response.Body, maxResponse)) // the status alone decides the outcome
	return response.StatusCode, body, nil
}

// sign returns the signature of a body, by which an endpoint verifies that the service sent it.
func sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// explain returns the reason why there was no response. It leaves out the endpoint's IP address, the endpoint's URL, which
// may contain a token, and the text of a malformed response, which may repeat the event.
func (s sender) explain(err error) string {
	errno, isErrno := errors.AsType[syscall.Errno](err)
	opError, isOpError := errors.AsType[*net.OpError](err)
	panicked, isPanic := errors.AsType[*crash.Error](err)
	switch {
	case isPanic:
		return "a bug in the sandbox stopped the attempt (panic of type " + panicked.Type + ")"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no response within %v", s.client.Timeout)
	case isOpError && opError.Op == "proxyconnect": // the following errors would be about the proxy, not the endpoint
		return "cannot connect to the proxy that HTTPS_PROXY or HTTP_PROXY names"
	case hasType[x509.UnknownAuthorityError](err):
		return "the endpoint's certificate is from an unknown authority; run vcard sandbox with --webhook-ca to trust it"
	case hasType[x509.HostnameError](err):
		return "the endpoint's certificate is for another host name"
	case hasType[*tls.CertificateVerificationError](err):
		return "the endpoint's certificate is not valid; it may have expired"
	case errors.Is(err, ssrf.ErrProhibitedIP):
		return "the endpoint's address is private or belongs to this machine; allow such addresses with --allow-private-webhooks"
	case hasType[*net.DNSError](err):
		return "the address of the endpoint's host could not be found"
	case isErrno:
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before there was a response"
	}
	return "malformed HTTP response, failed TLS connection, or refusal by a proxy"
}

// hasType reports whether an error, or one that it wraps, has the type T.
func hasType[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// Roots returns the certificate authorities in extra, which is PEM, and those of the system unless they cannot be read. If
// extra is empty, it returns nil, for which crypto/tls uses the system's authorities. If extra is not empty and contains no
// certificate, it returns an error.
func Roots(extra []byte) (*x509.CertPool, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // without the system's authorities, which cannot be read
	}
	if !pool.AppendCertsFromPEM(extra) {
		return nil, errors.New("the webhook CA contains no PEM certificate (-----BEGIN CERTIFICATE-----)")
	}
	return pool, nil
}
