package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// delivered is an event as it arrived.
type delivered struct {
	path, signature string
	body            []byte
}

// receiver takes events over https, with a certificate of its own authority.
func receiver(t *testing.T) (url string, authority []byte, events <-chan delivered) {
	t.Helper()
	arrived := make(chan delivered, 16)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		arrived <- delivered{r.URL.Path, r.Header.Get("X-Webhook-Signature"), body}
	}))
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), arrived
}

// TestEventsOfTheSameConfiguration registers endpoints and issues a card, and
// verifies what arrives with the secrets that Terraform was given.
func TestEventsOfTheSameConfiguration(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11", "1.11")
	address, authority, events := receiver(t)
	service, err := sandbox.Open(t.Context(), sandbox.Options{Path: ":memory:", InitialBalance: acctest.InitialBalance, WebhookCA: authority})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(contract.Handler(t, service.Handler()))
	t.Cleanup(func() {
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	const ours = "a secret of our own"
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(), Steps: []resource.TestStep{{
		Config: fmt.Sprintf(`provider "vcard" {
			base_url = "%s/api/v1"
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
		}`, server.URL, service.APIKey(), address),
		ConfigVariables: config.Variables{"hush": config.StringVariable(ours)},
		Check: func(state *terraform.State) error {
			all := state.RootModule().Resources
			secrets := map[string]string{"/generated": all["vcard_webhook.generated"].Primary.Attributes["secret"], "/ours": ours}
			for len(secrets) > 0 {
				select {
				case event := <-events:
					if err := verify(event, secrets[event.path], all["vcard_card.test"].Primary.ID); err != nil {
						return err
					}
					delete(secrets, event.path)
				case <-time.After(20 * time.Second):
					return fmt.Errorf("no event has come to %d endpoints", len(secrets))
				}
			}
			return nil
		},
	}}})
}

func verify(event delivered, secret, card string) error {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(event.body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(event.signature), []byte(want)) {
		return fmt.Errorf("%s: the signature does not verify with the secret", event.path)
	}
	var content struct {
		Type string `json:"type"`
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(event.body, &content); err != nil {
		return err
	}
	if content.Type != "card.created" || content.Data.ID != card {
		return fmt.Errorf("%s: %s of %s came, want card.created of %s", event.path, content.Type, content.Data.ID, card)
	}
	return nil
}
