package reconcile_test

import (
	"flag"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	lives     = flag.Int("reconcile.lives", 6000, "lives of one card")
	firstLife = flag.Uint64("reconcile.first", 0, "the number of the first life")
)

// kind is a kind of service, and what Terraform believes of its keys.
type kind struct {
	name              string
	asSettled, fees   bool
	released          int  // of 100 holds, without a transaction
	honours, honoured bool // keys: what the service does, what the configuration says
}

func kinds() (all []kind) {
	for _, keys := range []kind{{name: "keys honoured", honours: true, honoured: true}, {name: "unknown keys, honoured", honours: true}, {name: "unknown keys, ignored"}} {
		for _, service := range []kind{{name: "less holds"}, {name: "as settled", asSettled: true}, {name: "less holds and fees", fees: true}, {name: "holds released", released: 20}} {
			k := service
			k.name, k.honours, k.honoured = service.name+", "+keys.name, keys.honours, keys.honoured
			all = append(all, k)
		}
	}
	return all
}

// counts are what the lives of one kind came to.
type counts struct{ movements, stops, warnings int }

// of is a number in 1,000 movements.
func (c counts) of(n int) float64 { return 1000 * float64(n) / float64(max(1, c.movements)) }

// Whatever happens, nothing is moved twice, lost or left unsaid, and ordinary life
// is seldom held up.
func TestLives(t *testing.T) {
	t.Parallel()
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // lives are short
	began := time.Now()
	all := kinds()
	ordinary := make([]counts, len(all))
	failures, excused := map[string]int{}, map[string]int{}
	var mutex sync.Mutex
	note := func(l *life, which int) (told int) {
		mutex.Lock()
		defer mutex.Unlock()
		for what := range l.failures {
			failures[what]++
			told += failures[what]
		}
		for what, n := range l.excused {
			excused[what] += n
		}
		if l.ordinary {
			c := &ordinary[which]
			c.movements, c.stops, c.warnings = c.movements+l.movements, c.stops+l.stops, c.warnings+l.warnings-l.stops
		}
		return told
	}
	var next atomic.Uint64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n := next.Add(1) - 1; n < uint64(*lives); n = next.Add(1) - 1 {
				number := *firstLife + n
				which := int(number % uint64(len(all)))
				l := newLife(all[which], number)
				l.live()
				if told := note(l, which); told > 0 && told <= 5 {
					l = newLife(all[which], number)
					l.tells = true
					l.live()
					t.Errorf("%s: %v; repeat with -reconcile.lives=1 -reconcile.first=%d; its story: %s", l.name, l.failures, number, strings.Join(l.story, "\n"))
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d lives from %d on in %s; beyond the promise: %v", *lives, *firstLife, time.Since(began).Round(time.Millisecond), excused)
	for _, what := range []string{doubled, lost, unnamed, overCap, twice} {
		t.Logf("%s: %d", what, failures[what])
	}
	for i, c := range ordinary {
		k := all[i]
		most := map[bool]float64{true: 5, false: 30}[k.honoured]
		if k.released > 0 {
			most = map[bool]float64{true: 35, false: 45}[k.honoured]
		}
		t.Logf("ordinary life, %-43s %7d movements; of 1,000: %4.1f stops, %4.1f warnings", k.name+":", c.movements, c.of(c.stops), c.of(c.warnings))
		// Few lives may have more of them by chance.
		if expected := most * float64(c.movements) / 1000; float64(c.stops) > expected+3*math.Sqrt(expected)+1 {
			t.Errorf("%s: %.1f stops in 1,000 movements, and at most %.0f are good", k.name, c.of(c.stops), most)
		}
	}
}
