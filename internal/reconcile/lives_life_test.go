package reconcile_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// world is what may happen in a life besides purchases.
type world int

const (
	ordinary world = iota // no request fails, no one else moves money; sums are round
	exact                 // requests fail, no one else moves money, and each transaction is listed at once
	round                 // requests fail, others move money, transactions are listed late; sums are round
	wild                  // the same with any sums; readings are stale, and earlier states are restored
)

// hasRoundSums reports whether sums are those that people like, so that a purchase may look
// like a movement.
func (w world) hasRoundSums() bool { return w == ordinary || w == round }

// life is one card from its issue on, with Terraform, the service and the world.
type life struct {
	t      *testing.T
	rng    *rand.Rand
	kind   kind
	world  world
	biased bool // it raises often, tops up always, and is killed often
	busy   bool // there are many purchases
	wired  bool // it reads the card by HTTP and JSON

	card    *account
	service service
	config  config
	state   state
	earlier []state // since the last audit
	run     run
	ledger  ledger

	lastRunFailed bool
	undecidedRuns int // runs that found a movement pending, since one was given up
	purchases     int

	movements, stops   int
	departures, hidden int // that were reported, and that were not
	excuses            map[string]excuse
	faults, story      []string
}

// config is what the configuration says of the card.
type config struct {
	amount    usd.Amount
	below, to usd.Amount // top_up; 0 without
	limit     usd.Amount // max_top_up_per_month; 0 without
}

// state is what Terraform's state says of the card.
type state struct {
	amount, toppedUp usd.Amount
	record           string
	mark             mark // the ledger's, when the last movement was made
}

// loaded is what the state says was loaded for a purpose.
func (s state) loaded(p reconcile.Purpose) usd.Amount {
	if p == reconcile.ForTopUp {
		return s.toppedUp
	}
	return s.amount
}

func newLife(t *testing.T, k kind, number uint64) *life {
	t.Helper()
	l := &life{t: t, rng: rand.New(rand.NewPCG(number, 7)), kind: k, excuses: map[string]excuse{}}
	l.world = [8]world{ordinary, ordinary, ordinary, exact, exact, round, wild, wild}[l.rng.IntN(8)]
	if l.world == exact {
		l.kind.released = 0
	}
	l.config.amount = l.dollars(100, 50, 5)
	l.card = newAccount(l.config.amount)
	l.card.asSettled = k.asSettled
	l.card.takesFees = k.fees
	l.service = newService(k)
	l.service.pageSize = []int{25, 100}[l.rng.IntN(2)]
	turn := number / uint64(len(kinds()))
	l.biased = turn*37%100 < *bias
	l.wired = turn*41%100 < *wired
	if turn*43%100 < *unread && l.world != ordinary {
		l.service.unread = rand.New(rand.NewPCG(number, 8)) // of its own, so that other lives stay as they are
	}
	if l.biased {
		l.config.below = l.config.amount / 100 * usd.Amount(50+l.rng.IntN(41))
		l.config.to = l.config.below + l.dollars(20, 10, 6)
	} else if l.chance(40) {
		l.config.below = l.dollars(30, 10, 5)
		l.config.to = l.config.below + l.dollars(20, 10, 6)
	}
	if l.config.to > 0 && !l.world.hasRoundSums() {
		l.config.to += usd.Amount(l.rng.IntN(1_000_00)) // a card that holds what it was loaded with tells nothing
	}
	if l.config.to > 0 && l.chance(50) {
		l.config.limit = l.dollars(60, 20, 6)
	}
	if l.world == wild || l.world == exact {
		if l.chance(10) {
			l.service.fee = 20
		}
	}
	l.busy = l.chance(1) && l.world != ordinary
	l.service.lagging = l.world != ordinary && l.chance(50)
	if l.wired {
		l.service.clientAhead = time.Duration(l.rng.IntN(3)-1) * l.span(60*24*time.Hour)
	}
	l.state = state{amount: l.config.amount, record: reconcile.IssuedRecord(l.config.amount, l.card.now).Text(cardID)}
	l.ledger = newLedger(l.config.amount)
	l.card.later(l.span(time.Hour))
	return l
}

func (l *life) chance(percent int) bool { return l.rng.IntN(100) < percent }

// span is up to a duration.
func (l *life) span(d time.Duration) time.Duration { return time.Duration(l.rng.Int64N(int64(d))) }

// dollars are at least so many, and a few steps more, on a larger scale where sums are
// to be told apart.
func (l *life) dollars(least, step, steps int) usd.Amount {
	sum := usd.Amount(least+step*l.rng.IntN(steps)) * dollar
	if !l.world.hasRoundSums() {
		sum *= 1000
	}
	return sum
}

// sum is one that people like, or any, of so many that they do not add up to another
// one by chance.
func (l *life) sum(liked int) usd.Amount {
	if !l.world.hasRoundSums() {
		return usd.Amount(1 + l.rng.Int64N(60_000_00))
	}
	if l.chance(liked) {
		return usd.Amount([]int{5, 10, 10, 15, 20, 20, 25, 30, 40, 50, 50, 60}[l.rng.IntN(12)]) * dollar
	}
	return usd.Amount(100 + l.rng.Int64N(60_00))
}

// live is a few runs of Terraform, with the world between them, and an audit now and then.
func (l *life) live() {
	l.tell("world %d, %+v, %+v", l.world, l.kind, l.config)
	for range 1 + l.rng.IntN(2) {
		for range 1 + l.rng.IntN(3) {
			l.passTime()
			if l.world == wild && l.chance(10) && len(l.earlier) > 0 {
				l.state = l.earlier[l.rng.IntN(len(l.earlier))]
				l.tell("an earlier state is restored")
			} else if l.world == wild && l.chance(1) {
				l.state.record = "lost"
			}
			l.applyUntilItWorks()
		}
		l.settle()
		l.audit()
	}
}

// applyUntilItWorks applies as people do, who may change their minds in between.
func (l *life) applyUntilItWorks() {
	for range 4 {
		if l.state.amount == l.config.amount && l.chance(70) || l.world != exact && l.chance(20) {
			l.change()
		}
		if l.apply(l.world != ordinary) {
			return
		}
		l.card.later(time.Minute + l.span(10*time.Minute))
		if l.world != ordinary && l.chance(40) {
			l.purchase()
			l.card.later(time.Minute)
		}
	}
}

// settle applies without accidents once everything late has come and is listed.
func (l *life) settle() {
	l.card.later(2 * time.Hour)
	const enough = 6 // a stop, an answer that is not shown, and giving that up
	for n := 1; !l.apply(false) || l.state.amount != l.config.amount; n++ {
		if n == enough {
			l.fail("%s is not %s after %d runs without accidents", l.state.amount, l.config.amount, enough)
			return
		}
	}
	if l.departure() != 0 && !l.ledger.reported && (l.world != exact || l.planDiverged()) {
		l.config.amount += dollar // the next movement names what came after the last
		l.apply(false)
	}
}

// change writes another amount into the configuration.
func (l *life) change() {
	delta, lowers := l.sum(70), 45
	if l.biased {
		lowers = 10
	}
	if l.chance(lowers) {
		delta = -delta
	}
	if l.config.amount+delta > 0 {
		l.config.amount += delta
	}
}
