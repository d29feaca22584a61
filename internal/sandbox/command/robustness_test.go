package command_test

import (
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
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// running is a sandbox command in this process.
type running struct {
	*sandboxtest.Client

	stop  context.CancelFunc
	ended chan int
	log   *lockedBuffer
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

func runMain(t *testing.T, arguments ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	out, in := io.Pipe()
	r := &running{stop: stop, ended: make(chan int, 1), log: &lockedBuffer{}}
	go func() {
		r.ended <- command.Main(ctx, append([]string{"--listen", "127.0.0.1:0"}, arguments...), in, r.log)
		_ = in.Close()
	}()
	address, err := process.ReadAddress(out)
	if err != nil {
		t.Fatalf("it did not start: %v %s", err, r.log)
	}
	r.Client = sandboxtest.NewClient(t, address)
	return r
}

func (r *running) dial() (net.Conn, error) {
	return new(net.Dialer).DialContext(r.T.Context(), "tcp", strings.TrimPrefix(r.Root(), "http://"))
}

// A call that runs when the sandbox is stopped is answered; no other is taken.
func TestMainStopsGracefully(t *testing.T) {
	t.Parallel()
	r := runMain(t, "--data", ":memory:")
	r.Fault(`{"method":"POST","path":"/cards","when":"after","delay_ms":700,"then":"pass"}`)
	answered := make(chan string)
	go func() {
		a := r.Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"bin_ads_visa_us","amount":50}`)
		answered <- fmt.Sprint(a.Status, " ", a.Raw[:min(len(a.Raw), 11)], " ", a.Err)
	}()
	// Until the card is there, and the response on its way.
	sandboxtest.Eventually(t, func() bool { return r.Get("/wallet/balance").Text("cards_active") == "1" })
	r.stop()
	if got, want := <-answered, `201 {"id":"card <nil>`; got != want {
		t.Errorf("the running call ended with %q, want %q", got, want)
	}
	if code := <-r.ended; code != 0 {
		t.Errorf("ended with %d: %s", code, r.log)
	}
	if _, err := r.dial(); err == nil {
		t.Error("still listening")
	}
}

// A caller that never finishes its request is cut off, and delays nobody.
func TestMainCutsSlowCallersOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a timeout of ten seconds")
	}
	r := runMain(t, "--data", ":memory:")
	var slow []net.Conn
	for range 50 {
		connection, err := r.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		if _, err := io.WriteString(connection, "GET /api/v1/bins HTTP/1.1\r\nHost: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, connection)
	}
	r.Get("/bins").OK(200)
	for _, connection := range slow {
		if err := connection.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(connection); err != nil {
			t.Errorf("not closed: %v", err)
		}
	}
	r.Post("/cards", strings.Repeat(" ", 2<<20)).OK(400)
}
