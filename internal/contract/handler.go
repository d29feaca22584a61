package contract

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
)

// Handler wraps a service so that every exchange under /api/v1 is held to the
// contract; each break fails t. A response that the service cuts off on purpose, by
// aborting the handler, is not checked.
func Handler(t testing.TB, service http.Handler, options ...Option) http.Handler {
	t.Helper()
	c := newChecker(t, options)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !underContract(r) {
			service.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		whole := err == nil
		asked := request{Request: r.Clone(r.Context()), body: body}
		r.Body = replay(body, err, r.Body)

		recorder := &recorder{ResponseWriter: w}
		service.ServeHTTP(recorder, r)
		if whole {
			c.check(asked, recorder.response())
		}
	})
}

// recorder keeps a copy of what a handler writes.
type recorder struct {
	http.ResponseWriter

	status int
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status, r.header = status, r.Header().Clone()
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.body.Write(data)
	return r.ResponseWriter.Write(data)
}

// Unwrap lets a [http.ResponseController] reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) response() response {
	if r.status == 0 {
		return response{status: http.StatusOK, header: r.Header()}
	}
	return response{status: r.status, header: r.header, body: r.body.Bytes()}
}

// replay gives back a body that was read for the check, with the error that
// ended it if there was one.
func replay(data []byte, err error, closer io.Closer) io.ReadCloser {
	readers := []io.Reader{bytes.NewReader(data)}
	if err != nil {
		readers = append(readers, iotest.ErrReader(err))
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(readers...), closer}
}
