package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const address = "vcard_webhook.test"

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func is(field string, value knownvalue.Check) statecheck.StateCheck {
	return acctest.Is(address, field, value)
}

func does(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return acctest.Before(plancheck.ExpectResourceAction(address, action))
}

// TestLife takes an endpoint through all that can become of its secret.
func TestLife(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11.0", "1.11.0") // write-only attributes
	s := acctest.Start(t)
	endpoint := func(lines string, more ...string) string {
		block := fmt.Sprintf("resource \"vcard_webhook\" \"test\" {\n url = \"https://hooks.example.com/cards\"\n %s\n}\n", lines)
		return s.Provider() + block + strings.Join(more, "\n")
	}
	const (
		events = `events = ["card.created", "3ds.challenge"]` + "\n"
		made   = `resource "terraform_data" "made" { input = "made-by-apply" }`
		hidden = `variable "hidden" { ephemeral = true }`
	)
	writeOnly := func(version int) string {
		return endpoint(fmt.Sprintf("%ssecret_wo = var.hidden\n secret_wo_version = %d", events, version), hidden)
	}
	planted := func(secret string) config.Variables { return config.Variables{"hidden": config.StringVariable(secret)} }
	generated := is("secret", acctest.Form(`whsec_\w+`))
	nothing := acctest.Before(plancheck.ExpectEmptyPlan())
	anotherID := statecheck.CompareValue(compare.ValuesDiffer()) // each time from the one before
	another := func() statecheck.StateCheck { return anotherID.AddStateValue(address, tfjsonpath.New("id")) }
	sameSecret := statecheck.CompareValue(compare.ValuesSame())
	same := func() statecheck.StateCheck { return sameSecret.AddStateValue(address, tfjsonpath.New("secret")) }
	replaced := func(config string, hidden config.Variables, checks ...statecheck.StateCheck) resource.TestStep {
		return resource.TestStep{
			Config: config, ConfigVariables: hidden,
			ConfigPlanChecks: does(plancheck.ResourceActionReplace), ConfigStateChecks: append(checks, another()),
		}
	}
	resource.Test(t, acctest.Life(t,
		resource.TestStep{
			Config: endpoint(events),
			ConfigPlanChecks: acctest.Before(plancheck.ExpectUnknownValue(address, tfjsonpath.New("secret")),
				plancheck.ExpectSensitiveValue(address, tfjsonpath.New("secret"))),
			ConfigStateChecks: []statecheck.StateCheck{generated, another(), is("created_at", acctest.Form(`\d{4}-\d\d-\d\dT.*Z`))},
		},
		resource.TestStep{Config: endpoint(`events = ["3ds.challenge", "card.created"]`), ConfigPlanChecks: nothing},
		replaced(endpoint(`events = ["*"]`), nil, generated),
		replaced(endpoint(events+"secret = terraform_data.made.output", made), nil, is("secret", knownvalue.StringExact("made-by-apply")), same()),
		resource.TestStep{Config: endpoint(events, made), ConfigPlanChecks: nothing, ConfigStateChecks: []statecheck.StateCheck{same()}}, // taken out
		replaced(endpoint(events+`secret = "mine"`), nil, is("secret", knownvalue.StringExact("mine"))),
		replaced(writeOnly(1), planted("planted-1"), is("secret", knownvalue.Null()), is("secret_wo", knownvalue.Null())),
		resource.TestStep{Config: writeOnly(1), ConfigVariables: planted("planted-2"), ConfigPlanChecks: nothing},
		replaced(writeOnly(2), planted("planted-2")),
		replaced(endpoint(events), nil, generated),
	))
	registered := 0
	for _, request := range s.Requests() {
		if request.Method == http.MethodPost && request.Path == "/webhooks" {
			registered++
		}
	}
	if registered != 7 {
		t.Errorf("%d endpoints were registered, want one for each id", registered)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// TestEventsOfTheSameConfiguration registers endpoints and issues a card, and
// verifies what arrives with the secrets that Terraform was given.
func TestEventsOfTheSameConfiguration(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11", "1.11") // write-only attributes
	receiver := sandboxtest.NewReceiver(t, nil)
	service := sandboxtest.Start(t, acctest.InMemory(t), receiver.Trusted)
	const ours = "a secret of our own"
	resource.Test(t, acctest.Life(t, resource.TestStep{
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
	}))
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
