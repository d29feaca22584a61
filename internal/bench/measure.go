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
	// repeats is how often a plan is measured; the least of its times counts.
	repeats = 3
)

var (
	//go:embed baseline.tf
	baselineConfig string
	//go:embed random.tf
	randomConfig string
)

// baseline is the wall time of runs that call no API.
type baseline struct{ plan, change, add, random time.Duration }

// measureFleet goes through all operations on a fleet, for each latency.
func (b *bench) measureFleet(ctx context.Context, cards int) error {
	least, err := b.measureBaseline(ctx, cards)
	if err != nil {
		return fmt.Errorf("the baseline: %w", err)
	}
	for _, latency := range []time.Duration{0, slow} {
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

// measurePlan plans once for a fleet that is too large for anything else.
func (b *bench) measurePlan(ctx context.Context, cards int) error {
	w, err := b.newBaseline(ctx, "baseline", baselineConfig, cards)
	if err != nil {
		return fmt.Errorf("the baseline: %w", err)
	}
	least, err := w.run(ctx, "plan", "-detailed-exitcode", fmt.Sprintf("-var=fleet=%d", cards))
	if err != nil {
		return fmt.Errorf("the baseline: %w", err)
	}
	f, err := b.newFleet(ctx, cards, slow)
	if err != nil {
		return fmt.Errorf("making the fleet: %w", err)
	}
	defer f.service.Kill()
	return f.measure(ctx, operation{name: planned, least: least.wall, runs: 1}, "plan", "-detailed-exitcode")
}

// newBaseline is a fleet of another provider's resources, which call no API.
func (b *bench) newBaseline(ctx context.Context, name, config string, resources int) (*workspace, error) {
	w, err := b.workspace(fmt.Sprintf("%s-%d", name, resources), config)
	if err != nil {
		return nil, err
	}
	if _, err := w.run(ctx, "apply", "-auto-approve", "-var=fleet=1"); err != nil {
		return nil, err
	}
	others := make([]object, resources-1)
	for i := range others {
		others[i] = object{"id": fmt.Sprintf("%s-%d", name, i)}
	}
	return w, addToState(w.state(), others)
}

// measureBaseline has the CLI do the same with resources of its own, and plan
// those of hashicorp/random.
func (b *bench) measureBaseline(ctx context.Context, cards int) (least baseline, err error) {
	fleet := fmt.Sprintf("-var=fleet=%d", cards)
	if b.random != "" {
		w, err := b.newBaseline(ctx, "random", randomConfig, cards)
		if err != nil {
			return least, err
		}
		ran, err := w.runTimes(ctx, repeats, "plan", "-detailed-exitcode", fleet)
		if err != nil {
			return least, err
		}
		least.random = ran.wall
	}
	w, err := b.newBaseline(ctx, "baseline", baselineConfig, cards)
	if err != nil {
		return least, err
	}
	change, add := fmt.Sprintf("-var=changed=%d", changed), fmt.Sprintf("-var=added=%d", changed)
	for _, step := range []struct {
		wall *time.Duration
		runs int
		args []string
	}{
		{&least.plan, repeats, []string{"plan", "-detailed-exitcode", fleet}},
		{&least.change, 1, []string{"apply", "-auto-approve", fleet, change}},
		{&least.add, 1, []string{"apply", "-auto-approve", fleet, change, add}},
	} {
		ran, err := w.runTimes(ctx, step.runs, step.args...)
		if err != nil {
			return least, err
		}
		*step.wall = ran.wall
	}
	return least, nil
}

// measureAll goes through all operations, each on what the one before has left.
func (f *fleet) measureAll(ctx context.Context, least baseline) error {
	plan := operation{name: planned, least: least.plan, random: least.random, runs: repeats}
	if err := f.measure(ctx, plan, "plan", "-detailed-exitcode"); err != nil {
		return err
	}
	plan.name, plan.offline = plannedOffline, true
	if err := f.measure(ctx, plan, "plan", "-detailed-exitcode", "-refresh=false"); err != nil {
		return err
	}
	f.set("funded")
	if err := f.apply(ctx, "apply, fund", least.change); err != nil {
		return err
	}
	f.set("issued")
	if err := f.apply(ctx, "apply, issue", least.add); err != nil {
		return err
	}
	f.active += changed
	f.set("frozen")
	if err := f.apply(ctx, "apply, freeze", least.change); err != nil {
		return err
	}
	unmanaged, err := f.service.issue(ctx, changed, 0)
	if err != nil {
		return err
	}
	f.frozen += changed // and as many active ones are new
	f.variables = append(f.variables, "-var=imported="+idList(unmanaged))
	return f.apply(ctx, "apply, import", least.add)
}

// set has the configuration change cards in a way that one of its variables names.
func (f *fleet) set(variable string) {
	f.variables = append(f.variables, fmt.Sprintf("-var=%s=%d", variable, changed))
}

// operation is something to measure.
type operation struct {
	name          string
	least, random time.Duration // of the baselines; 0 when there is none
	runs          int
	offline       bool // reads no card
	changes       int  // the calls that it takes at least, beside the pages of the card lists
}

func (f *fleet) apply(ctx context.Context, name string, least time.Duration) error {
	return f.measure(ctx, operation{name: name, least: least, runs: 1, changes: changed}, "apply", "-auto-approve")
}

// measure runs the CLI and prints a row.
func (f *fleet) measure(ctx context.Context, o operation, args ...string) error {
	if _, err := f.service.takeRequests(ctx); err != nil {
		return err
	}
	r := row{
		cards: f.cards, latency: f.latency, operation: o.name,
		leastCalls: o.changes, leastWall: o.least, randomWall: o.random,
	}
	var total outcome
	for range o.runs {
		ran, err := f.run(ctx, append(args, f.variables...)...)
		if err != nil {
			return err
		}
		calls, err := f.service.takeRequests(ctx)
		if err != nil {
			return err
		}
		total = total.or(ran)
		if calls.sum() >= r.calls.sum() {
			r.calls = calls
		}
	}
	r.wall, r.peak = total.wall, total.peak
	if !o.offline {
		r.leastCalls += pages(f.active) + pages(f.frozen)
	}
	if r.calls.sum() < r.leastCalls {
		return fmt.Errorf("%s took %d calls, fewer than the %d that are possible: %v", o.name, r.calls.sum(), r.leastCalls, r.calls)
	}
	f.bench.rows = append(f.bench.rows, r)
	r.print(os.Stdout)
	return nil
}

// pages is how many pages of the card list show so many cards (API §4.2).
func pages(cards int) int {
	const largest = 100
	return (cards + largest - 1) / largest
}
