package threeds_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// challenge is one that is pending, as the ephemeral resource shows it.
func challenge(s *acctest.Service, card, merchant string) (id string, shown map[string]knownvalue.Check) {
	body := map[string]any{"card_id": card, "merchant": merchant, "amount": 12.34}
	made := s.Post("/_sandbox/3ds-challenges", body).Must()
	shown = map[string]knownvalue.Check{"amount": acctest.Exactly("12.34")}
	for _, field := range []string{"id", "card_id", "merchant", "otp", "status", "expires_at"} {
		shown[field] = knownvalue.StringExact(made.Text(field))
	}
	return made.Text("id"), shown
}

// Only pending challenges have a code; a service may list settled ones too.
func TestChallenges(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"honoured", "ignored"} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t, contract.RequestsOnly())
			s.AddQuirks(map[string]any{"challenge_status": filter})
			card, another := s.Issue("50"), s.Issue("50")
			_, first := challenge(s, card, "Search Ads")
			_, second := challenge(s, another, "Social Ads")
			id, approved := challenge(s, card, "Display Ads")
			s.Post("/_sandbox/3ds-challenges/"+id+"/complete", `{"outcome": "approved"}`).Must()
			approved["status"] = knownvalue.StringExact("approved")
			if filter == "ignored" {
				approved["otp"] = knownvalue.Null()
			}
			config := s.Provider() + fmt.Sprintf(`
				ephemeral "vcard_3ds_challenges" "pending" {}
				ephemeral "vcard_3ds_challenges" "of_a_card" { card_id = %q }
				ephemeral "vcard_3ds_challenges" "approved" { status = "approved" }
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
			shows := func(echo, name string, challenges ...map[string]knownvalue.Check) statecheck.StateCheck {
				list := []knownvalue.Check{}
				for _, one := range challenges {
					list = append(list, knownvalue.ObjectExact(one))
				}
				return statecheck.ExpectKnownValue("echo."+echo, tfjsonpath.New("data").AtMapKey(name).AtMapKey("challenges"), knownvalue.ListExact(list))
			}
			resource.Test(t, acctest.LifeSince(t, tfversion.Version1_10_0,
				resource.TestStep{
					Config: config + "\nresource \"echo\" \"now\" {}",
					ConfigStateChecks: []statecheck.StateCheck{
						shows("now", "pending", second, first), shows("now", "of_a_card", second),
						shows("now", "approved", approved), shows("now", "both"),
						statecheck.ExpectKnownValue("echo.now", tfjsonpath.New("data").AtMapKey("pending").AtMapKey("status"), knownvalue.StringExact("pending")),
					},
				},
				resource.TestStep{
					PreConfig:         func() { s.Advance("6m") },
					Config:            config + "\nresource \"echo\" \"later\" {}",
					ConfigStateChecks: []statecheck.StateCheck{shows("later", "pending"), shows("later", "approved", approved)},
				},
			))
		})
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}
