package reconcile_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// question is one thing to be decided.
type question struct {
	moment reconcile.Moment
	e      reconcile.Explanation
	m      reconcile.Movement
	p      reconcile.Policy
}

// everyQuestion yields all that Decide can tell apart. The card holds 100 USD.
func everyQuestion(yield func(question) bool) {
	const delta = 40 * dollar
	limit := func(a usd.Amount) *usd.Amount { return &a }
	rests := []usd.Amount{-delta - 1, -delta, -delta*9/10 + 1, -1, 0, 1, delta*9/10 - 1, delta * 9 / 10, delta, delta + 1}
	ranks := []reconcile.Rank{none, released, settled, holds}
	ranges := []*reconcile.Range{
		nil,
		{Below: 60 * dollar, To: 150 * dollar},
		{Below: 60*dollar + 1, To: 150 * dollar},
		{Below: 100 * dollar, To: 150 * dollar},
		{Below: 101 * dollar, To: 139 * dollar},
		{Below: 141 * dollar, To: 150 * dollar},
		{Below: 101 * dollar, To: 140 * dollar},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(delta - 1)},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(delta)},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(2*delta - 1)},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(2 * delta)},
	}
	movements := []reconcile.Movement{{Delta: delta}, {Delta: 1}, {Delta: -delta}, {Purpose: reconcile.ForTopUp, Delta: delta}}
	for number := 0; ; number++ {
		rest := number
		draw := func(of int) (i int) {
			i, rest = rest%of, rest/of
			return i
		}
		flip := func() bool { return draw(2) == 1 }
		q := question{moment: reconcile.Moment(draw(5)), m: movements[draw(len(movements))]}
		q.m.Range = ranges[draw(len(ranges))]
		q.p = reconcile.Policy{KeysHonoured: flip(), Waited: flip(), OtherKey: flip()}
		q.e = reconcile.Explanation{
			Anchored: flip(), Stale: flip(), Recent: flip(), Echoed: flip(), Balance: 100 * dollar, Delta: q.m.Delta,
			With: ranks[draw(len(ranks))], Without: ranks[draw(len(ranks))], Left: rests[draw(len(rests))],
		}
		q.e.Came = max(0, q.e.Left, usd.Amount(draw(2))*2*delta)
		q.e.Refunded = usd.Amount(draw(2)) * dollar
		if flip() {
			q.e.Hidden = "an unknown type"
		}
		isCapped := q.m.Range != nil && q.m.Range.Limit != nil // that is for top-ups alone
		if rest > 0 || (!isCapped || q.m.Purpose == reconcile.ForTopUp) && !yield(q) {
			return
		}
	}
}

// facts is what a question comes to, in the words of the table.
type facts struct {
	kept                         bool // the service still has the keys since the anchor
	keys                         bool // it counts this one once
	made, both, held, withTopUp  bool
	afterTopUp                   bool
	pastCap, notDue, intoRange   bool
	sameWay, asMuch, safeInRange bool
}

func (q question) facts() (f facts) {
	e, delta := q.e, q.m.Delta
	f.kept = q.p.KeysHonoured && e.Recent
	f.keys = f.kept && !q.p.OtherKey
	f.made = (e.With == holds || e.With == settled) && e.Without == none
	f.held = e.With == released && e.Without == none
	r := q.m.Range
	f.withTopUp = r != nil && q.m.Purpose == reconcile.ForAmount && delta > 0 && e.Came > delta && e.Balance-e.Came-e.Refunded+delta < r.Below && e.Without != holds
	f.afterTopUp = r != nil && q.m.Purpose == reconcile.ForAmount && delta > 0 && e.Came > delta && e.Balance-e.Came-e.Refunded < r.Below
	f.both = e.Without != none && (f.withTopUp || e.With != none && (e.With >= e.Without || delta > 0 && e.With != released))
	f.sameWay = e.Left > 0 && delta > 0 || e.Left < 0 && delta < 0
	f.asMuch = f.sameWay && (10*e.Left >= 9*delta && delta > 0 || 10*e.Left <= 9*delta && delta < 0)
	if r != nil && delta < 0 {
		f.intoRange = e.Balance+delta < r.Below
	} else if r != nil && q.m.Purpose == reconcile.ForTopUp {
		f.notDue = e.Balance >= r.Below
		may := usd.Amount(0)
		if e.With != none || e.Without == none || e.Without == released {
			may = e.Came
		}
		if e.With != none && may < delta {
			may = delta
		}
		f.pastCap = r.Limit != nil && may+delta > *r.Limit
		f.safeInRange = e.Balance+delta <= r.To && !f.pastCap
	}
	return f
}

// What must never happen, whatever the table says.
func TestDecideNever(t *testing.T) {
	t.Parallel()
	for q := range everyQuestion {
		d, f := reconcile.Decide(q.moment, q.e, q.m, q.p), q.facts()
		wrong := func(why string) { t.Fatalf("%s: %+v decides %+v", why, q, d) }
		before := q.moment == reconcile.BeforeSending
		switch d.Verdict {
		case reconcile.Send:
			switch {
			case q.moment == reconcile.Answered:
				wrong("sent after a success")
			case (f.made || f.held) && !(before && f.safeInRange):
				wrong("sent, though only the movement explains the balance")
			case q.e.Without == none && !before:
				wrong("sent again, though nothing explains the balance without it")
			case before && !q.e.Anchored:
				wrong("sent without an anchor")
			case (f.asMuch || f.afterTopUp) && q.e.Without == none && !f.safeInRange:
				wrong("sent, though as much has come")
			case before && f.pastCap:
				wrong("sent past the cap, with what has come")
			case f.sameWay && f.kept && q.e.Without == none && !f.safeInRange:
				wrong("sent under another key, though something has come")
			case q.e.Hidden != "" && !(before && f.safeInRange):
				wrong("sent, though it may be what could not be read")
			case before && f.notDue:
				wrong("sent, though nothing is due")
			case before && f.withTopUp && !q.p.KeysHonoured:
				wrong("sent, though a top-up may have been made after it")
			case before && f.intoRange:
				wrong("withdrawn, though the next top-up would load it again")
			}
		case reconcile.SendKey:
			switch {
			case !f.keys && !(q.moment == reconcile.WhilePending && f.kept && q.e.With == none && !f.sameWay && q.e.Hidden == ""):
				wrong("left to a key that decides nothing")
			case q.moment != reconcile.BeforeSending && q.moment != reconcile.WhilePending:
				wrong("sent under the key after it was sent")
			case before && !q.e.Anchored:
				wrong("sent without an anchor")
			case before && f.pastCap:
				wrong("sent past the cap, though it may not have been made")
			}
		case reconcile.Made:
			isExplained := q.e.With != none
			switch {
			case q.moment != reconcile.Answered && !f.made:
				wrong("made, though it may not be")
			case q.moment == reconcile.Answered && !isExplained && !(f.sameWay && q.e.Echoed):
				wrong("made, though nothing shows it")
			case before && f.keys:
				wrong("made, though the key would tell")
			}
		case reconcile.Stop:
			if q.moment != reconcile.BeforeSending && q.moment != reconcile.Answered {
				wrong("stopped after a lost answer")
			}
		case reconcile.LookAgain:
			if q.p.Waited {
				wrong("looked again for ever")
			}
		case reconcile.Undecided:
			if before || q.moment == reconcile.Answered {
				wrong("undecided")
			}
		}
		quiet := q.e.Anchored && !q.e.Stale && q.e.Hidden == "" && q.e.Without == holds && q.e.With == none && !f.notDue && !f.intoRange && !f.pastCap
		if quiet && q.moment != 0 && q.moment != reconcile.Answered && d.Verdict != reconcile.Send && d.Reason != reconcile.KeyDecides {
			wrong("a quiet world holds up the movement")
		}
		if d.Reason == reconcile.LeftOver && q.m.Delta > 0 && !f.withTopUp && 10*q.m.Found(q.e, d.Reason) < 9*q.m.Delta && !(f.sameWay && f.kept) {
			wrong("does not say what came")
		}
		if d.Verdict != reconcile.Undecided && d.Reason == reconcile.NoReason {
			wrong("no reason")
		}
	}
}

// Zero values decide nothing, or that nothing is sent.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	for _, moment := range []reconcile.Moment{0, reconcile.Answered + 1} {
		e := reconcile.Explanation{Anchored: true, Without: holds}
		if d := reconcile.Decide(moment, e, reconcile.Movement{Delta: dollar}, reconcile.Policy{}); d != (reconcile.Decision{}) {
			t.Errorf("moment %d decides %+v", moment, d)
		}
	}
	if e := (reconcile.Event{}); e.Kind != reconcile.Other || (&reconcile.Anchor{Listed: true}).SideOf(e) != reconcile.Around {
		t.Error("an empty event is on a side")
	}
	if r := (reconcile.Record{}); r.Anchor != nil || reconcile.ParseRecord("card", "").Anchor != nil {
		t.Error("an empty record knows something")
	}
}

// row is one of the table in CONTRIBUTING, and what its words mean.
type row struct {
	moment, shown, keys string
	first, then         reconcile.Verdict
	fits                []func(question, facts) bool
	reason              reconcile.Reason
	used                int
}

// words are those of the first three columns.
var words = map[string]func(question, facts) bool{
	"before":  func(q question, _ facts) bool { return q.moment == reconcile.BeforeSending },
	"pending": func(q question, _ facts) bool { return q.moment == reconcile.WhilePending },
	"pending, lost": func(q question, _ facts) bool {
		return q.moment == reconcile.WhilePending || q.moment == reconcile.AnswerLost
	},
	"answered": func(q question, _ facts) bool { return q.moment == reconcile.Answered },

	"no anchor":                                func(q question, _ facts) bool { return !q.e.Anchored },
	"stale, until the wait is over":            func(q question, _ facts) bool { return q.e.Stale && !q.p.Waited },
	"a top-up that is not due":                 func(_ question, f facts) bool { return f.notDue },
	"a withdrawal into the range of top-ups":   func(_ question, f facts) bool { return f.intoRange },
	"explained, and into the range of top-ups": func(q question, f facts) bool { return q.e.Without != none && f.intoRange },
	"a top-up within `to` and the cap":         func(_ question, f facts) bool { return f.safeInRange },
	"hidden":                                   func(q question, _ facts) bool { return q.e.Hidden != "" },
	"made":                                     func(_ question, f facts) bool { return f.made },
	"both":                                     func(_ question, f facts) bool { return f.both },
	"held":                                     func(_ question, f facts) bool { return f.held },
	"made, both or held":                       func(_ question, f facts) bool { return f.made || f.both || f.held },
	"both, *with* not higher, not into the range": func(q question, f facts) bool {
		return f.both && q.e.With <= q.e.Without && !f.intoRange
	},
	"explained without it":                         func(q question, _ facts) bool { return q.e.Without != none },
	"explained without it, if a hold was released": func(q question, _ facts) bool { return q.e.Without == released },
	"explained without it alone":                   func(q question, _ facts) bool { return q.e.Without != none && q.e.With == none },
	"explained with it as well as without": func(q question, _ facts) bool {
		return q.e.With != none && (q.e.With >= q.e.Without || q.e.With != released)
	},
	"left over, not the same way":                 func(q question, f facts) bool { return q.e.With == none && !f.sameWay },
	"left over, the same way":                     func(_ question, f facts) bool { return f.sameWay },
	"left over, the same way, nearly as much":     func(_ question, f facts) bool { return f.asMuch },
	"left over, with or after a top-up":           func(_ question, f facts) bool { return f.afterTopUp },
	"a top-up past the cap":                       func(_ question, f facts) bool { return f.pastCap },
	"left over, the same way, and the answer too": func(q question, f facts) bool { return f.sameWay && q.e.Echoed },
	"anything": func(question, facts) bool { return true },

	"any":      func(question, facts) bool { return true },
	"decide":   func(_ question, f facts) bool { return f.keys },
	"kept":     func(_ question, f facts) bool { return f.kept },
	"honoured": func(q question, _ facts) bool { return q.p.KeysHonoured && !q.p.OtherKey },
}

// The table that people read is the one that the code follows.
func TestTableOfContributing(t *testing.T) {
	t.Parallel()
	table := contributingTable(t)
	for q := range everyQuestion {
		if q.moment == 0 {
			continue
		}
		d, f := reconcile.Decide(q.moment, q.e, q.m, q.p), q.facts()
		number := slices.IndexFunc(table, func(r *row) bool {
			return !slices.ContainsFunc(r.fits, func(fits func(question, facts) bool) bool { return !fits(q, f) })
		})
		if number < 0 {
			t.Fatalf("no row for %+v", q)
		}
		r := table[number]
		want := r.first
		if q.p.Waited {
			want = r.then
		}
		if d.Verdict != want {
			t.Fatalf("row %d (%s, %s, keys %s) says %d of %+v, which decides %+v", number+1, r.moment, r.shown, r.keys, want, q, d)
		}
		if r.used++; r.used > 1 && d.Reason != r.reason {
			t.Fatalf("row %d (%s, %s, keys %s) has the reasons %d and %d", number+1, r.moment, r.shown, r.keys, r.reason, d.Reason)
		}
		r.reason = d.Reason
	}
	for number, r := range table {
		if r.used == 0 {
			t.Errorf("row %d (%s, %s, keys %s) is never reached", number+1, r.moment, r.shown, r.keys)
		}
	}
}

func contributingTable(t *testing.T) (table []*row) {
	t.Helper()
	text, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]reconcile.Verdict{
		"**undecided**": reconcile.Undecided, "look again": reconcile.LookAgain, "**stop**": reconcile.Stop,
		"**made**": reconcile.Made, "**send**": reconcile.Send, "**send, the key decides**": reconcile.SendKey,
	}
	inTable := false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) != 7:
			inTable = false
		case cells[1] == "moment":
			inTable = true
		case inTable && !strings.HasPrefix(cells[1], "--"):
			r := &row{moment: cells[1], shown: cells[2], keys: cells[3]}
			for _, word := range cells[1:4] {
				if words[word] == nil {
					t.Fatalf("the table says %q, which this test does not know", word)
				}
				r.fits = append(r.fits, words[word])
			}
			var first, then bool
			r.first, first = verdicts[cells[4]]
			r.then, then = verdicts[cells[5]]
			if !first || !then {
				t.Fatalf("the table decides %q and %q, which this test does not know", cells[4], cells[5])
			}
			table = append(table, r)
		}
	}
	if len(table) == 0 {
		t.Fatal("CONTRIBUTING has no table")
	}
	return table
}
