package card_test

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// brokenHandshakes is a listener whose first connections end before TLS begins.
type brokenHandshakes struct {
	net.Listener
	left atomic.Int64
}

func (l *brokenHandshakes) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil || l.left.Add(-1) < 0 {
			return connection, err
		}
		_ = connection.Close()
	}
}

func TestHandshakeThatBreaksOffIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	target, err := url.Parse(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	listener := &brokenHandshakes{Listener: server.Listener}
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
	w := acctest.NewWorkspace(t).Built()
	w.Write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	w.Env = append(w.Env, "SSL_CERT_FILE="+filepath.Join(w.Dir, "ca.pem"))
	w.Write("provider.tf", fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key = %q\n}\n", server.URL+"/api/v1", s.Key))
	listener.left.Store(2)
	apply(w, oneCard("amount = 60"))
	serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
	if listener.left.Load() > 0 {
		t.Error("no handshake broke off")
	}
}
