//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// workspace is a folder in which the CLI runs.
type workspace struct {
	dir     string
	cli     string
	program string
	service *service // nil: the configuration needs none
}

// workspace makes a folder with a configuration in it, where the CLI takes this
// program for the provider.
func (b *bench) workspace(name, config string) (*workspace, error) {
	dir := filepath.Join(b.folder, name)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plugins := filepath.Join(dir, "plugins")
	settings := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"vcard/vcard\" = %q\n    \"hashicorp/random\" = %[1]q\n  }\n  direct {}\n}\n", plugins)
	made := os.MkdirAll(plugins, 0o700)
	if b.random != "" {
		made = errors.Join(made, os.Symlink(b.random, filepath.Join(plugins, "terraform-provider-random")))
	}
	return &workspace{dir: dir, cli: b.cli, program: b.program}, errors.Join(
		made,
		os.Symlink(self, filepath.Join(plugins, "terraform-provider-vcard")),
		os.WriteFile(filepath.Join(dir, "cli.tfrc"), []byte(settings), 0o600),
		os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600),
	)
}

// outcome is what a run of the CLI took.
type outcome struct {
	wall time.Duration
	peak megabytes // of the provider's processes; 0 when there was none
}

// or is the outcome of the better run, with the higher peak.
func (o outcome) or(other outcome) outcome {
	if o.wall == 0 || other.wall < o.wall {
		o.wall = other.wall
	}
	o.peak = max(o.peak, other.peak)
	return o
}

// leastOf runs the CLI several times, each with arguments of its own, and
// returns the wall time of the fastest run.
func (w *workspace) leastOf(ctx context.Context, args func(run int) []string) (time.Duration, error) {
	var best outcome
	for run := range repeats {
		ran, err := w.run(ctx, args(run)...)
		if err != nil {
			return 0, err
		}
		best = best.or(ran)
	}
	return best.wall, nil
}

// run runs the CLI once; one that fails is an error with all that it said.
func (w *workspace) run(ctx context.Context, args ...string) (outcome, error) {
	command := exec.CommandContext(ctx, w.cli, append(args, "-input=false", "-no-color")...) //nolint:gosec // the CLI to measure with
	command.Dir, command.Env = w.dir, w.environment()
	// An interruption reaches the CLI once, and leaves it time to end the provider.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	began := time.Now()
	output, err := command.CombinedOutput()
	ran := outcome{wall: time.Since(began)}
	if err != nil {
		return ran, fmt.Errorf("%s %s: %w\n%s", w.cli, strings.Join(args, " "), err, output)
	}
	if w.service != nil {
		ran.peak, err = takePeak(w.peaks())
	}
	return ran, err
}

func (w *workspace) peaks() string { return filepath.Join(w.dir, "peaks") }

func (w *workspace) state() string { return filepath.Join(w.dir, "terraform.tfstate") }

// environment is this process's, less what would steer the CLI or the provider
// elsewhere.
func (w *workspace) environment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "TF_") && !strings.HasPrefix(variable, "VCARD_") {
			kept = append(kept, variable)
		}
	}
	kept = append(kept, "TF_CLI_CONFIG_FILE="+filepath.Join(w.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1",
		programVariable+"="+w.program, peaksVariable+"="+w.peaks(), fmt.Sprintf("TF_VAR_changed=%d", changed))
	if w.service != nil {
		kept = append(kept, "VCARD_BASE_URL="+w.service.Address.URL, "VCARD_API_KEY="+w.service.Address.Key)
	}
	return kept
}
