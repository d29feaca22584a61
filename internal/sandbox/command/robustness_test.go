package command_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func (r *running) dial() (net.Conn, error) {
	return new(net.Dialer).DialContext(r.T.Context(), "tcp", strings.TrimPrefix(r.Root(), "http://"))
}

// A call that runs when the sandbox is stopped is answered; no other is taken.
func TestMainStopsGracefully(t *testing.T) {
	t.Parallel()
	r := runMain(t, "--data", ":memory:")
	r.Fault(`{"method":"POST","path":"/cards","when":"after","delay_ms":700,"then":"pass"}`)
	answered := make(chan sandboxtest.Response)
	go func() {
		answered <- r.Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"bin_ads_visa_us","amount":50}`)
	}()
	// Until the card is there, and the response on its way.
	sandboxtest.Eventually(t, func() bool { return r.Get("/wallet/balance").Text("cards_active") == "1" })
	r.stop()
	(<-answered).OK(http.StatusCreated).Text("id")
	r.end(0)
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
		connection := must(r.dial())
		defer func() { _ = connection.Close() }()
		must(io.WriteString(connection, "GET /api/v1/bins HTTP/1.1\r\nHost: "))
		slow = append(slow, connection)
	}
	r.Get("/bins").OK(200)
	for _, connection := range slow {
		must(0, connection.SetReadDeadline(time.Now().Add(30*time.Second)))
		if _, err := io.ReadAll(connection); err != nil {
			t.Errorf("not closed: %v", err)
		}
	}
	r.Post("/cards", strings.Repeat(" ", 2<<20)).OK(400)
}

// Nobody reads the log: everything is answered all the same, and a signal ends it. Who
// reads it while it ends learns how many of its lines are missing.
func TestAnUnreadLog(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		unread, log, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := sandboxtest.StartProcess(t, log, "--data", ":memory:", "--log-level", "debug")
		_ = log.Close() // the process has its own
		p.Unlimited()
		for range 2000 { // more than the pipe holds, and as many lines as wait in memory
			p.Get("/bins").OK(200)
		}
		read := make(chan string)
		reading := sync.OnceFunc(func() {
			go func() {
				text, _ := io.ReadAll(unread) // what is missing in it is seen
				read <- string(text)
			}()
		})
		if late {
			reading()
		}
		if err := p.Interrupt(); err != nil {
			t.Errorf("ended with %v", err)
		}
		reading()
		text := <-read
		lines, dropped := strings.Count(text, "msg=answered"), 0
		for _, said := range regexp.MustCompile(`msg="(\d+) lines of the log were dropped`).FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(said[1])
			dropped += n
		}
		if lines == 0 || late && (lines < 1000 || dropped == 0 || lines+dropped < 2000) {
			t.Errorf("read while it ends: %v; %d lines, and %d that are said to be missing", late, lines, dropped)
		}
	}
}

// Who listens to the network delivers to public addresses alone, unless told
// otherwise.
func TestPrivateWebhooks(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	for name, c := range map[string]struct {
		arguments []string
		arrives   bool
	}{
		"loopback":               {[]string{"--listen", "localhost:0"}, true},
		"every address":          {[]string{"--listen", "0.0.0.0:0"}, false},
		"every address, allowed": {[]string{"--listen", "0.0.0.0:0", "--allow-private-webhooks"}, true},
	} {
		r := runMain(t, append(c.arguments, "--data", ":memory:", "--webhook-ca", inbox.CAFile())...)
		r.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201)
		r.Issue("50")
		sandboxtest.Eventually(t, func() bool {
			return !strings.Contains(r.Get("/_sandbox/deliveries").Raw, `"tries":[]`)
		})
		if got := strings.Contains(r.Get("/_sandbox/deliveries").Raw, `"state":"delivered"`); got != c.arrives {
			t.Errorf("%s: %s", name, r.Get("/_sandbox/deliveries").Raw)
		}
	}
}
