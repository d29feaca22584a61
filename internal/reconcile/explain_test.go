package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	none     = reconcile.Unexplained
	released = reconcile.HoldReleased
	settled  = reconcile.AsSettled
	holds    = reconcile.LessHolds
)

// An answer is believed where the card shows the movement, not where a hold that
// is open would have to be released besides.
func TestAnsweredButNotShown(t *testing.T) {
	t.Parallel()
	a := newAccount(140 * dollar)
	a.authorize(40 * dollar)
	anchor := a.snapshot().Anchor()
	a.later(time.Minute)
	s := a.snapshot()
	answered := 60 * dollar
	s.AnsweredBalance = &answered
	record := reconcile.Record{Anchor: anchor}
	sent := reconcile.Ask(record, reconcile.Movement{Delta: -40 * dollar}, waited(s), false)
	if d := sent.AfterAnswer(waited(s), false); d.Verdict != reconcile.Undecided {
		t.Errorf("a replayed withdrawal: %+v", d)
	}
	a.authorize(25 * dollar)
	s = a.snapshot()
	s.AnsweredBalance = &answered
	check(t, "a withdrawal, or a purchase", reconcile.Explain(anchor, s, -25*dollar), told{with: settled, without: holds})
	a.give(25 * dollar)
	a.events = a.events[:1]
	a.give(-80 * dollar)
	a.give(40 * dollar) // the hold is released
	s = a.snapshot()
	s.AnsweredBalance = &answered
	check(t, "a withdrawal, and a hold released", reconcile.Explain(anchor, s, -80*dollar), told{with: released, left: -40 * dollar, echoed: true})
}

// Without the service's time nothing says that it still keeps a key.
func TestRecent(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	anchor := reconcile.IssuedRecord(100*dollar, at).Anchor
	for _, test := range []struct {
		at   time.Time
		want bool
	}{{at, true}, {at.Add(22*time.Hour - 1), true}, {at.Add(22 * time.Hour), false}, {time.Time{}, false}, {at.Add(-5 * time.Second), true}, {at.Add(-6 * time.Second), false}} {
		if got := reconcile.Explain(anchor, reconcile.Snapshot{At: test.at}, dollar).Recent; got != test.want {
			t.Errorf("at %s: recent is %t", test.at, got)
		}
	}
	funded := &reconcile.Anchor{Balance: dollar + 1, At: at, Last: 1, Listed: true} // of which the last cent is not there
	if e := reconcile.Explain(funded, reconcile.Snapshot{Balance: dollar, At: at.Add(time.Hour)}, dollar); !e.Undone || e.Stale {
		t.Errorf("an hour after a fund: %+v", e)
	}
}

// What may have come counts for the month's cap, though it can be explained.
func TestGain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		with, without reconcile.Rank
		came, want    usd.Amount
	}{
		{none, none, 25, 25},
		{none, none, 0, 0},
		{none, released, 25, 25},
		{none, settled, 25, 0},
		{holds, none, 40, 40},
		{released, none, 55, 55},
		{released, none, 3, 40},
		{none, holds, 25, 0},
		{holds, holds, 0, 40},
		{holds, settled, 55, 55},
		{settled, holds, 0, 40},
	} {
		e := reconcile.Explanation{With: test.with, Without: test.without, MaxArrived: test.came, Delta: 40}
		if got := e.Gain(); got != test.want {
			t.Errorf("%+v: gain %s", test, got)
		}
		e.Delta, e.MaxArrived = -40, 0
		if got := e.Gain(); got != 0 {
			t.Errorf("a withdrawal, %+v: gain %s", test, got)
		}
	}
}

// What happened on a card since its anchor decides about a movement.
func TestWhatHappenedSinceTheAnchor(t *testing.T) {
	t.Parallel()
	const send, key, made, stop = reconcile.Send, reconcile.SendKey, reconcile.Made, reconcile.Stop
	for _, test := range []struct {
		name, before, since string
		delta               usd.Amount // in dollars
		with, without       reconcile.Rank
		left                usd.Amount // in dollars
		unknown, honours    reconcile.Verdict
	}{
		{"nothing happened", "", "", 40, none, holds, 0, send, send},
		{"a killed fund", "", "+40", 40, holds, none, 40, made, made},
		{"a killed withdrawal", "", "-60", -60, holds, none, -60, made, made},
		{"a killed fund, a hold not taken", "", "+40 hold:7 +7", 40, settled, none, 47, made, made},
		{"a killed fund, as much bought and settled", "", "hold:40 40/40 +40", 40, holds, none, 40, made, made},
		{"a killed fund, a purchase of as much", "", "+40 hold:40", 40, holds, settled, 0, stop, key},
		{"a killed fund, a hold released", "hold:15", "+40 +15", 40, released, none, 55, stop, key},
		{"a hold released", "hold:15", "+15", 40, none, released, 15, send, send},
		{"nothing, and an old hold of as much", "hold:40", "", -40, released, holds, 0, send, send},
		{"a purchase of as much as is withdrawn", "", "hold:40", -40, settled, holds, 0, send, send},
		{"a killed withdrawal, a purchase of as much", "", "-40 hold:40", -40, holds, none, -40, made, made},
		{"a settlement of less than was held", "hold:20", "20/15", 40, none, holds, 0, send, send},
		{"less than is funded", "", "+25", 40, none, none, 25, stop, stop},
		{"more than is funded", "", "+50", 40, none, none, 50, stop, stop},
		{"more than is withdrawn", "", "-50", -40, none, none, -50, stop, stop},
		{"the other way", "", "-30", 30, none, none, -30, send, send},
		{"an old hold settles, and as much is funded", "hold:40", "40/40", 40, settled, holds, 0, stop, key},
		{"two purchases, and as much is withdrawn", "", "hold:15 hold:25", -40, settled, holds, 0, send, send},
		{"a pair, or an older hold's settlement", "hold:40 hold:20", "40/40", 20, none, holds, 0, send, send},
		{"the same, and a refund of as much", "hold:40 hold:20", "refund:40 40/40", 20, none, holds, 0, send, send},
		{"the same, and money taken", "hold:40 hold:20", "40/40 -20", 40, none, none, -20, stop, stop},
		{"a killed fund less a fee, and a hold", "", "+32 hold:40", 40, none, none, -8, stop, stop},
		{"the same as settled, a killed fund", "as-settled hold:40 hold:20", "40/40 +20", 20, settled, holds, -20, stop, key},
		{"a balance that falls at settlement", "as-settled", "hold:40", 40, holds, settled, 0, stop, key},
		{"less settled, then as much as a first hold", "", "hold:50 50/40 hold:55 55/50", 40, none, holds, 0, send, send},
		{"a killed withdrawal, another hold's amount settled", "hold:20", "hold:17 20/17 -5", -5, holds, none, -2, made, made},
		{"a killed fund, the same, and a hold of both", "hold:20 hold:43", "hold:17 20/17 +40", 40, holds, released, 43, stop, key},
		{"as much as a hold settled elsewhere", "", "hold:10 elsewhere:10/0 10/7", 40, none, holds, 0, send, send},
		{"money nearer to the smaller of two holds", "hold:10 hold:24 hold:40", "5/5 +11", 40, none, none, 6, send, send},
		{"the same, and money in the middle", "hold:10 hold:24 hold:40", "5/5 +12", 40, none, none, 7, send, send},
		{"much came, and was spent", "", "+300 hold:450 450/450", 50, none, none, 300, stop, stop},
		{
			"more ways than can be counted", "hold:17 hold:53 hold:18 hold:10 10/6 hold:7 17/13", "7/4 53/37 18/12",
			3, holds, holds, 0, stop, key,
		},
		{"more settled than the card held", "", "hold:150 150/230", 40, none, holds, 0, send, send},
		{"and a purchase elsewhere before", "", "bought-elsewhere:7/-7 hold:150 150/230", 40, none, holds, 0, send, send},
		{"and an older hold settled later", "", "hold:150 150/230 5/5", 40, none, holds, 0, send, send},
		{"more settled than held, and the card not empty", "", "hold:150 150/160 +20", 40, none, none, 20, stop, stop},
		{"a killed fund after more was settled", "", "hold:150 150/230 +40", 40, holds, none, -10, made, made},
		{"a killed fund before it", "", "+40 hold:150 150/250", 40, holds, holds, 0, stop, key},
		{"a fee taken from the card", "", "with-fee:7/-7", 40, none, holds, 0, send, send},
		{"less settled elsewhere, as settled", "as-settled hold:10", "elsewhere:7/-7", 40, none, settled, 0, send, send},
		{"as much as a settlement gave back before", "hold:40 40/30", "+10", 40, none, none, 10, send, send},
		{"a foreign purchase", "", "foreign-hold:0/-9", 40, none, none, -9, send, send},
		{"a killed fund, a foreign purchase of nothing", "", "+40 foreign-hold:0/0", 40, released, none, 40, stop, key},
		{"a foreign refund", "", "foreign-refund:0/9", 40, none, none, 9, stop, stop},
		{"a foreign refund, and a withdrawal", "", "foreign-refund:0/9", -40, none, none, 9, send, send},
		{"an unknown type", "", "unknown:0/0", 40, none, holds, 0, stop, stop},
	} {
		a := newAccount(200 * dollar)
		before, isSettled := strings.CutPrefix(test.before, "as-settled")
		a.asSettled, a.takesFees = isSettled, true
		a.live(before)
		anchor := a.snapshot().Anchor()
		a.later(time.Hour)
		a.live(test.since)
		record, card := reconcile.Record{Anchor: anchor, HasKey: true}, a.snapshot()
		e := reconcile.Explain(anchor, card, test.delta*dollar)
		want := told{with: test.with, without: test.without, left: test.left * dollar, hidden: e.Hidden, ignored: e.Ignored}
		check(t, test.name, e, want)
		for honoured, want := range map[bool]reconcile.Verdict{false: test.unknown, true: test.honours} {
			d := reconcile.Ask(record, reconcile.Movement{Delta: test.delta * dollar}, waited(card), honoured)
			if d.Verdict != want {
				t.Errorf("%s, honoured %t: %d, %d", test.name, honoured, d.Verdict, d.Reason)
			}
		}
	}
}

// What a killed run has made, with purchases since, is found by the readings, or by the
// key where they do not tell: then the service answers again what it answered before.
func TestKilledWithPurchasesSince(t *testing.T) {
	t.Parallel()
	stories := []string{
		"", "hold:7", "hold:40", "hold:20", "hold:25 hold:15", "hold:7 7/7", "hold:40 40/40", "hold:40 40/30", "hold:40 40/45",
		"hold:7 7/7 refund:7", "hold:40 40/40 refund:40", "with-fee:7/-7",
	}
	for _, asSettled := range []bool{false, true} {
		for _, delta := range []usd.Amount{40 * dollar, -40 * dollar} {
			for _, before := range []string{"", "hold:40"} {
				for _, since := range stories {
					a := newAccount(200 * dollar)
					a.asSettled, a.takesFees = asSettled, true
					a.live(before)
					record := reconcile.RecordFrom(a.snapshot())
					a.later(time.Hour)
					a.give(delta)
					a.later(time.Minute)
					a.live(since)
					m := reconcile.Movement{Delta: delta}
					d := reconcile.Ask(record, m, waited(a.snapshot()), true)
					// A withdrawal is not taken for made by as much spending, and is sent under its key too.
					isSpent := d.Verdict == reconcile.Send && delta < 0 && asSettled
					if d.Verdict == reconcile.SendKey || isSpent {
						d = d.AfterAnswer(waited(a.snapshot()), false)
					}
					if d.Verdict != reconcile.Made || d.Record.Pending != nil {
						t.Errorf("%s, %q, then %q, as settled %t: %d, %d", delta, before, since, asSettled, d.Verdict, d.Reason)
					}
					record.HasKey = false // as where it came late, after a stop
					if d := reconcile.Ask(record, m, waited(a.snapshot()), true); d.Verdict != reconcile.Made && d.Verdict != reconcile.Stop && !isSpent {
						t.Errorf("%s, %q, then %q, as settled %t, after a stop: %d, %d", delta, before, since, asSettled, d.Verdict, d.Reason)
					}
				}
			}
		}
	}
}

// Where money came by every reading, a fund is looked for in the most that may have
// come, and anything else is told by the least. For the month's cap the most counts.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	a := newAccount(100 * dollar)
	a.authorize(50 * dollar)
	anchor := a.snapshot().Anchor()
	a.later(time.Minute)
	a.settle(50*dollar, 40*dollar)
	a.give(1)
	for delta, want := range map[usd.Amount]usd.Amount{1: 50*dollar + 1, 0: 1, -1: 1} {
		if e := reconcile.Explain(anchor, a.snapshot(), delta); e.Remainder != want {
			t.Errorf("with %s moved: %+v", delta, e)
		}
	}
	r := reconcile.Record{Anchor: anchor, Pending: &reconcile.Pending{}}.GivenUp(a.snapshot())
	if r.TopUps.Sum != 50*dollar+1 {
		t.Errorf("counts %s as topped up", r.TopUps.Sum)
	}
}

// What cannot be read hides a movement in its own direction only, of a cent too.
func TestHidden(t *testing.T) {
	t.Parallel()
	for kind, delta := range map[reconcile.Kind]usd.Amount{reconcile.Refund: 1, reconcile.Authorization: -1} {
		a := newAccount(100 * dollar)
		anchor := a.snapshot().Anchor()
		a.later(time.Minute)
		a.happen(reconcile.Event{Kind: kind, Unclear: "in EUR"}, 0)
		check(t, "a movement in its direction", reconcile.Explain(anchor, a.snapshot(), delta), told{without: holds, hidden: "in EUR"})
		check(t, "one in the other", reconcile.Explain(anchor, a.snapshot(), -delta), told{without: holds, ignored: "in EUR"})
	}
}

// Parts of a cent are a tolerance, and no reason to stop.
func TestFractions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fraction bool
		by       usd.Amount
		want     reconcile.Rank
	}{{true, -3, none}, {true, -2, holds}, {true, 0, holds}, {true, 2, holds}, {true, 3, none}, {false, -1, none}, {false, 0, holds}, {false, 1, none}} {
		a := newAccount(100 * dollar)
		anchor := a.snapshot().Anchor()
		a.later(time.Hour)
		a.happen(reconcile.Event{Kind: reconcile.Authorization, Amount: 7 * dollar, Fraction: test.fraction}, -7*dollar+test.by)
		if e := reconcile.Explain(anchor, a.snapshot(), 40*dollar); e.Without != test.want || e.Hidden != "" {
			t.Errorf("%+v: %+v", test, e)
		}
	}
}

// What this process's own actions moved is known for certain.
func TestOwnMovements(t *testing.T) {
	t.Parallel()
	for given, want := range map[usd.Amount][2]reconcile.Rank{60: {none, holds}, 0: {none, none}, 110: {holds, none}, 50: {none, none}, 80: {none, none}} {
		a := newAccount(100 * dollar)
		anchor := a.snapshot().Anchor()
		a.give(given * dollar)
		s := a.snapshot()
		s.MovedByOtherCalls = 60 * dollar
		check(t, fmt.Sprint(given, " more"), reconcile.Explain(anchor, s, 50*dollar),
			told{with: want[0], without: want[1], left: (given - 60) * dollar, stale: given == 0})
	}
}

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

// What settlements alone did, whichever authorizations they ended, is never called a movement:
// not even one of what their likeliest reading leaves over. What they cannot have done is.
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
		if quiet.Remainder != 0 {
			left++
			if e := reconcile.Explain(anchor, s.snapshot(), quiet.Remainder); e.With < settled || e.Without == none {
				t.Errorf("world %d: %s is made: %+v", n, quiet.Remainder, e)
			}
		}
		s.give(much)
		if e := reconcile.Explain(anchor, s.snapshot(), much+quiet.Remainder); e.With < settled || e.Without != none {
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
		if e := reconcile.Explain(anchor, a.snapshot(), -dollar); e.Remainder != want || (e.Without == holds) != (want == 0) {
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
