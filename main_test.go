package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestStartedByHand(t *testing.T) {
	t.Parallel()
	const about = "terraform-provider-vcard is the provider vcard/vcard, which terraform and tofu start themselves.\n" +
		"The command-line tool is vcard: run \"vcard help\".\n"
	tests := []struct {
		name       string
		args       []string
		wantCode   int
		wantStdout string // the beginning
		wantStderr string // a part
	}{
		{name: "no arguments", args: nil, wantCode: 2, wantStderr: about},
		{name: "a command of vcard", args: []string{"sandbox"}, wantCode: 2, wantStderr: about},
		{name: "debug with an argument", args: []string{"-debug", "now"}, wantCode: 2, wantStderr: about},
		{name: "unknown flag", args: []string{"-fast"}, wantCode: 2, wantStderr: "flag provided but not defined: -fast\n" + about},
		{name: "help", args: []string{"-help"}, wantCode: 0, wantStderr: about + "\nFlags:\n  -debug\n"},
		{name: "version", args: []string{"-version"}, wantCode: 0, wantStdout: "terraform-provider-vcard "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			command := exec.CommandContext(t.Context(), sandboxtest.Provider(t), test.args...)
			command.Stdout, command.Stderr = &stdout, &stderr
			if err := command.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			if got := command.ProcessState.ExitCode(); got != test.wantCode {
				t.Errorf("exit status %d, want %d", got, test.wantCode)
			}
			if !strings.HasPrefix(stdout.String(), test.wantStdout) || (test.wantStdout == "") != (stdout.String() == "") {
				t.Errorf("stdout %q, want %q", stdout.String(), test.wantStdout)
			}
			if !strings.Contains(stderr.String(), test.wantStderr) || (test.wantStderr == "") != (stderr.String() == "") {
				t.Errorf("stderr %q, want %q", stderr.String(), test.wantStderr)
			}
		})
	}
}

// The provider holds keys to real money: it links the API client and the embedded service,
// and neither a web server with its pages nor what reads seeds and plans.
func TestLinkedPackages(t *testing.T) {
	t.Parallel()
	const internal = "github.com/vcard/terraform-provider-vcard/internal/"
	allowed := []string{
		"api", "api/ratelimit", "api/transport", "bins", "buildinfo", "card", "crash", "display", "fleet", "labels",
		"provider", "reconcile",
		"sandbox", "sandbox/account", "sandbox/behavior", "sandbox/card", "sandbox/ledger", "sandbox/requestlog",
		"sandbox/server", "sandbox/store", "sandbox/threeds", "sandbox/transaction", "sandbox/vault", "sandbox/wallet",
		"sandbox/webhook", "sandbox/wire", "session", "tfkit", "threeds", "transaction", "transfer", "usd", "usd/usdtype",
		"wallet", "webhook",
	}
	denied := []string{"github.com/spf13/pflag", "yaml", "github.com/getkin/kin-openapi", "golang.org/x/net/netutil"}
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "grpcnotrace", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if !slices.Contains(packages, internal+"provider") {
		t.Fatalf("the provider links %q", packages)
	}
	for _, linked := range packages {
		name, own := strings.CutPrefix(linked, internal)
		if own && !slices.Contains(allowed, name) {
			t.Errorf("the provider links internal/%s", name)
		}
		for _, part := range denied {
			if strings.Contains(linked, part) {
				t.Errorf("the provider links %s", linked)
			}
		}
	}
}

// A debugger's provider is not started by a CLI.
func TestStartedForADebugger(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), sandboxtest.Provider(t), "-debug")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "TF_REATTACH_PROVIDERS") {
		t.Errorf("printed %q, %v", line, err)
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines) // it may not wait for its reader
	if err := command.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}
