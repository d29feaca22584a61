package webhook_test

import (
	"fmt"
	"os"
	"regexp"
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
	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

const address = "vcard_webhook.test"

// hook is a configuration of one endpoint with these further lines.
func hook(s *acctest.Service, lines string) string {
	return s.Provider() + "resource \"vcard_webhook\" \"test\" {\n" + lines + "\n}\n"
}

const written = `url = "https://hooks.example.com/cards?token=hush"
	events = ["card.created", "3ds.challenge"]`

func value(attribute string, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(attribute), want)
}

// does expects this action now, and nothing more to do after it.
func does(action plancheck.ResourceActionType, more ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{
		PreApply:             append([]plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}, more...),
		PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
	}
}

// registrations asks the service how often an endpoint was registered.
func registrations(s *acctest.Service, want int) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var log struct {
			Requests []struct{ Method, Path string } `json:"data"`
		}
		s.Get("/_sandbox/requests").Into(&log)
		count := 0
		for _, r := range log.Requests {
			if r.Method == "POST" && r.Path == "/webhooks" {
				count++
			}
		}
		if count != want {
			return fmt.Errorf("%d endpoints were registered, want %d", count, want)
		}
		return nil
	}
}

func TestGeneratedSecret(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	same := statecheck.CompareValue(compare.ValuesSame())
	changed := statecheck.CompareValue(compare.ValuesDiffer())
	secret := tfjsonpath.New("secret")
	s.Test(t,
		resource.TestStep{
			Config: hook(s, written),
			ConfigPlanChecks: does(plancheck.ResourceActionCreate,
				plancheck.ExpectUnknownValue(address, secret), plancheck.ExpectUnknownValue(address, tfjsonpath.New("id")), plancheck.ExpectSensitiveValue(address, secret)),
			Check: registrations(s, 1),
			ConfigStateChecks: []statecheck.StateCheck{
				value("id", knownvalue.StringRegexp(regexp.MustCompile(`^wh_.+`))),
				value("secret", knownvalue.StringRegexp(regexp.MustCompile(`^whsec_.+`))),
				value("secret_wo_version", knownvalue.Null()),
				value("events", knownvalue.SetExact([]knownvalue.Check{knownvalue.StringExact("card.created"), knownvalue.StringExact("3ds.challenge")})),
				value("created_at", knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`))),
				same.AddStateValue(address, secret), changed.AddStateValue(address, secret),
			},
		},
		resource.TestStep{ // the order of events means nothing
			Config:            hook(s, strings.Replace(written, `"card.created", "3ds.challenge"`, `"3ds.challenge", "card.created"`, 1)),
			ConfigPlanChecks:  does(plancheck.ResourceActionNoop),
			Check:             registrations(s, 1),
			ConfigStateChecks: []statecheck.StateCheck{same.AddStateValue(address, secret)},
		},
		resource.TestStep{ // another event registers another endpoint, with another secret
			Config: hook(s, `url = "https://hooks.example.com/cards?token=hush"
				events = ["*"]`),
			ConfigPlanChecks:  does(plancheck.ResourceActionDestroyBeforeCreate, plancheck.ExpectUnknownValue(address, secret)),
			Check:             registrations(s, 2),
			ConfigStateChecks: []statecheck.StateCheck{changed.AddStateValue(address, secret)},
		},
	)
}

func TestCustomSecret(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.Test(t,
		resource.TestStep{
			Config:            hook(s, written+"\nsecret = \"first\""),
			ConfigPlanChecks:  does(plancheck.ResourceActionCreate),
			ConfigStateChecks: []statecheck.StateCheck{value("secret", knownvalue.StringExact("first"))},
		},
		resource.TestStep{ // taken out, the endpoint keeps it
			Config:            hook(s, written),
			ConfigPlanChecks:  does(plancheck.ResourceActionNoop),
			Check:             registrations(s, 1),
			ConfigStateChecks: []statecheck.StateCheck{value("secret", knownvalue.StringExact("first"))},
		},
		resource.TestStep{
			Config:            hook(s, written+"\nsecret = \"second\""),
			ConfigPlanChecks:  does(plancheck.ResourceActionDestroyBeforeCreate),
			Check:             registrations(s, 2),
			ConfigStateChecks: []statecheck.StateCheck{value("secret", knownvalue.StringExact("second"))},
		},
	)
}

func TestSecretKnownAfterApply(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.4", "1.6")
	s := acctest.Start(t)
	s.Test(t, resource.TestStep{
		Config: hook(s, written+"\nsecret = terraform_data.made.output") + `resource "terraform_data" "made" {
			input = "made"
		}`,
		ConfigPlanChecks:  does(plancheck.ResourceActionCreate, plancheck.ExpectUnknownValue(address, tfjsonpath.New("secret"))),
		ConfigStateChecks: []statecheck.StateCheck{value("secret", knownvalue.StringExact("made"))},
	})
}

func TestWriteOnlySecret(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11", "1.11")
	s := acctest.Start(t)
	const variable = "variable \"hush\" {\n  ephemeral = true\n  sensitive = true\n}\n"
	of := func(text string) config.Variables {
		return config.Variables{"hush": config.StringVariable(text)}
	}
	versioned := func(version int) string {
		return variable + hook(s, written+fmt.Sprintf("\nsecret_wo = var.hush\nsecret_wo_version = %d", version))
	}
	nowhere := []statecheck.StateCheck{value("secret", knownvalue.Null()), value("secret_wo", knownvalue.Null())}
	s.Test(t,
		resource.TestStep{
			Config: versioned(1), ConfigVariables: of("hush-1"),
			ConfigPlanChecks: does(plancheck.ResourceActionCreate,
				plancheck.ExpectKnownValue(address, tfjsonpath.New("secret"), knownvalue.Null())),
			ConfigStateChecks: append(nowhere, value("secret_wo_version", knownvalue.Int64Exact(1))),
		},
		resource.TestStep{ // Terraform keeps no write-only value, so nobody sees another one
			Config: versioned(1), ConfigVariables: of("hush-2"),
			ConfigPlanChecks: does(plancheck.ResourceActionNoop),
			Check:            registrations(s, 1),
		},
		resource.TestStep{
			Config: versioned(2), ConfigVariables: of("hush-2"),
			ConfigPlanChecks:  does(plancheck.ResourceActionDestroyBeforeCreate),
			Check:             registrations(s, 2),
			ConfigStateChecks: nowhere,
		},
		resource.TestStep{ // taken out, the new endpoint's secret is a generated one
			Config:            hook(s, written),
			ConfigPlanChecks:  does(plancheck.ResourceActionDestroyBeforeCreate),
			Check:             registrations(s, 3),
			ConfigStateChecks: []statecheck.StateCheck{value("secret", knownvalue.StringRegexp(regexp.MustCompile(`^whsec_`)))},
		},
	)
}

func TestImportBlock(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.5", "1.6")
	s := acctest.Start(t)
	s.Test(t,
		resource.TestStep{
			Config:           hook(s, written+"\nsecret = \"known\"") + "import {\n  to = vcard_webhook.test\n  id = \"wh_9f2c\"\n}\n",
			ConfigPlanChecks: does(plancheck.ResourceActionUpdate),
			Check:            registrations(s, 0),
			ConfigStateChecks: []statecheck.StateCheck{
				value("id", knownvalue.StringExact("wh_9f2c")), value("secret", knownvalue.StringExact("known")), value("created_at", knownvalue.Null()),
			},
		},
		resource.TestStep{ // from then on a change is a change
			Config:           hook(s, strings.Replace(written, "hooks.", "new-hooks.", 1)+"\nsecret = \"known\""),
			ConfigPlanChecks: does(plancheck.ResourceActionDestroyBeforeCreate),
			Check:            registrations(s, 1),
		},
	)
}

func TestExample(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11", "1.11")
	s := acctest.Start(t)
	text, err := os.ReadFile("../../examples/resources/vcard_webhook/resource.tf")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "\n}\n") // without its block terraform, which wants an init
	s.Test(t, resource.TestStep{
		Config:          s.Provider() + example,
		ConfigVariables: config.Variables{"webhook_secret": config.StringVariable("hush")},
		Check:           registrations(s, 2),
	})
}

// Paths and queries of webhook addresses often hold tokens.
func TestFailedRegistrationNamesTheHostOnly(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.Fault(map[string]any{"method": "POST", "path": "/webhooks", "when": "before", "times": 0, "then": "drop"})
	p := s.Protocol(object{"max_retries": 0})
	change, diags := p.Plan(acctest.Instance{Type: typeName}, endpoint(object{"url": "https://" + host + "/t/hush"}))
	mustSucceed(t, diags)
	_, diags = p.Apply(change, nil)
	if text := diags.Errors(); !strings.Contains(text, host) || !strings.Contains(text, "dashboard") || strings.Contains(text, "hush") {
		t.Errorf("a lost registration says %s", text)
	}
}
