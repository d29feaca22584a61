package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

const (
	mebibyte = 1 << 20
	maxBody  = 8 * mebibyte // a page of 100 cards is much smaller
	// maxValues limits, roughly, the number of JSON values in a response. A decoded value may take far more memory than
	// its text.
	maxValues = 600_000
)

// ErrNotShown is for Accept functions. It says that the response does not show the latest change yet, and that a later
// attempt may succeed.
var ErrNotShown = errors.New("the service does not show the latest change yet")

// do makes one attempt, and returns nil after a success. ctx limits the wait for the rate limits; sendCtx and
// RequestTimeout limit the request itself.
func (c *Client) do(ctx, sendCtx context.Context, call *Call) *failure {
	f := c.attempt(ctx, sendCtx, call)
	if f == nil {
		return nil
	}
	requestError, ok := errors.AsType[*RequestError](f.err)
	if ok {
		baseParts := strings.Split(c.base, "/") // "https:", "", the host, and the path
		requestError.Host = baseParts[2]
	}
	return f
}

// attempt makes an attempt, and returns nil after a success. A *RequestError in the failure has no Host yet. A panic
// becomes a failure, too.
func (c *Client) attempt(ctx, sendCtx context.Context, call *Call) (f *failure) {
	call.attempts++
	var status int
	defer func() {
		reason := recover()
		if reason == nil {
			return
		}
		f = &failure{
			fate:      Unknown, // the request may have been sent before the panic
			got2xx:    isSuccess(status),
			permanent: true,
			err:       call.errorAfterSending(crash.New(reason)),
		}
	}()
	err := ctx.Err()
	if err != nil {
		return &failure{fate: NotDone, permanent: true, err: call.errorBeforeSending(err)}
	}
	beganAt := c.clock.Now()
	err = c.limits.Acquire(ctx, call.Budget, call.deadline)
	if err != nil {
		return &failure{fate: NotDone, permanent: true, err: call.errorBeforeSending(err)}
	}
	sentAt := c.clock.Now() // by the client's clock
	call.sentAt = c.ServiceTime()
	var header http.Header
	var body []byte
	status, header, body, err = c.send(sendCtx, call)
	if c.config.Observe != nil {
		c.config.Observe(ctx, Exchange{
			Method:  call.Method,
			Path:    c.Redact(call.Path),
			Status:  status,
			Attempt: call.attempts,
			Waited:  sentAt.Sub(beganAt),
			Took:    c.clock.Now().Sub(sentAt),
		})
	}
	if err != nil {
		f = call.noResponseFailure(err)
		f.got2xx = isSuccess(status)
		return f
	}
	date, err := http.ParseTime(header.Get("Date"))
	if err == nil {
		now := c.clock.Now().Truncate(time.Second) // the header has whole seconds
		c.clockOffset.Store(int64(date.Sub(now)))
		c.knowsServiceTime.Store(true) // after clockOffset, so that the offset is valid once this is true
	}
	f = c.judge(call, status, body)
	retryAfter := ratelimit.RetryAfter(header, c.clock.Now())
	if status == http.StatusTooManyRequests {
		c.limits.RecordRejection(call.Budget, sentAt, retryAfter)
	} else {
		c.limits.RecordAcceptance(call.Budget, sentAt)
	}
	if f == nil {
		c.breaker.recordAnswer()
		return nil
	}
	f.status = status
	f.retryAfter = retryAfter
	response, ok := errors.AsType[*Error](f.err)
	if ok && f.isRateLimited() {
		response.RetryAt = c.limits.PausedUntil(call.Budget)
	}
	if f.isAnswer() {
		c.breaker.recordAnswer()
	}
	notFound := f.final && IsNotFound(f.err)
	if notFound && sentAt.Before(call.NewUntil) { // the card may be too new
		f.fate = NotDone
		f.final = false
		f.notShown = true
	}
	return f
}

// send sends the request, reads the response, and releases the request's slot in the rate limits. The error is a
// *notSentError if the request was certainly not sent. Any other error means that there is no complete response. send
// returns the status, if it is known, even with an error.
func (c *Client) send(ctx context.Context, call *Call) (int, http.Header, []byte, error) {
	defer c.limits.Release(call.Budget) // also after a panic
	ctx, cancel := context.WithTimeout(ctx, c.config.RequestTimeout)
	defer cancel()
	var connecting, connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connecting.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	address := c.base + call.Path
	query := call.Query.Encode()
	if query != "" {
		address += "?" + query
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, address, bytes.NewReader(call.Body))
	if err != nil {
		return 0, nil, nil, &notSentError{err}
	}
	c.setHeader(request.Header)
	request.Close = call.Secret // so that a connection that carried a secret is not used again
	if call.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if call.key != "" {
		request.Header.Set(keyHeader, call.key)
	}
	// This is not http.Client.Do, which fails at a redirect to an invalid address even if it follows no redirects.
	response, err := c.config.Transport.RoundTrip(request)
	if err != nil {
		operation, ok := errors.AsType[*net.OpError](err)
		dialFailed := ok && operation.Op == "dial"
		// A transport that is not net/http's may report neither event, and then neverConnected is false.
		neverConnected := connecting.Load() && !connected.Load()
		err = c.scrub.connectionError(call, connected.Load(), err)
		if dialFailed || neverConnected {
			return 0, nil, nil, &notSentError{err}
		}
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }() // nothing more is read from it
	// The body of a 101 response is the connection itself, which may never end.
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, nil, nil, errors.New("the 101 response switches to another protocol")
	}
	limited := io.LimitReader(response.Body, maxBody+1) // checkSize recognizes a larger body by the extra byte
	body, err := io.ReadAll(limited)
	if err != nil {
		const wasConnected = true // because the response has begun
		cause := c.scrub.connectionError(call, wasConnected, err)
		return response.StatusCode, nil, nil, fmt.Errorf("the %d response is incomplete: %w", response.StatusCode, cause)
	}
	return response.StatusCode, response.Header, body, nil
}

// byteOrderMark precedes the JSON of some services and has no meaning there.
const byteOrderMark = "\ufeff"

// judge returns the failure that a response means, or nil for a success.
func (c *Client) judge(call *Call, status int, body []byte) *failure {
	sizeErr := checkSize(body)
	body = bytes.TrimPrefix(body, []byte(byteOrderMark))
	if !isSuccess(status) {
		if sizeErr != nil {
			body = nil // the status is enough
		}
		fields := decodeErrorBody(body)
		fate, final := fateOf(status, fields.Code)
		return &failure{fate: fate, final: final, err: c.statusError(call, status, fields, body)}
	}
	if sizeErr != nil {
		return c.unusableFailure(call, sizeErr)
	}
	err := call.Accept(body)
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrNotShown) {
		return &failure{fate: NotDone, notShown: true, err: call.errorAfterSending(err)}
	}
	return c.unusableFailure(call, err)
}

// unusableFailure returns the failure of an attempt with a 2xx response whose body cannot be used because of err. For
// a call with secrets, the failure does not quote the response. A *ShapeError is permanent, because the service would
// probably send the same shape again. After any other error a retry may help, for example if another server responded.
func (c *Client) unusableFailure(call *Call, err error) *failure {
	shape, wrongShape := errors.AsType[*ShapeError](err)
	var shown error
	if !call.Secret {
		shown = &quotedError{text: c.scrub.redactKnown(call, err.Error()), cause: err}
	} else if wrongShape {
		shown = &ShapeError{Field: shape.Field}
	} else {
		shown = errors.New("the response does not have the documented shape")
	}
	return &failure{fate: Unknown, got2xx: true, permanent: wrongShape, err: call.errorAfterSending(shown)}
}

// checkSize returns an error for a body that is too large to decode. It estimates the number of values by the commas
// and the opening brackets.
func checkSize(body []byte) error {
	if len(body) > maxBody {
		return &ShapeError{Field: "its body", Problem: fmt.Sprintf("is larger than %d MiB", maxBody/mebibyte)}
	}
	if bytes.Count(body, []byte{','}) > maxValues || bytes.Count(body, []byte{'['}) > maxValues {
		return &ShapeError{Field: "its body", Problem: fmt.Sprintf("has more than %d values", maxValues)}
	}
	return nil
}

func (c *Client) statusError(call *Call, status int, fields errorBody, body []byte) *Error {
	e := &Error{
		Operation: call.Operation,
		Method:    call.Method,
		Path:      c.Redact(call.Path),
		Status:    status,
		Code:      c.scrub.quoteCode(call, fields.Code),
		Attempts:  call.attempts,
	}
	if call.Secret {
		e.Withheld = fields.Message != ""
		return e
	}
	message := fields.Message
	if fields.Code == "" && fields.Message == "" {
		message = excerpt(body)
	}
	e.Message = c.scrub.quote(call, message)
	return e
}
