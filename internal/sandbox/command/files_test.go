//go:build unix

package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Where a process may open few files, as macOS has it, callers are answered all the same.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	limited := filepath.Join(folder, "sandbox")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n 128 && exec %q \"$@\"\n", sandboxtest.Program(t))
	must(0, os.WriteFile(limited, []byte(script), 0o700))
	running := must(process.Start(t.Context(), limited, io.Discard, "--data", filepath.Join(folder, "s.db")))
	t.Cleanup(func() { _ = running.Wait() })
	for range 100 { // each has a connection of its own, which stays open
		sandboxtest.NewClient(t, running.Address).Get("/bins").OK(200)
	}
}

// A signal ends the wait for a pipe that nobody writes to.
func TestUnwrittenPipes(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	from, to, err := os.Pipe()
	for _, flag := range []string{"--api-key-file", "--seed", "--webhook-ca"} {
		var log bytes.Buffer
		command.Main(ended, []string{flag, fmt.Sprintf("/dev/fd/%d", must(from, err).Fd())}, io.Discard, &log)
		if !strings.Contains(log.String(), flag+": interrupted") {
			t.Errorf("%s: %s", flag, log.String())
		}
	}
	must(0, errors.Join(from.Close(), to.Close()))
}
