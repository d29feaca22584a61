//go:build unix

package command_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Where a process may open few files, as macOS has it, callers are answered all the same.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	limited := filepath.Join(folder, "sandbox")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n 128 && exec %q \"$@\"\n", sandboxtest.Program(t))
	if err := os.WriteFile(limited, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	running, err := process.Start(t.Context(), limited, io.Discard, "--data", filepath.Join(folder, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Wait() })
	c := sandboxtest.NewClient(t, running.Address)
	for range 100 { // connections of their own, which stay open
		request, err := c.NewRequest(t.Context(), http.MethodGet, "/bins", "")
		if err != nil {
			t.Fatal(err)
		}
		response, err := new(http.Transport).RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("answered %v, %v", response, err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
	}
}
