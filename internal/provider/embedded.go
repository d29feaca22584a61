package provider

import (
	"bytes"
	"io"
	"net/http"
)

// handlerTransport carries a client's requests to a handler in this process.
type handlerTransport struct{ handler http.Handler }

func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	served := req.Clone(req.Context())
	served.RequestURI = req.URL.RequestURI()
	served.RemoteAddr = "127.0.0.1:0"
	if served.Host == "" {
		served.Host = req.URL.Host
	}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	answer := &answerBuffer{header: http.Header{}}
	t.handler.ServeHTTP(answer, served)
	_ = served.Body.Close()
	return answer.response(req), nil
}

// answerBuffer is the http.ResponseWriter of one exchange.
type answerBuffer struct {
	header http.Header
	status int
	sent   http.Header
	body   bytes.Buffer
}

func (b *answerBuffer) Header() http.Header { return b.header }

func (b *answerBuffer) WriteHeader(status int) {
	if b.status == 0 {
		b.status, b.sent = status, b.header.Clone()
	}
}

func (b *answerBuffer) Write(data []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(data)
}

func (b *answerBuffer) response(req *http.Request) *http.Response {
	b.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:        http.StatusText(b.status),
		StatusCode:    b.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        b.sent,
		Body:          io.NopCloser(&b.body),
		ContentLength: int64(b.body.Len()),
		Request:       req,
	}
}
