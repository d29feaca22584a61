package statement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// held is what a card is known to hold by its record, and what it held at the refresh.
type held struct {
	record reconcile.Record
	more   usd.Amount // than the record knows of; below zero as well when it was spent
}

func (r *reader) held(card values) held {
	id, _ := card.known["id"].(string)
	text, _ := card.known["money_record"].(string)
	h := held{record: reconcile.ParseRecord(id, text)}
	if balance := r.amount(card, "balance"); balance != nil && h.record.Anchor != nil {
		h.more = *balance - h.record.Anchor.Balance
	}
	return h
}

// stops notes why apply may not make the movements that a plan has for a card, as far as
// its balance and its record tell. A plan does not have the transactions.
func (r *reader) stops(card *Card, before values) {
	withdraws := card.Sums.Withdrawals > 0
	if !withdraws && card.paid() == 0 && !card.mayTake {
		return
	}
	var reason string
	switch h := r.held(before); {
	case h.record.Anchor == nil:
		reason = "has lost its money_record, so nothing tells what an earlier run has moved: apply stops once"
	case h.record.Pending != nil:
		reason = h.pending() + ": apply may find it made, or stop"
	case h.more > 0 && (!withdraws || card.mayTake):
		reason = h.hasMore() + ": apply may stop"
	case withdraws && h.more == -card.Sums.Withdrawals:
		reason = fmt.Sprintf("holds just %s USD less than Terraform knows of: apply may find the withdrawal made, or stop", -h.more)
	default:
		return
	}
	r.note(card.Address, reason)
	r.isTold[object{card.Address, card.Deposed}] = true
}

func (h held) pending() string {
	return fmt.Sprintf("of an earlier movement of %s USD it is not known whether it was made", signed(h.record.Pending.Movement().Delta))
}

func (h held) hasMore() string {
	return fmt.Sprintf("holds %s USD more than Terraform knows of", h.more)
}

// others notes which other cards of the state hold more than Terraform knows of, as
// after a movement of a run that was killed.
func (r *reader) others() {
	order := func(a, b object) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.deposed, b.deposed))
	}
	for _, object := range slices.SortedFunc(maps.Keys(r.prior.cards), order) {
		if r.isTold[object] {
			continue
		}
		var reason string
		switch h := r.held(valuesOf(r.prior.cards[object], nil, nil)); {
		case h.record.Pending != nil:
			reason = h.pending()
		case h.more > 0:
			reason = h.hasMore()
		default:
			continue
		}
		r.statement.Notes = append(r.statement.Notes, Unknown{Address: object.address, Reason: reason})
	}
}
