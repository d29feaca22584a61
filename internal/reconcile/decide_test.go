package reconcile_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// everyDecision yields all that Decide can tell apart. The card holds 100 USD.
func everyDecision(yield func(reconcile.Decision) bool) {
	const delta = 40 * dollar
	limit := func(a usd.Amount) *usd.Amount { return &a }
	rests := []usd.Amount{-delta - 1, -delta, -delta / 2, -delta/2 + 1, -1, 0, 1, delta/2 - 1, delta / 2, delta, delta + 1}
	ranks := []reconcile.Rank{none, released, settled, holds}
	ranges := []*reconcile.Range{
		nil,
		{Below: 60 * dollar, To: 150 * dollar},
		{Below: 60*dollar + 1, To: 150 * dollar},
		{Below: 100 * dollar, To: 150 * dollar},
		{Below: 141 * dollar, To: 150 * dollar},
		{Below: 101 * dollar, To: 140 * dollar},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(delta - 1)},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(delta)},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(2*delta - 1)},
		{Below: 101 * dollar, To: 140 * dollar, Limit: limit(2 * delta)},
	}
	movements := []reconcile.Movement{{Delta: delta}, {Delta: 1}, {Delta: -delta}, {Purpose: reconcile.ForTopUp, Delta: delta}}
	for moment := range reconcile.Answered + 1 {
		for number, rest := 0, 0; rest == 0; number++ {
			rest = number
			draw := func(of int) (i int) {
				i, rest = rest%of, rest/of
				return i
			}
			flip := func() bool { return draw(2) == 1 }
			explanation := func(rests ...usd.Amount) reconcile.Explanation {
				e := reconcile.Explanation{Balance: 100 * dollar, With: ranks[draw(len(ranks))], Without: ranks[draw(len(ranks))], Remainder: rests[draw(len(rests))]}
				e.MaxArrived = max(0, e.Remainder, usd.Amount(draw(2))*2*delta)
				return e
			}
			d := reconcile.Decision{Moment: moment, Movement: movements[draw(len(movements))]}
			d.Movement.Range = ranges[draw(len(ranges))]
			d.Card.Waited = flip()
			if moment == reconcile.Answered {
				d.Evidence, d.LongerEvidence = explanation(-1, 0, 1), explanation(0)
				d.Evidence.Echoed, d.KeySeenBefore = flip(), flip()
			} else {
				d.Evidence = explanation(rests...)
				d.KeysHonoured, d.RecordBefore.HasKey, d.Evidence.Recent = flip(), flip(), flip()
				if flip() {
					d.Evidence.Hidden = "an unknown type"
				}
			}
			switch d.Evidence.Delta = d.Movement.Delta; moment {
			case reconcile.BeforeSending:
				d.Evidence.Stale, d.Evidence.Undone, d.Evidence.Refunded = flip(), flip(), usd.Amount(draw(2))*dollar
			case reconcile.WhilePending, reconcile.AnswerLost:
				d.RecordBefore.Pending = &reconcile.Pending{Answered: flip()}
			}
			isCapped := d.Movement.Range != nil && d.Movement.Range.Limit != nil // that is for top-ups alone
			if rest == 0 && (!isCapped || d.Movement.Purpose == reconcile.ForTopUp) && !yield(d) {
				return
			}
		}
	}
}

// facts are what a decision depends on, in the words of the table.
type facts struct {
	keys, kept                 bool // the service counts this key once, and still has those since the anchor
	made, either, withTopUp    bool
	pastCap, notDue, intoRange bool
	sameWay, half              bool
	answered                   bool
	shown, shownBefore         bool
}

func factsOf(d reconcile.Decision) (f facts) {
	e, m := d.Evidence, d.Movement
	f.keys = d.KeysHonoured && d.RecordBefore.HasKey
	f.kept = f.keys && e.Recent
	f.made = (e.With == holds || e.With == settled) && e.Without == none && e.Hidden == ""
	withTopUp := func(e reconcile.Explanation) bool {
		before := e.Balance - e.MaxArrived - e.Refunded
		return m.Range != nil && m.Purpose == reconcile.ForAmount && m.Delta > 0 && e.MaxArrived > m.Delta && before+m.Delta < m.Range.Below && e.Without != holds
	}
	f.withTopUp = withTopUp(e)
	f.either = f.withTopUp || e.Without == none && e.With == released ||
		e.Without != none && e.With != none && (e.With >= e.Without || m.Delta > 0 && e.With != released)
	f.sameWay = e.Remainder > 0 && m.Delta > 0 || e.Remainder < 0 && m.Delta < 0
	f.half = m.Delta > 0 && 2*e.MaxArrived >= m.Delta || m.Delta < 0 && -2*e.Remainder >= -m.Delta
	f.answered = d.RecordBefore.Pending != nil && d.RecordBefore.Pending.Answered
	shows := func(e reconcile.Explanation) bool {
		return e.With != none && (e.With >= e.Without || e.With != released)
	}
	f.shown, f.shownBefore = shows(e), shows(d.LongerEvidence) || withTopUp(d.LongerEvidence)
	if r := m.Range; r != nil && m.Delta < 0 {
		f.intoRange = e.Balance+m.Delta < r.Below
	} else if r != nil && m.Purpose == reconcile.ForTopUp {
		f.notDue = e.Balance >= r.Below
		may := usd.Amount(0)
		if e.With != none || e.Without == none || e.Without == released {
			may = e.MaxArrived
		}
		if e.With != none && may < m.Delta {
			may = m.Delta
		}
		f.pastCap = r.Limit != nil && may+m.Delta > *r.Limit
	}
	return f
}

// What must never happen, whatever the table says.
func TestDecideNever(t *testing.T) {
	t.Parallel()
	for d := range everyDecision {
		f := factsOf(d)
		verdict, reason := reconcile.Decide(d)
		wrong := func(why string) { t.Fatalf("%s: %+v decides %d, %d", why, d, verdict, reason) }
		before := d.Moment == reconcile.BeforeSending
		switch verdict {
		case reconcile.Send:
			switch {
			case d.Moment == reconcile.Answered, f.answered:
				wrong("sent after a success")
			case d.Evidence.With != none && d.Evidence.Without == none:
				wrong("sent, though only the movement explains the balance")
			case d.Evidence.Without == none && !before:
				wrong("sent again, though nothing explains the balance without it")
			case before && f.half && d.Evidence.Without == none:
				wrong("sent, though half of it has come")
			case before && (d.Evidence.Stale || d.Evidence.Undone):
				wrong("sent by a card from before its last movement")
			case before && f.pastCap:
				wrong("sent past the cap, with what has come")
			case d.Evidence.Hidden != "":
				wrong("sent, though it may be what could not be read")
			case before && f.notDue:
				wrong("sent, though nothing is due")
			case before && f.either && !f.keys:
				wrong("sent, though it may have been made")
			case before && f.intoRange:
				wrong("withdrawn, though the next top-up would load it again")
			}
		case reconcile.SendKey:
			switch {
			case !f.kept:
				wrong("left to a key that decides nothing")
			case f.answered, !before && d.Moment != reconcile.WhilePending:
				wrong("sent under the key after it was sent")
			case before && (d.Evidence.Hidden != "" || f.made || !f.either):
				wrong("the key is asked where the readings know")
			case before && f.pastCap:
				wrong("sent past the cap, though it may not have been made")
			}
		case reconcile.Made:
			switch {
			case d.Moment != reconcile.Answered && !f.made:
				wrong("made, though it may not be")
			case d.Moment == reconcile.Answered && !f.shown && !f.shownBefore && !(f.sameWay && d.Evidence.Echoed):
				wrong("made, though nothing shows it")
			}
		case reconcile.Stop:
			if !before && !(d.Moment == reconcile.Answered && d.KeySeenBefore) {
				wrong("stopped after it was sent")
			}
		case reconcile.LookAgain:
			if d.Card.Waited {
				wrong("looked again for ever")
			}
		case reconcile.Undecided:
			if before {
				wrong("undecided")
			}
		}
		quiet := !d.Evidence.Stale && !d.Evidence.Undone && !f.answered && d.Evidence.Hidden == "" && d.Evidence.Without == holds && d.Evidence.With == none && !f.notDue && !f.intoRange && !f.pastCap
		if quiet && d.Moment != 0 && d.Moment != reconcile.Answered && verdict != reconcile.Send {
			wrong("a quiet world holds up the movement")
		}
		if verdict != reconcile.Undecided && reason == reconcile.NoReason {
			wrong("no reason")
		}
	}
}

// Zero values decide nothing, or that nothing is sent.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	for _, moment := range []reconcile.Moment{0, reconcile.Answered + 1} {
		d := reconcile.Decision{Moment: moment, Evidence: reconcile.Explanation{Without: holds}, Movement: reconcile.Movement{Delta: dollar}}
		if verdict, reason := reconcile.Decide(d); verdict != reconcile.Undecided || reason != reconcile.NoReason {
			t.Errorf("moment %d decides %d", moment, verdict)
		}
	}
	if e := (reconcile.Event{}); e.Kind != reconcile.Other || (&reconcile.Anchor{Listed: true}).SideOf(e) != reconcile.AroundAnchor {
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
	fits                []func(reconcile.Decision, facts) bool
	reason              reconcile.Reason
	used                int
}

// words are those of the first three columns.
var words = map[string]func(reconcile.Decision, facts) bool{
	"before":  func(d reconcile.Decision, _ facts) bool { return d.Moment == reconcile.BeforeSending },
	"pending": func(d reconcile.Decision, _ facts) bool { return d.Moment == reconcile.WhilePending },
	"pending, lost": func(d reconcile.Decision, _ facts) bool {
		return d.Moment == reconcile.WhilePending || d.Moment == reconcile.AnswerLost
	},
	"answered": func(d reconcile.Decision, _ facts) bool { return d.Moment == reconcile.Answered },

	"made":                      func(_ reconcile.Decision, f facts) bool { return f.made },
	"stale or undone, not made": func(d reconcile.Decision, f facts) bool { return (d.Evidence.Stale || d.Evidence.Undone) && !f.made },
	"a top-up that is not due":  func(_ reconcile.Decision, f facts) bool { return f.notDue },
	"a top-up over the cap":     func(_ reconcile.Decision, f facts) bool { return f.pastCap },
	"hidden":                    func(d reconcile.Decision, _ facts) bool { return d.Evidence.Hidden != "" },
	"either":                    func(_ reconcile.Decision, f facts) bool { return f.either },
	"either, *without* 1 or more and not lower, not into the range": func(d reconcile.Decision, f facts) bool {
		return f.either && d.Evidence.Without != none && d.Evidence.With <= d.Evidence.Without && !f.intoRange
	},
	"a withdrawal into the range of top-ups":       func(_ reconcile.Decision, f facts) bool { return f.intoRange },
	"explained without it, if a hold was released": func(d reconcile.Decision, _ facts) bool { return d.Evidence.Without == released },
	"explained without it":                         func(d reconcile.Decision, _ facts) bool { return d.Evidence.Without != none },
	"half of it left over":                         func(_ reconcile.Decision, f facts) bool { return f.half },
	"explained only without it, unanswered": func(d reconcile.Decision, f facts) bool {
		return d.Evidence.Without != none && d.Evidence.With == none && d.Evidence.Hidden == "" && !f.answered
	},
	"unanswered":                             func(_ reconcile.Decision, f facts) bool { return !f.answered },
	"shown":                                  func(_ reconcile.Decision, f facts) bool { return f.shown },
	"shown since before it was sent":         func(_ reconcile.Decision, f facts) bool { return f.shownBefore },
	"left over in its direction, and echoed": func(d reconcile.Decision, f facts) bool { return f.sameWay && d.Evidence.Echoed },
	"its key was seen before":                func(d reconcile.Decision, _ facts) bool { return d.KeySeenBefore },
	"anything":                               func(reconcile.Decision, facts) bool { return true },

	"any":      func(reconcile.Decision, facts) bool { return true },
	"kept":     func(_ reconcile.Decision, f facts) bool { return f.kept },
	"honoured": func(_ reconcile.Decision, f facts) bool { return f.keys },
}

// The table that people read is the one that the code follows.
func TestTableOfContributing(t *testing.T) {
	t.Parallel()
	table := contributingTable(t)
	for d := range everyDecision {
		if d.Moment == 0 {
			continue
		}
		f := factsOf(d)
		verdict, reason := reconcile.Decide(d)
		number := slices.IndexFunc(table, func(r *row) bool {
			return !slices.ContainsFunc(r.fits, func(fits func(reconcile.Decision, facts) bool) bool { return !fits(d, f) })
		})
		if number < 0 {
			t.Fatalf("no row for %+v", d)
		}
		r := table[number]
		want := r.first
		if d.Card.Waited {
			want = r.then
		}
		if verdict != want {
			t.Fatalf("row %d (%s, %s, keys %s) says %d of %+v, which decides %d", number+1, r.moment, r.shown, r.keys, want, d, verdict)
		}
		if r.used++; r.used > 1 && reason != r.reason {
			t.Fatalf("row %d (%s, %s, keys %s) has the reasons %d and %d", number+1, r.moment, r.shown, r.keys, r.reason, reason)
		}
		r.reason = reason
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
	if len(table) == 0 || len(table) > 22 {
		t.Fatalf("the table of CONTRIBUTING has %d rows", len(table))
	}
	return table
}
