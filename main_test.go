package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// What a person meets who starts the program, rightly or not.
func TestStartedByHand(t *testing.T) {
	t.Parallel()
	const help = `(?s).*Usage: vcard COMMAND.* sandbox .* statement .* -debug .* -version .* -help .*as terraform-provider-vcard`
	for name, test := range map[string]struct {
		arguments      []string
		code           int
		stdout, stderr string // patterns
	}{
		"its version":            {[]string{"--version"}, 0, `^vcard \S+\n$`, `^$`},
		"its version, shorter":   {[]string{"-version"}, 0, `^vcard \S+\n$`, `^$`},
		"help":                   {[]string{"--help"}, 0, help, `^$`},
		"help, shorter":          {[]string{"-h"}, 0, help, `^$`},
		"an unknown word":        {[]string{"serve"}, 2, `^$`, `there is no command "serve"` + help},
		"an unknown flag":        {[]string{"--fast"}, 2, `^$`, `^vcard: flag provided but not defined: -fast` + help},
		"a wrong value":          {[]string{"-debug=1e9"}, 2, `^$`, `-debug` + help},
		"nothing":                {nil, 2, `^$`, `^vcard: this is the provider vcard/vcard, which terraform and tofu start` + help},
		"the sandbox's help":     {[]string{"sandbox", "--help"}, 0, `--listen`, `^$`},
		"the statement's help":   {[]string{"statement", "--help"}, 0, `-no-unmanaged`, `^$`},
		"a statement of nothing": {[]string{"statement", "no.json"}, 1, `^$`, `^statement: no.json cannot be opened: [^\n]*\n$`},
		"a wrong statement":      {[]string{"statement", "-fast", "a"}, 2, `^$`, `^statement: flag provided but not defined: -fast[^\n]*\n$`},
		"a wrong sandbox":        {[]string{"sandbox", "now"}, 2, `^$`, `unexpected argument "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			command := exec.CommandContext(t.Context(), sandboxtest.Program(t), test.arguments...)
			command.Stdout, command.Stderr = &stdout, &stderr
			if _, failed := errors.AsType[*exec.ExitError](command.Run()); failed != (test.code != 0) {
				t.Errorf("failed: %t", failed)
			}
			if code := command.ProcessState.ExitCode(); code != test.code {
				t.Errorf("ended with %d, want %d", code, test.code)
			}
			for want, got := range map[string]string{test.stdout: stdout.String(), test.stderr: stderr.String()} {
				if !regexp.MustCompile(want).MatchString(got) {
					t.Errorf("wrote %q, want %s", got, want)
				}
			}
		})
	}
}

// The debugger's way in needs no CLI that has started the program.
func TestStartedForADebugger(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), sandboxtest.Program(t), "-debug")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "TF_REATTACH_PROVIDERS") {
		t.Errorf("said %q, %v", line, err)
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines) // it may not wait for its reader
	if err := command.Wait(); err != nil {
		t.Errorf("an interrupt ended it with: %v", err)
	}
}
