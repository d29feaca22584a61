package sandbox

import (
	"io"
	"net/http"
	"sync"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// Direct carries requests to a handler of this process, without a network.
type Direct struct{ http.Handler }

// RoundTrip ends as a server would where the handler panics with http.ErrAbortHandler. Of
// another panic the error tells, without its value.
func (d Direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, writer := io.Pipe()
	w := &pipedResponse{PipeWriter: writer, header: http.Header{}, status: make(chan int, 1)}
	go func() {
		end := io.ErrUnexpectedEOF
		defer func() {
			w.begin.Do(func() { end = io.EOF })                                       // nothing has come
			if reason := recover(); reason != nil && reason != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
				end = crash.New(reason)
			}
			_ = writer.CloseWithError(end) // always nil
			close(w.status)
		}()
		d.ServeHTTP(w, r.Clone(r.Context()))
		w.WriteHeader(http.StatusOK)
		end = nil
	}()
	select {
	case status, found := <-w.status:
		if !found {
			_, err := body.Read(nil)
			return nil, err
		}
		return &http.Response{StatusCode: status, Header: w.header, Body: body, ContentLength: -1, Request: r}, nil
	case <-r.Context().Done():
		_ = body.Close() // always nil; the handler's response goes nowhere
		return nil, r.Context().Err()
	}
}

type pipedResponse struct {
	*io.PipeWriter
	header http.Header
	begin  sync.Once
	status chan int
}

func (w *pipedResponse) Header() http.Header { return w.header }

func (w *pipedResponse) WriteHeader(status int) { w.begin.Do(func() { w.status <- status }) }

func (w *pipedResponse) Write(body []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.PipeWriter.Write(body)
}
