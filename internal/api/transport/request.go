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
	maxBody = 8 << 20 // a page of 100 cards is far below
	// maxValues is about how many values a response may hold, which cost far more
	// memory and time than their bytes do.
	maxValues = 600_000
)

// ErrNotShown says that a response is from before what was last written.
var ErrNotShown = errors.New("the service does not show yet what was changed last")

// do makes one attempt. Waiting for the limits ends with ctx; once the request
// is on its way only its sending context and its own time end it.
func (c *Client) do(ctx context.Context, a attempt) (f *failure) {
	var status int
	defer func() {
		if reason := recover(); reason != nil { // nothing tells how far it came, but for the status
			f = &failure{fate: Unknown, answered: isSuccess(status), permanent: true, err: a.requestError(true, crash.New(reason))}
		}
		if f != nil {
			if failed, ok := errors.AsType[*RequestError](f.err); ok {
				failed.Host = strings.Split(c.base, "/")[2]
			}
		}
	}()
	if err := ctx.Err(); err != nil {
		return &failure{fate: NotDone, permanent: true, err: a.requestError(false, err)}
	}
	began := c.clock.Now()
	if err := c.limits.Acquire(ctx, a.Budget, a.deadline); err != nil {
		return &failure{fate: NotDone, permanent: true, err: a.requestError(false, err)}
	}
	sent := c.clock.Now()
	var header http.Header
	var body []byte
	var err error
	status, header, body, err = c.send(a)
	c.limits.Release(a.Budget)
	if c.config.Observe != nil {
		c.config.Observe(ctx, Exchange{
			Method: a.Method, Path: c.Redact(a.Path), Status: status, Attempt: a.number,
			Waited: sent.Sub(began), Took: c.clock.Now().Sub(sent),
		})
	}
	if err != nil {
		f = a.lost(err)
		f.answered = isSuccess(status)
		return f
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		c.tellsTime.Store(true)
		c.ahead.Store(int64(date.Sub(c.clock.Now().Truncate(time.Second))))
	}
	f = c.judge(a, status, body)
	retryAfter := ratelimit.RetryAfter(header, c.clock.Now())
	if status == http.StatusTooManyRequests {
		c.limits.Rejected(a.Budget, sent, retryAfter)
	} else {
		c.limits.Accepted(a.Budget, sent)
	}
	if f != nil {
		f.status, f.retryAfter = status, retryAfter
		if refused, ok := errors.AsType[*Error](f.err); ok && f.isRateLimited() {
			refused.RetryAt = c.limits.PausedUntil(a.Budget)
		}
	}
	if f.isAnswer() { // also for nil, a success
		c.breaker.answered()
	}
	if f != nil && f.final && IsNotFound(f.err) && sent.Before(a.NewUntil) {
		f.fate = NotDone
		f.final = false
		f.notShown = true
	}
	return f
}

// send returns an error when no whole response came.
func (c *Client) send(a attempt) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(a.sending, c.config.RequestTimeout)
	defer cancel()
	var dialing, connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { dialing.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	address := c.base + a.Path
	if query := a.Query.Encode(); query != "" {
		address += "?" + query
	}
	request, err := http.NewRequestWithContext(ctx, a.Method, address, bytes.NewReader(a.Body))
	if err != nil {
		return 0, nil, nil, &notSentError{err}
	}
	c.header(request.Header)
	request.Close = a.Secret // a connection that has carried a secret carries nothing else
	if a.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if a.key != "" {
		request.Header.Set(keyHeader, a.key)
	}
	// Not by a Client, which reads the addresses of redirects that are not followed.
	response, err := c.config.Transport.RoundTrip(request)
	if err != nil {
		operation, isOperation := errors.AsType[*net.OpError](err)
		unsent := dialing.Load() && !connected.Load() || isOperation && operation.Op == "dial"
		lost := c.scrub.lost(a.Call, connected.Load(), err)
		if unsent {
			return 0, nil, nil, &notSentError{lost}
		}
		return 0, nil, nil, lost
	}
	defer func() { _ = response.Body.Close() }() // read to its end or given up
	// Its body is the connection, which nothing ends.
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, nil, nil, errors.New("the response 101 changes to another protocol")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return response.StatusCode, nil, nil, fmt.Errorf("the response %d broke off: %w", response.StatusCode, c.scrub.lost(a.Call, true, err))
	}
	return response.StatusCode, response.Header, body, nil
}

// byteOrderMark stands before the JSON of some services, and means nothing there.
const byteOrderMark = "\ufeff"

// judge reads a response; nil is success.
func (c *Client) judge(a attempt, status int, body []byte) *failure {
	body = bytes.TrimPrefix(body, []byte(byteOrderMark))
	err := checkSize(body)
	if err != nil {
		body = nil // of what is no success the status is enough
	}
	if isSuccess(status) {
		if err == nil {
			err = a.Accept(body)
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrNotShown) {
			return &failure{fate: NotDone, notShown: true, err: a.requestError(true, err)}
		}
		shape, isShape := errors.AsType[*ShapeError](err)
		switch {
		case isShape && a.Secret:
			err = &ShapeError{Field: shape.Field}
		case a.Secret:
			err = errors.New("the response does not have the documented shape")
		default:
			err = &quotedError{c.scrub.known(a.Call, err.Error()), err}
		}
		return &failure{fate: Unknown, answered: true, permanent: isShape, err: a.requestError(true, err)}
	}
	fields := decodeErrorBody(body)
	fate, final := fateOf(status, fields.Code)
	return &failure{fate: fate, final: final, err: c.statusError(a, status, fields, body)}
}

func checkSize(body []byte) error {
	var problem string
	switch {
	case len(body) > maxBody:
		problem = fmt.Sprintf("is larger than %d MiB", maxBody>>20)
	case bytes.Count(body, []byte{','}) > maxValues, bytes.Count(body, []byte{'['}) > maxValues:
		problem = fmt.Sprintf("holds more than %d values", maxValues)
	default:
		return nil
	}
	return &ShapeError{Field: "its body", Problem: problem}
}

func (c *Client) statusError(a attempt, status int, fields errorBody, body []byte) *Error {
	e := &Error{Operation: a.Operation, Method: a.Method, Path: c.Redact(a.Path), Status: status, Attempts: a.number}
	e.Code, e.Message = c.scrub.code(a.Call, fields.Code), c.scrub.quote(a.Call, fields.Message)
	switch {
	case a.Secret:
		e.Message, e.Withheld = "", len(fields.Message) > 0
	case fields.Code+fields.Message == "":
		e.Message = c.scrub.quote(a.Call, excerpt(body))
	}
	return e
}
