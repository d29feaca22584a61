package reconcile_test

import (
	"fmt"
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
	s.Answered = &answered
	if e := reconcile.Explain(anchor, s, -40*dollar); reconcile.Decide(reconcile.Answered, e, reconcile.Movement{Delta: -40 * dollar}, reconcile.Policy{Waited: true}).Verdict != reconcile.Stop {
		t.Errorf("a replayed withdrawal: %+v", e)
	}
	a.authorize(25 * dollar)
	s = a.snapshot()
	s.Answered = &answered
	check(t, "a withdrawal, or a purchase", reconcile.Explain(anchor, s, -25*dollar), told{with: settled, without: holds})
	a.give(25 * dollar)
	a.events = a.events[:1]
	a.give(-80 * dollar)
	a.give(40 * dollar) // the hold is released
	s = a.snapshot()
	s.Answered = &answered
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
	}{{at, true}, {at.Add(24*time.Hour - 1), true}, {at.Add(24 * time.Hour), false}, {time.Time{}, false}, {at.Add(-5 * time.Second), true}, {at.Add(-6 * time.Second), false}} {
		if got := reconcile.Explain(anchor, reconcile.Snapshot{At: test.at}, dollar).Recent; got != test.want {
			t.Errorf("at %s: recent is %t", test.at, got)
		}
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
		e := reconcile.Explanation{Anchored: true, With: test.with, Without: test.without, Came: test.came, Delta: 40}
		if got := e.Gain(); got != test.want {
			t.Errorf("%+v: gain %s", test, got)
		}
		e.Delta, e.Came = -40, 0
		if got := e.Gain(); got != 0 {
			t.Errorf("a withdrawal, %+v: gain %s", test, got)
		}
	}
}

// What happened on a card since its anchor decides about a movement.
func TestWhatHappenedSinceTheAnchor(t *testing.T) {
	t.Parallel()
	type happenings []func(*account)
	authorize := func(amount usd.Amount) func(*account) { return func(a *account) { a.authorize(amount * dollar) } }
	settle := func(held, amount usd.Amount) func(*account) {
		return func(a *account) { a.settle(held*dollar, amount*dollar) }
	}
	give := func(amount usd.Amount) func(*account) { return func(a *account) { a.give(amount * dollar) } }
	refund := func(amount usd.Amount) func(*account) { return func(a *account) { a.refund(amount * dollar) } }
	elsewhere := func(kind reconcile.Kind, amount, effect usd.Amount) func(*account) {
		return func(a *account) {
			a.happen(reconcile.Event{Kind: kind, Amount: amount * dollar, Merchant: "elsewhere"}, effect*dollar)
		}
	}
	unclear := func(kind reconcile.Kind, effect usd.Amount) func(*account) {
		return func(a *account) { a.happen(reconcile.Event{Kind: kind, Unclear: "in EUR"}, effect*dollar) }
	}
	const (
		send, key, made, stop = reconcile.Send, reconcile.SendKey, reconcile.Made, reconcile.Stop
	)
	for name, test := range map[string]struct {
		asSettled        bool
		before, since    happenings
		delta            usd.Amount // in dollars
		with, without    reconcile.Rank
		left             usd.Amount // in dollars
		unknown, honours reconcile.Verdict
	}{
		"nothing happened":                {delta: 40, without: holds, unknown: send, honours: send},
		"a killed fund":                   {since: happenings{give(40)}, delta: 40, with: holds, left: 40, unknown: made, honours: key},
		"a killed withdrawal":             {since: happenings{give(-60)}, delta: -60, with: holds, left: -60, unknown: made, honours: key},
		"a killed fund, a hold not taken": {since: happenings{give(40), authorize(7), give(7)}, delta: 40, with: settled, left: 47, unknown: made, honours: key},
		"a killed fund, a settled purchase of as much": {
			since: happenings{authorize(40), settle(40, 40), give(40)}, delta: 40, with: holds, left: 40, unknown: made, honours: key,
		},
		"a killed fund, a purchase of as much":       {since: happenings{give(40), authorize(40)}, delta: 40, with: holds, without: settled, unknown: stop, honours: key},
		"a killed fund, a hold released":             {before: happenings{authorize(15)}, since: happenings{give(40), give(15)}, delta: 40, with: released, left: 55, unknown: stop, honours: key},
		"a hold released":                            {before: happenings{authorize(15)}, since: happenings{give(15)}, delta: 40, without: released, left: 15, unknown: send, honours: send},
		"nothing, and an old hold of as much":        {before: happenings{authorize(40)}, delta: -40, with: released, without: holds, unknown: send, honours: send},
		"a purchase of as much as is withdrawn":      {since: happenings{authorize(40)}, delta: -40, with: settled, without: holds, unknown: send, honours: send},
		"a killed withdrawal, a purchase of as much": {since: happenings{give(-40), authorize(40)}, delta: -40, with: holds, left: -40, unknown: made, honours: key},
		"a settlement of less than was held":         {before: happenings{authorize(20)}, since: happenings{settle(20, 15)}, delta: 40, without: holds, unknown: send, honours: send},
		"less than is funded":                        {since: happenings{give(25)}, delta: 40, left: 25, unknown: send, honours: stop},
		"more than is funded":                        {since: happenings{give(50)}, delta: 40, left: 50, unknown: stop, honours: stop},
		"more than is withdrawn":                     {since: happenings{give(-50)}, delta: -40, left: -50, unknown: stop, honours: stop},
		"the other way":                              {since: happenings{give(-30)}, delta: 30, left: -30, unknown: send, honours: send},
		"an old hold settles, and as much is funded": {
			before: happenings{authorize(40)}, since: happenings{settle(40, 40)}, delta: 40, with: settled, without: holds, unknown: stop, honours: key,
		},
		"two purchases, and as much is withdrawn": {since: happenings{authorize(15), authorize(25)}, delta: -40, with: settled, without: holds, unknown: send, honours: send},
		"a pair, which might be read as an older hold's settlement": {
			before: happenings{authorize(40), authorize(20)}, since: happenings{settle(40, 40)}, delta: 20, without: holds, unknown: send, honours: send,
		},
		"the same, and a refund of as much": {
			before: happenings{authorize(40), authorize(20)}, since: happenings{refund(40), settle(40, 40)}, delta: 20, without: holds, unknown: send, honours: send,
		},
		"the same, and money taken that such a reading explains": {
			before: happenings{authorize(40), authorize(20)}, since: happenings{settle(40, 40), give(-20)}, delta: 40, left: -20, unknown: send, honours: send,
		},
		"the same, and a killed fund on a balance that falls at settlement": {
			asSettled: true, before: happenings{authorize(40), authorize(20)}, since: happenings{settle(40, 40), give(20)},
			delta: 20, with: settled, without: holds, left: -20, unknown: stop, honours: key,
		},
		"a balance that falls at settlement": {asSettled: true, since: happenings{authorize(40)}, delta: 40, with: holds, without: settled, unknown: stop, honours: key},
		"settlements of less, of which the second has the amount of the first purchase": {
			since: happenings{authorize(50), settle(50, 40), authorize(55), settle(55, 50)}, delta: 40, without: holds, unknown: send, honours: send,
		},
		"a killed withdrawal, and a settlement that has the amount of a purchase that it did not end": {
			before: happenings{authorize(20)}, since: happenings{authorize(17), settle(20, 17), give(-5)}, delta: -5, with: holds, left: -2, unknown: made, honours: key,
		},
		"a killed fund and such a settlement, and a hold of as much as both": {
			before: happenings{authorize(20), authorize(43)}, since: happenings{authorize(17), settle(20, 17), give(40)},
			delta: 40, with: holds, without: released, left: 43, unknown: stop, honours: key,
		},
		"a settlement elsewhere of as much as a purchase that settles for less": {
			since: happenings{authorize(10), elsewhere(reconcile.Settlement, 10, 0), settle(10, 7)}, delta: 40, without: holds, unknown: send, honours: send,
		},
		"one settlement, and three holds, and money nearer to the smaller of two": {
			before: happenings{authorize(10), authorize(24), authorize(40)}, since: happenings{settle(5, 5), give(11)}, delta: 40, left: 6, unknown: send, honours: stop,
		},
		"the same, and money in the middle": {
			before: happenings{authorize(10), authorize(24), authorize(40)}, since: happenings{settle(5, 5), give(12)}, delta: 40, left: 7, unknown: send, honours: stop,
		},
		"much came, and was spent": {since: happenings{give(300), authorize(450), settle(450, 450)}, delta: 50, left: 300, unknown: stop, honours: stop},
		"settlements of other amounts in more ways than can be counted": {
			before: happenings{authorize(17), authorize(53), authorize(18), authorize(10), settle(10, 6), authorize(7), settle(17, 13)},
			since:  happenings{settle(7, 4), settle(53, 37), settle(18, 12)}, delta: 3, with: holds, without: holds, unknown: stop, honours: key,
		},
		"more settled than the card held": {since: happenings{authorize(150), settle(150, 230)}, delta: 40, without: holds, unknown: send, honours: send},
		"and a purchase elsewhere before": {
			since: happenings{elsewhere(reconcile.Authorization, 7, -7), authorize(150), settle(150, 230)}, delta: 40, without: holds, unknown: send, honours: send,
		},
		"and an older hold settled after it": {since: happenings{authorize(150), settle(150, 230), settle(5, 5)}, delta: 40, without: holds, unknown: send, honours: send},
		"more settled than held, on a card that is not empty by it": {
			since: happenings{authorize(150), settle(150, 160), give(20)}, delta: 40, left: 20, unknown: send, honours: stop,
		},
		"a killed fund after more was settled than held": {since: happenings{authorize(150), settle(150, 230), give(40)}, delta: 40, with: holds, left: -10, unknown: made, honours: key},
		"a killed fund before it":                        {since: happenings{give(40), authorize(150), settle(150, 250)}, delta: 40, with: holds, without: holds, unknown: stop, honours: key},
		"a fee taken from the card": {
			since: happenings{func(a *account) {
				a.takesFees = true
				a.happen(reconcile.Event{Kind: reconcile.Authorization, Amount: 7 * dollar, Fee: 20}, -7*dollar)
			}},
			delta: 40, without: holds, unknown: send, honours: send,
		},
		"less settled elsewhere, on a balance that falls at settlement": {
			asSettled: true, before: happenings{authorize(10)}, since: happenings{elsewhere(reconcile.Settlement, 7, -7)},
			delta: 40, without: settled, unknown: send, honours: send,
		},
		"as much as a settlement gave back that the anchor knows": {
			before: happenings{authorize(40), settle(40, 30)}, since: happenings{give(10)}, delta: 40, left: 10, unknown: send, honours: stop,
		},
		"a foreign purchase": {since: happenings{unclear(reconcile.Authorization, -9)}, delta: 40, left: -9, unknown: send, honours: send},
		"a killed fund and a foreign purchase of nothing": {
			since: happenings{give(40), unclear(reconcile.Authorization, 0)}, delta: 40, with: released, left: 40, unknown: stop, honours: key,
		},
		"a foreign refund":                   {since: happenings{unclear(reconcile.Refund, 9)}, delta: 40, left: 9, unknown: stop, honours: key},
		"a foreign refund, and a withdrawal": {since: happenings{unclear(reconcile.Refund, 9)}, delta: -40, left: 9, unknown: send, honours: send},
		"an unknown type":                    {since: happenings{unclear(reconcile.Other, 0)}, delta: 40, without: holds, unknown: stop, honours: key},
	} {
		a := newAccount(200 * dollar)
		a.asSettled = test.asSettled
		for _, happen := range test.before {
			happen(a)
			a.later(time.Minute)
		}
		anchor := a.snapshot().Anchor()
		a.later(time.Hour)
		for _, happen := range test.since {
			happen(a)
			a.later(time.Minute)
		}
		e := reconcile.Explain(anchor, a.snapshot(), test.delta*dollar)
		check(t, name, e, told{with: test.with, without: test.without, left: test.left * dollar, hidden: e.Hidden, ignored: e.Ignored})
		for honoured, want := range map[bool]reconcile.Verdict{false: test.unknown, true: test.honours} {
			d := reconcile.Decide(reconcile.BeforeSending, e, reconcile.Movement{Delta: test.delta * dollar}, reconcile.Policy{KeysHonoured: honoured, Waited: true})
			if d.Verdict != want {
				t.Errorf("%s, honoured %t: %+v", name, honoured, d)
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
		if e := reconcile.Explain(anchor, a.snapshot(), delta); e.Left != want {
			t.Errorf("with %s moved: %+v", delta, e)
		}
	}
	record := reconcile.Record{Anchor: anchor, Pending: &reconcile.Pending{}}
	for _, r := range []reconcile.Record{record.NotShown(a.snapshot()), record.GivenUp(a.snapshot())} {
		if r.TopUps.Sum != 50*dollar+1 {
			t.Errorf("counts %s as topped up", r.TopUps.Sum)
		}
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
		s.Own = 60 * dollar
		check(t, fmt.Sprint(given, " more"), reconcile.Explain(anchor, s, 50*dollar),
			told{with: want[0], without: want[1], left: (given - 60) * dollar, stale: given == 0})
	}
}
