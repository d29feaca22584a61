package sandbox_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// A receiver that never answers, with many endpoints, takes a bounded number of
// connections, and no other endpoint waits for it.
func TestManyEndpointsOfASilentReceiver(t *testing.T) {
	t.Parallel()
	const endpoints = 150
	var (
		mu        sync.Mutex
		now, most int
	)
	silent := sandboxtest.NewReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-r.Context().Done()
		mu.Lock()
		now--
		mu.Unlock()
	})
	good := sandboxtest.NewReceiver(t, nil)
	s := start(t, silent.Trusted)
	for i := range endpoints {
		s.subscribe(fmt.Sprintf("%s/%d", silent.URL, i), `"*"`)
	}
	s.subscribe(good.URL, `"*"`)
	s.Issue("50")
	good.Wait(1)
	silent.Wait(20)
	s.Issue("50")
	good.Wait(2)
	mu.Lock()
	defer mu.Unlock()
	if most > 32 {
		t.Errorf("%d connections to one receiver", most)
	}
}

// Silent receivers take a bounded number of connections together, too.
func TestManySilentReceivers(t *testing.T) {
	t.Parallel()
	const receivers, endpoints = 12, 32
	var connected atomic.Int32
	s := start(t)
	for range receivers {
		silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = silent.Close() })
		go func() {
			for {
				connection, err := silent.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { _ = connection.Close() })
				connected.Add(1)
			}
		}()
		for range endpoints {
			s.subscribe("https://"+silent.Addr().String(), `"*"`)
		}
	}
	s.Issue("50")
	sandboxtest.Eventually(t, func() bool { return connected.Load() >= 250 })
	s.Issue("50")
	if n := connected.Load(); n > 256 {
		t.Errorf("%d connections", n)
	}
}

// With others on the network as its callers, the sandbox is not led to what only
// this machine can reach.
func TestLocalTargetsAreRefused(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, inbox.Trusted, func(o *sandboxtest.Options) { o.PublicWebhooks = true })
	port := inbox.URL[strings.LastIndex(inbox.URL, ":"):]
	hosts := []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.1.2.3", "192.168.0.1", "169.254.169.254", "[fe80::1]", "[fd00::1]", "100.64.0.1", "0.0.0.0", "0.1.2.3", "198.18.0.1", "240.0.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fec0::1]", "[::ffff:0:127.0.0.1]", "[2001:db8::1]", "[100::1]", "192.88.99.1"}
	own, err := net.InterfaceAddrs() // also where it is no private one
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range own {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil {
			hosts = append(hosts, network.IP.String())
		}
	}
	for _, host := range hosts {
		hook := s.subscribe("https://"+host+port+"/", `"*"`).Text("id")
		s.Issue("50")
		try := tries(s.tried(hook, 1)[0])[0].(map[string]any)
		if failure, _ := try["error"].(string); !strings.Contains(failure, "--allow-private-webhooks") {
			t.Errorf("%s: %v", host, try)
		}
	}
	if n := len(inbox.Events()); n != 0 {
		t.Errorf("%d events arrived", n)
	}
}

// Old deliveries are forgotten with their tries and events, more than one look
// forgets one look after the other.
func TestOldDeliveriesAreForgotten(t *testing.T) {
	t.Parallel()
	const kept = 10_000
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"card.created"`).Text("id")
	for range 2 {
		s.Issue("50")
	}
	s.tried(hook, 1)
	s.close()
	// As if the second one had been repeated until 1,000 are too many, the first one too.
	execSQL(t, s.path, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO deliveries (public_id, event_id, webhook_id) SELECT 'dlv_' || i, event_id, webhook_id
		FROM n, (SELECT * FROM deliveries ORDER BY id DESC LIMIT 1)`, kept+1000))
	s = start(t, on(s.path), inbox.Trusted)
	sandboxtest.Eventually(t, func() bool { return s.Get("/_sandbox/deliveries?per_page=1").Text("total") == fmt.Sprint(kept) })
	for table, want := range map[string]int{"events": 1, "delivery_tries": 0} {
		if n := queryInt(t, s.path, "SELECT COUNT(*) FROM "+table); n != want {
			t.Errorf("%d %s are left, want %d", n, table, want)
		}
	}
}
