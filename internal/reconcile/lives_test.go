package reconcile_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	lives     = flag.Int("reconcile.lives", 3000, "lives of one card")
	firstLife = flag.Uint64("reconcile.first", 0, "the number of the first life")
	bias      = flag.Uint64("reconcile.bias", 20, "of 100 lives, those that raise often, top up always and are killed often")
	unread    = flag.Uint64("reconcile.unread", 20, "of 100 lives, those in which the service may answer so that nobody knows what it did")
	wired     = flag.Uint64("reconcile.wired", 10, "of 100 lives, those that read the card by HTTP and JSON")
)

// kind is a kind of service, and what Terraform believes of its keys.
type kind struct {
	name              string
	asSettled, fees   bool
	released          int  // of 100 holds, without a transaction
	honours, honoured bool // keys: what the service does, what the configuration says
	// Stops in 1,000 movements of ordinary lives, plain and biased, that are good.
	most, mostBiased float64
}

// kinds are each kind of service with each belief. The bounds are from 1,000,000 plain and
// 200,000 biased lives, with a fifth and a quarter as much again.
func kinds() []kind {
	type stops struct{ plain, biased float64 }
	services := []struct {
		kind
		honoured, unknown stops
	}{
		{kind{name: "less holds"}, stops{2.8, 2.5}, stops{5.2, 4.5}},
		{kind{name: "as settled", asSettled: true}, stops{10.7, 10}, stops{31, 178}},
		{kind{name: "less holds and fees", fees: true}, stops{2.6, 3.4}, stops{5.5, 4.5}},
		{kind{name: "holds released", released: 20}, stops{52, 70}, stops{68, 130}},
	}
	beliefs := []kind{
		{name: "keys honoured", honours: true, honoured: true},
		{name: "unknown keys, honoured", honours: true},
		{name: "unknown keys, ignored"},
	}
	var all []kind
	for _, service := range services {
		for _, keys := range beliefs {
			good := service.unknown
			if keys.honoured {
				good = service.honoured
			}
			k := service.kind
			k.name += ", " + keys.name
			k.honours = keys.honours
			k.honoured = keys.honoured
			k.most = good.plain
			k.mostBiased = good.biased
			all = append(all, k)
		}
	}
	return all
}

// TestLives has Terraform manage one card per life, with a model of the service, and checks its
// promises, which stand in lives_promises_test.go. A life follows from its number alone.
func TestLives(t *testing.T) {
	t.Parallel()
	all := kinds()
	ordinaryStops := make([]stopRate, len(all))
	biasedStops := make([]stopRate, len(all))
	var next atomic.Uint64
	var total totals
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for n := next.Add(1) - 1; n < uint64(*lives); n = next.Add(1) - 1 {
				number := *firstLife + n
				which := int(number % uint64(len(all)))
				l := newLife(t, all[which], number)
				l.live()
				if len(l.faults) > 0 {
					t.Errorf("%s: %s; repeat with -run TestLives -reconcile.lives=1 -reconcile.first=%d -reconcile.bias=%d -reconcile.wired=%d -reconcile.unread=%d; that tells its story: %s",
						l.kind.name, strings.Join(l.faults, "; "), number, *bias, *wired, *unread, strings.Join(l.story, "\n"))
				}
				total.add(l)
				if l.world != ordinary {
					continue
				}
				if l.biased {
					biasedStops[which].add(l)
				} else {
					ordinaryStops[which].add(l)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d lives from %d on, %d movements, %d departures that were reported, %d that were hidden", *lives, *firstLife, total.movements, total.departures, total.hidden)
	if total.hidden*100 > *lives {
		t.Error("more departures are hidden than should be")
	}
	for _, name := range slices.Sorted(maps.Keys(total.excuses)) {
		e := total.excuses[name]
		t.Logf("not %s: %d times, %d of them for that alone", name, e.times, e.alone)
	}
	for i, k := range all {
		ordinaryStops[i].check(t, k.name, k.most)
		biasedStops[i].check(t, k.name+", biased", k.mostBiased)
	}
}

// totals is what all lives came to.
type totals struct {
	mutex                         sync.Mutex
	movements, departures, hidden int
	excuses                       map[string]excuse
}

func (t *totals) add(l *life) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.movements += l.movements
	t.departures += l.departures
	t.hidden += l.hidden
	if t.excuses == nil {
		t.excuses = map[string]excuse{}
	}
	for name, e := range l.excuses {
		sum := t.excuses[name]
		sum.times += e.times
		sum.alone += e.alone
		t.excuses[name] = sum
	}
}

// stopRate is how often the lives of one kind were stopped.
type stopRate struct{ movements, stops atomic.Int64 }

func (r *stopRate) add(l *life) {
	r.movements.Add(int64(l.movements))
	r.stops.Add(int64(l.stops))
}

// check compares the stops with what is good in 1,000 movements.
func (r *stopRate) check(t *testing.T, name string, most float64) {
	t.Helper()
	stops, movements := float64(r.stops.Load()), float64(r.movements.Load())
	t.Logf("ordinary life, %-51s %.0f stops in %.0f movements, %.1f in 1,000", name+":", stops, movements, 1000*stops/max(1, movements))
	// A few lives may have more of them by chance.
	expected := most * movements / 1000
	if stops > expected+3*math.Sqrt(expected)+1 {
		t.Errorf("%s: %.0f stops in %.0f movements, and at most %.1f in 1,000 are good", name, stops, movements, most)
	}
}

// tell keeps the story of a single life.
func (l *life) tell(format string, args ...any) {
	if *lives == 1 {
		l.story = append(l.story, l.card.now.Format("02 15:04:05 ")+fmt.Sprintf(format, args...))
	}
}

func (l *life) fail(format string, args ...any) {
	l.tell("FAULT")
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}
