package webhook_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

const withSecrets = `terraform {
  required_providers {
    vcard = { source = "vcard/vcard" }
  }
}
resource "vcard_webhook" "test" {
  url    = "https://hooks.example.com/path-hush-1/cards?token=query-hush-2&b=1"
  events = ["*"]
  secret = "my-own<hush-3&secret"
}
`

func accountBlock(s *acctest.Service) string {
	return fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key = %q\n  max_retries = 1\n}\n", s.URL, s.Key)
}

// A service that quotes what it was sent makes no secret known: neither the
// user's own, nor a token in the URL. Of its answer the code alone is told.
func TestServiceThatQuotesTheRequest(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"refused": 400, "conflict": 409, "not known": 500, "in no JSON": 418} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := acctest.NewWorkspace(t)
			w.Write("provider.tf", accountBlock(s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/webhooks") {
					return false
				}
				sent, _ := io.ReadAll(r.Body)
				var fields struct {
					URL    string `json:"url"`
					Secret string `json:"secret"`
				}
				if err := json.Unmarshal(sent, &fields); err != nil {
					t.Error(err)
				}
				message := "cannot take " + fields.URL + " with " + fields.Secret
				if status != 418 {
					quoted, _ := json.Marshal(map[string]string{"error": "invalid_request", "message": message})
					message = string(quoted)
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, message)
				return true
			})))
			w.Write("main.tf", withSecrets)
			code, output := w.Run("apply", "-no-color", "-auto-approve")
			_, errors, _ := strings.Cut(output, "Creating...") // what precedes is the user's own plan
			if code == 0 || strings.Contains(errors, "cannot take") || !strings.Contains(errors, strconv.Itoa(status)) {
				t.Errorf("the apply ended with %d:\n%s", code, output)
			}
			if strings.Contains(errors, "hush") {
				t.Errorf("the error repeats a secret:\n%s", errors)
			}
		})
	}
}

func TestRegistrationWhoseResponseIsLost(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	var lost atomic.Bool
	w := acctest.NewWorkspace(t)
	w.Write("provider.tf", accountBlock(s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/webhooks") || lost.Swap(true) {
			return false
		}
		panic(http.ErrAbortHandler)
	})))
	w.Write("main.tf", withSecrets)
	if output := w.Must("apply", "-no-color", "-auto-approve"); !strings.Contains(output, "A second webhook endpoint may have been registered") {
		t.Errorf("the apply does not warn:\n%s", output)
	}
	if err := registrations(s, 1)(nil); err != nil {
		t.Error(err)
	}
}
