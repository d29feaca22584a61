package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
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
	all, page := a.snapshot(), a.snapshot()
	page.Events, page.More = page.Events[:10], true
	a.later(time.Hour)
	a.authorize(7 * dollar)
	s := a.snapshot()
	for _, listed := range [][]reconcile.Event{s.Events, s.Events[:2]} { // the second has but the newest that is known
		s.Events = listed
		for _, delta := range []usd.Amount{40 * dollar, -40 * dollar} {
			for _, anchor := range []*reconcile.Anchor{all.Anchor(), page.Anchor()} {
				check(t, fmt.Sprintf("%s by %d events", delta, len(listed)), reconcile.Explain(anchor, s, delta), told{without: holds})
			}
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
		record := moved(reconcile.RecordFrom(before), reconcile.Movement{Delta: test.last * dollar}, before)
		a.later(test.after)
		now := a.snapshot()
		now.Balance = test.shown * dollar
		if got := reconcile.Explain(record.Anchor, now, 5*dollar).Stale; got != test.want {
			t.Errorf("%s: stale is %t", name, got)
		}
	}
}

// The side of an anchor on which an event lies.
func TestSideOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	known := reconcile.Snapshot{At: at, Events: []reconcile.Event{{ID: "known", At: at.Add(-time.Hour)}}}.Anchor()
	none, unread := reconcile.Snapshot{At: at}.Anchor(), reconcile.Snapshot{At: at, Unclear: "x"}.Anchor()
	imported, issued := reconcile.ImportedRecord(0, at).Anchor, reconcile.IssuedRecord(0, at).Anchor
	for name, test := range map[string]struct {
		anchor *reconcile.Anchor
		id     string
		after  time.Duration
		want   reconcile.Side
	}{
		"known":                           {known, "known", time.Hour, reconcile.BeforeAnchor},
		"later":                           {known, "other", 5*time.Second + 1, reconcile.SinceAnchor},
		"at that moment":                  {known, "other", 5 * time.Second, reconcile.AroundAnchor},
		"listed late":                     {known, "other", -time.Hour, reconcile.AroundAnchor},
		"listed late, after none":         {none, "other", -time.Hour, reconcile.AroundAnchor},
		"before a list that was not read": {unread, "other", -time.Hour, reconcile.BeforeAnchor},
		"before an import":                {imported, "other", time.Second, reconcile.BeforeAnchor},
		"at an import":                    {imported, "other", time.Second + 1, reconcile.AroundAnchor},
		"after an import":                 {imported, "other", 6*time.Second + 1, reconcile.SinceAnchor},
		"on a card that was issued later": {issued, "other", -time.Hour, reconcile.SinceAnchor},
	} {
		if got := test.anchor.SideOf(reconcile.Event{ID: test.id, At: at.Add(test.after)}); got != test.want {
			t.Errorf("%s: side %d", name, got)
		}
	}
	if imported.SideOf(reconcile.Event{ID: "without a time"}) != reconcile.AroundAnchor {
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
	check(t, "a list that cannot be read", e, told{without: holds, hidden: "forbidden", ignored: "forbidden"})
	stopped := reconcile.Ask(record, reconcile.Movement{Delta: 40 * dollar}, waited(read("forbidden")), false).Record
	if partly := (reconcile.Snapshot{Unclear: "too many", Events: a.snapshot().Events}).Anchor(); !partly.Listed {
		t.Error("what was read of a list is not known")
	}
	for given, want := range map[usd.Amount][2]reconcile.Rank{0: {none, settled}, 40: {settled, none}, -9: {none, none}} {
		a.give(given * dollar)
		e := reconcile.Explain(stopped.Anchor, read("forbidden"), 40*dollar)
		check(t, fmt.Sprint(given, " more"), e, told{with: want[0], without: want[1], left: given * dollar})
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

// What is listed late, behind what the anchor knows, may be in its balance or not.
func TestListedLate(t *testing.T) {
	t.Parallel()
	for _, known := range []int{0, 1, 24} {
		a := newAccount(100 * dollar)
		for range known {
			a.authorize(dollar)
		}
		anchor := a.snapshot().Anchor()
		for _, given := range []usd.Amount{0, -25 * dollar} {
			a.give(given)
			s := a.snapshot()
			s.Events = append(s.Events, reconcile.Event{ID: "late", Kind: reconcile.Authorization, Amount: 25 * dollar, At: s.At.Add(-time.Hour)})
			if e := reconcile.Explain(anchor, s, 40*dollar); e.Without != holds {
				t.Errorf("behind %d, with %s more: %+v", known, given, e)
			}
		}
	}
}
