package reconcile_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	lives     = flag.Int("reconcile.lives", 3000, "lives of one card")
	firstLife = flag.Uint64("reconcile.first", 0, "the number of the first life")
	bias      = flag.Uint64("reconcile.bias", 20, "of 100 lives, those that raise often, top up always and are killed often")
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
func kinds() (all []kind) {
	type stops struct{ plain, biased float64 }
	for _, service := range []struct {
		kind
		honoured, unknown stops
	}{
		{kind{name: "less holds"}, stops{2.8, 2.5}, stops{5.2, 4.5}},
		{kind{name: "as settled", asSettled: true}, stops{10.7, 10}, stops{31, 178}},
		{kind{name: "less holds and fees", fees: true}, stops{2.6, 3.4}, stops{5.5, 4.5}},
		{kind{name: "holds released", released: 20}, stops{52, 70}, stops{68, 130}},
	} {
		for _, keys := range []kind{{name: "keys honoured", honours: true, honoured: true}, {name: "unknown keys, honoured", honours: true}, {name: "unknown keys, ignored"}} {
			k, good := service.kind, service.unknown
			if keys.honoured {
				good = service.honoured
			}
			k.name, k.honours, k.honoured = k.name+", "+keys.name, keys.honours, keys.honoured
			k.most, k.mostBiased = good.plain, good.biased
			all = append(all, k)
		}
	}
	return all
}

// tally is what the lives of one kind came to.
type tally struct{ movements, stops atomic.Int64 }

// Whatever happens, nothing is moved twice, lost or left unsaid, and ordinary life
// is seldom held up.
func TestLives(t *testing.T) {
	t.Parallel()
	all := kinds()
	ordinary, biased := make([]tally, len(all)), make([]tally, len(all))
	var next atomic.Uint64
	var movements, named, hidden atomic.Int64
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for n := next.Add(1) - 1; n < uint64(*lives); n = next.Add(1) - 1 {
				number := *firstLife + n
				which := int(number % uint64(len(all)))
				l := newLife(t, all[which], number)
				l.live()
				if len(l.faults) > 0 {
					t.Errorf("%s: %s; repeat with -run TestLives -reconcile.lives=1 -reconcile.first=%d -reconcile.bias=%d -reconcile.wired=%d; that tells its story: %s",
						l.name, strings.Join(l.faults, "; "), number, *bias, *wired, strings.Join(l.story, "\n"))
				}
				movements.Add(l.movements)
				named.Add(l.named)
				hidden.Add(l.hidden)
				if tallies := map[bool][]tally{false: ordinary, true: biased}[l.biased]; l.ordinary {
					tallies[which].movements.Add(l.movements)
					tallies[which].stops.Add(l.stops)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d lives from %d on, %d movements, %d departures that were named, %d that round sums hid", *lives, *firstLife, movements.Load(), named.Load(), hidden.Load())
	if hidden.Load()*100 > int64(*lives) {
		t.Error("round sums hide more than they should")
	}
	for i, k := range all {
		ordinary[i].check(t, k.name, k.most)
		biased[i].check(t, k.name+", biased", k.mostBiased)
	}
}

// check holds stops against what of 1,000 movements is good.
func (c *tally) check(t *testing.T, name string, most float64) {
	t.Helper()
	stops, movements := float64(c.stops.Load()), float64(c.movements.Load())
	t.Logf("ordinary life, %-51s %.0f stops in %.0f movements, %.1f in 1,000", name+":", stops, movements, 1000*stops/max(1, movements))
	// Few lives may have more of them by chance.
	if expected := most * movements / 1000; stops > expected+3*math.Sqrt(expected)+1 {
		t.Errorf("%s: %.0f stops in %.0f movements, and at most %.1f in 1,000 are good", name, stops, movements, most)
	}
}

// life is one card from its issue on, with Terraform, the service and the world.
type life struct {
	kind
	t    *testing.T
	rng  *rand.Rand
	card *account

	// ordinary says that nothing fails, and no other hand moves money.
	ordinary bool
	// strict says that no other hand moves money either, and that everything is listed
	// at once: nothing may be doubled or lost. Else what is has to be named.
	strict bool
	// loose says that the plan was another one after a run that did not end well, since
	// the last audit: it is not strict then.
	loose, unsure bool
	crossed       bool // a stop was told while a request was on its way
	// excused says that what nobody promises has happened: another hand, purchases that
	// are listed late, requests that come late or twice.
	excused   bool
	undecided int // runs that found a movement pending
	// biased says that it raises often, tops up always, and is killed often.
	biased bool
	// round says that sums are those that people like, so that purchases may hide a movement.
	round bool
	wired bool // it reads the card by HTTP and JSON

	// What the service does with requests.
	pageSize      int
	lagging       bool
	replica       time.Duration // that one run reads, so far behind
	fee           usd.Amount    // of 100 USD that come to the card, what the service takes
	busy          bool
	behind, ahead time.Duration
	faulty        bool
	killed        bool
	acting        bool // for an action
	purpose       reconcile.Purpose
	onTheWay      int // requests
	keys          map[string]stored
	retention     time.Duration
	moved         [2]usd.Amount // for the resource, in all, for each purpose
	toppedIn      map[reconcile.Month]usd.Amount
	abandoned     usd.Amount // by killed runs: as much of a top-up may be hidden

	// What the configuration says.
	target, below, to usd.Amount
	limit             usd.Amount // a month; 0 for none

	state
	saved   []state
	load    usd.Amount
	unsaved usd.Amount // top-ups that no state may have
	untold  int        // how often money has come that nothing tells of; twice since a movement hides one
	kept    usd.Amount // by the service, of what it moved
	held    usd.Amount // by open authorizations, where the balance falls at settlement

	spoke                           bool // of money, since the last audit
	told                            bool // that it stopped, since the service last moved money
	movements, stops, named, hidden int64
	purchases                       int
	faults, story                   []string
}

// state is what Terraform keeps of a card.
type state struct {
	amount, toppedUp usd.Amount
	record           string
	untold           int        // until its last movement
	kept             usd.Amount // until then, too
}

func newLife(t *testing.T, k kind, number uint64) *life {
	t.Helper()
	l := &life{
		kind: k, t: t, rng: rand.New(rand.NewPCG(number, 7)), retention: time.Hour,
		keys: map[string]stored{}, toppedIn: map[reconcile.Month]usd.Amount{},
	}
	if k.honoured {
		l.retention = 24 * time.Hour
	}
	switch l.rng.IntN(8) {
	case 0, 1, 2:
		l.ordinary, l.round = true, true
	case 3, 4:
		l.strict, l.released = true, 0
	case 5:
		l.round = true
	}
	l.target = l.dollars(100, 50, 5)
	l.card = newAccount(l.target)
	l.card.asSettled, l.card.takesFees = k.asSettled, k.fees
	l.pageSize = []int{25, 100}[l.rng.IntN(2)]
	turn := number / uint64(len(kinds()))
	l.biased, l.wired = turn*37%100 < *bias, turn*41%100 < *wired
	switch {
	case l.biased:
		l.below = l.target / 100 * usd.Amount(50+l.rng.IntN(41))
		l.to = l.below + l.dollars(20, 10, 6)
	case l.chance(40):
		l.below = l.dollars(30, 10, 5)
		l.to = l.below + l.dollars(20, 10, 6)
	}
	if l.to > 0 && !l.round {
		l.to += usd.Amount(l.rng.IntN(1_000_00)) // a card that holds what it was loaded with tells nothing
	}
	if l.to > 0 && l.chance(50) {
		l.limit = l.dollars(60, 20, 6)
	}
	if !l.ordinary && !l.round && l.chance(10) {
		l.fee = 20
	}
	l.busy = l.chance(1) && !l.ordinary
	l.lagging = !l.ordinary && l.chance(50)
	if l.wired {
		l.ahead = time.Duration(l.rng.IntN(3)-1) * l.span(60*24*time.Hour)
	}
	l.load = l.target
	l.state = state{amount: l.target, record: reconcile.IssuedRecord(l.target, l.card.now).Text(cardID)}
	l.card.later(l.span(time.Hour))
	return l
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

// live is a few runs of Terraform, with the world between them, and an audit now and then.
func (l *life) live() {
	l.tell("strict %t, ordinary %t, round %t, %+v, top-ups from %s to %s", l.strict, l.ordinary, l.round, l.kind, l.below, l.to)
	for range 1 + l.rng.IntN(2) {
		for range 1 + l.rng.IntN(3) {
			l.world()
			if l.isWild() && l.chance(10) && len(l.saved) > 0 {
				l.state = l.saved[l.rng.IntN(len(l.saved))]
				l.tell("an earlier state again")
			} else if l.isWild() && l.chance(1) {
				l.record = "lost"
			}
			for range 4 { // people apply until it works, or change their minds
				if l.amount == l.target && l.chance(70) || !l.strict && l.chance(20) {
					l.change()
				}
				if l.apply(!l.ordinary) {
					break
				}
				l.card.later(time.Minute + l.span(10*time.Minute))
				if !l.ordinary && l.chance(40) {
					l.purchase()
					l.card.later(time.Minute)
				}
			}
		}
		l.settle()
		l.audit()
	}
}

func (l *life) isWild() bool { return !l.strict && !l.round }

// settle applies without accidents once everything late has come and is listed.
func (l *life) settle() {
	l.card.later(2 * time.Hour)
	const enough = 6 // a stop, an answer that is not shown, and giving that up
	for n := 1; !l.apply(false) || l.amount != l.target; n++ {
		if n == enough {
			l.fail("%s is not %s after %d runs without accidents", l.amount, l.target, enough)
			return
		}
	}
	if l.departure() != 0 && (!l.strict || l.loose) && !l.spoke {
		l.target += dollar // the next movement names what came after the last
		l.apply(false)
	}
}

// departure is what the service has moved beside what the state says.
func (l *life) departure() usd.Amount {
	return l.departureOf(reconcile.ForAmount) + l.departureOf(reconcile.ForTopUp)
}

func (l *life) departureOf(p reconcile.Purpose) usd.Amount {
	return l.moved[p] - [...]usd.Amount{l.amount - l.load, l.toppedUp}[p]
}

// hides reports whether money has come that may hide a movement the other way.
func (l *life) hides() bool { return l.untold > l.state.untold+1 }

// isRefill reports whether a sum is one that purchases add up to, as what fills the card to
// an old balance is: nobody tells it from money that they have never taken.
func (l *life) isRefill(sum usd.Amount) bool {
	const most = 1 << 12
	sums := []usd.Amount{0}
	for _, e := range slices.Backward(l.card.events) {
		if e.Kind == reconcile.Authorization && len(sums) < most {
			for _, other := range sums {
				sums = append(sums, other+e.Amount)
			}
		}
	}
	return slices.Contains(sums, sum)
}

func (l *life) audit() {
	switch departure := l.departure(); {
	case departure == 0:
	case departure > 0 && departure <= l.unsaved: // the plan saw that the card held enough
		l.abandoned += departure
	case !l.spoke && (l.round || !l.strict && l.isRefill(departure)):
		l.hidden++
	case l.strict && !l.loose && !l.crossed, !l.spoke:
		l.fail("the state says %s and %s topped up, and the service has moved %s more", l.amount, l.toppedUp, departure)
	default:
		l.named++
	}
	for month, sum := range l.toppedIn {
		if l.strict && l.limit > 0 && sum > l.limit+l.abandoned {
			l.fail("topped up %s in month %d, and the cap is %s", sum, month, l.limit)
		}
	}
	l.loose = l.departure() != 0 || l.hides()              // and may hide what a killed run moves then
	l.moved = [2]usd.Amount{l.amount - l.load, l.toppedUp} // from here on it is taken as it is
	l.unsaved, l.spoke, l.saved = 0, false, nil
}
