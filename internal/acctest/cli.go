package acctest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-version"
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

// Unwrapped is what a person reads, without the frame and the line breaks of the CLI.
func Unwrapped(output string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
}
