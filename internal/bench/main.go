//go:build unix

// Command bench measures the built provider under the real CLI, against the
// sandbox of the same program, with fleets of cards of several sizes. It prints
// a table in which every figure stands beside the least that is possible.
//
//	bench path/to/terraform-provider-vcard path/to/terraform [path/to/terraform-provider-random]
//
// The CLI has to be Terraform or OpenTofu 1.7 or later. It fails when the
// provider misses one of its targets.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

func main() {
	if program := os.Getenv(programVariable); program != "" {
		os.Exit(wrapProvider(program, os.Getenv(peaksVariable)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 2 && len(args) != 3 {
		return errors.New("want the provider, the Terraform or OpenTofu to run it, and perhaps hashicorp/random to compare it with")
	}
	program, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	random := ""
	if len(args) == 3 {
		if random, err = filepath.Abs(args[2]); err != nil {
			return err
		}
		if _, err := exec.LookPath(random); err != nil {
			return fmt.Errorf("RANDOM_PROVIDER is to be the binary of hashicorp/random: %w", err)
		}
	}
	folder, err := os.MkdirTemp("", "vcard-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	b := &bench{program: program, cli: args[1], random: random, folder: folder}

	began := time.Now()
	idle, err := b.measureIdle(ctx)
	if err != nil {
		return fmt.Errorf("measuring without cards: %w", err)
	}
	fmt.Fprintf(os.Stdout, legend, changed, runtime.GOMAXPROCS(0), idle)
	printHeader(os.Stdout)
	for _, cards := range []int{100, 1_000, 3_000} {
		if err := b.measureFleet(ctx, cards); err != nil {
			return fmt.Errorf("measuring %d cards: %w", cards, err)
		}
	}
	if err := b.measurePlan(ctx, 10_000); err != nil {
		return fmt.Errorf("measuring 10,000 cards: %w", err)
	}
	fmt.Fprintln(os.Stdout)
	missed := printTargets(os.Stdout, targets(b.rows))
	fmt.Fprintf(os.Stdout, "\nMeasured in %v.\n", time.Since(began).Round(time.Second))
	if missed > 0 {
		return fmt.Errorf("%d targets are missed", missed)
	}
	return nil
}

// slow is the latency of a service far away.
const slow = 100 * time.Millisecond

// bench is a measurement under way.
type bench struct {
	program string // the provider
	cli     string
	random  string // the provider hashicorp/random; "" when there is none to compare with
	folder  string // for everything that is made
	rows    []row
}

// measureIdle returns the peak of memory of a provider that has no card to care for.
func (b *bench) measureIdle(ctx context.Context) (megabytes, error) {
	w, err := b.workspace("idle", fleetConfig)
	if err != nil {
		return 0, err
	}
	s, err := startSandbox(ctx, b.program)
	if err != nil {
		return 0, err
	}
	defer s.Kill()
	w.service = s
	ran, err := w.run(ctx, "plan", "-var=fleet=0")
	return ran.peak, err
}
