//go:build unix

package doctest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// fenced is a block of a page.
func fenced(language, text string) string {
	return "```" + language + "\n" + text + "\n```\n\n"
}

func TestIllFormedBlocksAreNamed(t *testing.T) {
	t.Parallel()
	ill := strings.Split(sandboxtest.File(t, "testdata/illformed.txt"), "=== ")
	for _, one := range ill[1:] {
		name, page, _ := strings.Cut(one, "\n")
		err := Parse("docs/guides/x.md", "# X\n\n"+page).Check(t.Context(), shells()...)
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
			runner := Runner{Shell: shell, Env: os.Environ()}
			said := filepath.Join(t.TempDir(), "said")
			page := Parse("x.md",
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
			text := sandboxtest.Must(os.ReadFile(said))
			words := strings.Fields(string(text))
			if len(words) != 8 {
				t.Fatalf("it said %q", text)
			}
			if words[3] != "--listen" || words[4] != words[5] || words[5] == "127.0.0.1:8420" || words[6] == "8443" || words[7] != "84201" {
				t.Errorf("it runs with %s", text)
			}
			pid := sandboxtest.Must(strconv.Atoi(words[0]))
			sandboxtest.Eventually(t, func() bool { return !running(pid) })

			for name, fails := range map[string]string{
				"a command": "false", "a command in a pipe": "false | cat", "a variable": "echo $nosuchvariable", "the shell's end": "exit 0",
			} {
				page := Parse("x.md", fenced("sh", "echo before")+fenced("sh", "echo said so; "+fails)+fenced("sh", "echo after"))
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

// Runner runs pages in a shell.
type Runner struct {
	Shell string                    // bash or zsh
	Env   []string                  // the whole environment
	Fill  func(folder string) error // what a page's reader begins with; may be nil
}

// separator begins the line that says which block is about to run.
const separator = "\x1e"

// Run runs the blocks of a page in their order, as one script in a folder of their own, and ends what
// they have started. The error names the line of the block that failed, and holds what it printed.
func (r Runner) Run(ctx context.Context, p Page) error {
	scratch := sandboxtest.Must(os.MkdirTemp("", "doctest-"))
	defer func() { _ = os.RemoveAll(scratch) }() // what was killed may still be ending there
	folder := filepath.Join(scratch, "page")
	sandboxtest.Must(0, os.Mkdir(folder, 0o700))
	if r.Fill != nil {
		sandboxtest.Must(0, r.Fill(folder))
	}
	output := sandboxtest.Must(os.CreateTemp(scratch, "output"))
	defer output.Close()
	command := exec.CommandContext(ctx, r.Shell, "-c", r.script(ctx, p, scratch))
	command.Dir, command.Env = folder, r.Env
	command.Stdout, command.Stderr = output, output // a file, which nothing in the background holds open
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	ended := command.Run()
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what is left in the background, if anything
	}
	return r.verdict(p, string(sandboxtest.Must(os.ReadFile(output.Name()))), errors.Join(ended, ctx.Err()))
}

// script writes the files of a page beside its folder and returns what puts them into it and runs the
// shell blocks.
func (r Runner) script(ctx context.Context, p Page, scratch string) string {
	ports := newPorts(ctx)
	var script strings.Builder
	script.WriteString("set -euo pipefail\n")
	for _, b := range p.Blocks {
		if !r.runs(b) {
			continue
		}
		fmt.Fprintf(&script, "printf '\\036%%d\\n' %d\n", b.Line)
		text := ports.replace(b.Text)
		if b.File == "" {
			script.WriteString(text)
			continue
		}
		file := filepath.Join(scratch, strconv.Itoa(b.Line))
		sandboxtest.Must(0, os.WriteFile(file, []byte(text), 0o600))
		fmt.Fprintf(&script, "mkdir -p '%s' && cp '%s' '%s'\n", filepath.Dir(b.File), file, b.File)
	}
	script.WriteString("printf '\\036%d\\n' 0\n")
	return script.String()
}

func (r Runner) runs(b Block) bool {
	return b.Reason == "" && (b.isShell() || b.File != "") && !r.LeavesOut(b)
}

// LeavesOut reports whether there is not what the block needs.
func (r Runner) LeavesOut(b Block) bool { return b.Needs != "" && !has(b.Needs) }

// Missing returns the programs that a page cannot be run without, and that are not there.
func (r Runner) Missing(p Page) []string {
	var missing []string
	for _, program := range []string{"curl", "jq", "openssl"} {
		called := regexp.MustCompile(`\b` + program + `\b`)
		calls := func(b Block) bool { return r.runs(b) && b.isShell() && called.MatchString(b.Text) }
		if slices.ContainsFunc(p.Blocks, calls) && !has(program) {
			missing = append(missing, program)
		}
	}
	return missing
}

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// verdict finds the block at which a script ended.
func (r Runner) verdict(p Page, printed string, ended error) error {
	blocks := strings.Split(colors.ReplaceAllString(printed, ""), separator)
	number, said, _ := strings.Cut(blocks[len(blocks)-1], "\n")
	line, err := strconv.Atoi(number)
	switch {
	case err != nil: // before the first block
		return errors.Join(fmt.Errorf("%s: %s does not begin: %s", p.Path, r.Shell, printed), ended)
	case line != 0 && ended == nil:
		return p.errorAt(line, "in %s: the block ends the shell; it printed:\n%s", r.Shell, said)
	case ended != nil:
		return p.errorAt(line, "in %s: %w; it printed:\n%s", r.Shell, ended, said)
	}
	return nil
}

// ports are those that a page is run with in place of the ones it names: pages
// run side by side.
type ports map[string]string

var (
	namedPort = regexp.MustCompile(`\b(8420|8443)\b`)
	sandbox   = regexp.MustCompile(`\bvcard sandbox\b`)
)

func newPorts(ctx context.Context) ports { return ports{"8420": freePort(ctx), "8443": freePort(ctx)} }

func (p ports) replace(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, "--listen") {
			line = sandbox.ReplaceAllString(line, "$0 --listen 127.0.0.1:8420")
		}
		lines[i] = namedPort.ReplaceAllStringFunc(line, func(port string) string { return p[port] })
	}
	return strings.Join(lines, "")
}

// freePort returns a port that nobody listens on. It is below those that systems give to outgoing
// connections, which could take it before the page does.
func freePort(ctx context.Context) string {
	for {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000)))
		if err == nil {
			_, port, _ := net.SplitHostPort(listener.Addr().String())
			sandboxtest.Must(0, listener.Close())
			return port
		}
		sandboxtest.Must(0, ctx.Err())
	}
}
