package reconcile_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
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
	r := reconcile.Record{Anchor: a.snapshot().Anchor(), Token: reconcile.NewToken(), HasKey: true}
	r.Anchor.Last, r.Anchor.Unclear, r.Anchor.New = -usd.Max, true, true
	r.TopUps = reconcile.TopUps{Month: reconcile.MonthOf(at), Sum: reconcile.Unknown}
	r.Pending = &reconcile.Pending{Purpose: reconcile.ForTopUp, Delta: usd.Max, Before: usd.Max, SentAt: at}
	return r
}

func records() map[string]reconcile.Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pending := reconcile.ImportedRecord(0, at)
	pending.Pending = &reconcile.Pending{Delta: -40 * dollar, Before: 140 * dollar, SentAt: at}
	return map[string]reconcile.Record{
		"lost": {}, "issued": reconcile.IssuedRecord(100*dollar, at), "imported": reconcile.ImportedRecord(100*dollar, at),
		"pending": pending, "largest": largest(), "without an anchor": {Token: reconcile.NewToken()},
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
	if r := largest(); len(r.Anchor.Known) != 24 {
		t.Errorf("an anchor knows %d events", len(r.Anchor.Known))
	}
}

// What is damaged, cut off, of another card or of another version is a lost record.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	lost := func(what, card, text string) {
		if got := reconcile.ParseRecord(card, text); !reflect.DeepEqual(got, reconcile.Record{}) {
			t.Errorf("%s: %q is read as %+v", what, text, got)
		}
	}
	for name, r := range records() {
		text := r.Text("card_1")
		lost(name+" of another card", "card_2", text)
		lost(name+" of the next version", "card_1", "b"+text[1:])
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
	for _, text := range []string{"", "a", "aAAAA", "a" + strings.Repeat("A", 300), "{}"} {
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
		checked := "a" + base64.RawURLEncoding.EncodeToString(append(sum[:4], body...))
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
	s := reconcile.Snapshot{Balance: 150 * dollar, At: at, Events: []reconcile.Event{{ID: "txn_1", At: at}}}
	next := s
	next.At = at.Add(time.Hour)
	fund := reconcile.Movement{Delta: 40 * dollar, Before: 100 * dollar}
	topUp := reconcile.Movement{Purpose: reconcile.ForTopUp, Delta: 40 * dollar, Before: 100 * dollar}
	foreign := reconcile.Explain(was.Anchor, s, 40*dollar) // 50 USD came
	quiet := reconcile.Explanation{Anchored: true, Without: holds}
	beside, settledLater := fund, reconcile.Explanation{Anchored: true, Balance: 150 * dollar, Without: settled, Came: 60 * dollar}
	beside.Range = &reconcile.Range{Below: 130*dollar + 1, To: 150 * dollar}
	pending := was.Undecided(topUp, was.Anchor, quiet, next.At)
	for name, test := range map[string]struct {
		got           reconcile.Record
		balance, last usd.Amount // of the anchor
		keepsToken    bool
		noKey         bool
		topUps        reconcile.TopUps
		pending       bool
	}{
		"stopped":               {got: was.Stopped(reconcile.Movement{}, s, foreign), balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"stopped, topped up?":   {got: was.Stopped(beside, s, settledLater), balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 80}},
		"stopped, record lost":  {got: reconcile.Record{}.Stopped(reconcile.Movement{}, s, reconcile.Explanation{}), balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: reconcile.Unknown}},
		"not shown":             {got: was.NotShown(s), balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"refused":               {got: was.Refused(), balance: 100, last: 100, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"undecided":             {got: was.Undecided(fund, s.Anchor(), foreign, at), balance: 150, keepsToken: true, pending: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"undecided, by the key": {got: was.Undecided(fund, was.Anchor, foreign, at), balance: 100, last: 100, keepsToken: true, pending: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"not made":              {got: pending.NotMade(), balance: 100, last: 100, keepsToken: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"funded":                {got: was.Moved(fund, s, quiet, at), balance: 190, last: 40, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"funded next month":     {got: was.Moved(fund, next, quiet, next.At), balance: 190, last: 40, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"topped up":             {got: was.Moved(topUp, s, quiet, at), balance: 190, last: 40, topUps: reconcile.TopUps{Month: march, Sum: 60}},
		"topped up next month":  {got: was.Moved(topUp, next, quiet, next.At), balance: 190, last: 40, topUps: reconcile.TopUps{Month: april, Sum: 40}},
		"topped up at midnight": {got: was.Moved(topUp, s, quiet, next.At), balance: 190, last: 40, topUps: reconcile.TopUps{Month: april, Sum: 40}},
		"made before and more":  {got: was.MovedBefore(topUp, s, 5*dollar), balance: 150, topUps: reconcile.TopUps{Month: march, Sum: 65}},
		"made before and less":  {got: was.MovedBefore(topUp, s, -5*dollar), balance: 150, topUps: reconcile.TopUps{Month: march, Sum: 60}},
		"pending made":          {got: pending.PendingMade(), balance: 140, last: 40, topUps: reconcile.TopUps{Month: april, Sum: 40}},
		"given up":              {got: pending.GivenUp(s), balance: 150, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 70}},
		"a fund given up":       {got: was.Undecided(fund, was.Anchor, quiet, at).GivenUp(reconcile.Snapshot{Balance: 90 * dollar, At: at}), balance: 90, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 20}},
		"given up, spent since": {got: pending.GivenUp(reconcile.Snapshot{Balance: 90 * dollar, At: at}), balance: 90, noKey: true, topUps: reconcile.TopUps{Month: march, Sum: 60}},
	} {
		r := test.got
		if test.topUps.Sum != reconcile.Unknown {
			test.topUps.Sum *= dollar
		}
		if r.Anchor.Balance != test.balance*dollar || r.Anchor.Last != test.last*dollar {
			t.Errorf("%s: the anchor is %+v", name, r.Anchor)
		}
		if (r.Token == was.Token) != test.keepsToken {
			t.Errorf("%s: the token is %x, and was %x", name, r.Token, was.Token)
		}
		if r.HasKey == test.noKey {
			t.Errorf("%s: has a key: %t", name, r.HasKey)
		}
		if r.TopUps != test.topUps || (r.Pending != nil) != test.pending {
			t.Errorf("%s: topped up %+v, want %+v; pending %+v", name, r.TopUps, test.topUps, r.Pending)
		}
	}
	if p := pending.Pending; p.Movement() != topUp || !p.SentAt.Equal(next.At) {
		t.Errorf("pending is %+v", p)
	}
	unread := reconcile.Snapshot{Unclear: "x"}
	stopped := was.Stopped(reconcile.Movement{}, unread, quiet)
	if !stopped.Anchor.Unclear || was.Moved(fund, unread, quiet, at).Anchor.Unclear {
		t.Error("only a stop says that the events cannot be read")
	}
	if !stopped.Moved(fund, unread, quiet, at).Anchor.Unclear || stopped.Moved(fund, s, quiet, at).Anchor.Unclear {
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
		if keys[key] = what; r.Key(card, m) != key || len(key) != 36 {
			t.Errorf("%s has the key %s, and then another", what, key)
		}
	}
	amount := usd.Amount(100)
	for _, delta := range []usd.Amount{40, -40, 40} {
		m := reconcile.Movement{Delta: delta * dollar, Before: amount * dollar}
		use(fmt.Sprintf("%s from %s", m.Delta, m.Before), "card_1", record, m)
		if read := reconcile.ParseRecord("card_1", record.Text("card_1")); read.Key("card_1", m) != record.Key("card_1", m) {
			t.Error("the next run has another key")
		}
		record = record.Moved(m, reconcile.Snapshot{Balance: amount * dollar, At: at}, reconcile.Explanation{}, at)
		amount += delta
	}
	m := reconcile.Movement{Delta: 40 * dollar, Before: 100 * dollar}
	use("the movement", "card_1", record, m)
	use("of another card", "card_2", record, m)
	use("for another purpose", "card_1", record, reconcile.Movement{Purpose: reconcile.ForTopUp, Delta: m.Delta, Before: m.Before})
	use("another sum", "card_1", record, reconcile.Movement{Delta: 41 * dollar, Before: m.Before})
	use("from another value", "card_1", record, reconcile.Movement{Delta: m.Delta, Before: 101 * dollar})
	m.Range = &reconcile.Range{}
	if keys[record.Key("card_1", m)] != "the movement" {
		t.Error("the range is in the key")
	}
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
	// Unknown stays so, and a clock that went back counts in the month that is kept.
	r := reconcile.Record{Anchor: &reconcile.Anchor{}, TopUps: reconcile.TopUps{Month: month, Sum: reconcile.Unknown}}
	r = r.MovedBefore(reconcile.Movement{Purpose: reconcile.ForTopUp, Delta: 5}, reconcile.Snapshot{At: at.AddDate(0, -2, 0)}, 0)
	if r.TopUps != (reconcile.TopUps{Month: month, Sum: reconcile.Unknown}) {
		t.Errorf("%+v", r.TopUps)
	}
}
