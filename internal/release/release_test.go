//go:build unix

// Package release_test tries what building and releasing say to those who lack something.
package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is an empty folder with the script that tells its version.
type repository struct {
	t      *testing.T
	folder string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	script, err := os.ReadFile("version.sh")
	if err != nil {
		t.Fatal(err)
	}
	r := repository{t, t.TempDir()}
	r.write("internal/release/version.sh", string(script))
	return r
}

func (r repository) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) git(arguments ...string) {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, arguments...)...)
	command.Dir = r.folder
	if output, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v: %s", arguments, err, output)
	}
}

func (r repository) commit() {
	r.t.Helper()
	r.git("commit", "--allow-empty", "--message", "x")
}

func (r repository) has(want string) {
	r.t.Helper()
	output, err := exec.CommandContext(r.t.Context(), filepath.Join(r.folder, "internal/release/version.sh")).CombinedOutput()
	if got := strings.TrimSpace(string(output)); err != nil || got != want {
		r.t.Errorf("the version is %q (%v), want %s", got, err, want)
	}
}

// Whoever commits and builds has a version that was not there before.
func TestVersion(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.has("0.1.0") // as from a tarball
	r.git("init", "--quiet")
	r.has("0.1.0")
	r.commit()
	r.has("0.1.1")
	r.commit()
	r.has("0.1.2")
	r.git("tag", "v0.2.0-rc.1")
	r.git("tag", "nightly")
	r.has("0.1.2")
	r.git("tag", "v0.2.5")
	r.has("0.2.5")
	r.commit()
	r.commit()
	r.has("0.2.7")
	r.git("tag", "--annotate", "--message", "x", "v1.0.0")
	r.has("1.0.0")
}

// A tarball that was unpacked in another repository has nothing of its version.
func TestVersionInAnotherRepository(t *testing.T) {
	t.Parallel()
	outer := newRepository(t)
	outer.git("init", "--quiet")
	outer.commit()
	inner := newRepository(t)
	inner.folder = filepath.Join(outer.folder, "unpacked")
	script, err := os.ReadFile("version.sh")
	if err != nil {
		t.Fatal(err)
	}
	inner.write("internal/release/version.sh", string(script))
	inner.has("0.1.0")
}

// make runs a target in this repository, with programs of ours before all others,
// and returns what it printed.
func makeWith(t *testing.T, programs map[string]string, arguments ...string) string {
	t.Helper()
	folder := t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "make", arguments...)
	command.Dir = "../.."
	command.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "MAKEFLAGS=", "MAKELEVEL=")
	output, err := command.CombinedOutput()
	if err == nil {
		t.Errorf("make %v succeeded: %s", arguments, output)
	}
	return string(output)
}

func TestMakeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	oldGo := `[ "$1" = version ] && echo go version go1.19.8 linux/amd64 && exit
echo "go: errors parsing go.mod: invalid go version" >&2; exit 1`
	folder := t.TempDir()
	hcInstall := filepath.Join(folder, "hc-install")
	if err := os.WriteFile(hcInstall, []byte("#!/bin/sh\necho no network >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		programs  map[string]string
		arguments []string
		says      []string
	}{
		"an old Go":          {map[string]string{"go": oldGo}, []string{"build"}, []string{"Go 1.26", "or later is needed", "go.dev/dl", "go1.19.8"}},
		"no Go":              {map[string]string{"go": "exit 127"}, []string{"build"}, []string{"Go 1.26", "go.dev/dl", "none"}},
		"a read-only folder": {nil, []string{"build", "BIN=/proc/vcard"}, []string{"/proc/vcard cannot be written", "make BIN="}},
		"no Terraform":       {nil, []string{"BIN=" + folder, filepath.Join(folder, "terraform")}, []string{"no network", "Terraform 1.0 or OpenTofu 1.6", "TF_ACC_TERRAFORM_PATH"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := makeWith(t, test.programs, test.arguments...)
			for _, words := range test.says {
				if !strings.Contains(said, words) {
					t.Errorf("%q lacks %q", said, words)
				}
			}
		})
	}
}
