package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// against returns a session with a service that responds like this.
func against(t *testing.T, respond http.HandlerFunc) *session.Session {
	t.Helper()
	server := httptest.NewServer(respond)
	t.Cleanup(server.Close)
	client, err := api.New(api.Config{BaseURL: server.URL + "/api/v1", APIKey: "sk_live_1"})
	if err != nil {
		t.Fatal(err)
	}
	return session.New(client)
}

// Whoever waits for what another asked for ends with a context of its own, and is not
// failed by the other's.
func TestInterruptedCallersOfOneAnswer(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	asked := make(chan struct{})
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			close(asked)
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"data": [], "total": 0}`))
	})
	call := func(ctx context.Context, who string, want error) {
		if _, err := s.Bins(ctx); !errors.Is(err, want) {
			t.Errorf("%s caller got %v", who, err)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() { call(ctx, "the interrupted", context.Canceled) })
	<-asked
	gone, leave := context.WithCancel(t.Context())
	leave()
	call(gone, "a waiting", context.Canceled)
	callers.Go(func() { call(t.Context(), "the other", nil) })
	interrupt()
	callers.Wait()
}

// Accounts without an address would all look the same.
func TestAccountWithoutAddressesIsNoProof(t *testing.T) {
	t.Parallel()
	s := against(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data": []}`)) })
	if account, err := s.Account(t.Context()); err == nil || !strings.Contains(err.Error(), "no deposit address") {
		t.Errorf("got %q, %v", account, err)
	}
}
