package command_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
)

// running is a sandbox command in this process.
type running struct {
	host, key string
	stop      context.CancelFunc
	ended     chan int
	log       *lockedBuffer
}

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func runMain(t *testing.T) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	out, in := io.Pipe()
	r := &running{stop: stop, ended: make(chan int, 1), log: &lockedBuffer{}}
	go func() {
		r.ended <- command.Main(ctx, []string{"--listen", "127.0.0.1:0", "--data", ":memory:"}, in, r.log)
		_ = in.Close()
	}()
	lines := bufio.NewReader(out)
	if _, err := fmt.Fscanf(lines, "VCARD_BASE_URL=http://%s\nVCARD_API_KEY=%s\n", &r.host, &r.key); err != nil {
		t.Fatalf("%v: %s", err, r.log)
	}
	r.host = strings.TrimSuffix(r.host, "/api/v1")
	return r
}

func (r *running) call(ctx context.Context, method, path, body string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+r.host+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// A call that runs when the sandbox is stopped is answered; no other is taken.
func TestMainStopsGracefully(t *testing.T) {
	t.Parallel()
	r := runMain(t)
	status, raw, err := r.call(t.Context(), http.MethodPost, "/_sandbox/faults",
		`{"method":"POST","path":"/cards","when":"after","delay_ms":700,"then":"pass"}`)
	if status != 201 || err != nil {
		t.Fatalf("answered %d %s %v", status, raw, err)
	}
	answered := make(chan string)
	go func() {
		status, raw, err := r.call(t.Context(), http.MethodPost, "/api/v1/cards", `{"bin_id":"bin_ads_visa_us","amount":50}`)
		answered <- fmt.Sprint(status, " ", raw[:min(len(raw), 11)], " ", err)
	}()
	for { // until the card is there, and its answer on its way
		_, raw, err := r.call(t.Context(), http.MethodGet, "/api/v1/wallet/balance", "")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(raw, `"cards_active":1`) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	r.stop()
	if got, want := <-answered, `201 {"id":"card <nil>`; got != want {
		t.Errorf("the running call ended with %q, want %q", got, want)
	}
	if code := <-r.ended; code != 0 {
		t.Errorf("ended with %d: %s", code, r.log)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.host); err == nil {
		t.Error("still listening")
	}
}

// A caller that never finishes its request is cut off, and delays nobody.
func TestMainCutsSlowCallersOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a timeout of ten seconds")
	}
	r := runMain(t)
	var slow []net.Conn
	for range 50 {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		if _, err := io.WriteString(connection, "GET /api/v1/bins HTTP/1.1\r\nHost: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, connection)
	}
	if status, raw, err := r.call(t.Context(), http.MethodGet, "/api/v1/bins", ""); status != 200 || err != nil {
		t.Errorf("beside slow callers: %d %s %v", status, raw, err)
	}
	for _, connection := range slow {
		if err := connection.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(connection); err != nil {
			t.Errorf("not closed: %v", err)
		}
	}
	if status, _, err := r.call(t.Context(), http.MethodPost, "/api/v1/cards", strings.Repeat(" ", 2<<20)); status != 400 || err != nil {
		t.Errorf("2 MiB were answered %d %v", status, err)
	}
}
