package webhook_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// registrations is how often the service was asked to register an endpoint.
func registrations(s *acctest.Service) int {
	count := 0
	for _, request := range s.Requests() {
		if request.Method == http.MethodPost && request.Path == "/webhooks" {
			count++
		}
	}
	return count
}

// TestLife takes an endpoint through all that can become of its secret, with the real
// CLI. Each plan is followed by one that does nothing, and each endpoint that is left
// behind is told of once.
func TestLife(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11.0", "1.11.0") // write-only attributes
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	const (
		events   = `"card.created", "3ds.challenge"`
		block    = "resource \"vcard_webhook\" \"test\" {\n  url = \"https://hooks.example.com/cards?token=hush\"\n  events = [" + events + "]\n"
		hidden   = "variable \"hidden\" {\n  ephemeral = true\n  sensitive = true\n}\n"
		imported = "import {\n  to = vcard_webhook.other\n  id = \"wh_9f2c\"\n}\n"
	)
	other := strings.Replace(block, "test", "other", 1) + "secret = \"known\"\n}\n"
	fromApply := block + "secret = terraform_data.made.output\n}\nresource \"terraform_data\" \"made\" {\n  input = \"made-by-apply\"\n}\n"
	reordered := strings.Replace(block, events, `"3ds.challenge", "card.created"`, 1)
	writeOnly := func(version int) string {
		return hidden + block + fmt.Sprintf("secret_wo = var.hidden\nsecret_wo_version = %d\n}\n", version)
	}
	var secret string // in the state
	for _, step := range []struct {
		what, config  string
		does          string // added, changed, destroyed
		registrations int    // so far
		secret        string // "" where it stays
		flags         []string
	}{
		{"a generated secret", block + "}\n", "1 added, 0 changed, 0 destroyed", 1, `^"whsec_\w+"$`, nil},
		{"another order of events", reordered + "}\n", "0 added, 0 changed, 0 destroyed", 1, "", nil},
		{"other events", strings.Replace(block, events, `"*"`, 1) + "}\n", "1 added, 0 changed, 1 destroyed", 2, `^"whsec_\w+"$`, nil},
		{"a secret that apply makes", fromApply, "2 added, 0 changed, 1 destroyed", 3, `^"made-by-apply"$`, nil},
		{"the secret is taken out", block + "}\n", "0 added, 0 changed, 1 destroyed", 3, "", nil},
		{"another secret", block + "secret = \"mine\"\n}\n", "1 added, 0 changed, 1 destroyed", 4, `^"mine"$`, nil},
		{"a write-only secret", writeOnly(1), "1 added, 0 changed, 1 destroyed", 5, "^null$", []string{"-var=hidden=planted-1"}},
		{"another one of the same version", writeOnly(1), "0 added, 0 changed, 0 destroyed", 5, "", []string{"-var=hidden=planted-2"}},
		{"another version", writeOnly(2), "1 added, 0 changed, 1 destroyed", 6, "", []string{"-var=hidden=planted-2"}},
		{"the write-only secret is taken out", block + "}\n", "1 added, 0 changed, 1 destroyed", 7, `^"whsec_\w+"$`, nil},
		{"an import", other + imported, "1 imported, 0 added, 1 changed, 1 destroyed", 7, `^"known"$`, nil},
		{"a change of what was imported", strings.Replace(other, "hooks.", "new-hooks.", 1), "1 added, 0 changed, 1 destroyed", 8, "", nil},
	} {
		w.Write("main.tf", acctest.Required+s.Provider()+step.config)
		flags := append([]string{"-no-color"}, step.flags...)
		output := strings.Join(strings.Fields(w.Must(append([]string{"apply", "-auto-approve"}, flags...)...)), " ")
		if !strings.Contains(output, "Resources: "+step.does+".") {
			t.Errorf("%s: want %s:\n%s", step.what, step.does, output)
		}
		left, told := strings.Count(output, ": Destroying... [id=wh_"), strings.Count(output, "stays registered")
		if told != left {
			t.Errorf("%s: of %d endpoints that are left behind it is told %d times:\n%s", step.what, left, told, output)
		}
		if n := registrations(s); n != step.registrations {
			t.Errorf("%s: %d endpoints were registered, want %d", step.what, n, step.registrations)
		}
		state := w.Read("terraform.tfstate")
		now := regexp.MustCompile(`"secret": (.*),`).FindStringSubmatch(state)[1]
		if same := now == secret; same != (step.secret == "") || !regexp.MustCompile(step.secret).MatchString(now) {
			t.Errorf("%s: the secret stays: %t, want one of the form %s", step.what, same, step.secret)
		}
		if secret = now; strings.Contains(state+output, "planted-") || strings.Contains(output, "whsec_") {
			t.Errorf("%s: a secret rests or is shown:\n%s", step.what, output)
		}
		w.Must(append([]string{"plan", "-detailed-exitcode"}, flags...)...)
	}
}

// A registration that fails or is made twice names the host alone: the path and the
// query of an address often hold tokens, and a service may quote what it was sent.
func TestRegistrationsThatGoWrong(t *testing.T) {
	t.Parallel()
	const lost = 0 // for a status
	for name, test := range map[string]struct {
		status, times int
		key           string
		says          []string
		registered    bool
	}{
		"refused":        {status: 400, times: 9, says: []string{"answered 400 (invalid_request); its message is not shown, since it may hold a secret.", "Check url, events, and secret"}},
		"conflict":       {status: 409, times: 9, says: []string{"409"}},
		"failed":         {status: 500, times: 9, says: []string{"500"}},
		"in no JSON":     {status: 418, times: 9, says: []string{"418"}},
		"never answered": {status: lost, times: 9, says: []string{host, "dashboard"}},
		"limited":        {status: 429, times: 1, says: []string{"Held up", "To register webhook endpoint wh_", "1m30s and 2 attempts"}, registered: true},
		"another key":    {key: "sk_live_unknown", says: []string{"Could not register a webhook endpoint at " + host, "401", "VCARD_API_KEY"}},
		"answered the second": {
			status: lost, times: 1, registered: true,
			says: []string{"A second webhook endpoint may have been registered", "second endpoint at " + host, "wh_", "lost", "dashboard"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			s := acctest.Start(t, contract.RequestsOnly()).Proxy(func(w http.ResponseWriter, r *http.Request) bool {
				if int(calls.Add(1)) > test.times {
					return false
				}
				if test.status == lost {
					panic(http.ErrAbortHandler)
				}
				var sent map[string]any
				if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
					t.Error(err)
				}
				w.Header().Set("Retry-After", "90")
				w.WriteHeader(test.status)
				if message := fmt.Sprint("cannot take ", sent); test.status == 418 {
					_, _ = w.Write([]byte(message))
				} else if err := json.NewEncoder(w).Encode(object{"error": "invalid_request", "message": message}); err != nil {
					t.Error(err)
				}
				return true
			})
			p := acctest.Configure(t, object{"base_url": s.URL, "api_key": cmp.Or(test.key, s.Key), "max_retries": 1})
			config := endpoint(object{"url": "https://" + host + "/t-hush-1?token=hush-2&b=1", "secret": "my-own<hush-3&secret"})
			change, diags := p.Plan(acctest.Instance{Type: typeName}, config)
			diags.Must(t)
			hook, diags := p.Apply(change, nil)
			text := diags.Errors() + diags.Warnings()
			holds(t, name, text, test.says...)
			if registered := hook.Values != nil; registered != test.registered || registered != (diags.Errors() == "") || len(diags) != 1 {
				t.Errorf("registered: %t, and not one diagnostic: %s", registered, text)
			}
			if strings.Contains(text, "hush") || strings.Contains(text, "cannot take") {
				t.Errorf("repeats what it was sent: %s", text)
			}
		})
	}
}

// TestAdoption takes over the configuration of an imported endpoint once.
func TestAdoption(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	for _, id := range []string{"card_1", "wh_", "9f2c", " wh_1", "wh_ x", "wh_a\nb", "wh_../../x", "wh_" + strings.Repeat("a", 300)} {
		if _, diags := p.Import(typeName, id, nil); !strings.Contains(diags.Errors(), "wh_…") {
			t.Errorf("importing %q says %q", id, diags.Errors())
		}
	}
	byIdentity, diags := p.Import(typeName, "", object{"id": "wh_9f2c"})
	diags.Must(t)
	for name, c := range map[string]struct {
		config  object
		settled object
		secret  any // in the state then
	}{
		"plain":      {endpoint(nil), nil, nil},
		"secret":     {endpoint(object{"secret": "mine"}), nil, "mine"},
		"write-only": {endpoint(object{"secret_wo": "mine", "secret_wo_version": 3}), nil, nil},
		"unknown":    {endpoint(object{"url": acctest.Unknown, "secret": acctest.Unknown}), object{"url": "https://example.org/", "secret": "made"}, "made"},
	} {
		imported, diags := p.Import(typeName, "wh_9f2c", nil)
		diags.Must(t)
		if !reflect.DeepEqual(imported, byIdentity) || imported.Values["id"] != "wh_9f2c" || imported.Identity["id"] != "wh_9f2c" || imported.Values["url"] != nil {
			t.Errorf("imported %v with identity %v, by its identity %v", imported.Values, imported.Identity, byIdentity)
		}
		if _, diags := p.Plan(imported, nil); !strings.Contains(diags.Warnings(), "wh_9f2c") {
			t.Errorf("destroying an imported endpoint warns %q", diags.Warnings())
		}
		plan, diags := p.Plan(imported, c.config)
		diags.Must(t)
		warnings := diags.Warnings()
		if len(plan.Replaces) > 0 || !strings.Contains(warnings, "wh_9f2c") || !strings.Contains(warnings, "without proof") || strings.Contains(warnings, "mine") {
			t.Errorf("%s: replaces for %v and warns %q", name, plan.Replaces, warnings)
		}
		hook, diags := p.Apply(plan, c.settled)
		diags.Must(t)
		if hook.Values["id"] != "wh_9f2c" || hook.Identity["id"] != "wh_9f2c" || hook.Values["secret"] != c.secret || hook.Values["created_at"] != nil || hook.Values["secret_wo"] != nil {
			t.Errorf("%s: adopted as %v", name, hook.Values)
		}
		hook, diags = p.Refresh(hook)
		diags.Must(t)
		again := endpoint(c.config)
		maps.Copy(again, c.settled)
		if same, diags := p.Plan(hook, again); len(diags) > 0 || len(same.Replaces) > 0 || same.Planned["secret"] != c.secret {
			t.Errorf("%s: the next plan replaces for %v and says %s%s", name, same.Replaces, diags.Errors(), diags.Warnings())
		}
		again["url"] = "https://elsewhere.example.com/"
		if changed, _ := p.Plan(hook, again); len(changed.Replaces) != 1 || changed.Replaces[0] != "url" {
			t.Errorf("%s: a later change replaces for %v", name, changed.Replaces)
		}
	}
}

// TestEventsOfTheSameConfiguration registers endpoints and issues a card, and
// verifies what arrives with the secrets that Terraform was given.
func TestEventsOfTheSameConfiguration(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11", "1.11")
	receiver := sandboxtest.NewReceiver(t, nil)
	service := sandboxtest.Start(t, acctest.InMemory(t), receiver.Trusted)
	const ours = "a secret of our own"
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(), Steps: []resource.TestStep{{
		Config: fmt.Sprintf(`provider "vcard" {
			base_url = %q
			api_key  = %q
		}
		variable "hush" { ephemeral = true }
		resource "vcard_webhook" "generated" {
			url    = "%s/generated"
			events = ["card.created"]
		}
		resource "vcard_webhook" "ours" {
			url               = "%[3]s/ours"
			events            = ["*"]
			secret_wo         = var.hush
			secret_wo_version = 1
		}
		resource "vcard_card" "test" {
			bin_id     = "bin_ads_visa_us"
			amount     = 50
			depends_on = [vcard_webhook.generated, vcard_webhook.ours]
		}`, service.URL, service.Key, receiver.URL),
		ConfigVariables: config.Variables{"hush": config.StringVariable(ours)},
		Check: func(state *terraform.State) error {
			all := state.RootModule().Resources
			secrets := map[string]string{"/generated": all["vcard_webhook.generated"].Primary.Attributes["secret"], "/ours": ours}
			for _, event := range receiver.Wait(len(secrets)) {
				if err := verify(event, secrets[event.Path], all["vcard_card.test"].Primary.ID); err != nil {
					return err
				}
				delete(secrets, event.Path)
			}
			if len(secrets) > 0 {
				return fmt.Errorf("no event has come to %d endpoints", len(secrets))
			}
			return nil
		},
	}}})
}

func verify(event sandboxtest.Event, secret, card string) error {
	if !event.SignedWith(secret) {
		return fmt.Errorf("%s: the signature does not verify with the secret", event.Path)
	}
	payload := event.Payload()
	if data, _ := payload["data"].(map[string]any); payload["type"] != "card.created" || data["id"] != card {
		return fmt.Errorf("%s: %v came, want card.created of %s", event.Path, payload, card)
	}
	return nil
}
