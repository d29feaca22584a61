package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// shop is a card's purchases at a few merchants, settled for any amount.
type shop struct {
	*account
	rng  *rand.Rand
	unit usd.Amount // of all sums
	open []reconcile.Event
}

func (s *shop) sum() usd.Amount { return usd.Amount(s.rng.Int64N(int64(8*dollar/s.unit))+1) * s.unit }

func (s *shop) happen(times int) {
	for range times {
		s.later(time.Minute)
		lessHolds := usd.Amount(1)
		if s.asSettled {
			lessHolds = 0
		}
		if len(s.open) == 0 || s.rng.IntN(2) == 0 {
			e := reconcile.Event{Kind: reconcile.Authorization, Amount: s.sum(), Fee: usd.Amount(s.rng.IntN(2)), Merchant: fmt.Sprint("m", s.rng.IntN(2))}
			s.open = append(s.open, e)
			s.account.happen(e, -lessHolds*e.Amount)
			continue
		}
		i := s.rng.IntN(len(s.open))
		e := reconcile.Event{Kind: reconcile.Settlement, Amount: s.sum(), Merchant: s.open[i].Merchant}
		s.account.happen(e, lessHolds*s.open[i].Amount-e.Amount)
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// What settlements alone did, whichever authorizations they ended, is never called a
// movement: not even one of what their likeliest reading leaves over. What they
// cannot have done is.
func TestSettlementsAreNoMovement(t *testing.T) {
	t.Parallel()
	const much = 1_000_000 * dollar
	left := 0
	for n := range uint64(500) {
		s := &shop{account: newAccount(much), rng: rand.New(rand.NewPCG(n, 1)), unit: dollar}
		s.asSettled, s.takesFees = n%3 == 0, n%2 == 0
		most := 24
		if n < 5 { // more than can be told apart
			most, s.unit = 150, usd.Cent
		}
		s.happen(s.rng.IntN(10))
		anchor := s.snapshot().Anchor()
		s.happen(s.rng.IntN(most))
		quiet := reconcile.Explain(anchor, s.snapshot(), dollar)
		if quiet.Left != 0 {
			left++
			if e := reconcile.Explain(anchor, s.snapshot(), quiet.Left); e.With < settled || e.Without == none {
				t.Errorf("world %d: %s is made: %+v", n, quiet.Left, e)
			}
		}
		s.give(much)
		if e := reconcile.Explain(anchor, s.snapshot(), much+quiet.Left); e.With < settled || e.Without != none {
			t.Errorf("world %d: a fund is not made: %+v", n, e)
		}
	}
	if left == 0 {
		t.Error("nothing was left over in any world")
	}
}

// Where seven settlements may have ended any of fourteen holds, any sum between the
// least and the most may be theirs.
func TestTooManySums(t *testing.T) {
	t.Parallel()
	a := newAccount(1_000_000 * dollar)
	for n := range 14 {
		a.authorize(dollar << n)
	}
	anchor := a.snapshot().Anchor()
	a.later(time.Minute)
	for range 7 {
		a.settle(0, 3)
	}
	const most = (1<<14-1<<7)*dollar - 7*3
	for effect, want := range map[usd.Amount]usd.Amount{-1: -1, 0: 0, 4567*dollar + 89: 0, most: 0, most + 1: 1} {
		a.give(effect + 7*3)
		if e := reconcile.Explain(anchor, a.snapshot(), -dollar); e.Left != want || (e.Without == holds) != (want == 0) {
			t.Errorf("%s more: %+v", effect, e)
		}
		a.give(-effect - 7*3)
	}
	for purchases, want := range map[int]reconcile.Rank{10: none, 11: holds} { // each in the anchor's balance, or not
		a := newAccount(1_000_000 * dollar)
		anchor := reconcile.ImportedRecord(a.balance, a.now).Anchor
		a.later(2 * time.Second)
		for n := range purchases {
			a.authorize(dollar << n)
		}
		a.give(dollar / 2)
		if e := reconcile.Explain(anchor, a.snapshot(), -dollar); e.Without != want {
			t.Errorf("%d purchases: %+v", purchases, e)
		}
	}
}
