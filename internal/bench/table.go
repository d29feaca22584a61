//go:build unix

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

const legend = `Each apply changes %d cards of a fleet, one in ten of which is frozen at first; %d processors.
Beside each figure stands the least that is possible:
  requests  the pages of the card lists that show the fleet, and one call for each changed card
  wall      the CLI doing the same with as many terraform_data, which call no API;
            and, where it was given, with hashicorp/random's random_id
  memory    %d MB: the peak of a provider process that has no card to care for

`

const columns = "%5v  %7v  %-16v  %8v  %5v  %8v  %7v  %9v  %6v  %v\n"

func printHeader(to io.Writer) {
	fmt.Fprintf(to, columns, "cards", "latency", "what", "requests", "least", "wall", "least", "random_id", "memory", "requests made")
}

// row is one measurement.
type row struct {
	cards      int
	latency    time.Duration // of every request
	operation  string
	calls      callCounts
	leastCalls int
	wall       time.Duration
	leastWall  time.Duration
	randomWall time.Duration // of as many random_id; 0 when not measured
	peak       megabytes     // of the provider's processes
}

func (r row) print(to io.Writer) {
	fmt.Fprintf(to, columns, r.cards, r.latency, r.operation, r.calls.sum(), r.leastCalls,
		seconds(r.wall), seconds(r.leastWall), seconds(r.randomWall), fmt.Sprintf("%d MB", r.peak), r.calls)
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	tenths := d.Round(100*time.Millisecond) / (100 * time.Millisecond)
	return fmt.Sprintf("%d.%d s", tenths/10, tenths%10)
}

// callCounts counts calls by endpoint.
type callCounts map[string]int

func (c callCounts) sum() int {
	sum := 0
	for _, calls := range c {
		sum += calls
	}
	return sum
}

// String names the endpoints in alphabetical order.
func (c callCounts) String() string {
	var parts []string
	for _, endpoint := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%d %s", c[endpoint], endpoint))
	}
	return strings.Join(parts, ", ")
}
