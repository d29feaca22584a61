//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// In the environment of the wrapper, that is, of this program started by the
// CLI in the provider's place: the provider to run, and the file to add the peak
// of its memory to. Only who waits for a process learns that figure exactly.
const (
	programVariable = "VCARD_BENCH_PROVIDER"
	peaksVariable   = "VCARD_BENCH_PEAKS"
)

// wrapProvider runs the provider, records the peak of its memory and returns its exit code.
func wrapProvider(program, peaks string) int {
	signal.Ignore(os.Interrupt)                                                    // the CLI tells the provider when to end
	provider := exec.CommandContext(context.Background(), program, os.Args[1:]...) //nolint:gosec // what is to be measured
	provider.Stdin, provider.Stdout, provider.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := provider.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	if err := addPeak(peaks, peakMemory(provider.ProcessState)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return provider.ProcessState.ExitCode()
}

func addPeak(path string, size megabytes) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // named by the bench itself
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, size)
	return errors.Join(err, file.Close())
}

// takePeak returns the highest peak that wrappers have recorded, and forgets them.
func takePeak(path string) (megabytes, error) {
	content, err := os.ReadFile(path) //nolint:gosec // named by the bench itself
	if err != nil {
		return 0, fmt.Errorf("no provider has ended: %w", err)
	}
	var highest megabytes
	for line := range strings.Lines(string(content)) {
		var size megabytes
		if _, err := fmt.Sscan(line, &size); err != nil {
			return 0, fmt.Errorf("reading a peak of memory: %w", err)
		}
		highest = max(highest, size)
	}
	return highest, os.Remove(path)
}

// megabytes are a million bytes each.
type megabytes int64

// peakMemory returns what a process that has ended held at most.
func peakMemory(ended *os.ProcessState) megabytes {
	usage, ok := ended.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	peak := usage.Maxrss
	if runtime.GOOS != "darwin" {
		peak *= 1024 // others count in KiB
	}
	return megabytes(peak / 1_000_000)
}
