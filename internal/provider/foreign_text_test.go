package provider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// foreign is what the service's fields hold, beside what they should, and loose what of
// it nobody is to meet, as it is or in an escape of JSON or Go.
var (
	foreign = "x\n::error file=x::y\r\x1b[2J\u202e\x00##[error]" + strings.Repeat("A", 1<<18)
	loose   = regexp.MustCompile(`\x1b\[2J|\\u001b\[2J|\\x1b\[2J|\x{202e}|\\u202e|\x00|\\u0000|\\x00|(?m)^::error|\\n::error|##\[error|A{900}`)
)

// spoiler is the service with every string of the contract spoilt that is of a kind.
type spoiler struct {
	router  routers.Router
	service http.Handler
	kind    atomic.Value // of spoilt strings: "" for none
}

// kindOf sorts the strings of the contract by what else depends on them.
func kindOf(name string, s *openapi3.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return "words"
	case strings.HasPrefix(s.Format, "date"):
		return "times"
	case name == "id" || strings.HasSuffix(name, "_id"):
		return "ids"
	}
	return "texts"
}

// spoil returns a value of a schema, with what is missing of it.
func (p *spoiler) spoil(name string, s *openapi3.Schema, value any) any {
	switch was, _ := value.(string); {
	case s.Type == nil && len(s.OneOf) > 0:
		return p.spoil(name, s.OneOf[len(s.OneOf)-1].Value, value)
	case s.Type.Is("string"):
		if kind := p.kind.Load(); kind != "errors" && kindOf(name, s) != kind {
			return value
		}
		return was + foreign
	case s.Type.Is("array"):
		rows, _ := value.([]any)
		for i := range rows {
			rows[i] = p.spoil(name, s.Items.Value, rows[i])
		}
		if isText := s.Items.Value.Type.Is("string"); isText && len(rows) == 0 && p.kind.Load() == kindOf(name, s.Items.Value) {
			rows = []any{foreign}
		}
		return rows
	case s.Type.Is("object"):
		fields, _ := value.(map[string]any)
		for name, property := range s.Properties {
			fields[name] = p.spoil(name, property.Value, fields[name])
		}
		if anything := s.AdditionalProperties; p.kind.Load() == "texts" && anything.Has != nil && *anything.Has {
			fields["k"+foreign] = foreign
		} else if p.kind.Load() == "texts" && anything.Schema != nil {
			fields["k"+foreign+"_pay"] = true
		}
		return fields
	}
	return value
}

func (p *spoiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, _, err := p.router.FindRoute(r)
	if err != nil || p.kind.Load() == "" {
		p.service.ServeHTTP(w, r)
		return
	}
	recorded := httptest.NewRecorder()
	if p.kind.Load() == "errors" {
		recorded.Code = http.StatusBadRequest
		recorded.Body.WriteString(`{}`)
	} else {
		p.service.ServeHTTP(recorded, r)
	}
	schema := route.Operation.Responses.Status(recorded.Code).Value.Content.Get("application/json").Schema.Value
	decoder := json.NewDecoder(recorded.Body)
	decoder.UseNumber()
	var body any
	if err := decoder.Decode(&body); err != nil {
		panic(err)
	}
	w.WriteHeader(recorded.Code)
	_ = json.NewEncoder(w).Encode(p.spoil("", schema, body)) // to a test that goes on
}

const foreignConfig = acctest.Required + `
provider "vcard" {
  max_retries = 0
}
resource "vcard_card" "test" {
  bin_id   = "bin_ads_visa_us"
  amount   = 60
  metadata = { a = "b" }
}
resource "vcard_webhook" "test" {
  url    = "https://example.com/hook"
  events = ["*"]
}
data "vcard_card" "test" {
  id = vcard_card.test.id
}
data "vcard_cards" "test" {}
data "vcard_transactions" "test" {
  card_id = vcard_card.test.id
}
data "vcard_bins" "test" {}
data "vcard_wallet_balance" "test" {}
data "vcard_deposit_addresses" "test" {}
ephemeral "vcard_card_details" "test" {
  card_id = vcard_card.test.id
}
ephemeral "vcard_3ds_challenges" "test" {
  card_id = vcard_card.test.id
}
output "all" {
  value = [vcard_card.test, data.vcard_card.test, data.vcard_cards.test, data.vcard_transactions.test, data.vcard_bins.test, data.vcard_wallet_balance.test, data.vcard_deposit_addresses.test]
}
`

// TestForeignText spoils every string that the contract has of the service, whatever its
// name, and meets none of it in what the CLI prints, the log or the statement.
func TestForeignText(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the CLI thirty times")
	}
	acctest.Needs(t, "1.10.0", "1.11.0") // ephemeral resources
	document, _ := openapi.Contract()
	spec, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"texts", "words", "times", "ids", "errors"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := &spoiler{router: router}
			p.kind.Store("")
			service := sandboxtest.Start(t, acctest.InMemory(t), func(o *sandboxtest.Options) {
				checked := o.Wrap
				o.Wrap = func(h http.Handler) http.Handler { p.service = checked(h); return p }
			})
			w := acctest.NewWorkspace(t).Built()
			w.Env = append(w.Env, "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(w.Dir, "trace.log"), "VCARD_BASE_URL="+service.URL, "VCARD_API_KEY="+service.Key)
			w.Write("main.tf", foreignConfig)
			w.Must("apply", "-auto-approve", "-no-color")
			card := service.LiveCards()[0]["id"].(string)
			service.Settle(service.Authorize(card, "5", "7311").Transaction(), "5")
			service.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Ads", "amount": 5}).Must()
			p.kind.Store(kind)

			said := map[string]string{}
			for _, command := range []string{"plan -no-color -out=plan.bin", "apply -auto-approve -no-color", "output -no-color", "show -no-color", "show -json plan.bin", "destroy -auto-approve -no-color"} {
				_, said[command] = w.Run(strings.Fields(command)...)
			}
			if _, plan, isPlan := strings.Cut(said["show -json plan.bin"], "{"); isPlan {
				statement := exec.CommandContext(t.Context(), sandboxtest.Program(t), "statement", "-")
				statement.Stdin = io.MultiReader(strings.NewReader("{"), strings.NewReader(plan))
				output, _ := statement.CombinedOutput() // its status is that of its rules
				said["statement"] = string(output)
			}
			said["the log"] = w.Read("trace.log")
			for where, text := range said {
				if at := loose.FindStringIndex(text); at != nil {
					t.Errorf("%s has %.40q in %.300q", where, text[at[0]:at[1]], text[max(0, at[0]-150):])
				}
			}
			if said := fmt.Sprint(said); !strings.Contains(said, "error file=") && !strings.Contains(said, "�") {
				t.Errorf("nothing foreign was met:\n%.3000s", said)
			}
		})
	}
}
