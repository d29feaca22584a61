//go:build unix

package doctest

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
)

// Runner runs pages in a shell.
type Runner struct {
	Shell string   // bash or zsh
	Env   []string // the whole environment
	// Has reports whether there is what a block needs, such as curl or Terraform 1.14.
	Has func(need string) bool
	// Fill, unless nil, puts into the folder of a page what its reader begins with.
	Fill func(folder string) error
}

// separator begins the line that says which block is about to run.
const separator = "\x1e"

// Run runs the blocks of a page in their order, as one script in a folder of
// their own, and ends what they have started. The error names the line of the
// block that failed, and holds what it printed.
func (r Runner) Run(ctx context.Context, p Page) error {
	scratch, err := os.MkdirTemp("", "doctest-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // what was killed may still be ending there
	folder := filepath.Join(scratch, "page")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if r.Fill != nil {
		if err := r.Fill(folder); err != nil {
			return err
		}
	}
	script, err := r.script(ctx, p, scratch)
	if err != nil {
		return err
	}
	output, err := os.CreateTemp(scratch, "output")
	if err != nil {
		return err
	}
	defer output.Close()
	command := exec.CommandContext(ctx, r.Shell, "-c", script)
	command.Dir, command.Env = folder, r.Env
	command.Stdout, command.Stderr = output, output // a file, which nothing in the background holds open
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	ended := command.Run()
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what is left in the background, if anything
	}
	printed, err := os.ReadFile(output.Name())
	if err != nil {
		return err
	}
	return r.verdict(p, string(printed), errors.Join(ended, ctx.Err()))
}

// script writes the files of a page beside its folder and returns what puts them
// into it and runs the shell blocks.
func (r Runner) script(ctx context.Context, p Page, scratch string) (string, error) {
	ports, err := newPorts(ctx)
	if err != nil {
		return "", err
	}
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
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		fmt.Fprintf(&script, "mkdir -p '%s' && cp '%s' '%s'\n", filepath.Dir(b.File), file, b.File)
	}
	script.WriteString("printf '\\036%d\\n' 0\n")
	return script.String(), nil
}

func (r Runner) runs(b Block) bool {
	return b.Reason == "" && (b.isShell() || b.File != "") && !r.LeavesOut(b)
}

// LeavesOut reports whether there is not what the block needs.
func (r Runner) LeavesOut(b Block) bool { return b.Needs != "" && !r.Has(b.Needs) }

// Missing returns the programs that a page cannot be run without, and that are
// not there.
func (r Runner) Missing(p Page) []string {
	var missing []string
	for _, program := range []string{"curl", "jq", "openssl"} {
		called := regexp.MustCompile(`\b` + program + `\b`)
		calls := func(b Block) bool { return r.runs(b) && b.isShell() && called.MatchString(b.Text) }
		if slices.ContainsFunc(p.Blocks, calls) && !r.Has(program) {
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

func newPorts(ctx context.Context) (ports, error) {
	sandboxPort, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	receiverPort, err := freePort(ctx)
	return ports{"8420": sandboxPort, "8443": receiverPort}, err
}

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

// freePort returns a port that nobody listens on. It is below those that systems
// give to outgoing connections, which could take it before the page does.
func freePort(ctx context.Context) (string, error) {
	var listener net.Listener
	err := errors.New("not tried")
	for tries := 0; err != nil && tries < 100; tries++ {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000)))
	}
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}
