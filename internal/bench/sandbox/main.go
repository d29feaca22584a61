//go:build unix

// Command sandbox measures a sandbox process that holds a lot of data, and
// prints each figure beside its target. It fails when one is missed.
//
//	sandbox path/to/terraform-provider-vcard
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	clients = 8
	// crowd is how many clients wait for each other.
	crowd = 64
	// loaded is how long each load lasts.
	loaded = 5 * time.Second
	// initialBalance pays for all cards, and for every fund there may be time for.
	initialBalance = 2_000_000 * usd.Dollar
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 1 {
		return errors.New("want one argument, the program to measure")
	}
	folder, err := os.MkdirTemp("", "vcard-benchmark-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "sandbox.db")
	if err := prepare(ctx, file); err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	fmt.Fprintf(os.Stdout, "A sandbox with %d cards and %d transactions, %d clients, %d processors\n\n",
		cards, transactions, clients, runtime.GOMAXPROCS(0))
	b := &bench{program: args[0], file: file}
	if err := b.measure(ctx); err != nil {
		return err
	}
	if b.missed > 0 {
		return fmt.Errorf("%d figures missed their targets", b.missed)
	}
	return nil
}

// prepare makes a file and fills it.
func prepare(ctx context.Context, file string) error {
	box, err := sandbox.Open(ctx, sandbox.Options{Path: file, InitialBalance: initialBalance})
	if err != nil {
		return err
	}
	if err := box.Close(); err != nil {
		return err
	}
	return seed(ctx, file)
}

// bench is a measurement under way.
type bench struct {
	program, file string
	missed        int
}

func (b *bench) report(figure, measured, target string, met bool) {
	judgment := "met"
	if !met {
		judgment = "MISSED"
		b.missed++
	}
	fmt.Fprintf(os.Stdout, "%-52s %16s   %-18s %s\n", figure, measured, target, judgment)
}

// atLeast reports a rate.
func (b *bench) atLeast(target int64, figure string, perSecond int64) {
	b.report(figure, fmt.Sprintf("%d/s", perSecond), fmt.Sprintf("at least %d/s", target), perSecond >= target)
}

// within reports a time.
func (b *bench) within(target time.Duration, figure string, took time.Duration) {
	b.report(figure, took.Round(100*time.Microsecond).String(), fmt.Sprintf("within %v", target), took <= target)
}
