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
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

const (
	defaultTimeout = 15 * time.Second
	// maxResponse is how much of a receiver's response is kept, in bytes.
	maxResponse = 1 << 10

	signatureHeader = "X-Webhook-Signature"
	idHeader        = "X-Webhook-Id"
)

// outcome is what became of one try.
type outcome struct {
	status      int    // 0: there was no response
	failure     string // why it does not count, in words; "" is success
	response    []byte // the beginning of the body, sealed
	took        time.Duration
	interrupted bool // by Close: it was no try
}

// sender makes the requests.
type sender struct {
	keys    *vault.Keyring
	client  *http.Client
	timeout time.Duration
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
		transport.Proxy = nil // it would not say where it connects to
		transport.DialContext = (&net.Dialer{ControlContext: refuseLocal}).DialContext
	}
	return sender{
		keys:    o.Keys,
		timeout: cmp.Or(o.Timeout, defaultTimeout),
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (s sender) send(ctx context.Context, d delivery) outcome {
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	status, body, err := s.post(limited, d)
	o := outcome{status: status, response: body, took: time.Since(begun)}
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

// post returns the status of the response, and the beginning of its body, sealed.
func (s sender) post(ctx context.Context, d delivery) (status int, body []byte, err error) {
	defer crash.Catch(&err)
	payload, err := s.keys.Open(vault.PayloadOfEvent, d.eventID, d.payload)
	if err != nil {
		return 0, nil, err
	}
	secret, err := s.keys.Open(vault.SecretOfWebhook, d.webhookID, d.secret)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(payload))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "vcard-sandbox")
	request.Header.Set(signatureHeader, sign(secret, payload))
	request.Header.Set(idHeader, d.eventID)
	// Never sent, being empty; it allows the transport to try again when a
	// kept connection turns out to be closed.
	request.Header["Idempotency-Key"] = []string{}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	// A body that is read to its end leaves the connection to the next delivery.
	body, _ = io.ReadAll(io.LimitReader(response.Body, maxResponse))
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	if len(body) > 0 {
		body = s.keys.Seal(vault.ResponseToDelivery, d.id, body)
	}
	return response.StatusCode, body, nil
}

// sign proves to an endpoint that a body comes from the service.
func sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// explain says in words why there was no response, without the URL, which may
// hold a token, and without what came in its place, which may echo the event.
func (s sender) explain(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no response within %v", s.timeout)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate comes from an authority that is not trusted here; name that authority's file with --webhook-ca"
	}
	_, bySystem := errors.AsType[syscall.Errno](err)
	_, byName := errors.AsType[*net.DNSError](err)
	_, byCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	if bySystem || byName || byCertificate || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errLocal) {
		return requestlog.Clean(err.Error())
	}
	return "what came is not an HTTP response, or no TLS connection could be made"
}

// Roots returns the system's certificate authorities and those in extra, which
// is PEM. Without extra ones it returns nil, which stands for the system's.
func Roots(extra []byte) (*x509.CertPool, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any; the extra ones still serve
	}
	if !pool.AppendCertsFromPEM(extra) {
		return nil, errors.New("the webhook CA holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
	}
	return pool, nil
}

// errLocal does not say what is at the address.
var errLocal = errors.New("its address is private or this machine's own, which the sandbox does not call while it listens to the network; --allow-private-webhooks has it do so")

// refuseLocal is asked of every connection, once its name is an address.
func refuseLocal(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := target.Addr().Unmap().WithZone("")
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	isOwn := slices.ContainsFunc(own, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(ip.AsSlice())
	})
	isSpecial := slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(ip) })
	if isOwn || isSpecial || ip.IsPrivate() || !ip.IsGlobalUnicast() {
		return errLocal
	}
	return nil
}

// special are the further networks that are nobody's on the internet, or hold an
// IPv4 address that a gateway may lead to.
func special() []netip.Prefix {
	var all []netip.Prefix
	for _, network := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4", // RFC 6890
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(network))
	}
	return all
}
