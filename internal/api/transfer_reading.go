package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	// readingAttempts is how often a card is read until its balance is what its
	// transactions lead to, since the two are read one after the other.
	readingAttempts = 3
	// readingPages bounds the transactions that are read since an anchor; what
	// lies beyond counts as nothing.
	readingPages = 10
)

// reading is a card's balance (USD) and its transactions at one moment.
type reading struct {
	balance      usd.Amount
	at           time.Time // the service's
	newest       []Transaction
	more         bool
	transactions []Transaction // newest first, down to the anchor
	unclear      string        // why the transactions cannot be relied on; empty when they can
	unsteady     bool          // the balance moved while it was read
}

// readCardMoney reads what is new on a card since an anchor, and then its balance.
func (c *Client) readCardMoney(ctx context.Context, id string, since *Anchor) (reading, error) {
	var r reading
	if err := c.readTransactionsSince(ctx, id, since, &r); err != nil {
		r.unclear = "its transactions could not be read: " + err.Error()
	}
	card, err := c.GetCard(ctx, id)
	r.balance, r.at = card.Balance, c.serviceTime()
	return r, err
}

// readTransactionsSince reads pages until one holds a transaction from before
// the anchor. Late ones are listed among those that are known already.
func (c *Client) readTransactionsSince(ctx context.Context, id string, since *Anchor, r *reading) error {
	pages := c.transactionPages(TransactionFilter{CardID: id})
	for number := 1; number <= readingPages; number++ {
		page, err := pages.read(ctx, number)
		if err != nil {
			return err
		}
		if number == 1 {
			r.newest = page
		}
		fresh := slices.DeleteFunc(slices.Clone(page), func(t Transaction) bool {
			return slices.ContainsFunc(r.transactions, func(known Transaction) bool { return known.ID == t.ID })
		})
		r.transactions = append(r.transactions, fresh...)
		if len(fresh) == 0 || len(page) < smallestFullPage {
			return nil
		}
		if number == 1 {
			r.more = true
		}
		if since == nil || slices.ContainsFunc(fresh, func(t Transaction) bool { return since.age(t) == beforeAnchor }) {
			return nil
		}
	}
	r.unclear = "more transactions have come since than are read"
	return nil
}

// smallestFullPage is the least that a page holds when another one follows
// (API §4.10: the standard page).
const smallestFullPage = 25

// anchor is what to keep of a reading when delta (USD) is moved after it.
func (r reading) anchor(delta usd.Amount) *Anchor {
	a := &Anchor{Balance: r.balance + delta, At: r.at, More: r.more}
	if r.newest != nil || r.unclear == "" {
		a.Transactions = newTransactionSet(r.newest)
	}
	return a
}

// justNow is the anchor of a reading for what is compared with it at once:
// whatever it does not know is newer.
func (r reading) justNow() *Anchor {
	a := r.anchor(0)
	if a.Transactions != nil {
		a.At = time.Time{}
	}
	return a
}

// activities are what may have happened since an anchor: several possibilities
// where it cannot be told which transactions are new.
func (r reading) activities(since *Anchor) []activity {
	transactions := r.transactions
	if since.Transactions != nil && since.More {
		transactions = r.withoutOlder(since)
	}
	all := newActivities(transactions, since, true)
	if slices.ContainsFunc(transactions, func(t Transaction) bool { return since.age(t) == aroundAnchor }) {
		all = append(all, newActivities(transactions, since, false)...)
	}
	return all
}

// withoutOlder leaves out what is listed behind the oldest transaction that the
// anchor knows: it is older still.
func (r reading) withoutOlder(since *Anchor) []Transaction {
	for i, t := range slices.Backward(r.transactions) {
		if since.Transactions.has(t.ID) {
			return r.transactions[:i+1]
		}
	}
	return r.transactions
}

// fit is how well a balance is explained: the later, the more likely.
type fit int

const (
	unexplained fit = iota
	released        // when one hold was released besides
	asSettled       // when the balance falls at settlement
	lessHolds       // when the balance is less the holds, as most services have it
)

// explained reports whether the transactions alone explain the balance.
func (f fit) explained() bool { return f >= asSettled }

// fits tells whether the activity since an anchor explains the reading's balance
// when delta (USD) was moved besides.
func (r reading) fits(since *Anchor, delta usd.Amount) fit {
	best := unexplained
	for _, a := range r.activities(since) {
		before := since.Balance + delta
		switch {
		case slices.Contains(a.lessHolds(before), r.balance):
			return lessHolds
		case slices.Contains(a.asSettled(before), r.balance):
			best = max(best, asSettled)
		case slices.Contains(a.released(before), r.balance):
			best = max(best, released)
		}
	}
	return best
}

// unexplained returns what came (above zero) or went without explanation since
// an anchor, by the reading that leaves least of it (USD).
func (r reading) unexplained(since *Anchor) usd.Amount {
	return slices.MinFunc(r.rests(since), func(a, b usd.Amount) int { return cmp.Compare(abs(a), abs(b)) })
}

// unexplainedBeside is unexplained ahead of a movement of delta. Where money came
// by every reading, a fund is looked for in the most that may have: it must not be
// made twice on any kind of service. Where readings disagree, it may all be spending.
func (r reading) unexplainedBeside(since *Anchor, delta usd.Amount) usd.Amount {
	if rests := r.rests(since); delta > 0 && slices.Min(rests) > 0 {
		return slices.Max(rests)
	}
	return r.unexplained(since)
}

// rests are what each reading of the activity leaves unexplained.
func (r reading) rests(since *Anchor) []usd.Amount {
	var all []usd.Amount
	for _, a := range r.activities(since) {
		for _, balance := range a.balances(since.Balance) {
			all = append(all, r.balance-balance)
		}
	}
	return all
}

// whyUnclear says why the activity since an anchor cannot be relied on, or "".
func (r reading) whyUnclear(since *Anchor) string {
	isKnown := func(t Transaction) bool { return since.Transactions.has(t.ID) }
	switch {
	case r.unclear != "":
		return r.unclear
	case len(since.Transactions) > 0 && !slices.ContainsFunc(r.transactions, isKnown):
		return "the transactions that were there before are no longer listed"
	}
	for _, a := range r.activities(since) {
		if a.unclear != "" {
			return a.unclear
		}
	}
	return ""
}
