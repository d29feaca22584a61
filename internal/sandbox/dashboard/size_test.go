package dashboard_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Everybody who installs the provider downloads the page, and few look at it. Other
// packages bring what it is made with, as gRPC does html/template; what is measured
// here is the rest.
func TestSize(t *testing.T) {
	t.Parallel()
	const most = 409_600 // 400 KiB
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for _, source := range sources {
		if path, err := filepath.Abs(source); err != nil {
			t.Fatal(err)
		} else if !strings.HasSuffix(source, "_test.go") {
			replaced[path] = "" // as if it were not there
		}
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replaced[filepath.Join(folder, "dashboard.go")] = filepath.Join(folder, "testdata", "without.go")
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(t.TempDir(), "without.json")
	if err := os.WriteFile(without, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	added := size(t) - size(t, "-overlay="+without)
	t.Logf("the page adds %d bytes", added)
	if added <= 0 || added > most {
		t.Errorf("the page adds %d bytes, of %d", added, most)
	}
}

// size builds the provider, stripped and without tags, and returns its size.
func size(t *testing.T, flags ...string) int64 {
	t.Helper()
	program := filepath.Join(t.TempDir(), "provider")
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program}, flags...)...)
	build.Args = append(build.Args, "github.com/vcard/terraform-provider-vcard")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	built, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	return built.Size()
}
