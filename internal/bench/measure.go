//go:build unix

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"time"
)

const (
	// changed is how many cards each apply changes, whatever the size of the
	// fleet: as many as may be issued in a minute.
	changed = 50
	// frozenShare is one of how many cards are frozen at first.
	frozenShare = 10
	// mostForAll is the largest fleet that every operation is measured on. The
	// CLI itself takes so long with more that they would take many minutes.
	mostForAll = 1_000
)

//go:embed baseline.tf
var baselineConfig string

// baseline is the wall time of runs that call no API.
type baseline struct{ plan, change, add time.Duration }

// measureFleet goes through all operations on a fleet, for each latency.
func (b *bench) measureFleet(ctx context.Context, cards int) error {
	least, err := b.measureBaseline(ctx, cards)
	if err != nil {
		return fmt.Errorf("the baseline: %w", err)
	}
	for _, latency := range []time.Duration{0, 100 * time.Millisecond} {
		f, err := b.newFleet(ctx, cards, latency)
		if err != nil {
			return fmt.Errorf("making the fleet: %w", err)
		}
		err = f.measureAll(ctx, least)
		f.service.Kill()
		if err != nil {
			return err
		}
	}
	return nil
}

// measureBaseline has the CLI do the same with resources of its own.
func (b *bench) measureBaseline(ctx context.Context, cards int) (least baseline, err error) {
	w, err := b.workspace(fmt.Sprintf("baseline-%d", cards), baselineConfig)
	if err != nil {
		return least, err
	}
	if _, err := w.run(ctx, "apply", "-auto-approve", "-var=fleet=1"); err != nil {
		return least, err
	}
	others := make([]object, cards-1)
	for i := range others {
		others[i] = object{"id": fmt.Sprintf("baseline-%d", i)}
	}
	if err := addToState(w.state(), others); err != nil {
		return least, err
	}
	fleet, change, add := fmt.Sprintf("-var=fleet=%d", cards), fmt.Sprintf("-var=changed=%d", changed), fmt.Sprintf("-var=added=%d", changed)
	for _, step := range []struct {
		wall *time.Duration
		args []string
	}{
		{&least.plan, []string{"plan", "-detailed-exitcode", fleet}},
		{&least.change, []string{"apply", "-auto-approve", fleet, change}},
		{&least.add, []string{"apply", "-auto-approve", fleet, change, add}},
	} {
		ran, err := w.run(ctx, step.args...)
		if err != nil {
			return least, err
		}
		*step.wall = ran.wall
	}
	return least, nil
}

// measureAll goes through all operations, each on what the one before has left.
func (f *fleet) measureAll(ctx context.Context, least baseline) error {
	if err := f.measure(ctx, operation{"plan, no changes", least.plan, 0}, "plan", "-detailed-exitcode"); err != nil {
		return err
	}
	f.set("funded")
	if err := f.apply(ctx, operation{"apply, fund", least.change, changed}); err != nil {
		return err
	}
	f.set("issued")
	if err := f.apply(ctx, operation{"apply, issue", least.add, changed}); err != nil {
		return err
	}
	f.active += changed
	if f.cards > mostForAll {
		return nil
	}
	f.set("frozen")
	if err := f.apply(ctx, operation{"apply, freeze", least.change, changed}); err != nil {
		return err
	}
	unmanaged, err := f.service.issue(ctx, changed, 0)
	if err != nil {
		return err
	}
	f.frozen += changed // and as many active ones are new
	f.variables = append(f.variables, "-var=imported="+idList(unmanaged))
	return f.apply(ctx, operation{"apply, import", least.add, changed})
}

// set has the configuration change cards in a way that one of its variables names.
func (f *fleet) set(variable string) {
	f.variables = append(f.variables, fmt.Sprintf("-var=%s=%d", variable, changed))
}

// operation is something to measure.
type operation struct {
	name    string
	least   time.Duration
	changes int // the calls that it takes at least, beside the pages of the card lists
}

func (f *fleet) apply(ctx context.Context, o operation) error {
	return f.measure(ctx, o, "apply", "-auto-approve")
}

// measure runs the CLI and prints a row.
func (f *fleet) measure(ctx context.Context, o operation, args ...string) error {
	if _, err := f.service.takeRequests(ctx); err != nil {
		return err
	}
	ran, err := f.run(ctx, append(args, f.variables...)...)
	if err != nil {
		return err
	}
	calls, err := f.service.takeRequests(ctx)
	if err != nil {
		return err
	}
	r := row{
		cards: f.cards, latency: f.latency, operation: o.name, calls: calls, peak: ran.peak, wall: ran.wall,
		leastCalls: pages(f.active) + pages(f.frozen) + o.changes, leastWall: o.least,
	}
	if calls.sum() < r.leastCalls {
		return fmt.Errorf("%s took %d calls, fewer than the %d that are possible: %v", o.name, calls.sum(), r.leastCalls, calls)
	}
	r.print(os.Stdout)
	return nil
}

// pages is how many pages of the card list show so many cards (API §4.2).
func pages(cards int) int {
	const largest = 100
	return (cards + largest - 1) / largest
}
