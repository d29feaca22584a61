//go:build unix

// Package release_test tries what building and releasing say to those who lack something.
package release_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	sandboxtest.Must(0, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)))
}

// run runs a program in a folder, and returns what it printed.
func run(t testing.TB, folder, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir, command.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", program, arguments, err, output)
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
	folder := t.TempDir()
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
			sandboxtest.Says(t, "make", string(said), test.says...)
		})
	}
}
