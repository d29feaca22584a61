package card_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// A card is issued, changed, imported, replaced and terminated, with what each plan shows.
func TestAccCard_lifecycle(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	sameID := statecheck.CompareValue(compare.ValuesSame())
	newID := statecheck.CompareValue(compare.ValuesDiffer())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             checkDestroyed(s, 9998_00), // two fees
		Steps: []resource.TestStep{
			{ // create
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id              = "bin_ads_visa_us"
						amount              = 120.50
						frozen              = false
						deletion_protection = false
						label               = "search"
						spending_limit      = 1000
						auto_freeze_at      = 5
						allowed_categories  = ["advertising", "software"]
						metadata            = { team = "ads" }
						top_up              = { below = 20, to = 100 }
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionCreate),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("id")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("balance")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("network")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("status")),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("label"), knownvalue.StringExact("search")),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("topped_up"), acctest.Exactly("0")),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("issuance_fee"), acctest.Exactly("1")),
				}},
				Check: checkCard(s, "active", 120_50, 9878_50),
				ConfigStateChecks: []statecheck.StateCheck{
					sameID.AddStateValue("vcard_card.test", tfjsonpath.New("id")),
					newID.AddStateValue("vcard_card.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("id"), knownvalue.StringRegexp(regexp.MustCompile(`^card_\w+$`))),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("balance"), acctest.Exactly("120.50")),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("last4"), knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}$`))),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("network"), knownvalue.StringExact("visa")),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("created_at"), knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`))),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("expires_at"), knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\d$`))),
				},
			},
			{ // fund and freeze
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id             = "bin_ads_visa_us"
						amount             = 200.75
						frozen             = true
						label              = "search"
						spending_limit     = 1000
						auto_freeze_at     = 5
						allowed_categories = ["advertising", "software"]
						metadata           = { team = "ads" }
						top_up             = { below = 20, to = 100 }
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionUpdate),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("balance")),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("status"), knownvalue.StringExact("frozen")),
				}},
				Check: checkCard(s, "frozen", 200_75, 9798_25),
				ConfigStateChecks: []statecheck.StateCheck{
					sameID.AddStateValue("vcard_card.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("balance"), acctest.Exactly("200.75")),
				},
			},
			{ // withdraw and unfreeze
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id             = "bin_ads_visa_us"
						amount             = 20
						frozen             = false
						label              = "search"
						spending_limit     = 1000
						auto_freeze_at     = 5
						allowed_categories = ["advertising", "software"]
						metadata           = { team = "ads" }
						top_up             = { below = 20, to = 100 }
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("status"), knownvalue.StringExact("active")),
				}},
				Check: checkCard(s, "active", 20_00, 9979_00),
				ConfigStateChecks: []statecheck.StateCheck{
					sameID.AddStateValue("vcard_card.test", tfjsonpath.New("id")),
				},
			},
			{ // without frozen, the card stays as it is
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id             = "bin_ads_visa_us"
						amount             = 20
						label              = "search"
						spending_limit     = 1000
						auto_freeze_at     = 5
						allowed_categories = ["advertising", "software"]
						metadata           = { team = "ads" }
						top_up             = { below = 20, to = 100 }
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{ // import
				ResourceName:      "vcard_card.test",
				ImportState:       true,
				ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{ // what the service does not show, or Terraform alone knows
					"allowed_categories", "auto_freeze_at", "metadata", "expires_at",
					"amount", "top_up", "issuance_fee", "money_record",
				},
			},
			{ // replace
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 60
						label  = "other"
						lifecycle {
							create_before_destroy = true
						}
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionCreateBeforeDestroy),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("id")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("last4")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("status")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("expires_at")),
				}},
				Check: checkCard(s, "active", 60_00, 9938_00),
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_card.test", tfjsonpath.New("id")),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("metadata"), knownvalue.Null()),
				},
			},
		},
	})
}

// A card with nothing but a load has the defaults of service and provider. It is imported by id and by identity without
// a change.
func TestAccCard_defaults(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             checkDestroyed(s, 9999_00),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 50
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionCreate),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("label")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("frozen")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("spending_limit")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("label"), knownvalue.StringRegexp(regexp.MustCompile(`^tf-\d{8}-[0-9a-z-]{20,}$`))),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("spending_limit"), acctest.Exactly("50000")),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("auto_freeze_at"), knownvalue.Null()),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("frozen"), knownvalue.Bool(false)),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("deletion_protection"), knownvalue.Bool(false)),
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("top_up"), knownvalue.Null()),
				},
			},
			{
				ResourceName:    "vcard_card.test",
				ImportState:     true,
				ImportStateKind: resource.ImportBlockWithID,
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
					}`,
			},
			{
				SkipFunc:        func() (bool, error) { return !acctest.Has("1.12.0", "1.12.0"), nil }, // resource identity
				ResourceName:    "vcard_card.test",
				ImportState:     true,
				ImportStateKind: resource.ImportBlockWithResourceIdentity,
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
					}`,
			},
			{
				ResourceName:  "vcard_card.test",
				ImportState:   true,
				ImportStateId: "card_none",
				ExpectError:   acctest.Error("Could not import card card_none", "404"),
			},
			{
				ResourceName:  "vcard_card.test",
				ImportState:   true,
				ImportStateId: "wh_1",
				ExpectError:   acctest.Error(titleNotACardID, `"wh_1"`),
			},
		},
	})
}

// An imported label is shown without a hidden character. The configuration that has it does not replace the card.
func TestAccCard_importOfHiddenCharacter(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.5.0", "1.6.0")
	s := acctest.Start(t)
	id := issue(s, object{"amount": 50, "label": "search \u202e ads"}).ID
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					import {
						to = vcard_card.test
						id = "` + id + `"
					}
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 50
						label  = "search \u202e ads"
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionUpdate),
				}},
			},
		},
	})
}

func TestAccCard_identity(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.12.0", "1.12.0"), // resource identity
		CheckDestroy:             checkDestroyed(s, 9999_00),
		Steps: []resource.TestStep{{
			Config: s.ProviderConfig() + `
				resource "vcard_card" "test" {
					bin_id = "bin_ads_visa_us"
					amount = 50
				}`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectIdentityValueMatchesState("vcard_card.test", tfjsonpath.New("id")),
			},
		}},
	})
}

// What others do to a card is put right where the configuration says something of it.
func TestAccCard_drift(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	newID := statecheck.CompareValue(compare.ValuesDiffer())
	config := s.ProviderConfig() + `
		resource "vcard_card" "test" {
			bin_id = "bin_ads_visa_us"
			amount = 100
			label  = "search"
			frozen = false
		}`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             checkDestroyed(s, 9958_00), // two fees, and 40.00 USD were spent
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_card.test", tfjsonpath.New("id")),
				},
			},
			{ // spending changes the balance, and nothing is to be done about it
				PreConfig: func() {
					authorization := s.Authorize(onlyCard(s), "40", "7311").Transaction()
					s.Settle(authorization, "40").Transaction()
				},
				Config:           config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				Check:            checkCard(s, "active", 60_00, 9899_00),
			},
			{ // frozen outside Terraform
				PreConfig: func() { s.Freeze(onlyCard(s)) },
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("status"), knownvalue.StringExact("active")),
				}},
				Check: checkCard(s, "active", 60_00, 9899_00),
			},
			{ // terminated outside Terraform
				PreConfig: func() { s.Terminate(onlyCard(s)) },
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionCreate),
				}},
				Check: checkCard(s, "active", 100_00, 9858_00),
				ConfigStateChecks: []statecheck.StateCheck{
					newID.AddStateValue("vcard_card.test", tfjsonpath.New("id")),
				},
			},
		},
	})
}

func onlyCard(s *acctest.Service) string {
	s.T.Helper()
	live := s.LiveCards()
	if len(live) != 1 {
		s.T.Fatalf("the live cards are %v, want one", live)
	}
	id, _ := live[0]["id"].(string)
	return id
}

// Deletion protection stops a destroy, and a replacement.
func TestAccCard_deletionProtection(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             checkDestroyed(s, 9999_00),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 60
						label  = "search"
					}`,
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id              = "bin_ads_visa_us"
						amount              = 60
						label               = "search"
						deletion_protection = true
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("deletion_protection"), knownvalue.Bool(true)),
				}},
			},
			{
				Destroy: true,
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id              = "bin_ads_visa_us"
						amount              = 60
						label               = "search"
						deletion_protection = true
					}`,
				ExpectError: acctest.Error(titleProtected, "deletion_protection"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id              = "bin_ads_visa_us"
						amount              = 60
						label               = "other"
						deletion_protection = true
					}`,
				ExpectError: acctest.Error(titleProtected, "deletion_protection = false"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 60
						label  = "search"
					}`,
				Check: checkCard(s, "active", 60_00, 9939_00),
			},
		},
	})
}

// A mistake is reported when the configuration is validated.
func TestAccCard_mistakes(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             checkDestroyed(s, acctest.InitialBalance),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = ""
						amount = 100
					}`,
				ExpectError: acctest.Error("Invalid Attribute Value Length", "bin_id"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						label  = join("", [for i in range(65) : "x"])
					}`,
				ExpectError: acctest.Error(titleLabelLength, "64 characters", "got 65."),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						label  = "two\nlines"
					}`,
				ExpectError: acctest.Error(titleLabelLines, "label"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id             = "bin_ads_visa_us"
						amount             = 100
						allowed_categories = []
					}`,
				ExpectError: acctest.Error(titleNoCategories, "allowed_categories"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id   = "bin_ads_visa_us"
						amount   = 100
						metadata = { for i in range(21) : "key${i}" => "value" }
					}`,
				ExpectError: acctest.Error("Invalid Attribute Value", "metadata", "at most 20 elements", "got: 21"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 333.333333
					}`,
				ExpectError: acctest.Error("Amount has fractions of a cent", "amount", "got 333.333333"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = -0.01
					}`,
				ExpectError: acctest.Error(titleAmountTooSmall, "amount", "got -0.01."),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id         = "bin_ads_visa_us"
						amount         = 100
						auto_freeze_at = 0
					}`,
				ExpectError: acctest.Error("Amount too small", "auto_freeze_at", "0.01 USD", "got 0.00."),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id         = "bin_ads_visa_us"
						amount         = 100
						spending_limit = 1e20
					}`,
				ExpectError: acctest.Error("Amount out of range", "spending_limit", "got 1e+20"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id         = "bin_ads_visa_us"
						amount         = 100
						spending_limit = 99999999999999
					}`,
				ExpectError: acctest.Error("Amount out of range", "spending_limit", "got 1e+14"),
			},
			{ // an error inside an object points at its line
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						top_up = {
							below = 20.001
							to    = 50
						}
					}`,
				ExpectError: acctest.Error("Amount has fractions of a cent", "below = 20.001", "top_up.below"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						top_up = {
							below = 20
							to    = 50.001
						}
					}`,
				ExpectError: acctest.Error("Amount has fractions of a cent", "to = 50.001", "top_up.to"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						top_up = { below = 20, to = -1 }
					}`,
				ExpectError: acctest.Error("Amount too small", "top_up.to", "0.00 USD", "got -1.00"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						top_up = {
							below = 20
							to    = 10
						}
					}`,
				ExpectError: acctest.Error(titleTopUpOrder, "to = 10", "20.00 USD", "10.00 USD"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id               = "bin_ads_visa_us"
						amount               = 100
						max_top_up_per_month = 50
					}`,
				ExpectError: acctest.Error(titleCapWithoutTopUp, "max_top_up_per_month"),
			},
		},
	})
}

// One mistake is one error.
func TestCardMistakes_reportedOnce(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	for _, test := range []struct {
		title  string
		config object
	}{
		{titleAmountTooSmall, object{"bin_id": bin, "amount": -5}},
		{"Amount has fractions of a cent", object{"bin_id": bin, "amount": "333.333333"}},
		{"Amount out of range", object{"bin_id": bin, "amount": 100, "spending_limit": "1e20"}},
		{titleAmountTooSmall, object{"bin_id": bin, "amount": 100, "auto_freeze_at": 0}},
		{titleAmountTooSmall, object{"bin_id": bin, "amount": 100, "top_up": object{"below": 20, "to": -1}}},
		{"Amount has fractions of a cent", object{"bin_id": bin, "amount": 100, "top_up": object{"below": "20.001", "to": 10}}},
		{titleTopUpOrder, object{"bin_id": bin, "amount": 100, "top_up": object{"below": 20, "to": 10}}},
		{titleCapWithoutTopUp, object{"bin_id": bin, "amount": 100, "max_top_up_per_month": 50}},
		{titleNoLoad, object{"bin_id": bin}},
		{titleLoadTooSmall, object{"bin_id": bin, "amount": "49.99"}},
		{titleUnknownBIN, object{"bin_id": "bin_gone", "amount": 55}},
		{titleLoadInRange, object{"bin_id": bin, "amount": 55, "top_up": object{"below": 60, "to": 80}}},
	} {
		_, diags := p.Plan(acctest.Card{}, test.config)
		diags.ExpectError(t, test.title)
		if len(diags) != 1 {
			t.Errorf("%s is reported %d times: %s", test.title, len(diags), diags.Errors())
		}
	}
}

// What the validation cannot know, the plan reports. Nothing is issued.
func TestAccCard_planErrors(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             checkDestroyed(s, acctest.InitialBalance),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
					}`,
				ExpectError: acctest.Error(titleNoLoad, "amount", "50"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 49.99
					}`,
				ExpectError: acctest.Error(titleLoadTooSmall, "50.00 USD", "got 49.99."),
			},
			{ // the message lists the BINs by id
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_gone"
						amount = 55
					}`,
				ExpectError: acctest.Error(titleUnknownBIN, `"bin_gone"`, "bin_ads_mastercard_eu (mastercard, ads)", "bin_ads_visa_us (visa, ads)"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 55
						top_up = { below = 60, to = 80 }
					}`,
				ExpectError: acctest.Error(titleLoadInRange, "55.00 USD", "60.00 USD", "80.00"),
			},
			{ // the bound itself is no mistake
				PlanOnly:           true,
				ExpectNonEmptyPlan: true,
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 60
						top_up = { below = 60, to = 80 }
					}`,
			},
			{ // what is known only after apply is no mistake either
				PlanOnly:           true,
				ExpectNonEmptyPlan: true,
				Config: s.ProviderConfig() + `
					resource "terraform_data" "later" {
						input = { bin = "bin_ads_visa_us", amount = 50, frozen = true, top_up = { below = 40, to = 80 }, text = "ads" }
					}
					resource "vcard_card" "test" {
						bin_id   = terraform_data.later.output.bin
						amount   = terraform_data.later.output.amount
						frozen   = terraform_data.later.output.frozen
						top_up   = terraform_data.later.output.top_up
						label    = terraform_data.later.output.text
						metadata = { a = terraform_data.later.output.text }
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("amount")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("bin_id")),
					plancheck.ExpectUnknownValue("vcard_card.test", tfjsonpath.New("frozen")),
					plancheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("topped_up"), acctest.Exactly("0")),
				}},
			},
		},
	})
}

// A plan refuses what it would have to undo, or cannot do, on a card that exists. The card is not touched.
func TestAccCard_planErrorsOfUpdates(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             checkDestroyed(s, 9969_00), // a fee, and 30.00 USD were spent
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						label  = "search"
					}`,
			},
			{ // of 100.00 USD, 30.00 were spent
				PreConfig: func() {
					authorization := s.Authorize(onlyCard(s), "30", "7311").Transaction()
					s.Settle(authorization, "30").Transaction()
				},
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 29.99
						label  = "search"
					}`,
				ExpectError: acctest.Error(titleWithdrawsTooMuch, "29.99 USD", "70.01 USD", "70.00 USD", "at least 30.00"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 89.99
						label  = "search"
						top_up = { below = 60, to = 80 }
					}`,
				ExpectError: acctest.Error(titleWithdrawsIntoRange, "59.99 USD", "60.00 USD"),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						label  = "other"
					}`,
				ExpectError: acctest.Error(titleReplacedWithoutLoad, `"search"`, `"other"`),
			},
			{
				Config: s.ProviderConfig() + `
					resource "vcard_card" "test" {
						bin_id = "bin_ads_visa_us"
						amount = 100
						label  = "search"
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				Check:            checkCard(s, "active", 70_00, 9899_00),
			},
		},
	})
}

// What is kept in private state after each operation: nothing of a plan outlives its apply.
func TestPrivateState(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	const march = `{"default_limit":true,"month":24314}`

	card := mustApply(t, p, acctest.Card{}, object{"bin_id": bin, "amount": 60})
	checkPrivate(t, "after issuing", card, `{"default_limit":true}`)
	card = mustRefresh(t, p, card)
	checkPrivate(t, "after a refresh", card, march)
	card = mustApply(t, p, card, object{"bin_id": bin, "amount": 70, "frozen": true})
	checkPrivate(t, "after a change", card, march)
	card = mustRefresh(t, p, card)
	checkPrivate(t, "after another refresh", card, march)
}

func mustApply(t *testing.T, p *acctest.Protocol, prior acctest.Card, config object) acctest.Card {
	t.Helper()
	change, diags := p.Plan(prior, config)
	diags.Must(t)
	card, diags := p.Apply(change)
	diags.Must(t)
	return card
}

func mustRefresh(t *testing.T, p *acctest.Protocol, prior acctest.Card) acctest.Card {
	t.Helper()
	card, diags := p.Refresh(prior)
	diags.Must(t)
	return card
}

func checkPrivate(t *testing.T, when string, card acctest.Card, want string) {
	t.Helper()
	var kept map[string][]byte
	if err := json.Unmarshal(card.Private, &kept); err != nil {
		t.Fatal(err)
	}
	if string(kept["card"]) != want {
		t.Errorf("%s, the private state is %s, want %s", when, kept["card"], want)
	}
}
