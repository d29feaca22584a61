//go:build unix

// Package release_test tries what building and releasing say to those who lack something.
package release_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	sandboxtest.Must(0, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)))
}

// run runs a program in a folder, and returns what it printed to standard output. The
// person's own settings of git do not count, nor does a hook of git that runs the tests.
func run(t testing.TB, folder, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	var stderr strings.Builder
	command.Dir, command.Stderr = folder, &stderr
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
	command.Env = append(command.Env, "CGO_ENABLED=0", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", program, arguments, err, stderr.String())
	}
	return strings.TrimSpace(string(output))
}

// Whoever commits and builds has a version that was not there before. A tarball that
// was unpacked in a repository, another one's or none, has nothing of its version.
func TestVersion(t *testing.T) {
	t.Parallel()
	script := sandboxtest.File(t, "version.sh")
	folder := t.TempDir()
	unpacked := filepath.Join(folder, "unpacked")
	version := func(folder string) string {
		t.Helper()
		return run(t, "", filepath.Join(folder, "internal/release/version.sh"))
	}
	for _, folder := range []string{folder, unpacked} {
		write(t, filepath.Join(folder, "internal/release/version.sh"), script)
	}
	for _, step := range sandboxtest.Table(t, "testdata/versions.txt", 2) {
		run(t, folder, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, strings.Fields(step[0])...)...)
		sandboxtest.Equal(t, "the version after git "+step[0], version(folder), step[1])
		sandboxtest.Equal(t, "that of a tarball in it after git "+step[0], version(unpacked), "0.1.0")
	}
}

// What is missing is said by make, with programs of ours before all others.
func TestMakeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	oldGo := `[ "$1" = version ] && echo go version go1.19.8 linux/amd64 && exit
echo "go: errors parsing go.mod: invalid go version" >&2; exit 1`
	folder := sandboxtest.Must(os.MkdirTemp("/tmp", "vcard-")) //nolint:usetesting // TMPDIR may have a space, and a target of make none
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	write(t, filepath.Join(folder, "hc-install"), "#!/bin/sh\necho no network >&2\nexit 1\n")
	for name, test := range map[string]struct {
		goes      string // the script that is go
		arguments []string
		says      []string
	}{
		"an old Go":          {oldGo, []string{"build"}, []string{"Go 1.26", "or later is needed", "go.dev/dl", "go1.19.8"}},
		"no Go":              {"exit 127", []string{"build"}, []string{"Go 1.26", "go.dev/dl", "none"}},
		"a read-only folder": {"", []string{"build", "BIN=/proc/vcard"}, []string{"/proc/vcard cannot be written", "make BIN="}},
		"no Terraform":       {"", []string{"BIN=" + folder, filepath.Join(folder, "terraform")}, []string{"no network", "Terraform 1.0 or OpenTofu 1.6", "TF_ACC_TERRAFORM_PATH"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs := t.TempDir()
			if test.goes != "" {
				write(t, filepath.Join(programs, "go"), "#!/bin/sh\n"+test.goes+"\n")
			}
			command := exec.CommandContext(t.Context(), "make", test.arguments...)
			command.Dir = "../.."
			command.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "MAKEFLAGS=", "MAKELEVEL=")
			said, err := command.CombinedOutput()
			if err == nil {
				t.Errorf("make %v succeeded: %s", test.arguments, said)
			}
			sandboxtest.ContainsAll(t, "make", string(said), test.says...)
		})
	}
}

// A running vcard and an initialized folder survive make mirror of a later version.
func TestMirrorWhileRunning(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT RUN: make test-all builds the mirror twice")
	}
	cli := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if cli == "" {
		t.Skip("needs TF_ACC_TERRAFORM_PATH")
	}
	bin, folder := t.TempDir(), t.TempDir()
	mirror := func(version string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "make", "mirror", "BIN="+bin, "VERSION="+version)
		command.Dir = "../.."
		command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("make mirror: %v: %s", err, output)
		}
	}
	terraform := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), cli, args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(bin, "mirror.tfrc"), "CHECKPOINT_DISABLE=1")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("terraform %v: %v: %s", args, err, output)
		}
		return string(output)
	}
	write(t, filepath.Join(folder, "main.tf"), `
terraform {
  required_providers {
    vcard = { source = "vcard/vcard" }
  }
}

provider "vcard" {
  sandbox = { path = "sandbox.db" }
}

data "vcard_wallet_balance" "now" {}
`)
	mirror("0.1.1")
	terraform("init", "-input=false")
	sandbox := sandboxtest.Must(process.Start(t.Context(), filepath.Join(bin, "vcard"), io.Discard, "--data=:memory:"))
	t.Cleanup(func() { _ = sandbox.Interrupt() })

	mirror("0.1.2")
	sandboxtest.NewClient(t, sandbox.Address).Get("/cards").OK(http.StatusOK)
	sandboxtest.Equal(t, "the new version", run(t, "", filepath.Join(bin, "vcard"), "version"), "vcard 0.1.2")
	terraform("plan", "-input=false")
	sandboxtest.ContainsAll(t, "terraform version", terraform("version"), "vcard/vcard v0.1.1")
	sandboxtest.ContainsAll(t, "init -upgrade", terraform("init", "-input=false", "-upgrade"), "v0.1.2")
}
