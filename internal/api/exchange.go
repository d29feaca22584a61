package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const maxBody = 8 << 20 // a page of 100 cards is far below

// call is one request as its method describes it.
type call struct {
	operation string // what a person would say is tried: "fund card card_1"
	method    string
	path      string
	query     url.Values
	body      []byte
	budget    budget
	secret    bool               // the answer carries secrets and is never quoted
	accept    func([]byte) error // reads the body of a success
}

// class is what one try tells about its effect.
type class int

const (
	refused     class = iota // the service says that it did nothing
	rateLimited              // likewise, for pace
	notSent                  // nothing has left this machine
	unknown                  // it may have taken effect
)

// failure is a try that did not succeed.
type failure struct {
	class     class
	permanent bool // trying again cannot help
	status    int
	asked     time.Duration // Retry-After
	err       error
}

// exchange makes one try. Waiting for the limits ends with waiting; once the
// request is on its way only sending and the request's own time end it.
func (c *Client) exchange(waiting, sending context.Context, x *call, key string, try int, deadline time.Time) *failure {
	began := c.clock.Now()
	if err := c.limits.take(waiting, x.budget, deadline); err != nil {
		return &failure{class: notSent, permanent: true, err: c.requestError(x, try, false, err)}
	}
	sent := c.clock.Now()
	status, header, body, err := c.send(sending, x, key)
	c.limits.answered(x.budget)
	if c.observe != nil {
		c.observe(waiting, Exchange{
			Method: x.method, Path: x.path, Status: status, Try: try,
			Waited: sent.Sub(began), Took: c.clock.Now().Sub(sent),
		})
	}
	if err != nil {
		return c.lost(x, try, err)
	}
	f := c.judge(x, try, status, body)
	asked := retryAfter(header, c.clock.Now())
	if status == http.StatusTooManyRequests {
		c.limits.refused(sent, asked)
	} else {
		c.limits.accepted(sent)
	}
	if f != nil {
		f.status, f.asked = status, asked
	}
	return f
}

// send returns an error when no whole answer came.
func (c *Client) send(ctx context.Context, x *call, key string) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.requestTime)
	defer cancel()
	var dialing, connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { dialing.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	address := c.base + x.path
	if len(x.query) > 0 {
		address += "?" + x.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, x.method, address, bytes.NewReader(x.body))
	if err != nil {
		return 0, nil, nil, &notSentError{err}
	}
	c.header(request.Header)
	if len(x.body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set(keyHeader, key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the address is named by our own error, without its query
		}
		if dialing.Load() && !connected.Load() || isDial(err) {
			err = &notSentError{err}
		}
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end or given up
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return response.StatusCode, nil, nil, fmt.Errorf("the answer %d broke off: %w", response.StatusCode, err)
	}
	if len(body) > maxBody {
		return response.StatusCode, nil, nil, fmt.Errorf("the answer %d is larger than %d MiB", response.StatusCode, maxBody>>20)
	}
	return response.StatusCode, response.Header, body, nil
}

// notSentError marks that the request has not left this machine.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

// lost judges a try without an answer.
func (c *Client) lost(x *call, try int, err error) *failure {
	unsent, ok := errors.AsType[*notSentError](err)
	if !ok {
		return &failure{class: unknown, err: c.requestError(x, try, true, err)}
	}
	return &failure{class: notSent, permanent: !passes(unsent.error), err: c.requestError(x, try, false, unsent.error)}
}

// passes tells whether a connection that could not be made may be made later: a
// service that restarts refuses connections, a wrong name or certificate stays
// wrong.
func passes(err error) bool {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return name.IsTimeout || name.IsTemporary
	}
	return isDial(err) || errors.Is(err, context.DeadlineExceeded)
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// judge reads an answer; nil is success.
func (c *Client) judge(x *call, try, status int, body []byte) *failure {
	switch {
	case status >= 200 && status < 300:
		if err := x.accept(body); err != nil {
			if x.secret {
				err = errors.New("the answer does not have the documented shape")
			}
			return &failure{class: unknown, err: c.requestError(x, try, true, err)}
		}
		return nil
	case status == http.StatusTooManyRequests:
		return &failure{class: rateLimited, err: c.statusError(x, try, status, body)}
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status < 400, status >= 500:
		return &failure{class: unknown, err: c.statusError(x, try, status, body)}
	default:
		return &failure{class: refused, err: c.statusError(x, try, status, body)}
	}
}

func (c *Client) requestError(x *call, try int, sent bool, err error) error {
	return &RequestError{Operation: x.operation, Method: x.method, Path: x.path, Sent: sent, Tries: try, Err: err}
}

func (c *Client) statusError(x *call, try, status int, body []byte) error {
	e := &Error{Operation: x.operation, Method: x.method, Path: x.path, Status: status, Tries: try}
	var answer struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	switch err := json.Unmarshal(body, &answer); {
	case err == nil && answer.Error+answer.Message != "":
		e.Code = c.scrub.excerpt(answer.Error)
		e.Message = c.scrub.excerpt(answer.Message)
	case !x.secret:
		e.Message = c.scrub.excerpt(string(body))
	}
	return e
}
