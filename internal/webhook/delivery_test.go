package webhook_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

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
