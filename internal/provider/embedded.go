package provider

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// handlerTransport carries a client's requests to a handler in this process, as
// a connection would: a caller that gives up leaves the handler to itself, and
// a handler that aborts breaks the connection.
type handlerTransport struct{ handler http.Handler }

func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	received, err := receive(req)
	if err != nil {
		return nil, err
	}
	served := make(chan *responseBuffer, 1)
	go func() { served <- t.serve(received) }()
	select {
	case response := <-served:
		return response.toResponse(req)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// receive makes the request as a server gets it, with a body of its own.
func receive(req *http.Request) (*http.Request, error) {
	served := req.Clone(req.Context())
	served.RequestURI = req.URL.RequestURI()
	served.RemoteAddr = "127.0.0.1:0"
	if served.Host == "" {
		served.Host = req.URL.Host
	}
	served.Body = http.NoBody
	if req.Body == nil {
		return served, nil
	}
	body, err := io.ReadAll(req.Body)
	served.Body = io.NopCloser(bytes.NewReader(body))
	return served, errors.Join(err, req.Body.Close())
}

func (t handlerTransport) serve(req *http.Request) (response *responseBuffer) {
	response = &responseBuffer{header: http.Header{}}
	defer func() {
		switch reason := recover(); reason {
		case nil:
			response.WriteHeader(http.StatusOK)
		case http.ErrAbortHandler:
			response.aborted = true
		default:
			response.panicked = crash.New(reason)
		}
	}()
	t.handler.ServeHTTP(response, req)
	return response
}

// responseBuffer is the http.ResponseWriter of one exchange.
type responseBuffer struct {
	header  http.Header
	status  int
	sent    http.Header
	body    bytes.Buffer
	aborted bool

	panicked error
}

func (b *responseBuffer) Header() http.Header { return b.header }

func (b *responseBuffer) WriteHeader(status int) {
	if b.status == 0 {
		b.status, b.sent = status, b.header.Clone()
	}
}

func (b *responseBuffer) Write(data []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(data)
}

func (b *responseBuffer) toResponse(req *http.Request) (*http.Response, error) {
	if b.panicked != nil {
		return nil, b.panicked
	}
	if b.aborted && b.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	body := io.Reader(&b.body)
	if b.aborted {
		body = io.MultiReader(body, brokenBody{})
	}
	return &http.Response{
		Status:        http.StatusText(b.status),
		StatusCode:    b.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        b.sent,
		Body:          io.NopCloser(body),
		ContentLength: -1,
		Request:       req,
	}, nil
}

// brokenBody ends in the middle.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
