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
	folder, replaced := must(os.Getwd()), map[string]string{}
	for _, source := range must(filepath.Glob("*.go")) {
		if !strings.HasSuffix(source, "_test.go") {
			replaced[filepath.Join(folder, source)] = "" // as if it were not there
		}
	}
	replaced[filepath.Join(folder, "dashboard.go")] = filepath.Join(folder, "testdata", "without.go")
	without := filepath.Join(t.TempDir(), "without.json")
	must(0, os.WriteFile(without, must(json.Marshal(map[string]any{"Replace": replaced})), 0o600))
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
	return must(os.Stat(program)).Size()
}
