package reconcile_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const dollar = usd.Dollar

// account is a card on a model of the service. Its zero value is less the holds,
// takes no fees and shows everything at once.
type account struct {
	asSettled bool // the balance falls at settlement
	takesFees bool // fees are taken from the card
	now       time.Time
	balance   usd.Amount
	unsettled usd.Amount // by open authorizations, where the balance falls at settlement
	events    []listed   // oldest first
	held      []holding
	due       []timer
}

// listed is an event, and when the service begins to list it.
type listed struct {
	reconcile.Event
	from time.Time
	text string // of it; empty until somebody reads it
}

// holding is what the card held from a moment on.
type holding struct {
	from    time.Time
	balance usd.Amount
}

// timer is what will happen.
type timer struct {
	at time.Time
	do func()
}

func newAccount(balance usd.Amount) *account {
	a := &account{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	a.give(balance)
	return a
}

// give moves money without a transaction, as funds, withdrawals and other hands do.
func (a *account) give(amount usd.Amount) {
	a.balance += amount
	a.held = append(a.held, holding{a.now, a.balance})
}

func (a *account) after(d time.Duration, do func()) {
	a.due = append(a.due, timer{a.now.Add(d), do})
}

// later lets time pass, and happen what is due.
func (a *account) later(d time.Duration) {
	end := a.now.Add(d)
	for len(a.due) > 0 {
		next := 0
		for i := range a.due {
			if a.due[i].at.Before(a.due[next].at) {
				next = i
			}
		}
		if a.due[next].at.After(end) {
			break
		}
		t := a.due[next]
		a.due = slices.Delete(a.due, next, next+1)
		a.now = t.at
		t.do()
	}
	a.now = end
}

// happen adds an event, which moves the balance by an amount beside its fee.
func (a *account) happen(e reconcile.Event, effect usd.Amount) {
	e.At, e.ID, e.Merchant = a.now, fmt.Sprintf("txn_%d", len(a.events)), cmp.Or(e.Merchant, "m")
	a.events = append(a.events, listed{Event: e, from: a.now})
	if a.takesFees {
		effect -= e.Fee
	}
	if effect != 0 {
		a.give(effect)
	}
}

func (a *account) authorize(amount usd.Amount) {
	effect := -amount
	if a.asSettled {
		effect = 0
	}
	a.happen(reconcile.Event{Kind: reconcile.Authorization, Amount: amount}, effect)
}

// settle ends a hold with a settlement of an amount. What the card cannot pay
// comes from the wallet.
func (a *account) settle(hold, amount usd.Amount) {
	effect := hold - amount
	if a.asSettled {
		effect = -amount
	}
	a.happen(reconcile.Event{Kind: reconcile.Settlement, Amount: amount}, max(effect, -a.balance))
}

func (a *account) refund(amount usd.Amount) {
	a.happen(reconcile.Event{Kind: reconcile.Refund, Amount: amount}, amount)
}

// live lets a story happen, in dollars and a minute for each step: +40 is given, hold:7
// authorized, and 7/5 ends a hold of 7 with a settlement of 5. Any other event has an
// amount and an effect on the balance.
func (a *account) live(story string) {
	events := map[string]reconcile.Event{
		"bought-elsewhere": {Kind: reconcile.Authorization, Merchant: "elsewhere"},
		"elsewhere":        {Kind: reconcile.Settlement, Merchant: "elsewhere"},
		"with-fee":         {Kind: reconcile.Authorization, Fee: 20},
		"foreign-hold":     {Kind: reconcile.Authorization, Unclear: "in EUR"},
		"foreign-refund":   {Kind: reconcile.Refund, Unclear: "in EUR"},
		"unknown":          {Unclear: "in EUR"},
	}
	for step := range strings.FieldsSeq(story) {
		var sums [2]usd.Amount
		verb, numbers, _ := strings.Cut(step, ":")
		first, second, isPair := strings.Cut(cmp.Or(numbers, verb), "/")
		for i, number := range []string{first, second} {
			n, _ := strconv.Atoi(number) // there is no second one, else
			sums[i] = usd.Amount(n) * dollar
		}
		event, isEvent := events[verb]
		switch event.Amount = sums[0]; {
		case isEvent:
			a.happen(event, sums[1])
		case verb == "hold":
			a.authorize(sums[0])
		case verb == "refund":
			a.refund(sums[0])
		case isPair:
			a.settle(sums[0], sums[1])
		default:
			a.give(sums[0])
		}
		a.later(time.Minute)
	}
}

// snapshot is the card as it is.
func (a *account) snapshot() reconcile.Snapshot { return a.read(0) }

// read shows the card as a replica does that lags behind, with all of its events.
func (a *account) read(lag time.Duration) reconcile.Snapshot {
	s := reconcile.Snapshot{Balance: a.shown(lag), At: a.now, Events: make([]reconcile.Event, 0, len(a.events))}
	seen := a.now.Add(-lag)
	for _, e := range slices.Backward(a.events) {
		if !e.from.After(seen) {
			s.Events = append(s.Events, e.Event)
		}
	}
	return s
}

// shown is the balance on a replica that lags behind.
func (a *account) shown(lag time.Duration) (balance usd.Amount) {
	for _, h := range slices.Backward(a.held) {
		if balance = h.balance; !h.from.After(a.now.Add(-lag)) {
			break
		}
	}
	return balance
}

// told is what an explanation comes to.
type told struct {
	with, without   reconcile.Rank
	left            usd.Amount
	hidden, ignored string
	stale, echoed   bool
}

func check(t *testing.T, what string, e reconcile.Explanation, want told) {
	t.Helper()
	if got := (told{e.With, e.Without, e.Remainder, e.Hidden, e.Ignored, e.Stale, e.Echoed}); got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// waited is a reading after which looking again has shown no more.
func waited(card reconcile.Snapshot) reconcile.Snapshot {
	card.Waited = true
	return card
}
