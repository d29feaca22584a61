package sandbox

import (
	"io"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// Direct is a transport that passes requests to a handler in this process, without a network.
type Direct struct{ http.Handler }

// RoundTrip returns the response of the handler. If the request's context ends before the response starts, RoundTrip
// returns the context's error. If the handler panics, RoundTrip or reading the body returns an error, which does not
// contain the panic's value.
func (d Direct) RoundTrip(r *http.Request) (*http.Response, error) {
	request := r.Clone(r.Context()) // because a handler may change its request
	if request.Body == nil {
		request.Body = http.NoBody
	}
	err := r.Context().Err()
	if err != nil {
		_ = request.Body.Close() // http.RoundTripper demands this
		return nil, err
	}
	body, writer := io.Pipe()
	w := &pipedResponse{PipeWriter: writer, header: http.Header{}, status: make(chan int, 1)}
	go d.serve(w, request)
	select {
	case status, ok := <-w.status:
		if !ok { // the handler panicked or called runtime.Goexit before the response started
			_, err := body.Read(nil) // the error with which serve closed the pipe
			return nil, err
		}
		response := &http.Response{
			StatusCode:    status,
			Header:        w.header,
			Body:          body,
			ContentLength: -1, // unknown
			Request:       r,
		}
		return response, nil
	case <-r.Context().Done():
		_ = body.Close() // it never fails; the handler's writes fail from now on
		return nil, r.Context().Err()
	}
}

// serve runs the handler, and closes the request's body and the pipe. It closes the pipe with an error if the handler does
// not return normally.
func (d Direct) serve(w *pipedResponse, r *http.Request) {
	defer close(w.status)                 // runs last: RoundTrip then reads the error with which the pipe was closed
	defer func() { _ = r.Body.Close() }() // http.RoundTripper demands this
	returned := false                     // stays false if the handler panics or calls runtime.Goexit
	defer func() {
		reason := recover() // nil after runtime.Goexit
		if returned {
			return
		}
		err := w.abortError()
		aborted := reason == nil || reason == http.ErrAbortHandler //nolint:errorlint // net/http compares it in the same way
		if !aborted {
			err = crash.New(reason)
		}
		_ = w.CloseWithError(err) // it never fails
	}()
	d.ServeHTTP(w, r)
	returned = true
	w.WriteHeader(http.StatusOK)
	_ = w.Close() // it never fails
}

// pipedResponse is a response whose body the caller of RoundTrip reads from a pipe.
type pipedResponse struct {
	*io.PipeWriter
	header  http.Header
	started bool
	// status receives the status when the response starts. Its capacity is 1, so that the handler does not wait for the
	// receiver. It is closed when the handler has ended.
	status chan int
}

func (w *pipedResponse) Header() http.Header { return w.header }

func (w *pipedResponse) WriteHeader(status int) {
	if w.started {
		return
	}
	w.started = true
	w.status <- status
}

// abortError returns the error for a response that the handler aborts: io.EOF before the response has started, and
// io.ErrUnexpectedEOF afterwards.
func (w *pipedResponse) abortError() error {
	if w.started {
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}

func (w *pipedResponse) Write(body []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.PipeWriter.Write(body)
}
