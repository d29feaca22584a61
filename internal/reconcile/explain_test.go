package reconcile_test

import (
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

// What cannot be read stops a movement once: the anchor knows it afterwards, also
// where it lies behind the newest ids that are kept.
func TestOldUnreadableEventsAreInTheAnchor(t *testing.T) {
	t.Parallel()
	a := newAccount(100 * dollar)
	for range 40 {
		a.happen(reconcile.Event{Unclear: "of an unknown type"}, -dollar)
		a.later(time.Hour)
	}
	anchor := a.snapshot().Anchor()
	a.later(time.Hour)
	a.authorize(7 * dollar)
	for _, delta := range []usd.Amount{40 * dollar, -40 * dollar} {
		if e := reconcile.Explain(anchor, a.snapshot(), delta); e.Hidden != "" || e.Ignored != "" || e.Without != holds {
			t.Errorf("%s: %+v", delta, e)
		}
	}
}

// A snapshot is stale where it fits better before the last movement than after it.
func TestStale(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hold, last, shown usd.Amount
		after             time.Duration
		want              bool
	}{
		"the card before a fund": {0, 40, 100, 12 * time.Second, true},
		"the card after it":      {0, 40, 140, 12 * time.Second, false},
		"neither":                {0, 40, 120, 12 * time.Second, false},
		"long after":             {0, 40, 100, reconcile.StaleFor, false},
		"before a withdrawal, or a hold of as much released": {15, -15, 100, 12 * time.Second, true},
		"after a fund, with an open hold of as much":         {40, 40, 140, 12 * time.Second, false},
		"after no movement": {0, 0, 100, 12 * time.Second, false},
		"before a withdrawal, by a clock that went back":       {0, -15, 100, -time.Minute, true},
		"after a withdrawal, or before it with a hold so long": {15, -15, 85, 12 * time.Second, false},
	} {
		a := newAccount(100 * dollar)
		if test.hold > 0 {
			a.give(test.hold * dollar)
			a.authorize(test.hold * dollar)
		}
		before := a.snapshot()
		record := reconcile.Record{}.Moved(reconcile.Movement{Delta: test.last * dollar}, before, reconcile.Explanation{})
		a.later(test.after)
		now := a.snapshot()
		now.Balance = test.shown * dollar
		if got := reconcile.Explain(record.Anchor, now, 5*dollar).Stale; got != test.want {
			t.Errorf("%s: stale is %t", name, got)
		}
	}
}

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
	if e := reconcile.Explain(anchor, s, -25*dollar); e.With != settled || e.Without != holds {
		t.Errorf("a withdrawal, or a purchase: %+v", e)
	}
	a.give(25 * dollar)
	a.events = a.events[:1]
	a.give(-80 * dollar)
	a.give(40 * dollar) // the hold is released
	s = a.snapshot()
	s.Answered = &answered
	if e := reconcile.Explain(anchor, s, -80*dollar); e.With != released || e.Without != none {
		t.Errorf("a withdrawal, and a hold released: %+v", e)
	}
}

// Without the service's time nothing says that it still keeps a key.
func TestRecent(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	anchor := reconcile.IssuedRecord(100*dollar, at).Anchor
	for _, test := range []struct {
		at   time.Time
		want bool
	}{{at, true}, {at.Add(24*time.Hour - 1), true}, {at.Add(24 * time.Hour), false}, {time.Time{}, false}} {
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
		left, want    usd.Amount
	}{
		{none, none, 25, 25},
		{none, none, -25, 0},
		{holds, none, 40, 40},
		{released, none, 55, 55},
		{released, none, 3, 40},
		{none, holds, 25, 0},
		{holds, holds, 0, 40},
		{settled, holds, 0, 40},
	} {
		e := reconcile.Explanation{Anchored: true, With: test.with, Without: test.without, Left: test.left, Delta: 40}
		if got := e.Gain(); got != test.want {
			t.Errorf("%+v: gain %s", test, got)
		}
		e.Delta, e.Left = -40, min(e.Left, 0)
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
		"nothing happened":                           {delta: 40, without: holds, unknown: send, honours: send},
		"a purchase":                                 {since: happenings{authorize(7)}, delta: 40, without: holds, unknown: send, honours: send},
		"a killed fund":                              {since: happenings{give(40)}, delta: 40, with: holds, left: 40, unknown: made, honours: key},
		"a killed withdrawal":                        {since: happenings{give(-60)}, delta: -60, with: holds, left: -60, unknown: made, honours: key},
		"a killed fund and a purchase":               {since: happenings{give(40), authorize(7)}, delta: 40, with: holds, left: 40, unknown: made, honours: key},
		"a killed fund, a hold not taken":            {since: happenings{give(40), authorize(7), give(7)}, delta: 40, with: settled, left: 47, unknown: made, honours: key},
		"a killed fund, a purchase of as much":       {since: happenings{give(40), authorize(40)}, delta: 40, with: holds, without: settled, unknown: stop, honours: key},
		"a killed fund, a hold released":             {before: happenings{authorize(15)}, since: happenings{give(40), give(15)}, delta: 40, with: released, left: 55, unknown: stop, honours: key},
		"a hold released":                            {before: happenings{authorize(15)}, since: happenings{give(15)}, delta: 40, without: released, left: 15, unknown: send, honours: send},
		"nothing, and an old hold of as much":        {before: happenings{authorize(40)}, delta: -40, with: released, without: holds, unknown: send, honours: send},
		"a purchase of as much as is withdrawn":      {since: happenings{authorize(40)}, delta: -40, with: settled, without: holds, unknown: send, honours: send},
		"a killed withdrawal, a purchase of as much": {since: happenings{give(-40), authorize(40)}, delta: -40, with: holds, left: -40, unknown: made, honours: key},
		"as much as a hold that never lowered the balance": {
			since: happenings{authorize(9), give(9), give(9)}, delta: -30, left: 9, unknown: send, honours: send,
		},
		"a refund":                            {since: happenings{refund(40)}, delta: 40, without: holds, unknown: send, honours: send},
		"a settlement of less than was held":  {before: happenings{authorize(20)}, since: happenings{settle(20, 15)}, delta: 40, without: holds, unknown: send, honours: send},
		"less than is funded":                 {since: happenings{give(25)}, delta: 40, left: 25, unknown: send, honours: stop},
		"more than is funded":                 {since: happenings{give(50)}, delta: 40, left: 50, unknown: stop, honours: stop},
		"more than is funded, and a purchase": {since: happenings{authorize(20), give(50)}, delta: 40, left: 50, unknown: stop, honours: stop},
		"an old hold settled, a purchase not listed": {
			before: happenings{authorize(60)}, since: happenings{settle(60, 60), give(-9)}, delta: 40, left: -9, unknown: send, honours: send,
		},
		"an old hold settled in two parts": {
			before: happenings{authorize(100)}, since: happenings{settle(60, 60), settle(40, 40)}, delta: 40, without: holds, unknown: send, honours: send,
		},
		"a hold that lowers no balance, and less": {since: happenings{authorize(60), give(60), give(-1)}, delta: 40, left: -1, unknown: send, honours: send},
		"more than is withdrawn":                  {since: happenings{give(-50)}, delta: -40, left: -50, unknown: stop, honours: stop},
		"the other way":                           {since: happenings{give(-30)}, delta: 30, left: -30, unknown: send, honours: send},
		"an old hold settles, and as much is funded": {
			before: happenings{authorize(40)}, since: happenings{settle(40, 40)}, delta: 40, with: settled, without: holds, unknown: stop, honours: key,
		},
		"two old holds settle, and as much is funded": {
			before: happenings{authorize(15), authorize(25)}, since: happenings{settle(15, 15), settle(25, 25)}, delta: 40, with: settled, without: holds, unknown: stop, honours: key,
		},
		"two purchases, and as much is withdrawn": {since: happenings{authorize(15), authorize(25)}, delta: -40, with: settled, without: holds, unknown: send, honours: send},
		"a purchase whose hold is released": {
			since: happenings{authorize(40), give(40)}, delta: 40, with: holds, without: settled, unknown: stop, honours: key,
		},
		"a settlement of less beside an older settled purchase": {
			before: happenings{authorize(30), authorize(60), settle(60, 60)}, since: happenings{settle(30, 25)}, delta: 30, with: settled, without: holds, unknown: stop, honours: key,
		},
		"two open purchases at one merchant, the first settles for less": {
			since: happenings{authorize(30), authorize(10), settle(30, 25)}, delta: 20, with: holds, without: holds, unknown: stop, honours: key,
		},
		"an old purchase settles elsewhere, and a new hold is released": {
			since: happenings{authorize(10), give(10), elsewhere(reconcile.Settlement, 7, 0)}, delta: 10, with: holds, without: released, left: 10, unknown: stop, honours: key,
		},
		"an old hold of as much is released": {before: happenings{authorize(40)}, since: happenings{give(40)}, delta: 40, with: holds, without: released, left: 40, unknown: stop, honours: key},
		"a balance that falls at settlement": {asSettled: true, since: happenings{authorize(40)}, delta: 40, with: holds, without: settled, unknown: stop, honours: key},
		"and a killed fund, an old purchase of as much settles": {
			asSettled: true, before: happenings{authorize(40)}, since: happenings{give(40), settle(40, 40)}, delta: 40, with: settled, without: holds, unknown: stop, honours: key,
		},
		"and a killed fund, a purchase settles": {asSettled: true, before: happenings{authorize(30)}, since: happenings{give(40), settle(30, 30)}, delta: 40, with: settled, left: 40, unknown: made, honours: key},
		"a killed fund of 40 beside a settled purchase, raised to 50": {
			before: happenings{authorize(40), settle(40, 40)}, since: happenings{give(40)}, delta: 50, left: 40, unknown: send, honours: stop,
		},
		"and lowered to 30": {
			before: happenings{authorize(40), settle(40, 40)}, since: happenings{give(40)}, delta: 30, left: 40, unknown: stop, honours: stop,
		},
		"a partial settlement beside an open purchase of that sum": {
			since: happenings{authorize(20), authorize(10), settle(20, 10)}, delta: 10, with: holds, without: holds, left: 10, unknown: stop, honours: key,
		},
		"a settlement before the purchase that it may not end": {
			before: happenings{settle(0, 5)}, since: happenings{authorize(20), settle(20, 22)}, delta: 40, without: holds, unknown: send, honours: send,
		},
		"more settled than the card held":               {since: happenings{authorize(150), settle(150, 230)}, delta: 40, without: holds, unknown: send, honours: send},
		"as much settled elsewhere as would explain it": {before: happenings{authorize(10)}, since: happenings{elsewhere(reconcile.Settlement, 7, 3)}, delta: 40, left: 10, unknown: send, honours: stop},
		"less settled than held, and the card is not empty by it": {
			since: happenings{authorize(250), settle(250, 240), give(40)}, delta: -30, left: 80, unknown: send, honours: send,
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
		"a foreign purchase": {since: happenings{unclear(reconcile.Authorization, -9)}, delta: 40, left: -9, unknown: send, honours: send},
		"a killed fund and a foreign purchase of nothing": {
			since: happenings{give(40), unclear(reconcile.Authorization, 0)}, delta: 40, with: released, left: 40, unknown: stop, honours: key,
		},
		"a foreign refund":                     {since: happenings{unclear(reconcile.Refund, 9)}, delta: 40, left: 9, unknown: stop, honours: key},
		"a foreign refund, and a withdrawal":   {since: happenings{unclear(reconcile.Refund, 9)}, delta: -40, left: 9, unknown: send, honours: send},
		"a foreign purchase, and a withdrawal": {since: happenings{unclear(reconcile.Settlement, -9)}, delta: -40, left: -9, unknown: stop, honours: key},
		"a foreign decline":                    {since: happenings{unclear(reconcile.Decline, 0)}, delta: 40, without: holds, unknown: send, honours: send},
		"an unknown type":                      {since: happenings{unclear(reconcile.Other, 0)}, delta: 40, without: holds, unknown: stop, honours: key},
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
		if e.With != test.with || e.Without != test.without || e.Left != test.left*dollar {
			t.Errorf("%s: with %d, without %d, left %s", name, e.With, e.Without, e.Left)
		}
		for honoured, want := range map[bool]reconcile.Verdict{false: test.unknown, true: test.honours} {
			d := reconcile.Decide(reconcile.BeforeSending, e, reconcile.Movement{Delta: test.delta * dollar}, reconcile.Policy{KeysHonoured: honoured, Waited: true})
			if d.Verdict != want {
				t.Errorf("%s, honoured %t: %+v", name, honoured, d)
			}
		}
	}
}

// An anchor that was taken by reading the balance alone tells events by their
// time. What came within seconds of it may be in its balance or not.
func TestAnchorOfATime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given       usd.Amount
		counted     bool // what came within seconds of the anchor is in its balance
		with, wants reconcile.Rank
	}{
		"as it was":                      {0, false, none, holds},
		"as it was, counted already":     {0, true, none, holds},
		"a killed fund":                  {40, false, holds, none},
		"a killed fund, counted already": {40, true, holds, none},
	} {
		a := newAccount(100 * dollar)
		a.authorize(3 * dollar)
		a.later(time.Minute)
		anchored := a.balance
		at := a.now
		a.later(2 * time.Second)
		a.authorize(5 * dollar)
		if test.counted {
			anchored = a.balance
		}
		anchor := reconcile.ImportedRecord(anchored, at).Anchor
		a.later(time.Minute)
		a.authorize(7 * dollar)
		a.give(test.given * dollar)
		if e := reconcile.Explain(anchor, a.snapshot(), 40*dollar); e.With != test.with || e.Without != test.wants {
			t.Errorf("%s: with %d, without %d, left %s", name, e.With, e.Without, e.Left)
		}
	}
}

// The side of an anchor on which an event lies.
func TestSideOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	known := reconcile.Snapshot{At: at, Events: []reconcile.Event{{ID: "known", At: at.Add(-time.Hour)}}}.Anchor()
	imported, issued := reconcile.ImportedRecord(0, at).Anchor, reconcile.IssuedRecord(0, at).Anchor
	for name, test := range map[string]struct {
		anchor *reconcile.Anchor
		id     string
		after  time.Duration
		want   reconcile.Side
	}{
		"known":                           {known, "known", time.Hour, reconcile.Before},
		"later":                           {known, "other", 5*time.Second + 1, reconcile.Since},
		"at that moment":                  {known, "other", 5 * time.Second, reconcile.Around},
		"listed late":                     {known, "other", -time.Hour, reconcile.Around},
		"before an import":                {imported, "other", time.Second, reconcile.Before},
		"at an import":                    {imported, "other", time.Second + 1, reconcile.Around},
		"after an import":                 {imported, "other", 6*time.Second + 1, reconcile.Since},
		"on a card that was issued later": {issued, "other", -time.Hour, reconcile.Since},
	} {
		if got := test.anchor.SideOf(reconcile.Event{ID: test.id, At: at.Add(test.after)}); got != test.want {
			t.Errorf("%s: side %d", name, got)
		}
	}
	if imported.SideOf(reconcile.Event{ID: "without a time"}) != reconcile.Around {
		t.Error("an event without a time is on a side")
	}
}

// A list that cannot be read stops once. While it stays so, the balance decides.
func TestUnreadableList(t *testing.T) {
	t.Parallel()
	a := newAccount(100 * dollar)
	a.authorize(7 * dollar)
	record := reconcile.Record{Anchor: a.snapshot().Anchor()}
	read := func(unclear string) reconcile.Snapshot {
		s := a.snapshot()
		if s.Unclear = unclear; unclear != "" {
			s.Events = nil
		}
		return s
	}
	e := reconcile.Explain(record.Anchor, read("forbidden"), 40*dollar)
	if e.Hidden != "forbidden" || e.Ignored != "forbidden" || e.With != none {
		t.Fatalf("%+v", e)
	}
	stopped := record.Stopped(read("forbidden"), e)
	if partly := (reconcile.Snapshot{Unclear: "too many", Events: a.snapshot().Events}).Anchor(); !partly.Listed {
		t.Error("what was read of a list is not known")
	}
	for given, want := range map[usd.Amount][2]reconcile.Rank{0: {none, settled}, 40: {settled, none}, -9: {none, none}} {
		a.give(given * dollar)
		e := reconcile.Explain(stopped.Anchor, read("forbidden"), 40*dollar)
		if e.Hidden != "" || e.Ignored != "" || e.With != want[0] || e.Without != want[1] || want[0] == none && want[1] == none && e.Left != given*dollar {
			t.Errorf("with %s more: %+v", given, e)
		}
		a.give(-given * dollar)
	}
	if e := reconcile.Explain(stopped.Anchor, read(""), 40*dollar); e.Hidden != "" || e.Without != holds {
		t.Errorf("read again: %+v", e)
	}
	s := a.snapshot()
	for _, events := range [][]reconcile.Event{nil, {{ID: "late", Kind: reconcile.Authorization, At: s.At.Add(-time.Hour)}}} {
		if s.Events = events; reconcile.Explain(record.Anchor, s, 40*dollar).Hidden == "" {
			t.Errorf("a list that lost its transactions, and has %v", events)
		}
	}
	s.Events = []reconcile.Event{{ID: "late", At: s.At.Add(2 * time.Second)}}
	if e := reconcile.Explain(reconcile.ImportedRecord(s.Balance, s.At).Anchor, s, 40*dollar); e.Hidden == "" {
		t.Errorf("an unknown type that may be newer: %+v", e)
	}
}

// Parts of a cent are a tolerance, and no reason to stop.
func TestFractions(t *testing.T) {
	t.Parallel()
	for by, want := range map[usd.Amount]reconcile.Rank{-3: none, -2: holds, 0: holds, 2: holds, 3: none} {
		a := newAccount(100 * dollar)
		anchor := a.snapshot().Anchor()
		a.later(time.Hour)
		a.happen(reconcile.Event{Kind: reconcile.Authorization, Amount: 7 * dollar, Fraction: true}, -7*dollar+by)
		if e := reconcile.Explain(anchor, a.snapshot(), 40*dollar); e.Without != want || e.Hidden != "" {
			t.Errorf("%s off: %+v", by, e)
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
		if e := reconcile.Explain(anchor, s, 50*dollar); e.With != want[0] || e.Without != want[1] || given == 80 && e.Left != 20*dollar || e.Stale != (given == 0) {
			t.Errorf("with %s more: %+v", given, e)
		}
	}
}

// The likelier explanation counts, whichever is found first.
func TestLikeliestExplanation(t *testing.T) {
	t.Parallel()
	a := newAccount(100 * dollar)
	a.asSettled = true
	a.authorize(10 * dollar)
	anchor := a.snapshot().Anchor()
	a.later(time.Minute)
	a.happen(reconcile.Event{Kind: reconcile.Settlement, Amount: 7 * dollar, Merchant: "elsewhere"}, -7*dollar)
	if e := reconcile.Explain(anchor, a.snapshot(), 40*dollar); e.Without < settled {
		t.Errorf("%+v", e)
	}
}

// What is listed late, behind what the anchor knows, may be in its balance or not.
func TestListedLate(t *testing.T) {
	t.Parallel()
	a := newAccount(100 * dollar)
	a.authorize(10 * dollar)
	anchor := a.snapshot().Anchor()
	for _, given := range []usd.Amount{0, -25 * dollar} {
		a.give(given)
		s := a.snapshot()
		s.Events = append(s.Events, reconcile.Event{ID: "late", Kind: reconcile.Authorization, Amount: 25 * dollar, At: s.At.Add(-time.Hour)})
		if e := reconcile.Explain(anchor, s, 40*dollar); e.Without != holds {
			t.Errorf("with %s more: %+v", given, e)
		}
	}
}

// The ways in which settlements may end authorizations are bounded.
func TestManySettlements(t *testing.T) {
	t.Parallel()
	a := newAccount(100_000 * dollar)
	anchor := a.snapshot().Anchor()
	a.later(time.Minute)
	for i := range usd.Amount(500) {
		a.authorize(dollar + i)
	}
	for range 500 {
		a.settle(0, 3*dollar/2+usd.Cent/2)
	}
	if e := reconcile.Explain(anchor, a.snapshot(), 40*dollar); e.Hidden != "" {
		t.Errorf("%+v", e)
	}
}
