//go:build unix

package doctest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const root = "../.."

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// site reads README.md and all pages below .github/ and docs/.
func site(t *testing.T) Site {
	t.Helper()
	s := Site{Repository: os.DirFS(root), Pages: map[string]Page{}}
	add := func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		s.Pages[path] = Parse(path, string(sandboxtest.Must(fs.ReadFile(s.Repository, path))))
		return nil
	}
	for _, start := range []string{"README.md", ".github", "docs"} {
		sandboxtest.Must(0, fs.WalkDir(s.Repository, start, add))
	}
	return s
}

func isGuide(path string) bool { return strings.HasPrefix(path, "docs/guides/") }

// shells are those of bash and zsh that this machine has.
func shells() []string {
	return slices.DeleteFunc([]string{"bash", "zsh"}, func(shell string) bool { return !has(shell) })
}

// has reports whether this machine has a program, or the version of Terraform or OpenTofu.
func has(need string) bool {
	switch cli, version, _ := strings.Cut(need, " "); cli {
	case "Terraform":
		return acctest.Has(version, "")
	case "OpenTofu":
		return acctest.Has("", version)
	}
	_, err := exec.LookPath(need)
	return err == nil
}

// Blocks are well formed, links lead somewhere, pictures are shown, and a reader of
// README.md or of the index finds every page, and each guide at once.
func TestPages(t *testing.T) {
	t.Parallel()
	const readme, index = "README.md", "docs/index.md"
	s := site(t)
	unshown, err := s.Unshown(".github/images")
	sandboxtest.Must(0, errors.Join(err, s.CheckLinks()))
	if unreached := s.Unreached(readme, index); len(unshown)+len(unreached) > 0 {
		t.Errorf("no page shows %v, no links lead to %v", unshown, unreached)
	}
	for path, page := range s.Pages {
		if !strings.HasPrefix(path, ".github/") { // for those who work on the code, who see when a block is wrong
			sandboxtest.Must(0, page.Check(t.Context(), shells()...))
		}
		for _, start := range []string{readme, index} {
			if isGuide(path) && !slices.Contains(s.LinkedFrom(start), path) {
				t.Errorf("%s does not link to %s", start, path)
			}
		}
	}
}

// The documentation stays short: one guide answers one question.
func TestDocumentationIsShort(t *testing.T) {
	t.Parallel()
	const (
		mostReadmeLines = 120
		mostGuides      = 12
		mostWords       = 14_000 // of all guides
		mostInOneGuide  = 2_000
	)
	if lines := strings.Count(sandboxtest.File(t, root, "README.md"), "\n"); lines > mostReadmeLines {
		t.Errorf("README.md has %d lines, at most %d are allowed", lines, mostReadmeLines)
	}
	guides, total := 0, 0
	for path := range site(t).Pages {
		if !isGuide(path) {
			continue
		}
		words := countWords(sandboxtest.File(t, root, path))
		if words > mostInOneGuide {
			t.Errorf("%s has %d words, at most %d are allowed", path, words, mostInOneGuide)
		}
		guides++
		total += words
	}
	if guides > mostGuides || total > mostWords {
		t.Errorf("%d guides have %d words, at most %d guides and %d words are allowed", guides, total, mostGuides, mostWords)
	}
}

// countWords counts the words of a page, code included. The tables of messages are not
// counted: a test of package provider requires a row for each title in the code.
func countWords(page string) int {
	words, counted := 0, true
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "| message |"):
			counted = false
		case !strings.HasPrefix(line, "|"):
			counted = true
		}
		if counted {
			words += len(strings.Fields(line))
		}
	}
	return words
}

func TestCountWords(t *testing.T) {
	t.Parallel()
	const page = "# A title\n\n| message | do |\n|---|---|\n| Not a label | shorten it |\n\n```sh\nls -l\n```\n\n| a | b |\n"
	if got, want := countWords(page), 12; got != want {
		t.Errorf("got %d words, want %d", got, want)
	}
}

// The pipelines among the examples are well-formed, as those in the guides are.
func TestExamplePipelines(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "examples", "pipelines", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pipelines: %v", err)
	}
	for _, file := range files {
		if err := checkYAML(t.Context(), sandboxtest.File(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestBlocksRun runs README.md and the guides from top to bottom, as a reader
// does who pastes one block after the other.
func TestBlocksRun(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" || acctest.CLI() == "" {
		t.Skip("needs TF_ACC and Terraform or OpenTofu")
	}
	if !acctest.Has("1.11.0", "1.12.0") {
		t.Skip("NOT RUN: the guides are written for Terraform 1.11 and OpenTofu 1.12, and later")
	}
	readme := reader(t)
	guides := append(slices.Clone(readme), "TF_CLI_CONFIG_FILE="+mirror(t))
	for _, shell := range []string{"bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && shell == "zsh" {
				t.Skip("NOT RUN: make test-all runs the blocks in zsh too")
			}
			if !has(shell) {
				t.Skipf("NOT RUN in %s, which is not installed: the blocks of README.md and the guides", shell)
			}
			for path, page := range site(t).Pages {
				runner := Runner{Shell: shell, Env: guides, Fill: func(folder string) error { // what a guide has its reader download
					return os.WriteFile(filepath.Join(folder, "world.yaml"), []byte(sandboxtest.File(t, root, "examples", "world.yaml")), 0o600)
				}}
				switch {
				case path == "README.md":
					runner.Env, runner.Fill = readme, copyRepository
				case !isGuide(path):
					continue
				}
				t.Run(path, func(t *testing.T) {
					t.Parallel()
					if path == "README.md" && git("-C", root, "rev-parse", "HEAD").Run() != nil {
						t.Skip("NOT RUN: the reader of README.md clones the repository, and this is none")
					}
					if missing := runner.Missing(page); len(missing) > 0 {
						t.Skipf("NOT RUN, for want of %v", missing)
					}
					for _, block := range page.Blocks {
						if runner.LeavesOut(block) {
							t.Logf("%s:%d: NOT RUN, for want of %s", path, block.Line, block.Needs)
						}
					}
					ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
					defer cancel()
					if err := runner.Run(ctx, page); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// reader is the environment of somebody who has a CLI and the built programs, no
// account, and no network but loopback.
func reader(t *testing.T) []string {
	t.Helper()
	programs := t.TempDir()
	cli := sandboxtest.Must(filepath.Abs(acctest.CLI()))
	for name, target := range map[string]string{"terraform": cli, "vcard": sandboxtest.Vcard(t)} {
		sandboxtest.Must(0, os.Symlink(target, filepath.Join(programs, name)))
	}
	own := slices.DeleteFunc(withoutGit(acctest.Environ()), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS") || strings.HasPrefix(variable, "PATH=")
	})
	nowhere := "=http://127.0.0.1:9"
	return append(own,
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"),
		"CHECKPOINT_DISABLE=1", "GOGC=off", "GOFLAGS=-trimpath", "GOMEMLIMIT=1GiB",
		"TF_CLI_ARGS_apply=-auto-approve", "TF_CLI_ARGS_destroy=-auto-approve", // the reader answers yes
		"http_proxy"+nowhere, "https_proxy"+nowhere, "HTTP_PROXY"+nowhere, "HTTPS_PROXY"+nowhere,
		"no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1",
	)
}

// mirror makes a plugin mirror with the built provider, and returns the CLI's
// configuration that makes init find it there.
func mirror(t *testing.T) string {
	t.Helper()
	const version = "0.1.1" // as a clone builds it, but for its number
	folder := t.TempDir()
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		platform := filepath.Join(folder, host, "vcard", "vcard", version, runtime.GOOS+"_"+runtime.GOARCH)
		sandboxtest.Must(0, os.MkdirAll(platform, 0o700))
		program := filepath.Join(platform, "terraform-provider-vcard_v"+version)
		if err := os.WriteFile(program, []byte(sandboxtest.File(t, sandboxtest.Provider(t))), 0o700); err != nil { // no link: it may be on another disk
			t.Fatal(err)
		}
	}
	config := filepath.Join(folder, "cli.tfrc")
	text := "provider_installation {\n  filesystem_mirror {\n    path = \"" + folder + "\"\n  }\n}\n"
	sandboxtest.Must(0, os.WriteFile(config, []byte(text), 0o600))
	return config
}

// git is a command of git that heeds no variable of a hook, and no other's ownership of
// the repository, such as that of a clone which is mounted into a container.
func git(arguments ...string) *exec.Cmd {
	command := exec.Command("git", append([]string{"-c", "safe.directory=*"}, arguments...)...)
	command.Env = withoutGit(os.Environ())
	return command
}

func withoutGit(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
}

// copyRepository clones the repository, with what has been changed in its files and not
// been committed. What git does not know is not the reader's.
func copyRepository(folder string) error {
	if output, err := git("clone", "-q", "--shared", root, folder).CombinedOutput(); err != nil {
		return fmt.Errorf("git clone: %w: %s", err, output)
	}
	changes, err := git("-C", root, "diff", "--binary", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", "HEAD").Output()
	if err != nil || len(changes) == 0 {
		return err
	}
	apply := git("-C", folder, "apply", "--whitespace=nowarn")
	apply.Stdin = bytes.NewReader(changes)
	if output, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("git apply: %w: %s", err, output)
	}
	return nil
}
