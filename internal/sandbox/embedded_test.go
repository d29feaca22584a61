package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// The embedded service does not advise a call that only a server has.
func TestEmbeddedHintsAtNoListOfCalls(t *testing.T) {
	t.Parallel()
	box, err := sandbox.Open(t.Context(), sandbox.Options{Path: ":memory:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	for path, want := range map[string]string{
		"/_sandbox/xyz":            "; the embedded sandbox serves only some control calls; run vcard sandbox to use all of them",
		"/_sandbox/":               "; the embedded sandbox serves only some control calls; run vcard sandbox to use all of them",
		"/_sandbox/authorisations": "; did you mean POST /_sandbox/authorizations?",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+box.APIKey())
		w := httptest.NewRecorder()
		box.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "lists the calls") {
			t.Errorf("GET %s: %d %s, want %q", path, w.Code, w.Body, want)
		}
	}
}
