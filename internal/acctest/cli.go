package acctest

import (
	"math/big"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"
)

// CLI returns the path of the Terraform or OpenTofu under test: the one that
// TF_ACC_TERRAFORM_PATH names, else the first on PATH, else "".
func CLI() string { return cli().path }

// OpenTofu reports whether the CLI under test is OpenTofu.
func OpenTofu() bool { return cli().tofu }

// Needs skips the test on a CLI older than the versions that have the feature:
// one of Terraform and one of OpenTofu, where "" means that it has it not.
func Needs(t testing.TB, terraform, tofu string) {
	t.Helper()
	if !Has(terraform, tofu) {
		t.Skipf("the CLI under test (%s) does not have this; the protocol tests cover it", cli().name)
	}
}

// Has reports whether the CLI under test is at least of the versions that Needs takes.
func Has(terraform, tofu string) bool {
	least := terraform
	if OpenTofu() {
		least = tofu
	}
	return least != "" && cli().version != nil && cli().version.Core().GreaterThanOrEqual(version.Must(version.NewVersion(least)))
}

type commandLine struct {
	path, name string
	tofu       bool
	version    *version.Version
}

var cli = sync.OnceValue(func() commandLine {
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	for _, name := range []string{"terraform", "tofu"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		return commandLine{name: "none found"}
	}
	c := commandLine{path: path, name: path}
	command := exec.Command(path, "version")
	command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
	output, _ := command.Output()
	// Warnings about the CLI's own configuration may come first.
	if said := regexp.MustCompile(`(?m)^(Terraform|OpenTofu) v(\S+)`).FindStringSubmatch(string(output)); said != nil {
		c.name, c.tofu = said[1]+" "+said[2], said[1] == "OpenTofu"
		c.version, _ = version.NewVersion(said[2])
	}
	return c
})

// Life is a test of a noun, step by step, in this process.
func Life(steps ...resource.TestStep) resource.TestCase {
	return resource.TestCase{ProtoV6ProviderFactories: Factories(), Steps: steps}
}

// Fails is a step that is refused in these words, one after the other.
func Fails(config string, words ...string) resource.TestStep {
	return resource.TestStep{Config: config, ExpectError: Saying(words...)}
}

// Before checks what a plan shows.
func Before(checks ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: checks}
}

// Is checks an attribute of the state.
func Is(address, field string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(field), value)
}

// Form checks that a whole text has this form.
func Form(pattern string) knownvalue.Check {
	return knownvalue.StringRegexp(regexp.MustCompile("^" + pattern + "$"))
}

// LifeSince is Life for a CLI of this version of Terraform or later. Ephemeral values go into the provider "echo".
func LifeSince(least *version.Version, steps ...resource.TestStep) resource.TestCase {
	life := Life(steps...)
	life.ProtoV6ProviderFactories["echo"] = echoprovider.NewProviderServer()
	life.TerraformVersionChecks = []tfversion.TerraformVersionCheck{tfversion.SkipBelow(least)}
	return life
}

// Exactly checks a number to its last decimal.
func Exactly(decimal string) knownvalue.Check {
	const precision = 512 // as Terraform's own
	number, _, err := big.ParseFloat(decimal, 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return knownvalue.NumberExact(number)
}

// Saying matches errors in which these words come one after the other, wherever the
// CLI broke the lines.
func Saying(words ...string) *regexp.Regexp {
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = strings.Join(strings.Fields(regexp.QuoteMeta(word)), `\s+`)
	}
	return regexp.MustCompile(strings.Join(parts, `[\s\S]*`))
}
