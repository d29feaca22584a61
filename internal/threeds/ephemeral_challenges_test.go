package threeds_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// Only pending challenges have a code. A service may also list others than were asked for.
func TestAcc3DSChallengesEphemeralResource(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"honoured", "ignored"} {
		t.Run("status filter "+filter, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t, contract.RequestsOnly())
			s.AddQuirks(map[string]any{"challenge_status": filter})
			card, another := s.Issue("50"), s.Issue("50")
			searchAds := openChallenge(s, card, "Search Ads")
			socialAds := openChallenge(s, another, "Social Ads")
			displayAds := openChallenge(s, card, "Display Ads")
			s.Post("/_sandbox/3ds-challenges/"+displayAds.Text("id")+"/complete", `{"outcome": "approved"}`).Must()
			var approvedOTP knownvalue.Check = knownvalue.StringExact(displayAds.Text("otp"))
			if filter == "ignored" { // then the service shows no code of a settled challenge
				approvedOTP = knownvalue.Null()
			}
			approved := shown(displayAds, "approved", approvedOTP)
			config := s.ProviderConfig() + fmt.Sprintf(`
				ephemeral "vcard_3ds_challenges" "pending" {}
				ephemeral "vcard_3ds_challenges" "of_a_card" {
					card_id = %[1]q
				}
				ephemeral "vcard_3ds_challenges" "approved" {
					status = "approved"
				}
				ephemeral "vcard_3ds_challenges" "of_a_card_and_approved" {
					card_id = %[1]q
					status  = "approved"
				}
				provider "echo" {
					data = {
						pending   = ephemeral.vcard_3ds_challenges.pending
						of_a_card = ephemeral.vcard_3ds_challenges.of_a_card
						approved  = ephemeral.vcard_3ds_challenges.approved
						both      = ephemeral.vcard_3ds_challenges.of_a_card_and_approved
					}
				}`, another)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.FactoriesWithEcho(t),
				TerraformVersionChecks:   acctest.SkipBelow("1.10.0", "1.11.0"), // ephemeral resources
				Steps: []resource.TestStep{
					{
						Config: config + `
							resource "echo" "now" {}`,
						ConfigStateChecks: []statecheck.StateCheck{
							statecheck.ExpectKnownValue("echo.now", tfjsonpath.New("data").AtMapKey("pending").AtMapKey("status"), knownvalue.StringExact("pending")),
							statecheck.ExpectKnownValue("echo.now", tfjsonpath.New("data").AtMapKey("pending").AtMapKey("challenges"), knownvalue.ListExact([]knownvalue.Check{
								shown(socialAds, "pending", knownvalue.StringExact(socialAds.Text("otp"))),
								shown(searchAds, "pending", knownvalue.StringExact(searchAds.Text("otp"))),
							})),
							statecheck.ExpectKnownValue("echo.now", tfjsonpath.New("data").AtMapKey("of_a_card").AtMapKey("challenges"), knownvalue.ListExact([]knownvalue.Check{
								shown(socialAds, "pending", knownvalue.StringExact(socialAds.Text("otp"))),
							})),
							statecheck.ExpectKnownValue("echo.now", tfjsonpath.New("data").AtMapKey("approved").AtMapKey("challenges"), knownvalue.ListExact([]knownvalue.Check{approved})),
							statecheck.ExpectKnownValue("echo.now", tfjsonpath.New("data").AtMapKey("both").AtMapKey("challenges"), knownvalue.ListSizeExact(0)),
						},
					},
					{ // a challenge is pending for five minutes
						PreConfig: func() { s.Advance("6m") },
						Config: config + `
							resource "echo" "later" {}`,
						ConfigStateChecks: []statecheck.StateCheck{
							statecheck.ExpectKnownValue("echo.later", tfjsonpath.New("data").AtMapKey("pending").AtMapKey("challenges"), knownvalue.ListSizeExact(0)),
							statecheck.ExpectKnownValue("echo.later", tfjsonpath.New("data").AtMapKey("approved").AtMapKey("challenges"), knownvalue.ListExact([]knownvalue.Check{approved})),
						},
					},
				},
			})
		})
	}
}

func TestAcc3DSChallengesEphemeralResource_mistakes(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.10.0", "1.11.0"), // ephemeral resources
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					ephemeral "vcard_3ds_challenges" "test" { card_id = "3ds_1" }`,
				ExpectError: acctest.Error("Invalid card id", "3ds_1"),
			},
			{
				Config: s.ProviderConfig() + `
					ephemeral "vcard_3ds_challenges" "test" { status = "" }`,
				ExpectError: acctest.Error("Invalid Attribute Value Length", "status"),
			},
			{
				Config: `
					resource "terraform_data" "later" { input = "sandbox.db" }
					provider "vcard" { sandbox = { path = terraform_data.later.output } }
					ephemeral "vcard_3ds_challenges" "test" {}`,
				ExpectError: acctest.Error("Provider configuration is not known yet", "read the 3D Secure challenges"),
			},
		},
	})
}

// openChallenge lets a merchant ask for the confirmation of a payment.
func openChallenge(s *acctest.Service, card, merchant string) sandboxtest.Response {
	return s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": merchant, "amount": 12.34}).Must()
}

// shown expects what the ephemeral resource shows of a challenge.
func shown(challenge sandboxtest.Response, status string, otp knownvalue.Check) knownvalue.Check {
	return knownvalue.ObjectExact(map[string]knownvalue.Check{
		"id":         knownvalue.StringExact(challenge.Text("id")),
		"card_id":    knownvalue.StringExact(challenge.Text("card_id")),
		"merchant":   knownvalue.StringExact(challenge.Text("merchant")),
		"amount":     acctest.Exactly("12.34"),
		"otp":        otp,
		"status":     knownvalue.StringExact(status),
		"expires_at": knownvalue.StringExact(challenge.Text("expires_at")),
	})
}
