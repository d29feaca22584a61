//go:build unix

package chaos_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var lives = flag.Int("chaos.lives", 500, "lives of one card")

// TestLives lets single cards live on an account that is only a model: no
// network, no database, and everything in which services may differ.
func TestLives(t *testing.T) {
	t.Parallel()
	first := *seed
	var named, hidden, movements atomic.Int64
	var next atomic.Uint64
	for worker := range 2 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for !t.Failed() {
				n := next.Add(1)
				if n > uint64(*lives) {
					break
				}
				l := newLife(t, first+n-1)
				l.run()
				if t.Failed() {
					t.Logf("repeat with -run TestLives -chaos.lives=1 -chaos.seed=%d; that tells its story: %s", first+n-1, strings.Join(l.story, "\n"))
				}
				named.Add(int64(l.named))
				hidden.Add(int64(l.hidden))
				movements.Add(int64(l.movements))
			}
		})
	}
	t.Cleanup(func() {
		t.Logf("%d lives, %d movements, %d departures that were named, %d that small amounts hid", *lives, movements.Load(), named.Load(), hidden.Load())
		if hidden.Load()*100 > int64(*lives) {
			t.Error("small amounts hide more than they should")
		}
	})
}

// life is one card and the runs that move money on it. Its state is what the
// card resource keeps.
type life struct {
	t       *testing.T
	seed    uint64
	r       *rand.Rand
	service *cardModel
	// strict says that no hand moves money and that everything is listed at once:
	// nothing may be doubled or lost. Where it is not, what is has to be named.
	strict bool
	// small says that amounts are few, so that purchases may hide a movement.
	small    bool
	honoured bool

	load, amount, wanted usd.Amount

	record reconcile.Record
	killed bool

	spoke         bool // since the last audit, of money
	named, hidden int
	movements     int
	story         []string
}

func newLife(t *testing.T, seed uint64) *life {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	l := &life{t: t, seed: seed, r: r, honoured: r.IntN(2) == 0, load: 10_000_000 * usd.Dollar}
	switch r.IntN(3) {
	case 0:
		l.strict = true
	case 1:
		l.small = true
	}
	l.amount = l.load
	l.service = newCardModel(r, l.amount, l.honoured, l.strict, l.small)
	l.wanted, l.record = l.amount, reconcile.IssuedRecord(l.amount, l.service.clock.Now())
	return l
}

func (l *life) run() {
	l.tell("strict %t, honoured %t, holds lower the balance %t, fees are taken %t", l.strict, l.honoured, l.service.holdsIn, l.service.feesIn)
	for range 2 + l.r.IntN(4) {
		for range l.r.IntN(4) {
			l.service.happen(l.tell)
		}
		if l.wanted == l.amount || !l.strict && l.r.IntN(6) == 0 {
			l.wanted = l.amount + l.movement()
		}
		l.apply(true)
		l.service.clock.advance(pick(l.r, 0, time.Minute, time.Hour))
		if l.killed && !l.honoured {
			l.service.clock.advance(time.Minute)
		}
	}
	l.settle()
	l.audit()
}

func (l *life) movement() usd.Amount {
	if !l.small {
		return usd.Cents(l.r.Int64N(100_000_00) - 30_000_00)
	}
	return usd.Amount(l.r.IntN(60)-25) * usd.Dollar
}

// tell keeps the story of a single life.
func (l *life) tell(format string, args ...any) {
	if *lives > 1 {
		return
	}
	l.story = append(l.story, l.service.clock.Now().Format(time.TimeOnly)+" "+fmt.Sprintf(format, args...))
}

// settle applies without faults once everything late has come and is listed.
func (l *life) settle() {
	l.service.clock.advance(2 * time.Hour)
	for range 4 {
		if l.apply(false); l.amount == l.wanted && l.record.Pending == nil {
			break
		}
		if l.record.Pending != nil {
			l.giveUp()
		}
	}
	if l.amount != l.wanted {
		l.t.Errorf("seed %d: %s is not %s after four runs", l.seed, l.amount, l.wanted)
	}
	if departure := l.service.moved - (l.amount - l.load); !l.strict && departure != 0 && !l.spoke {
		l.wanted += usd.Dollar // the next movement names what came after the last
		l.apply(false)
	}
}

// giveUp sets amount back, as the provider advises where nothing can be decided.
func (l *life) giveUp() {
	seen, _, err := l.client().ReadSnapshot(l.t.Context(), modelCard, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.wanted, l.record = l.amount, l.record.GivenUp(seen)
}

// audit compares what the service has moved for Terraform with what the state says.
func (l *life) audit() {
	l.t.Helper()
	departure := l.service.moved - (l.amount - l.load)
	switch {
	case departure == 0:
	case l.small && !l.spoke:
		l.hidden++
	case l.strict || !l.spoke:
		l.t.Errorf("seed %d: the state says %s, and the service has moved %s more", l.seed, l.amount, departure)
	default:
		l.named++
	}
}

// client is that of a new process.
func (l *life) client() *api.Client {
	client, err := api.New(api.Config{
		BaseURL: "https://model/api/v1", APIKey: "sk_live_model", Transport: l.service, KeysHonoured: l.honoured, MaxRetries: -1,
		Clock: runClock{l.service.clock, &l.service.killed},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return client
}

// apply refreshes and moves what is wanted, as the card resource does.
func (l *life) apply(faulty bool) {
	l.killed = false
	l.service.begin(faulty)
	client := l.client()
	l.record = reconcile.ParseRecord(modelCard, l.record.Text(modelCard))
	if l.record.Pending != nil && !l.honoured && !l.resolve(client) || l.wanted == l.amount {
		return
	}
	m := reconcile.Movement{Delta: l.wanted - l.amount, Before: l.amount}
	if l.record.Pending != nil && l.record.Pending.Movement() != m { // such a plan is refused
		l.spoke = true
		return
	}
	l.movements++
	l.service.land()
	l.tell("move %s, anchor %s, the card shows %s", m.Delta, l.record.Anchor.Balance, l.service.shown())
	transfer, err := client.Move(l.t.Context(), api.Movement{CardID: modelCard, Movement: m, Record: &l.record})
	l.tell("%+v, %v; the service has moved %s in all", transfer, err, l.service.moved)
	if l.killed = l.service.killed.Load(); l.killed {
		l.tell("killed")
		return
	}
	_, isUndecided := errors.AsType[*api.UndecidedError](err)
	_, isStopped := errors.AsType[*api.StoppedError](err)
	l.spoke = l.spoke || isUndecided || isStopped || transfer.MadeBefore || transfer.LeftOver != 0 || transfer.Excess != 0
	if l.record = transfer.Record; err == nil {
		l.amount = l.wanted
	}
}

// resolve reports whether money may be moved again.
func (l *life) resolve(client *api.Client) bool {
	pending := l.record.Pending
	transfer, err := client.ResolvePending(l.t.Context(), modelCard, l.record)
	l.tell("resolve: %+v, %v", transfer, err)
	if l.record = transfer.Record; err != nil {
		l.spoke = true
		return false
	}
	if transfer.MadeBefore {
		l.amount = pending.Before + pending.Delta
	}
	return true
}
