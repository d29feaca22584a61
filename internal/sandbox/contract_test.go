package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// From the contract that the sandbox serves, a generator makes a client that calls
// all endpoints of it.
func TestTheContractIsServed(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, wallet(2_000_000*usd.Dollar))
	served := s.Send(t.Context(), "GET", "/_sandbox/openapi.yaml", nil).OK(200)
	if served.Header.Get("Content-Type") != "application/yaml" || served.Raw != string(openapi.Document()) {
		t.Errorf("%s is served: %.200s", served.Header.Get("Content-Type"), served.Raw)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/client")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "openapi.yaml"), []byte(served.Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"tool", "oapi-codegen", "-generate=types,client", "-package=main", "-o=client.go", "openapi.yaml"},
		{"run", ".", s.URL, s.Key},
	} {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", arguments[:2], err, output)
		}
	}
}
