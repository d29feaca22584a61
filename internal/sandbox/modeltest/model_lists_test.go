package modeltest_test

import (
	"slices"
	"time"
)

// backward returns those that pass, the last first.
func backward[T any](all []T, passes func(T) bool) (some []T) {
	for _, one := range slices.Backward(all) {
		if passes(one) {
			some = append(some, one)
		}
	}
	return some
}

// cardFilter is a query of the list of cards; empty fields are left out.
type cardFilter struct {
	status, bin  string
	number, size int
}

func (a *account) listCards(m *model, f cardFilter) object {
	all := backward(a.cards, func(c *card) bool {
		return (f.status == "" || c.status == f.status) && (f.bin == "" || c.bin == f.bin)
	})
	size := min(f.size, m.quirks.CardsPerPage)
	o := object{"data": objects(page(all, f.number, size), (*card).item), "page": f.number, "per_page": size, "total": len(all)}
	if m.quirks.CardsTotal == "absent" {
		delete(o, "total")
	}
	return o
}

// transactionFilter is a query of the list of transactions. from and to are
// timestamps of one width, or dates.
type transactionFilter struct {
	card, kind, from, to string
	number, size         int
}

func (a *account) listTransactions(m *model, f transactionFilter) object {
	to := f.to
	if len(to) == len(time.DateOnly) {
		to += "T23:59:59.999Z"
	}
	all := backward(a.transactions, func(t *transaction) bool {
		return (f.card == "" || t.card.id == f.card) && (f.kind == "" || t.kind == f.kind) &&
			t.created >= f.from && (to == "" || t.created <= to)
	})
	size := f.size
	if m.quirks.TransactionsPerPage == "ignored" {
		size = 25
	}
	return object{"data": objects(page(all, f.number, size), (*transaction).view), "page": f.number}
}

// listChallenges returns those of one status on some cards.
func listChallenges(m *model, challenges []*challenge, status string) list {
	all := backward(challenges, func(ch *challenge) bool { return ch.statusAt(m.now) == status })
	return objects(all, func(ch *challenge) object { return ch.view(m.now) })
}

func (a *account) balanceView() object {
	var pending, onCards cents
	active := 0
	for _, d := range a.deposits {
		if d.status == "pending" {
			pending += d.amount
		}
	}
	for _, c := range a.cards {
		onCards += c.balance
		if c.status == "active" {
			active++
		}
	}
	return object{
		"balance": a.wallet, "currency": "USDT", "pending_deposits": pending, "cards_active": active, "cards_total_balance": onCards,
	}
}

// ledger returns every ledger account by its name.
func (a *account) ledger() map[string]cents {
	ledger := map[string]cents{
		"wallet": a.wallet, "holds": a.holds, "fees": a.fees, "merchants": a.merchants, "deposits": a.deposited, "loss": a.loss,
	}
	for _, c := range a.cards {
		ledger[c.id] = c.balance
	}
	return ledger
}
