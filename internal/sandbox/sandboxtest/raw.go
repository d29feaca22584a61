package sandboxtest

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// RawService starts a server that can respond with arbitrary bytes, and returns its address, as in
// http://127.0.0.1:1234. It reads each request with its body and then calls respond. The connection
// stays open until respond or the client closes it.
func RawService(t testing.TB, respond func(connection net.Conn, request *http.Request)) string {
	t.Helper()
	address := Listen(t, func(connection net.Conn) { serveRaw(t.Context(), connection, respond) })
	return "http://" + address.String()
}

// Listen accepts connections on a free local port until the test ends.
func Listen(t testing.TB, serve func(net.Conn)) net.Addr {
	t.Helper()
	listener := Must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(connection)
		}
	}()
	return listener.Addr()
}

func serveRaw(ctx context.Context, connection net.Conn, respond func(net.Conn, *http.Request)) {
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	defer func() { _ = connection.Close() }()
	requests := bufio.NewReader(connection)
	for {
		request, err := http.ReadRequest(requests)
		if err != nil {
			return
		}
		_, err = io.Copy(io.Discard, request.Body)
		if err != nil {
			return
		}
		respond(connection, request)
	}
}

// BrokenResponse is a malformed or unusual HTTP response that contains a JSON body somewhere.
type BrokenResponse struct {
	Name  string
	Bytes string // as sent over the connection
	Open  bool   // the connection stays open afterwards
}

// BrokenResponses returns responses that contain a body, one line of JSON, in unusual places: twice, in
// a header, instead of a number, truncated, in an error and so on.
func BrokenResponses(body string) []BrokenResponse {
	const (
		ok      = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		chunked = ok + "Transfer-Encoding: chunked\r\n"
	)
	// header is the body as a valid header value. It has no colon, so that it is not a valid header line by itself.
	header := strings.NewReplacer(":", "=", "{", "", "}", "").Replace(body)
	whole := func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	}
	return []BrokenResponse{
		{"twice", whole("200 OK", body) + whole("200 OK", body), true},
		{"bytes after the body", whole("200 OK", body) + body, true},
		{"longer than announced", ok + "Content-Length: 5\r\n\r\n" + body, true},
		{"shorter than announced", fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(body)+100, body), false},
		{"a header without a colon", ok + header + "\r\n\r\n" + body, false},
		{"a header name with spaces", ok + "X " + header + ": 1\r\n\r\n" + body, false},
		{"a continuation line before any header", "HTTP/1.1 200 OK\r\n " + header + "\r\n\r\n" + body, false},
		{"a header without an end", ok + "X-Body: " + header, false},
		{"a length that is text", ok + "Content-Length: " + header + "\r\n\r\n" + body, false},
		{"two lengths", ok + "Content-Length: 5\r\nContent-Length: " + header + "\r\n\r\n" + body, false},
		{"an unknown encoding", ok + "Transfer-Encoding: " + header + "\r\n\r\n" + body, false},
		{"two encodings", chunked + "Transfer-Encoding: " + header + "\r\n\r\n" + body, false},
		{"a status that is text", "HTTP/1.1 " + header + "\r\n\r\n" + body, false},
		{"a status of many digits", "HTTP/1.1 200" + header + "\r\n\r\n" + body, false},
		{"another version", "HTTP/" + header + " 200 OK\r\n\r\n" + body, false},
		{"only a body", body, false},
		{"only a line", header + "\r\n\r\n", false},
		{"a reason", whole("500 "+header, ""), true},
		{"a chunk length that is text", chunked + "\r\n" + header + "\r\n", false},
		{"a chunk that is longer than its length", chunked + "\r\n5\r\n" + body + "\r\n0\r\n\r\n", false},
		{"a chunk that is shorter than its length", chunked + "\r\nffff\r\n" + body, false},
		{"a trailer without a colon", fmt.Sprintf("%s\r\n%x\r\n%s\r\n0\r\n%s\r\n\r\n", chunked, len(body), body, header), false},
		{"not compressed, in spite of its header", ok + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", len(body)) + body, true},
		{"a redirect to nowhere", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: http://[" + header + "\r\n\r\n", true},
		{"a redirect", whole("307 Temporary Redirect\r\nLocation: https://cards.example.com/"+header, body), true},
		{"many informational responses", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+header+"\r\n\r\n", 9) + whole("200 OK", body), true},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: " + header + "\r\n\r\n" + body, false},
		{"HTTP/2 frames", "\x00\x00\x12\x04\x00\x00\x00\x00\x00" + body, false},
		{"truncated", whole("200 OK", body[:len(body)-2]), true},
		{"in a list", whole("200 OK", "["+body+"]"), true},
		{"as a string", whole("200 OK", strconv.Quote(body)), true},
		{"an error's message", whole("400 Bad Request", `{"error":"invalid_request","message":`+strconv.Quote(body)+`}`), true},
		{"an error's code", whole("400 Bad Request", `{"error":`+strconv.Quote(body)+`,"message":"no"}`), true},
		{"an error with an object as its message", whole("422 Unprocessable Content", `{"error":"invalid_request","message":`+body+`}`), true},
		{"a page", whole("502 Bad Gateway", "<html>"+body+"</html>"), true},
		{"a page in UTF-16", whole("502 Bad Gateway", "\xff\xfe"+strings.Join(strings.Split(body, ""), "\x00")+"\x00"), true},
		{"a page with escapes", whole("502 Bad Gateway", everyByte(body, `\u00%02x`)+everyByte(body, "%%%02X")+everyByte(body, "&#%d;")), true},
		{"a page in base64", whole("502 Bad Gateway", base64.StdEncoding.EncodeToString([]byte(body))), true},
		{"a page in hexadecimal", whole("502 Bad Gateway", everyByte(body, "%02x")), true},
		{"a byte order mark", whole("200 OK", "\ufeff"+body), true},
		{"as a name", whole("200 OK", `{`+strconv.Quote(body)+`:1,"id":[]}`), true},
		{"duplicate names", whole("200 OK", `{"id":`+body+`,"data":`+body+","+body[1:]), true},
		{"as an id", whole("200 OK", `{"id":`+strconv.Quote(header)+`,"data":[{"id":`+strconv.Quote(header)+`,"status":"pending"}]}`), true},
		{"an error with a list", whole("400 Bad Request", `{"error":["x",`+body+`],"message":[`+body+`,`+strconv.Quote(body)+`]}`), true},
		{"a nested error", whole("400 Bad Request", `{"error":{"code":`+strconv.Quote(header)+`,"message":`+body+`}}`), true},
		{"headers", whole("503 Service Unavailable\r\nSet-Cookie: s="+header+"\r\nRetry-After: "+header+"\r\nDate: "+header+"\r\nWWW-Authenticate: "+header, ""), true},
		{"a malformed informational response", "HTTP/1.1 103 Early Hints\r\n" + header + "\r\n\r\n" + whole("200 OK", body), false},
		{"a chunk's extension", chunked + "Trailer: " + header + "\r\n\r\n5;" + header + "\r\n{\"id\"\r\nx" + header + "\r\n", false},
		{"an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + body, false},
		{"compressed and truncated", compressed(body, header)[:40+len(header)], false},
		{"compressed and large", compressed(strings.Repeat(body, 9<<20/len(body)), header), true},
	}
}

// everyByte formats each byte of a text.
func everyByte(text, format string) string {
	var all strings.Builder
	for _, b := range []byte(text) {
		_, _ = fmt.Fprintf(&all, format, b)
	}
	return all.String()
}

// compressed returns a response with a compressed body. The name is part of the gzip header.
func compressed(body, name string) string {
	var bytes strings.Builder
	w := gzip.NewWriter(&bytes)
	w.Name = name
	_, _ = io.WriteString(w, body)
	_ = w.Close()
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", bytes.Len(), bytes.String())
}
