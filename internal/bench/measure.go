//go:build unix

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

const (
	// changed is how many cards each apply changes, whatever the size of the
	// fleet: as many as may be issued in a minute.
	changed = 50
	// frozenShare is one of how many cards are frozen at first.
	frozenShare = 10
	// repeats is how often everything but the largest is measured; the least of
	// the times counts, and the most of the calls.
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
		err := b.withFleet(ctx, cards, cards/frozenShare, latency, func(f *fleet) error { return f.measureAll(ctx, least) })
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
	return b.withFleet(ctx, cards, cards/frozenShare, slow, func(f *fleet) error {
		return f.measure(ctx, operation{name: planned, least: least.wall, runs: 1}, "plan", "-detailed-exitcode")
	})
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
		least.random, err = w.leastOf(ctx, func(int) []string { return []string{"plan", "-detailed-exitcode", fleet} })
		if err != nil {
			return least, err
		}
	}
	w, err := b.newBaseline(ctx, "baseline", baselineConfig, cards)
	if err != nil {
		return least, err
	}
	if least.plan, err = w.leastOf(ctx, func(int) []string { return []string{"plan", "-detailed-exitcode", fleet} }); err != nil {
		return least, err
	}
	apply := func(load, added int) []string {
		return []string{"apply", "-auto-approve", fleet, fmt.Sprintf("-var=load=%d", load), fmt.Sprintf("-var=added=%d", added)}
	}
	if least.change, err = w.leastOf(ctx, func(run int) []string { return apply(loadOf(run), 0) }); err != nil {
		return least, err
	}
	least.add, err = w.leastOf(ctx, func(run int) []string { return apply(loadOf(repeats-1), (run+1)*changed) })
	return least, err
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
	var imported []card
	for _, o := range []operation{
		{name: "apply, fund", least: least.change, next: func(run int) error {
			f.variables["load"] = strconv.Itoa(loadOf(run))
			return nil
		}},
		{name: "apply, issue", least: least.add, next: func(run int) error {
			f.variables["issued"] = strconv.Itoa((run + 1) * changed)
			return nil
		}},
		{name: "apply, freeze", least: least.change, next: func(run int) error {
			f.variables["frozen"] = strconv.FormatBool(run%2 == 0)
			return nil
		}},
		{name: "apply, import", least: least.add, next: func(int) error {
			unmanaged, err := f.service.issue(ctx, changed, 0)
			imported = append(imported, unmanaged...)
			f.variables["imported"] = idList(imported)
			return err
		}},
	} {
		o.runs, o.changes = repeats, changed
		if err := f.measure(ctx, o, "apply", "-auto-approve"); err != nil {
			return err
		}
	}
	return nil
}

// loadOf is the amount up to which a run funds the changed cards, each more than
// the one before.
func loadOf(run int) int { return 70 + 10*run }

// operation is something to measure.
type operation struct {
	name          string
	least, random time.Duration       // of the baselines; 0 when there is none
	runs          int                 // of which the fastest counts
	next          func(run int) error // has each run change something; nil for none
	offline       bool                // reads no card
	changes       int                 // the calls that it takes at least, beside the pages of the card lists
}

// measure runs the CLI and prints a row.
func (f *fleet) measure(ctx context.Context, o operation, args ...string) error {
	r := row{cards: f.cards, latency: f.latency, operation: o.name, leastWall: o.least, randomWall: o.random}
	var total outcome
	for run := range o.runs {
		if o.next != nil {
			if err := o.next(run); err != nil {
				return err
			}
		}
		least := o.changes
		if !o.offline {
			pages, err := f.service.pages(ctx)
			if err != nil {
				return err
			}
			least += pages
		}
		if _, err := f.service.takeRequests(ctx); err != nil {
			return err
		}
		ran, err := f.run(ctx, append(slices.Clone(args), f.arguments()...)...)
		if err != nil {
			return err
		}
		calls, err := f.service.takeRequests(ctx)
		if err != nil {
			return err
		}
		if calls.sum() < least {
			return fmt.Errorf("%s took %d calls, fewer than the %d that are possible: %v", o.name, calls.sum(), least, calls)
		}
		total = total.or(ran)
		if calls.sum() >= r.calls.sum() {
			r.calls, r.leastCalls = calls, least
		}
	}
	r.wall, r.peak = total.wall, total.peak
	f.bench.rows = append(f.bench.rows, r)
	r.print(os.Stdout)
	return nil
}
