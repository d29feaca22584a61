package provider_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
	"github.com/hashicorp/terraform-plugin-log/tfsdklogtest"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const secretsConfig = acctest.Required + `
provider "vcard" {}
variable "custom" {
  type      = string
  sensitive = true
}
variable "planted" {
  type      = string
  ephemeral = true
}
resource "vcard_card" "test" {
  bin_id = "bin_ads_visa_us"
  amount = 60
}
ephemeral "vcard_card_details" "test" {
  card_id = vcard_card.test.id
}
ephemeral "vcard_3ds_challenges" "test" {
  card_id = vcard_card.test.id
}
resource "vcard_webhook" "generated" {
  url    = "https://example.com/generated"
  events = ["*"]
}
resource "vcard_webhook" "custom" {
  url    = "https://example.com/custom"
  events = ["card.funded"]
  secret = var.custom
}
resource "vcard_webhook" "write_only" {
  url               = "https://example.com/write-only"
  events            = ["card.funded"]
  secret_wo         = join("-", [var.planted, ephemeral.vcard_card_details.test.pan, ephemeral.vcard_card_details.test.cvv], [for c in ephemeral.vcard_3ds_challenges.test.challenges : c.otp])
  secret_wo_version = VERSION
}
`

// needle is a secret, the pattern that finds it, and a line that leaks it.
type needle struct {
	name    string
	pattern *regexp.Regexp
	inState bool // states and plans are documented to hold it
	leak    string
}

// short secrets occur by chance, so they are searched for where something names
// them or where they stand alone in quotes.
func short(name, value string) needle {
	pattern := fmt.Sprintf(`(?i)%[1]s\W{0,12}%[2]s\b|["']%[2]s\\?["']`, name, regexp.QuoteMeta(value))
	return needle{name, regexp.MustCompile(pattern), false, name + "=" + value}
}

func long(name, value string) needle {
	return needle{name, regexp.MustCompile(regexp.QuoteMeta(value)), strings.HasSuffix(name, " of the state"), `log line {"value":"` + value + `"}`}
}

// search returns where in the files below folders a secret rests.
func search(t *testing.T, needles []needle, folders ...string) []string {
	t.Helper()
	var found []string
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			file := filepath.Base(path)
			isState := strings.HasPrefix(file, "terraform.tfstate") || file == "plan.bin"
			content, err := readUnpacked(path)
			for _, n := range needles {
				if !(n.inState && isState) && n.pattern.Match(content) {
					found = append(found, n.name+" in "+file)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestNoSecretRests runs the real CLI at log level TRACE through a life with
// every kind of secret and searches all that it leaves behind.
func TestNoSecretRests(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11.0", "1.11.0") // write-only attributes
	w := acctest.NewWorkspace(t).Built()
	folder := t.TempDir() // of the sandbox's log; whoever has its file has its secrets
	log := sandboxtest.Must(os.Create(filepath.Join(folder, "sandbox.log")))
	t.Cleanup(func() { _ = log.Close() })
	service := sandboxtest.StartProcess(t, log, "--data", filepath.Join(t.TempDir(), "sandbox.db"))
	const custom, planted, wrong = "custom-secret-5d1f0c", "planted-secret-77aa01", "sk_live_sandbox_wrong_but_secret_0815"
	w.Env = append(w.Env, "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(w.Dir, "trace.log"),
		"VCARD_BASE_URL="+service.URL, "VCARD_API_KEY="+service.Key, "TF_VAR_custom="+custom, "TF_VAR_planted="+planted)
	keep := func(name, command string, args ...string) {
		w.Write(name, w.Must(append([]string{command, "-no-color"}, args...)...))
	}
	write := func(version string) { w.Write("main.tf", strings.ReplaceAll(secretsConfig, "VERSION", version)) }

	write("1")
	keep("apply.out", "apply", "-auto-approve")
	card := fmt.Sprint(service.LiveCards()[0]["id"])
	details := service.Get("/cards/" + card + "/details").Must()
	challenge := service.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Ads", "amount": 5}).Must()

	write("2")
	keep("plan.out", "plan", "-out=plan.bin")
	keep("replace.out", "apply", "plan.bin")
	keep("show.out", "show")
	state := w.Read("terraform.tfstate")
	if shown := w.Must("show", "-json"); !strings.Contains(shown, custom) {
		t.Error("terraform show -json does not show what it is documented to")
	}
	generated := regexp.MustCompile(`whsec_[A-Za-z0-9_-]+`).FindString(state)
	if generated == "" || !strings.Contains(state, custom) {
		t.Error("the state lacks the webhook secrets that it is documented to hold")
	}
	w.Env = append(w.Env, "VCARD_API_KEY="+wrong)
	_, refused := w.Run("plan", "-no-color")
	w.Write("refused.out", refused)
	w.Env = append(w.Env, "VCARD_API_KEY="+service.Key)
	keep("destroy.out", "destroy", "-auto-approve")

	needles := []needle{
		long("api key", service.Key), long("wrong api key", wrong), long("pan", details.Text("pan")), short("cvv", details.Text("cvv")),
		short("otp", challenge.Text("otp")), long("write-only secret", planted),
		long("custom secret of the state", custom), long("generated secret of the state", generated),
	}
	for _, where := range search(t, needles, w.Dir, folder) {
		t.Error("found the " + where)
	}

	if trace := w.Read("trace.log"); !strings.Contains(trace, "/cards/"+card+"/details") || !strings.Contains(trace, "[TRACE]") {
		t.Errorf("the log of %d bytes does not tell of the calls that carried secrets", len(trace))
	}

	// The search itself finds what is planted.
	leaks := t.TempDir()
	for _, n := range needles {
		if err := os.WriteFile(filepath.Join(leaks, n.name), []byte(n.leak), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found := search(t, needles, leaks); len(found) < len(needles) {
		t.Errorf("of %d planted leaks only %v were found", len(needles), found)
	}
}

// readUnpacked reads a file, and of an archive (a plan) what is packed in it.
func readUnpacked(path string) ([]byte, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return os.ReadFile(path)
	}
	defer func() { _ = archive.Close() }()
	var all []byte
	for _, member := range archive.File {
		content, err := fs.ReadFile(archive, member.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, content...)
	}
	return all, nil
}

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
	for kind, test := range map[string]struct {
		first              int // of every fourth response, which the short tests have
		block, lines, body string
	}{
		"details": {
			0,
			`ephemeral "vcard_card_details"`, `card_id = "card_1"`,
			`{"id":"card_1","pan":"` + rawPAN + `","cvv":"` + rawCVV + `","exp_month":1,"exp_year":2031,"echo":"` + rawKey + `"}`,
		},
		"challenges": {
			1,
			`ephemeral "vcard_3ds_challenges"`, `card_id = "card_1"`,
			`{"data":[{"id":"3ds_1","card_id":"card_1","merchant":"Ads","amount":5,"otp":"` + rawOTP + `","status":"pending"}],"echo":"` + rawKey + `"}`,
		},
		"webhooks": {
			2,
			`resource "vcard_webhook"`, "url = \"https://example.com/hook\"\n  events = [\"*\"]",
			`{"id":"wh_1","url":"https://example.com/hook","events":["*"],"secret":"` + rawSecret + `","created_at":"2026-03-01T12:00:00Z","echo":"` + rawKey + `"}`,
		},
		"errors": {
			3,
			`data "vcard_card"`, `id = "card_1"`,
			`{"id":"card_2","pan":"` + rawPAN + `","secret":"` + rawSecret + `","echo":"` + rawKey + `"}`,
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			responses := sandboxtest.BrokenResponses(test.body)
			first, step := 0, 1
			if testing.Short() {
				first, step = test.first, 4
			}
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
			for i := first; i < len(responses); i += step {
				name := fmt.Sprintf("f%d", i)
				config += fmt.Sprintf("provider \"vcard\" {\n  alias = %q\n  base_url = %q\n  max_retries = 0\n  request_timeout = \"5s\"\n  idempotency_keys = \"honoured\"\n}\n", name, service+"/"+name+"/api/v1")
				config += fmt.Sprintf("%s %q {\n  provider = vcard.%[2]s\n  %[3]s\n}\n", test.block, name, test.lines)
			}
			w.Write("main.tf", config)
			_, output := w.Run("apply", "-auto-approve", "-no-color")
			w.Write("output", output)

			for i := first; i < len(responses); i += step {
				if _, ok := asked.Load(i); !ok {
					t.Errorf("%q was not asked for", responses[i].Name)
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
			log := sandboxtest.Must(os.Create(filepath.Join(t.TempDir(), "log")))
			p := acctest.Configure(t, acctest.Object{"base_url": service.URL + "/api/v1", "api_key": rawKey, "max_retries": 0}).
				With(tfsdklogtest.RootLogger(tflogtest.RootLogger(t.Context(), log), log))
			_, read := p.ReadDataSource("vcard_card", acctest.Object{"id": "card_1"})
			_, refused := p.InvokeAction("vcard_card_freeze", acctest.Object{"card_id": planted}, nil)
			progress, invoked := p.InvokeAction("vcard_card_freeze", acctest.Object{"card_id": "card_1"}, nil)
			found, listed := p.List("vcard_card", acctest.Object{}, 10, true)
			said := fmt.Sprint(progress, found[0].DisplayName)
			if strings.ContainsAny(said, "\x1b\u202e\n") {
				t.Errorf("what does not print is in %q", said)
			}
			for _, diagnostics := range []acctest.Diagnostics{read, refused, invoked, listed} {
				said += diagnostics.Errors() + diagnostics.Warnings()
			}
			sandboxtest.ContainsAll(t, "all that is said", said, "Unreadable creation time", "Could not freeze", "Freezing", "[redacted]")
			if said += sandboxtest.File(t, filepath.Dir(log.Name()), "log"); strings.Contains(strings.ToLower(said), strings.ToLower(planted)) {
				t.Errorf("shows %s in\n%s", planted, said)
			}
		})
	}
}

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
	router := sandboxtest.Must(legacy.NewRouter(sandboxtest.Must(openapi3.NewLoader().LoadFromData(openapi.Contract()))))
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
				statement := exec.CommandContext(t.Context(), sandboxtest.Vcard(t), "statement", "-")
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
