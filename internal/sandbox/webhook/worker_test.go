package webhook_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// Alone in its package, so that every goroutine that is seen is its own.
func TestCloseLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 2)
	receiver := sandboxtest.NewReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		if r.URL.Path == "/hangs" {
			<-r.Context().Done()
		}
	})
	s := sandboxtest.Start(t, receiver.Trusted, func(o *sandboxtest.Options) { o.Direct, o.WebhookTimeout = true, 2*time.Minute })
	for _, path := range []string{"/answers", "/hangs"} {
		s.Post("/webhooks", `{"url":"`+receiver.URL+path+`","events":["*"]}`).OK(201)
	}
	s.Issue("50")
	<-arrived
	<-arrived
	if of := running(); !strings.Contains(of, "webhook.(*Worker)") || !strings.Contains(of, "http.(*persistConn)") {
		t.Fatalf("the search does not see the worker in %s", of)
	}
	s.Close()
	if strings.Contains(running(), "webhook.(*Worker)") {
		t.Errorf("the worker still runs:\n%s", running())
	}
	// Connections end by themselves, a moment later.
	sandboxtest.Eventually(t, func() bool { return !strings.Contains(running(), "http.(*persistConn)") })
}

// running returns the stacks of all goroutines.
func running() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}
