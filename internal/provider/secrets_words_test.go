package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// Text that the service may choose, such as a label, is shown less what is secret in
// it: in a diagnostic, in the progress of an action, in the name of a found card, and in the log.
func TestShownTextHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for name, planted := range map[string]string{
		"a number": rawPAN, "a grouped number": "0000 5678 5678 5678", "the key": rawKey, "the key's token in capitals": "RAW0815.TAIL42",
		"another key": "sk_live_other0815", "a signing secret": rawSecret,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := fmt.Sprintf(`{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":50,"spending_limit":100,"label":"for %s","created_at":%[1]q}`, planted)
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPost:
					w.WriteHeader(http.StatusBadRequest)
					_, _ = fmt.Fprint(w, `{"error":"card_frozen","message":"no"}`)
				case r.URL.Path == "/api/v1/cards":
					_, _ = fmt.Fprintf(w, `{"data":[%s],"page":1,"per_page":100,"total":1}`, card)
				default:
					_, _ = fmt.Fprint(w, card)
				}
			}))
			t.Cleanup(service.Close)
			p := acctest.Configure(t, acctest.Object{"base_url": service.URL + "/api/v1", "api_key": rawKey, "max_retries": 0})
			_, read := p.ReadDataSource("vcard_card", acctest.Object{"id": "card_1"})
			_, misread := p.ReadDataSource("vcard_card", acctest.Object{"id": planted})
			progress, invoked := p.InvokeAction("vcard_card_freeze", acctest.Object{"card_id": "card_1"}, nil)
			found, listed := p.List("vcard_card", acctest.Object{}, 10, true)
			said := fmt.Sprint(progress, found[0].DisplayName)
			for _, diagnostics := range []acctest.Diagnostics{read, misread, invoked, listed} {
				said += diagnostics.Errors() + diagnostics.Warnings()
			}
			for _, want := range []string{"Unreadable creation time", "Could not freeze", "Freezing", "[redacted]"} {
				if !strings.Contains(said, want) {
					t.Errorf("nothing says %q: %s", want, said)
				}
			}
			if said += p.Log(); strings.Contains(strings.ToLower(said), strings.ToLower(planted)) {
				t.Errorf("shows %s in\n%s", planted, said)
			}
		})
	}
}
