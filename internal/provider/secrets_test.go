package provider_test

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

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
	folder := t.TempDir() // of the sandbox
	log, err := os.Create(filepath.Join(folder, "sandbox.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	service := sandboxtest.StartProcess(t, log, "--data", filepath.Join(folder, "sandbox.db"))
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
