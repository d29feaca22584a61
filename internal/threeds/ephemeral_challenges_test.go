package threeds_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

type object = acctest.Object

const typeName = "vcard_3ds_challenges"

// challenge is one as the service shows it.
type challenge struct {
	ID        string
	CardID    string `json:"card_id"`
	Merchant  string
	OTP       string
	ExpiresAt string `json:"expires_at"`
}

func newCard(s *acctest.Service) string {
	var card struct{ ID string }
	s.Post("/cards", object{"bin_id": "bin_ads_visa_us", "amount": 50}).Into(&card)
	return card.ID
}

func newChallenge(s *acctest.Service, card, merchant string) challenge {
	var made challenge
	s.Post("/_sandbox/3ds-challenges", object{"card_id": card, "merchant": merchant, "amount": 12.34}).Into(&made)
	return made
}

// opened returns the challenges that pass the filters.
func opened(t *testing.T, p *acctest.Protocol, filters object) (result object, challenges []object) {
	t.Helper()
	result, diags := p.OpenEphemeral(typeName, filters)
	if text := diags.Errors(); text != "" {
		t.Fatal(text)
	}
	list, ok := result["challenges"].([]any)
	if !ok {
		t.Fatalf("opened %v", result)
	}
	for _, entry := range list {
		one, _ := entry.(object)
		challenges = append(challenges, one)
	}
	return result, challenges
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	first, second := newCard(s), newCard(s)
	if _, none := opened(t, p, object{}); len(none) != 0 {
		t.Errorf("there are challenges: %v", none)
	}
	of := map[string]challenge{first: newChallenge(s, first, "Search Ads"), second: newChallenge(s, second, "Social Ads")}
	approved := newChallenge(s, first, "Display Ads")
	s.Post("/_sandbox/3ds-challenges/"+approved.ID+"/complete", object{"outcome": "approved"}).Must()

	result, pending := opened(t, p, object{})
	if result["status"] != "pending" || len(pending) != 2 {
		t.Fatalf("status %v has %d challenges, want 2 pending ones", result["status"], len(pending))
	}
	for _, got := range pending {
		card, _ := got["card_id"].(string)
		want := of[card]
		if got["id"] != want.ID || got["merchant"] != want.Merchant || got["amount"] != acctest.Number("12.34") || got["otp"] != want.OTP || got["status"] != "pending" || got["expires_at"] != want.ExpiresAt {
			t.Errorf("challenge %v is not as the service shows it", got["id"])
		}
	}
	if _, own := opened(t, p, object{"card_id": second}); len(own) != 1 || own[0]["id"] != of[second].ID {
		t.Errorf("one card has %d challenges", len(own))
	}
	if _, other := opened(t, p, object{"status": "approved"}); len(other) != 1 || other[0]["id"] != approved.ID {
		t.Errorf("%d challenges are approved, want 1", len(other))
	}
	if _, none := opened(t, p, object{"card_id": second, "status": "approved"}); len(none) != 0 {
		t.Errorf("%d challenges pass both filters, want none", len(none))
	}

	s.Advance("6m")
	if _, none := opened(t, p, object{}); len(none) != 0 {
		t.Errorf("%d challenges outlive their time", len(none))
	}
	for _, c := range of {
		if strings.Contains(p.Log(), c.OTP) {
			t.Error("a one-time code came into the log")
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.TolerateBadRequests())
	s.AddQuirks(object{"challenge_status": "honoured"})
	p := s.Protocol(nil)
	for name, c := range map[string]struct {
		p       *acctest.Protocol
		filters object
		want    string
	}{
		"card id":          {p, object{"card_id": "3ds_1"}, "must be a card id"},
		"empty status":     {p, object{"status": ""}, "must not be empty"},
		"refused status":   {p, object{"status": "eaten"}, "Could not read the 3D Secure challenges: The service answered 400"},
		"unknown provider": {acctest.Configure(t, object{"sandbox": acctest.Unknown}), object{}, "read the 3D Secure challenges, but they depend on values that are known only after apply"},
	} {
		if _, diags := c.p.OpenEphemeral(typeName, c.filters); !strings.Contains(diags.Errors(), c.want) {
			t.Errorf("%s: %q", name, diags.Errors())
		}
	}
}

// TestExample lets the codes of the example go to another provider.
func TestExample(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.10", "1.11")
	s := acctest.Start(t)
	text, err := os.ReadFile("../../examples/ephemeral-resources/" + typeName + "/ephemeral-resource.tf")
	if err != nil {
		t.Fatal(err)
	}
	card := newCard(s)
	made := newChallenge(s, card, "Search Ads")
	factories := acctest.Factories()
	factories["echo"] = echoprovider.NewProviderServer()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{{
			Config:          s.Provider() + string(text) + fmt.Sprintf("provider \"echo\" {\n  data = nonsensitive(local.codes[%q]) == %q\n}\nresource \"echo\" \"seen\" {}\n", made.ID, made.OTP),
			ConfigVariables: config.Variables{"card_id": config.StringVariable(card)},
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("echo.seen", tfjsonpath.New("data"), knownvalue.Bool(true)),
			},
			ExpectNonEmptyPlan: acctest.CountsEphemeral(),
		}},
	})
}

// A service may list settled challenges too, which no longer have a code.
func TestFilterThatTheServiceIgnores(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.AddQuirks(object{"challenge_status": "ignored"})
	card := newCard(s)
	settled, pending := newChallenge(s, card, "Search Ads"), newChallenge(s, card, "Social Ads")
	s.Post("/_sandbox/3ds-challenges/"+settled.ID+"/complete", object{"outcome": "approved"}).Must()
	p := s.Protocol(nil)
	if _, got := opened(t, p, object{}); len(got) != 1 || got[0]["id"] != pending.ID || got[0]["otp"] != pending.OTP {
		t.Errorf("%d challenges are pending, want %s alone", len(got), pending.ID)
	}
	if _, got := opened(t, p, object{"status": "approved"}); len(got) != 1 || got[0]["id"] != settled.ID || got[0]["otp"] != nil {
		t.Errorf("%d challenges are approved, want %s without a code", len(got), settled.ID)
	}
	if _, got := opened(t, p, object{"status": "authenticated"}); len(got) != 0 {
		t.Errorf("%d challenges have a status that nobody has", len(got))
	}
}
