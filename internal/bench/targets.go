//go:build unix

package main

import (
	"fmt"
	"io"
	"time"
)

// The operations that have targets.
const (
	planned        = "plan, no changes"
	plannedOffline = "plan, no refresh"
)

// target is a figure and what it may be at most.
type target struct {
	what           string
	measured, most int64
	unit           string
}

func (t target) missed() bool { return t.measured > t.most }

// targets compares what was measured with what the provider is to keep to.
func targets(rows []row) []target {
	var all []target
	for _, cards := range []struct {
		number                int
		mostMemory, mostCalls int64
	}{{100, 0, 3}, {1_000, 70, 12}, {3_000, 100, 32}, {10_000, 200, 180}} {
		var memory, calls int64
		for _, r := range rows {
			if r.cards != cards.number {
				continue
			}
			memory = max(memory, int64(r.peak))
			if r.operation == planned {
				calls = max(calls, int64(r.calls.sum()))
			}
		}
		all = append(all, target{fmt.Sprintf("calls of a plan of %d cards", cards.number), calls, cards.mostCalls, "calls"})
		if cards.mostMemory > 0 {
			all = append(all, target{fmt.Sprintf("peak with %d cards", cards.number), memory, cards.mostMemory, "MB"})
		}
	}
	for _, r := range rows {
		if r.latency != slow || r.operation != planned {
			continue
		}
		switch r.cards {
		case 1_000:
			all = append(all, r.against("terraform_data", r.leastWall, 500))
			if r.randomWall > 0 {
				all = append(all, r.against("random_id", r.randomWall, 130))
			}
			for _, offline := range rows {
				if offline.cards == r.cards && offline.latency == r.latency && offline.operation == plannedOffline {
					all = append(all, r.against("the same with -refresh=false", offline.wall, 140))
				}
			}
		case 10_000:
			all = append(all, r.against("terraform_data", r.leastWall, 250))
		}
	}
	return all
}

// against compares the wall time with another, in percent.
func (r row) against(other string, wall time.Duration, most int64) target {
	return target{fmt.Sprintf("plan of %d cards at %v, of that of %s", r.cards, r.latency, other), int64(100 * r.wall / wall), most, "%"}
}

// printTargets returns how many are missed.
func printTargets(to io.Writer, all []target) (missed int) {
	for _, t := range all {
		result := "met"
		if t.missed() {
			result = "missed"
			missed++
		}
		fmt.Fprintf(to, "%-70s  %5d %-5s  at most %4d  %s\n", t.what, t.measured, t.unit, t.most, result)
	}
	return missed
}
