//go:build unix

package doctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/doctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// fenced is a block of a page.
func fenced(language, text string) string {
	return "```" + language + "\n" + text + "\n```\n\n"
}

func TestIllFormedBlocksAreNamed(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"HCL that does not parse":           fenced("terraform", "resource \"vcard_card\" {"),
		"HCL that is not formatted":         fenced("terraform", "locals {\n a=1\n}"),
		"a shell block":                     fenced("sh", "if true; then echo"),
		"a comment in a shell block":        fenced("sh", "cat <<'EOF'\n# it's text\nEOF\necho '# a' \"# b\" $# # c"),
		"a shell block that is not run":     "<!-- needs an account -->\n" + fenced("sh", "echo 'x"),
		"a pipe that hides a failure":       fenced("sh", "curl x || true\ncurl x | jq '.a | .b'"),
		"one of a GitLab pipeline":          fenced("yaml", "plan:\n  script:\n    - curl x |\n      jq ."),
		"YAML":                              fenced("yaml", "a: [b"),
		"a step of a workflow":              fenced("yaml", "steps:\n  - run: |\n      if true"),
		"a step of a GitLab pipeline":       fenced("yaml", "plan:\n  before_script:\n    - echo 'x"),
		"JSON":                              fenced("json", "{"),
		"Go":                                fenced("go", "package main\nfunc {"),
		"a program that is in no file":      fenced("python", "print(1)"),
		"a file outside the page's folder":  fenced("python", "# ../verify.py\nprint(1)"),
		"a language that nobody knows":      fenced("Terraform", "locals {}"),
		"a block that does not end":         "```sh\necho",
		"a reason that is not given":        "<!-- not run -->\n" + fenced("sh", "echo"),
		"a mark that nobody knows":          "<!-- needs an Account -->\n" + fenced("sh", "echo"),
		"a mark that is not before a block": "<!-- needs an account -->\nText.\n\n" + fenced("sh", "echo"),
	} {
		err := doctest.Parse("docs/guides/x.md", "# X\n\n"+page).Check(t.Context(), shells()...)
		if err == nil || !strings.Contains(err.Error(), "docs/guides/x.md:") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A page runs in one shell and folder, on ports of its own, and what it leaves in the
// background ends with it. The first block that fails is named, and no other one.
func TestPagesRun(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			runner := doctest.Runner{Shell: shell, Env: os.Environ(), Has: has}
			said := filepath.Join(t.TempDir(), "said")
			page := doctest.Parse("x.md",
				fenced("sh", "[ -z \"$(ls)\" ]\nname=ads")+
					fenced("python", "# deep/a.py\n1")+
					fenced("sh", "grep -qx 1 deep/a.py && cd deep")+
					fenced("python", "# a.py\n2")+
					fenced("sh", "grep -qx 2 a.py && [ \"$name\" = ads ]")+
					"<!-- not run: fails -->\n"+fenced("sh", "false")+
					"<!-- needs nosuchprogram -->\n"+fenced("sh", "nosuchprogram")+
					fenced("sh", "sleep 600 &\n{ echo $!; echo vcard sandbox; echo 127.0.0.1:8420 8443 84201; } > '"+said+"'"))
			if err := runner.Run(t.Context(), page); err != nil {
				t.Fatal(err)
			}
			text := must(os.ReadFile(said))
			words := strings.Fields(string(text))
			if len(words) != 8 {
				t.Fatalf("it said %q", text)
			}
			if words[3] != "--listen" || words[4] != words[5] || words[5] == "127.0.0.1:8420" || words[6] == "8443" || words[7] != "84201" {
				t.Errorf("it runs with %s", text)
			}
			pid := must(strconv.Atoi(words[0]))
			sandboxtest.Eventually(t, func() bool { return !running(pid) })

			for name, fails := range map[string]string{
				"a command": "false", "a command in a pipe": "false | cat", "a variable": "echo $nosuchvariable", "the shell's end": "exit 0",
			} {
				page := doctest.Parse("x.md", fenced("sh", "echo before")+fenced("sh", "echo said so; "+fails)+fenced("sh", "echo after"))
				said := fmt.Sprint(runner.Run(t.Context(), page))
				if !strings.HasPrefix(said, "x.md:5: in "+shell) || !strings.Contains(said, "said so") || strings.Contains(said, "before") || strings.Contains(said, "after") {
					t.Errorf("%s: says %s", name, said)
				}
			}
		})
	}
}

// running reports whether a process runs; one that nobody waits for has ended too.
func running(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	return !strings.Contains(string(status), ") Z ")
}
