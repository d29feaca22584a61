package reconcile_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// largest is a record with all that it may hold.
func largest() reconcile.Record {
	a := newAccount(usd.Max)
	for range 100 {
		a.happen(reconcile.Event{}, 0)
	}
	at := a.now
	r := reconcile.Record{Anchor: a.snapshot().Anchor(), Seed: reconcile.Seed{1, 2, 3, 4, 5, 6, 7, 8}, HasKey: true}
	r.Anchor.Last, r.Anchor.Unclear, r.Anchor.New = -usd.Max, true, true
	r.TopUps = reconcile.TopUps{Month: reconcile.MonthOf(at), Sum: reconcile.Unknown}
	r.Pending = &reconcile.Pending{Purpose: reconcile.ForTopUp, Delta: usd.Max, LoadedBefore: usd.Max, SentAt: at, Answered: true}
	return r
}

func records() map[string]reconcile.Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pending := reconcile.ImportedRecord(0, at)
	pending.Pending = &reconcile.Pending{Delta: -40 * dollar, LoadedBefore: 140 * dollar, SentAt: at}
	return map[string]reconcile.Record{
		"lost": {}, "issued": reconcile.IssuedRecord(100*dollar, at), "imported": reconcile.ImportedRecord(100*dollar, at),
		"pending": pending, "largest": largest(), "without an anchor": {Seed: reconcile.Seed{1}},
	}
}

func TestRecordText(t *testing.T) {
	t.Parallel()
	for name, r := range records() {
		text := r.Text("card_1")
		if got := reconcile.ParseRecord("card_1", text); !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %s is read as %+v, and was %+v", name, text, got, r)
		}
		if len(text) > 240 || strings.ContainsAny(text, "+/= \n\"") {
			t.Errorf("%s: %d characters: %s", name, len(text), text)
		}
	}
	// States have such texts, and a run that is repeated by a later version has the same keys.
	r := largest()
	after := r.Refused(reconcile.Snapshot{Balance: 1})
	got := fmt.Sprintln(r.Text("card_1"), r.Key("card_1", r.Pending.Movement()), after.Text("card_1"))
	if kept, err := os.ReadFile("testdata/record.txt"); err != nil || got != string(kept) {
		t.Errorf("%v: the largest record is\n%s", err, got)
	}
}

// What is damaged, cut off, of another card or of another version is a damaged record.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	lost := func(what, card, text string) {
		if got := reconcile.ParseRecord(card, text); !reflect.DeepEqual(got, reconcile.Record{}) {
			t.Errorf("%s: %q is read as %+v", what, text, got)
		}
	}
	for name, r := range records() {
		text := r.Text("card_1")
		lost(name+" of another card", "card_2", text)
		lost(name+" of the next version", "card_1", "c"+text[1:])
		lost(name+" with a line end", "card_1", text+"\n")
		lost(name+" and more", "card_1", text+"AAAA")
		for i := range text {
			lost(name+" cut off", "card_1", text[:i])
			for _, other := range []string{"A", "B", "_", " ", "\n", "é"} {
				if other != text[i:i+1] {
					lost(fmt.Sprintf("%s with another byte %d", name, i), "card_1", text[:i]+other+text[i+1:])
				}
			}
		}
	}
	for _, text := range []string{"", "b", "bAAAA", "b" + strings.Repeat("A", 300), "{}"} {
		lost("no record", "card_1", text)
	}
}

// FuzzParseRecord feeds it whole texts and, since a check sum guards those, bodies
// under a right one.
func FuzzParseRecord(f *testing.F) {
	for _, r := range records() {
		text := r.Text("card_1")
		data, err := base64.RawURLEncoding.DecodeString(text[1:])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, data[4:])
	}
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		sum := sha256.Sum256(append([]byte("card_1\x00"), body...)) // of which the first four bytes guard the body
		checked := "b" + base64.RawURLEncoding.EncodeToString(append(sum[:4], body...))
		for _, text := range []string{text, checked} {
			if r := reconcile.ParseRecord("card_1", text); !reflect.DeepEqual(r, reconcile.Record{}) && r.Text("card_1") != text {
				t.Errorf("%q is read as %+v, which is %q", text, r, r.Text("card_1"))
			}
		}
	})
}

// What becomes of a record.
func TestTransitions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 31, 23, 59, 0, 0, time.UTC)
	march, april := reconcile.MonthOf(at), reconcile.MonthOf(at.Add(time.Hour))
	was := reconcile.IssuedRecord(100*dollar, at)
	was.TopUps = reconcile.TopUps{Month: march, Sum: 20 * dollar}
	s := reconcile.Snapshot{Balance: 150 * dollar, At: at, Events: []reconcile.Event{{ID: "txn_1", Kind: reconcile.Decline, At: at}}}
	next := s
	next.At = at.Add(time.Hour)
	fund := reconcile.Movement{Delta: 40 * dollar, LoadedBefore: 100 * dollar}
	topUp := reconcile.Movement{Purpose: reconcile.ForTopUp, Delta: 40 * dollar, LoadedBefore: 100 * dollar}
	raise := fund
	raise.TopUp, raise.Range = 10*dollar, &reconcile.Range{Below: 150 * dollar, To: 150 * dollar}
	withdrawal := reconcile.Movement{Delta: -40 * dollar, LoadedBefore: 100 * dollar}
	by := func(r reconcile.Record, m reconcile.Movement, card reconcile.Snapshot) reconcile.Decision {
		return reconcile.Ask(r, m, waited(card), true)
	}
	withoutKeys := func(r reconcile.Record, m reconcile.Movement, card reconcile.Snapshot) reconcile.Decision {
		return reconcile.Ask(r, m, waited(card), false)
	}
	quiet, foreign := s, s // in which 50 USD came
	quiet.Balance = 100 * dollar
	quietNext, shown, made := next, next, s
	quietNext.Balance, shown.Balance, made.Balance = 100*dollar, 140*dollar, 140*dollar
	beside := shown // what an action has moved as well
	beside.Balance, beside.MovedByOtherCalls = 165*dollar, 25*dollar
	gone := quiet
	gone.Balance = 90 * dollar
	sent := by(was, topUp, quiet)
	open := sent.Record
	funded := by(was, fund, quiet)
	byKey := by(was, raise, foreign)
	more, less := shown, shown
	more.Balance, less.Balance = 145*dollar, 135*dollar
	for _, card := range []*reconcile.Snapshot{&more, &less} {
		card.AnsweredBalance = &card.Balance
	}
	for name, test := range map[string]struct {
		got           reconcile.Record
		balance, last usd.Amount // of the anchor
		keepsSeed     bool
		noKey         bool
		topUps        reconcile.TopUps
		pending       bool
		answered      bool
	}{
		"stopped":               {got: by(was, fund, foreign).Record, balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"stopped, topped up?":   {got: withoutKeys(was, raise, foreign).Record, balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"stopped, record lost":  {got: by(reconcile.Record{}, fund, s).Record, balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: reconcile.Unknown}},
		"refused":               {got: was.Refused(s), balance: 100, last: 100, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"sent":                  {got: by(was, withdrawal, foreign).Record, balance: 150, keepsSeed: true, pending: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"sent, by the key":      {got: byKey.Record, balance: 100, last: 100, keepsSeed: true, pending: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"lost":                  {got: open.Lost(next.At), balance: 100, keepsSeed: true, pending: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"unread":                {got: open.Unread(next.At), balance: 100, keepsSeed: true, pending: true, answered: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"not shown":             {got: sent.AfterAnswer(waited(quietNext), false).Record, balance: 100, keepsSeed: true, pending: true, answered: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"its key refused":       {got: sent.AfterAnswer(waited(quietNext), true).Record, balance: 100, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"not made":              {got: open.NotMade(), balance: 100, keepsSeed: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"resolved, not made":    {got: reconcile.Resolve(open, waited(quiet)).Record, balance: 100, keepsSeed: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"to be sent again":      {got: sent.AfterLost(waited(quiet)).Record, balance: 100, keepsSeed: true, pending: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"resolved, made":        {got: reconcile.Resolve(open, waited(shown)).Record, balance: 140, last: 40, topUps: reconcile.TopUps{Month: april, Sum: 40}},
		"funded":                {got: funded.AfterAnswer(made, false).Record, balance: 140, last: 40, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"funded next month":     {got: funded.AfterAnswer(shown, false).Record, balance: 140, last: 40, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"topped up":             {got: sent.AfterAnswer(made, false).Record, balance: 140, last: 40, topUps: reconcile.TopUps{Month: march, Sum: 60}},
		"topped up next month":  {got: sent.AfterAnswer(shown, false).Record, balance: 140, last: 40, topUps: reconcile.TopUps{Month: april, Sum: 40}},
		"verified":              {got: sent.AfterLost(made).Record, balance: 140, last: 40, topUps: reconcile.TopUps{Month: march, Sum: 60}},
		"made before":           {got: by(was, topUp, made).Record, balance: 140, topUps: reconcile.TopUps{Month: march, Sum: 60}},
		"made before, both":     {got: byKey.AfterAnswer(waited(foreign), false).Record, balance: 140, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"more moved than asked": {got: funded.AfterAnswer(waited(more), false).Record, balance: 145, topUps: reconcile.TopUps{Month: april, Sum: 5}},
		"less moved than asked": {got: funded.AfterAnswer(waited(less), false).Record, balance: 135, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"pending, made":         {got: withoutKeys(open, topUp, shown).Record, balance: 140, last: 40, topUps: reconcile.TopUps{Month: april, Sum: 40}},
		"made beside an action": {got: withoutKeys(open, topUp, beside).Record, balance: 165, last: 40, topUps: reconcile.TopUps{Month: april, Sum: 40}},
		"given up":              {got: open.GivenUp(foreign), balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"a fund given up":       {got: funded.Record.GivenUp(gone), balance: 90, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"given up, spent since": {got: open.GivenUp(gone), balance: 90, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 60}},
	} {
		r := test.got
		if test.topUps.Sum != reconcile.Unknown {
			test.topUps.Sum *= dollar
		}
		if r.Anchor.Balance != test.balance*dollar || r.Anchor.Last != test.last*dollar {
			t.Errorf("%s: the anchor is %+v", name, r.Anchor)
		}
		if (r.Seed == was.Seed) != test.keepsSeed || r.HasKey == test.noKey {
			t.Errorf("%s: the seed is %x, and was %x; has a key: %t", name, r.Seed, was.Seed, r.HasKey)
		}
		if r.TopUps != test.topUps || (r.Pending != nil) != test.pending || r.Pending != nil && r.Pending.Answered != test.answered {
			t.Errorf("%s: topped up %+v, want %+v; pending %+v", name, r.TopUps, test.topUps, r.Pending)
		}
	}
	if p := open.Lost(next.At).Pending; p.Movement() != topUp || !p.SentAt.Equal(next.At) {
		t.Errorf("pending is %+v", p)
	}
	unread := reconcile.Snapshot{Balance: 100 * dollar, At: at, Unclear: "x"}
	stopped := by(was, withdrawal, unread).Record
	unreadSince := more
	unreadSince.Unclear = "x"
	other := funded.AfterAnswer(waited(unreadSince), false)
	if !stopped.Anchor.Unclear || other.Reason != reconcile.OtherAmount || other.Record.Anchor.Unclear {
		t.Errorf("only a stop says that the events cannot be read: %+v", other)
	}
	if !by(stopped, fund, unread).Record.Anchor.Unclear || by(stopped, fund, quiet).Record.Anchor.Unclear {
		t.Error("it is not said as long as they cannot be")
	}
}

// A movement that comes back to the same value has another key; the same movement
// has the same one, until it is made.
func TestKeys(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := reconcile.IssuedRecord(100*dollar, at)
	keys := map[string]string{}
	use := func(what, card string, r reconcile.Record, m reconcile.Movement) {
		key := r.Key(card, m)
		if other := keys[key]; other != "" {
			t.Errorf("%s has the key of %s", what, other)
		}
		if keys[key] = what; r.Key(card, m) != key || len(key) != 36 || key[14] != '4' {
			t.Errorf("%s has the key %s, and then another", what, key)
		}
	}
	amount := usd.Amount(100)
	for _, delta := range []usd.Amount{40, -40, 40} {
		m := reconcile.Movement{Delta: delta * dollar, LoadedBefore: amount * dollar}
		use(fmt.Sprintf("%s from %s", m.Delta, m.LoadedBefore), "card_1", record, m)
		if read := reconcile.ParseRecord("card_1", record.Text("card_1")); read.Key("card_1", m) != record.Key("card_1", m) {
			t.Error("the next run has another key")
		}
		record = moved(record, m, reconcile.Snapshot{Balance: amount * dollar, At: at})
		amount += delta
	}
	m := reconcile.Movement{Delta: 40 * dollar, LoadedBefore: 100 * dollar}
	use("the movement", "card_1", record, m)
	use("of another card", "card_2", record, m)
	use("for another purpose", "card_1", record, reconcile.Movement{Purpose: reconcile.ForTopUp, Delta: m.Delta, LoadedBefore: m.LoadedBefore})
	use("another sum", "card_1", record, reconcile.Movement{Delta: 41 * dollar, LoadedBefore: m.LoadedBefore})
	use("from another value", "card_1", record, reconcile.Movement{Delta: m.Delta, LoadedBefore: 101 * dollar})
	m.Range = &reconcile.Range{}
	if keys[record.Key("card_1", m)] != "the movement" {
		t.Error("the range is in the key")
	}
}

// A run that repeats one that was killed has its keys, whatever it finds out. What
// was stopped has another one each time.
func TestSeed(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	was := reconcile.IssuedRecord(100*dollar, at)
	card := reconcile.Snapshot{Balance: 100 * dollar, At: at.Add(time.Hour)}
	m := reconcile.Movement{Delta: 40 * dollar, LoadedBefore: 100 * dollar}
	sent := moved(was, m, card)
	card.Balance += m.Delta
	card.At = card.At.Add(time.Minute)
	found := reconcile.Ask(was, m, waited(card), true)
	if found.Verdict != reconcile.Made || found.Record.Seed != sent.Seed || sent.Seed == was.Seed {
		t.Errorf("found %d, with the seed %x, and was sent with %x", found.Verdict, found.Record.Seed, sent.Seed)
	}
	seeds := map[reconcile.Seed]bool{}
	for r := was; len(seeds) < 3; {
		r.Anchor = nil // which stops it each time
		d := reconcile.Ask(r, m, waited(card), true)
		r = d.Record
		if d.Verdict != reconcile.Stop || seeds[r.Seed] || r.Seed == was.Seed {
			t.Fatalf("stop %d repeats a seed", len(seeds))
		}
		seeds[r.Seed] = true
	}
}

// moved is the record after a movement on a card that shows it at once.
func moved(r reconcile.Record, m reconcile.Movement, card reconcile.Snapshot) reconcile.Record {
	d := reconcile.Ask(r, m, waited(card), true)
	card.Balance += m.Delta
	return d.AfterAnswer(waited(card), false).Record
}

func TestTopUps(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)) // 2026 in UTC
	month := reconcile.MonthOf(at)
	if first := month.First(); !first.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || reconcile.MonthOf(first) != month {
		t.Errorf("the month begins %s", first)
	}
	if reconcile.MonthOf(time.Time{}) != 0 {
		t.Error("no time has a month")
	}
	for name, test := range map[string]struct {
		topUps reconcile.TopUps
		month  reconcile.Month
		want   usd.Amount
	}{
		"this month":    {reconcile.TopUps{Month: month, Sum: 30}, month, 70},
		"a month ago":   {reconcile.TopUps{Month: month - 1, Sum: 30}, month, 100},
		"no month":      {reconcile.TopUps{Month: month, Sum: 30}, 0, 70},
		"a later month": {reconcile.TopUps{Month: month + 1, Sum: 30}, month, 70},
		"all of it":     {reconcile.TopUps{Month: month, Sum: 130}, month, 0},
		"not known":     {reconcile.TopUps{Month: month, Sum: reconcile.Unknown}, month, 0},
	} {
		if got := test.topUps.Left(100, test.month); got != test.want {
			t.Errorf("%s: %s left", name, got)
		}
	}
	// Unknown stays so, and a clock that went back counts in the month that is kept: one
	// that was ahead does not open the cap again.
	for _, sum := range []usd.Amount{reconcile.Unknown, 30 * dollar} {
		r := reconcile.IssuedRecord(10*dollar, at)
		r.TopUps = reconcile.TopUps{Month: month, Sum: sum}
		r = moved(r, reconcile.Movement{Purpose: reconcile.ForTopUp, Delta: 5 * dollar}, reconcile.Snapshot{Balance: 10 * dollar, At: at.AddDate(0, -2, 0)})
		if want := (reconcile.TopUps{Month: month, Sum: min(sum+5*dollar, reconcile.Unknown)}); r.TopUps != want {
			t.Errorf("%+v, want %+v", r.TopUps, want)
		}
	}
}
