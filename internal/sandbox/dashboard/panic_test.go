package dashboard_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/dashboard"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

// A bug on the way of a request is told without its value, which may be a secret; one
// that has a connection broken off stays as it is.
func TestPanicOfAHandler(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := must(dashboard.New(dashboard.Options{
		Server: &server.Server{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Address: "http://127.0.0.1", Now: time.Now,
		Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/drop" {
				panic(http.ErrAbortHandler)
			}
			panic("whsec_0815")
		}),
	}))
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/bins", nil))
	if said := w.Body.String() + log.String(); w.Code != http.StatusInternalServerError || strings.Contains(said, "0815") || !strings.Contains(log.String(), "panic_test.go") {
		t.Errorf("answered %d, and said %s", w.Code, said)
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("a connection that is to break off ends with %v", err)
		}
	}()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/drop", nil))
}
