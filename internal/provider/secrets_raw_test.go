package provider_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// What a service that breaks the rules of HTTP may not get into a log or a terminal.
const (
	rawKey    = "sk_live_raw0815.tail42"
	rawPAN    = "0000567856785678"
	rawCVV    = "7391046"
	rawOTP    = "5520917"
	rawSecret = "whsec_raw77aa01"
)

// TestNoSecretOfABrokenResponse has the real CLI, which logs everything, ask for each
// kind of secret, and for a card that the service refuses to show, and has the service
// answer in every form of sandboxtest.BrokenResponses.
func TestNoSecretOfABrokenResponse(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.10.0", "1.11.0") // ephemeral resources
	planted := []needle{
		long("key", rawKey), long("key's end", "tail42"), long("pan", rawPAN), long("cvv", rawCVV),
		long("otp", rawOTP), long("secret of the state", rawSecret),
	}
	for kind, test := range map[string]struct{ block, lines, body string }{
		"details": {
			`ephemeral "vcard_card_details"`, `card_id = "card_1"`,
			`{"id":"card_1","pan":"` + rawPAN + `","cvv":"` + rawCVV + `","exp_month":1,"exp_year":2031,"echo":"` + rawKey + `"}`,
		},
		"challenges": {
			`ephemeral "vcard_3ds_challenges"`, `card_id = "card_1"`,
			`{"data":[{"id":"3ds_1","card_id":"card_1","merchant":"Ads","amount":5,"otp":"` + rawOTP + `","status":"pending"}],"echo":"` + rawKey + `"}`,
		},
		"webhooks": {
			`resource "vcard_webhook"`, "url = \"https://example.com/hook\"\n  events = [\"*\"]",
			`{"id":"wh_1","url":"https://example.com/hook","events":["*"],"secret":"` + rawSecret + `","created_at":"2026-03-01T12:00:00Z","echo":"` + rawKey + `"}`,
		},
		"errors": {
			`data "vcard_card"`, `id = "card_1"`,
			`{"id":"card_2","pan":"` + rawPAN + `","secret":"` + rawSecret + `","echo":"` + rawKey + `"}`,
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			responses := sandboxtest.BrokenResponses(test.body)
			var asked sync.Map
			service := sandboxtest.RawService(t, func(to net.Conn, request *http.Request) {
				var i int
				if _, err := fmt.Sscanf(request.URL.Path, "/f%d/", &i); err != nil {
					t.Error(err)
				}
				asked.Store(i, true)
				_, _ = to.Write([]byte(responses[i].Bytes))
				if !responses[i].Open {
					_ = to.Close()
				}
			})
			w := acctest.NewWorkspace(t).Built()
			w.Env = append(w.Env, "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(w.Dir, "trace.log"), "VCARD_API_KEY="+rawKey,
				"TF_LOG_SDK_PROTO_DATA_DIR="+filepath.Join(w.Dir, "data"), "GRPC_GO_LOG_SEVERITY_LEVEL=info", "GRPC_GO_LOG_VERBOSITY_LEVEL=99")
			if err := os.Mkdir(filepath.Join(w.Dir, "data"), 0o700); err != nil {
				t.Fatal(err)
			}
			config := acctest.Required
			for i := range responses {
				name := fmt.Sprintf("f%d", i)
				config += fmt.Sprintf("provider \"vcard\" {\n  alias = %q\n  base_url = %q\n  max_retries = 0\n  request_timeout = \"5s\"\n  idempotency_keys = \"honoured\"\n}\n", name, service+"/"+name+"/api/v1")
				config += fmt.Sprintf("%s %q {\n  provider = vcard.%[2]s\n  %[3]s\n}\n", test.block, name, test.lines)
			}
			w.Write("main.tf", config)
			_, output := w.Run("apply", "-auto-approve", "-no-color")
			w.Write("output", output)

			for i, response := range responses {
				if _, ok := asked.Load(i); !ok {
					t.Errorf("%q was not asked for", response.Name)
				}
			}
			for _, where := range search(t, planted, w.Dir) {
				t.Error("found " + where)
			}
			if written, err := os.ReadDir(filepath.Join(w.Dir, "data")); err != nil || len(written) > 0 {
				t.Errorf("the SDK has written %v, %v", written, err)
			}
			trace := w.Read("trace.log")
			if !strings.Contains(trace, `service call`) {
				t.Errorf("the log of %d bytes does not tell of the calls", len(trace))
			}
			if foreign := regexp.MustCompile(`.*terraform-provider-vcard.*(Unsolicited|\[core\]|\[transport\]).*`).FindString(trace); foreign != "" {
				t.Errorf("a library of the provider logs %s", foreign)
			}
		})
	}
}

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
			card := fmt.Sprintf(`{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":50,"spending_limit":100,"label":"for\u001b\u202e\n %s","created_at":%[1]q}`, planted)
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
			if strings.ContainsAny(said, "\x1b\u202e\n") {
				t.Errorf("what does not print is in %q", said)
			}
			for _, diagnostics := range []acctest.Diagnostics{read, misread, invoked, listed} {
				said += diagnostics.Errors() + diagnostics.Warnings()
			}
			sandboxtest.Says(t, "all that is said", said, "Unreadable creation time", "Could not freeze", "Freezing", "[redacted]")
			if said += p.Log(); strings.Contains(strings.ToLower(said), strings.ToLower(planted)) {
				t.Errorf("shows %s in\n%s", planted, said)
			}
		})
	}
}
