package webhook_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// Alone in its package, so that every goroutine that is seen is its own.
func TestCloseLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 2)
	inbox := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then, the server does not notice who goes away
		arrived <- r.URL.Path
		if r.URL.Path == "/hangs" {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(inbox.Close)
	box, err := sandbox.Open(t.Context(), sandbox.Options{
		Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: 100_000,
		WebhookCA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: inbox.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range [][2]string{
		{"/webhooks", `{"url":"` + inbox.URL + `/answers","events":["*"]}`},
		{"/webhooks", `{"url":"` + inbox.URL + `/hangs","events":["*"]}`},
		{"/cards", `{"bin_id":"bin_ads_visa_us","amount":50}`},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1"+call[0], strings.NewReader(call[1]))
		request.Header.Set("Authorization", "Bearer "+box.APIKey())
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		box.Handler().ServeHTTP(answer, request)
		if answer.Code != http.StatusCreated {
			t.Fatalf("%s answered %d %s", call[0], answer.Code, answer.Body)
		}
	}
	<-arrived
	<-arrived
	if of := running(); !strings.Contains(of, "webhook.(*Worker)") || !strings.Contains(of, "http.(*persistConn)") {
		t.Fatalf("the search does not see the worker in %s", of)
	}
	begun := time.Now()
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("closing took %v", took)
	}
	if strings.Contains(running(), "webhook.(*Worker)") {
		t.Errorf("the worker still runs:\n%s", running())
	}
	for range 100 { // connections end by themselves, a moment later
		if !strings.Contains(running(), "http.(*persistConn)") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("connections are still open:\n%s", running())
}

// running returns the stacks of all goroutines.
func running() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}
