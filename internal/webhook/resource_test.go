package webhook_test

import (
	"fmt"
	"net/http"
	"regexp"
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

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

func TestAccWebhook_events(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	newID := statecheck.CompareValue(compare.ValuesDiffer())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.11.0", "1.11.0"), // write-only attributes
		CheckDestroy:             checkRegistered(s, 2),                 // the service cannot remove an endpoint
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com/cards"
						events = ["card.created", "3ds.challenge"]
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_webhook.test", plancheck.ResourceActionCreate),
					plancheck.ExpectUnknownValue("vcard_webhook.test", tfjsonpath.New("secret")),
					plancheck.ExpectSensitiveValue("vcard_webhook.test", tfjsonpath.New("secret")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("id"), knownvalue.StringRegexp(regexp.MustCompile(`^wh_\w+$`))),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.StringRegexp(regexp.MustCompile(`^whsec_\w+$`))),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("created_at"), knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`))),
				},
			},
			{ // the order of events means nothing
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com/cards"
						events = ["3ds.challenge", "card.created"]
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com/cards"
						events = ["*"]
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_webhook.test", plancheck.ResourceActionReplace),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.StringRegexp(regexp.MustCompile(`^whsec_\w+$`))),
				},
			},
			{ // only the id can be imported
				ResourceName:            "vcard_webhook.test",
				ImportState:             true,
				ImportStateVerify:       true,
				ImportStateVerifyIgnore: []string{"url", "events", "secret", "created_at"},
			},
			{
				ResourceName:  "vcard_webhook.test",
				ImportState:   true,
				ImportStateId: "card_1",
				ExpectError:   acctest.Error(titleNotAnEndpointID, `"card_1"`),
			},
		},
	})
}

func TestAccWebhook_identity(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.12.0", "1.12.0"), // resource identity
		Steps: []resource.TestStep{{
			Config: s.ProviderConfig() + `
				resource "vcard_webhook" "test" {
					url    = "https://hooks.example.com/cards"
					events = ["*"]
				}`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectIdentityValueMatchesState("vcard_webhook.test", tfjsonpath.New("id")),
			},
		}},
	})
}

// A secret in the state is configured, removed from the configuration, changed, and replaced by a write-only one.
func TestAccWebhook_secret(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	newID := statecheck.CompareValue(compare.ValuesDiffer())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.11.0", "1.11.0"), // write-only attributes
		CheckDestroy:             checkRegistered(s, 3),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "terraform_data" "made" { input = "made-by-apply" }
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com/cards"
						events = ["*"]
						secret = terraform_data.made.output
					}`,
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.StringExact("made-by-apply")),
				},
			},
			{ // without the attribute, the endpoint keeps its secret
				Config: s.ProviderConfig() + `
					resource "terraform_data" "made" { input = "made-by-apply" }
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com/cards"
						events = ["*"]
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.StringExact("made-by-apply")),
				},
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com/cards"
						events = ["*"]
						secret = "mine"
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_webhook.test", plancheck.ResourceActionReplace),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.StringExact("mine")),
				},
			},
			{ // a write-only secret takes it out of the state
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url               = "https://hooks.example.com/cards"
						events            = ["*"]
						secret_wo         = "mine"
						secret_wo_version = 1
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_webhook.test", plancheck.ResourceActionReplace),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.Null()),
				},
			},
		},
	})
}

// A write-only secret replaces the endpoint when its version changes, and is in no state.
func TestAccWebhook_writeOnlySecret(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	newID := statecheck.CompareValue(compare.ValuesDiffer())
	withVersion := func(version int) string {
		return s.ProviderConfig() + fmt.Sprintf(`
			variable "secret" { ephemeral = true }
			resource "vcard_webhook" "test" {
				url               = "https://hooks.example.com/cards"
				events            = ["*"]
				secret_wo         = var.secret
				secret_wo_version = %d
			}`, version)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.11.0", "1.11.0"), // write-only attributes
		CheckDestroy:             checkRegistered(s, 3),
		Steps: []resource.TestStep{
			{
				Config:          withVersion(1),
				ConfigVariables: config.Variables{"secret": config.StringVariable("planted-1")},
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.Null()),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.Null()),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret_wo"), knownvalue.Null()),
				},
			},
			{ // Terraform cannot see a changed secret
				Config:           withVersion(1),
				ConfigVariables:  config.Variables{"secret": config.StringVariable("planted-2")},
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				Config:          withVersion(2),
				ConfigVariables: config.Variables{"secret": config.StringVariable("planted-2")},
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_webhook.test", plancheck.ResourceActionReplace),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
				},
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com/cards"
						events = ["*"]
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_webhook.test", plancheck.ResourceActionReplace),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_webhook.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_webhook.test", tfjsonpath.New("secret"), knownvalue.StringRegexp(regexp.MustCompile(`^whsec_\w+$`))),
				},
			},
		},
	})
}

// checkRegistered returns a check of the number of requests to register an endpoint.
func checkRegistered(s *acctest.Service, want int) resource.TestCheckFunc {
	return func(*terraform.State) error {
		registered := 0
		for _, request := range s.Requests() {
			if request.Method == http.MethodPost && request.Path == "/webhooks" {
				registered++
			}
		}
		if registered != want {
			return fmt.Errorf("got %d requests to register an endpoint, want %d", registered, want)
		}
		return nil
	}
}

// A mistake is reported before anything is planned.
func TestAccWebhook_mistakes(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.11.0", "1.11.0"), // write-only attributes
		CheckDestroy:             checkRegistered(s, 0),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "http://hooks.example.com"
						events = ["*"]
					}`,
				ExpectError: acctest.Error(titleNotHTTPS, "http:"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com"
						events = []
					}`,
				ExpectError: acctest.Error(titleNoEvents),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com"
						events = ["card.created", null]
					}`,
				ExpectError: acctest.Error(titleNullEvent),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com"
						events = ["card.created", "card.eaten"]
					}`,
				ExpectError: acctest.Error(titleUnknownEvent, `"card.eaten"`, "3ds.challenge"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com"
						events = ["*", "card.created"]
					}`,
				ExpectError: acctest.Error(titleAllAndSingle, `["*"]`),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com"
						events = ["*"]
						secret = ""
					}`,
				ExpectError: acctest.Error("Invalid Attribute Value Length", "secret"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url               = "https://hooks.example.com"
						events            = ["*"]
						secret_wo         = ""
						secret_wo_version = 1
					}`,
				ExpectError: acctest.Error("Invalid Attribute Value Length", "secret_wo"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url    = "https://hooks.example.com"
						events = ["*"]
						secret = "two\nlines"
					}`,
				ExpectError: acctest.Error(titleSecretLines),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url       = "https://hooks.example.com"
						events    = ["*"]
						secret    = "hush"
						secret_wo = "hush"
					}`,
				ExpectError: acctest.Error(titleTwoSecrets),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url       = "https://hooks.example.com"
						events    = ["*"]
						secret_wo = "hush"
					}`,
				ExpectError: acctest.Error(titleWithoutVersion, "secret_wo_version"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_webhook" "test" {
						url               = "https://hooks.example.com"
						events            = ["*"]
						secret_wo_version = 1
					}`,
				ExpectError: acctest.Error(titleVersionAlone, "secret_wo"),
			},
		},
	})
}

// An unknown value is not a mistake. A secret that may turn out to be write-only stays unknown in the plan.
func TestAccWebhook_unknownValues(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.11.0", "1.11.0"), // write-only attributes
		Steps: []resource.TestStep{{
			PlanOnly:           true,
			ExpectNonEmptyPlan: true,
			Config: s.ProviderConfig() + `
				resource "terraform_data" "later" {
					input = "https://hooks.example.com"
				}
				locals {
					later = terraform_data.later.output
				}
				resource "vcard_webhook" "url" {
					url    = local.later
					events = ["*"]
				}
				resource "vcard_webhook" "events" {
					url    = "https://example.com/1"
					events = [local.later]
				}
				resource "vcard_webhook" "all_and_maybe_the_same" {
					url    = "https://example.com/2"
					events = ["*", local.later]
				}
				resource "vcard_webhook" "secret" {
					url    = "https://example.com/3"
					events = ["*"]
					secret = local.later
				}
				resource "vcard_webhook" "secret_and_write_only" {
					url               = "https://example.com/4"
					events            = ["*"]
					secret            = local.later
					secret_wo         = "hush"
					secret_wo_version = 1
				}
				resource "vcard_webhook" "write_only" {
					url               = "https://example.com/5"
					events            = ["*"]
					secret_wo         = local.later
					secret_wo_version = 1
				}
				resource "vcard_webhook" "write_only_alone" {
					url       = "https://example.com/6"
					events    = ["*"]
					secret_wo = local.later
				}
				resource "vcard_webhook" "version" {
					url               = "https://example.com/7"
					events            = ["*"]
					secret_wo         = "hush"
					secret_wo_version = length(local.later)
				}`,
			ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
				plancheck.ExpectUnknownValue("vcard_webhook.url", tfjsonpath.New("secret")),
				plancheck.ExpectUnknownValue("vcard_webhook.events", tfjsonpath.New("secret")),
				plancheck.ExpectUnknownValue("vcard_webhook.all_and_maybe_the_same", tfjsonpath.New("secret")),
				plancheck.ExpectUnknownValue("vcard_webhook.secret", tfjsonpath.New("secret")),
				plancheck.ExpectUnknownValue("vcard_webhook.secret_and_write_only", tfjsonpath.New("secret")),
				plancheck.ExpectUnknownValue("vcard_webhook.write_only", tfjsonpath.New("secret")),
				plancheck.ExpectUnknownValue("vcard_webhook.write_only_alone", tfjsonpath.New("secret")),
				plancheck.ExpectKnownValue("vcard_webhook.version", tfjsonpath.New("secret"), knownvalue.Null()),
			}},
		}},
	})
}

// The events of a card in the same configuration verify with the secrets that Terraform was given.
func TestAccWebhook_signatures(t *testing.T) {
	t.Parallel()
	receiver := sandboxtest.NewReceiver(t, nil)
	service := sandboxtest.Start(t, acctest.InMemory(t), receiver.Trusted)
	s := &acctest.Service{Client: service.Client}
	const ours = "a secret of our own"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.11.0", "1.11.0"), // write-only attributes
		Steps: []resource.TestStep{{
			Config: s.ProviderConfig() + fmt.Sprintf(`
				variable "secret" { ephemeral = true }
				resource "vcard_webhook" "generated" {
					url    = "%[1]s/generated"
					events = ["card.created"]
				}
				resource "vcard_webhook" "ours" {
					url               = "%[1]s/ours"
					events            = ["*"]
					secret_wo         = var.secret
					secret_wo_version = 1
				}
				resource "vcard_card" "test" {
					bin_id     = "bin_ads_visa_us"
					amount     = 50
					depends_on = [vcard_webhook.generated, vcard_webhook.ours]
				}`, receiver.URL),
			ConfigVariables: config.Variables{"secret": config.StringVariable(ours)},
			Check: func(state *terraform.State) error {
				resources := state.RootModule().Resources
				card := resources["vcard_card.test"].Primary.ID
				secrets := map[string]string{
					"/generated": resources["vcard_webhook.generated"].Primary.Attributes["secret"],
					"/ours":      ours,
				}
				for _, event := range receiver.Wait(len(secrets)) {
					if err := checkEvent(event, secrets[event.Path], card); err != nil {
						return err
					}
					delete(secrets, event.Path)
				}
				if len(secrets) > 0 {
					return fmt.Errorf("no event has reached %d endpoints", len(secrets))
				}
				return nil
			},
		}},
	})
}

func checkEvent(event sandboxtest.Event, secret, card string) error {
	if !event.SignedWith(secret) {
		return fmt.Errorf("%s: the signature does not verify with the secret", event.Path)
	}
	payload := event.Payload()
	data, _ := payload["data"].(map[string]any)
	if payload["type"] != "card.created" || data["id"] != card {
		return fmt.Errorf("%s: got %v, want card.created of %s", event.Path, payload, card)
	}
	return nil
}
