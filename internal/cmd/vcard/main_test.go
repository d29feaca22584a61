package main_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestCommands(t *testing.T) {
	t.Parallel()
	const usage = "Usage: vcard COMMAND\n"
	const sandboxHelp, statementHelp = "vcard sandbox [flags]", "vcard statement [flags] PLAN.json"
	tests := []struct {
		name       string
		args       []string
		wantCode   int
		wantStdout string // a part
		wantStderr string // a part
	}{
		{name: "no command", args: nil, wantCode: 2, wantStderr: usage},
		{name: "unknown command", args: []string{"serve"}, wantCode: 2, wantStderr: "vcard: unknown command \"serve\"\n\n" + usage},
		{name: "flag without a command", args: []string{"--data"}, wantCode: 2, wantStderr: "vcard: unknown command \"--data\"\n\n" + usage},
		{name: "version", args: []string{"version"}, wantStdout: "vcard "},
		{name: "version as a flag", args: []string{"--version"}, wantStdout: "vcard "},
		{name: "help", args: []string{"help"}, wantStdout: usage},
		{name: "help as a flag", args: []string{"--help"}, wantStdout: usage},
		{name: "help with one dash", args: []string{"-h"}, wantStdout: usage},
		{name: "help of a command", args: []string{"help", "sandbox"}, wantStdout: sandboxHelp},
		{name: "help of help", args: []string{"help", "help"}, wantStdout: usage},
		{name: "help of help as a flag", args: []string{"--help", "--help"}, wantStdout: usage},
		{name: "help of an unknown command", args: []string{"help", "serve"}, wantCode: 2, wantStderr: "unknown command"},
		{name: "sandbox help", args: []string{"sandbox", "--help"}, wantStdout: sandboxHelp},
		{name: "statement help", args: []string{"statement", "--help"}, wantStdout: statementHelp},
		{name: "sandbox fails", args: []string{"sandbox", "--data=:memory:", "--seed=none.yaml"}, wantCode: 1, wantStderr: "sandbox: --seed: "},
		{name: "sandbox arguments", args: []string{"sandbox", "now"}, wantCode: 2, wantStderr: `sandbox: unexpected argument "now"`},
		{name: "statement fails", args: []string{"statement", "none.json"}, wantCode: 1, wantStderr: "statement: none.json cannot be opened: "},
		{name: "statement flags", args: []string{"statement", "--fast", "a"}, wantCode: 2, wantStderr: "statement: unknown flag: --fast"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			command := exec.CommandContext(t.Context(), sandboxtest.Vcard(t), test.args...)
			command.Stdout, command.Stderr = &stdout, &stderr
			if err := command.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			if got := command.ProcessState.ExitCode(); got != test.wantCode {
				t.Errorf("exit status %d, want %d", got, test.wantCode)
			}
			if !strings.Contains(stdout.String(), test.wantStdout) || (test.wantStdout == "") != (stdout.String() == "") {
				t.Errorf("stdout %q, want %q", stdout.String(), test.wantStdout)
			}
			if !strings.Contains(stderr.String(), test.wantStderr) || (test.wantStderr == "") != (stderr.String() == "") {
				t.Errorf("stderr %q, want %q", stderr.String(), test.wantStderr)
			}
		})
	}
}
