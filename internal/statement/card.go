package statement

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const cardType = "vcard_card"

// Of says what a plan does. It is an error when an amount is not a number, or a change has no action.
func Of(plan *Plan) (*Statement, error) {
	r := reader{
		prior: plan.prior(), seen: map[object]bool{},
		statement: &Statement{FormatVersion: "1.0", Unknown: []Unknown{}, Notes: []Unknown{}, Cards: []Card{}, Others: []string{}},
	}
	if slices.Contains(plan.Changes, nil) || slices.Contains(plan.Invocations, nil) {
		return nil, errNameless
	}
	for _, change := range plan.Changes {
		if r.change(change); r.err != nil {
			return nil, fmt.Errorf("%s: %w", inline(change.Address), r.err)
		}
	}
	for _, action := range plan.Invocations {
		if r.action(action); r.err != nil {
			return nil, fmt.Errorf("%s: %w", inline(action.Address), r.err)
		}
	}
	r.incomplete(plan)
	if r.others(); r.err != nil {
		return nil, r.err
	}
	s := r.statement
	for _, card := range s.Cards {
		if err := s.Wallet.add(card.Sums); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(s.Cards, func(a, b Card) int { return cmp.Compare(a.Wallet, b.Wallet) })
	s.Complete = len(s.Unknown) == 0
	balance, err := balanceOf(plan, r.prior.wallets, s)
	if err != nil {
		return nil, err
	}
	s.Balance = balance
	return s, nil
}

type reader struct {
	prior     prior // whose cards are those of which nothing was told yet
	seen      map[object]bool
	statement *Statement
	err       error // the first thing that no command line writes
}

func (r *reader) amount(v values, name string) *usd.Amount {
	amount, err := v.amount(name)
	r.err = cmp.Or(r.err, err)
	return amount
}

func (r *reader) change(change *change) {
	this := object{change.Address, change.Deposed}
	if r.err = checkChange(change); r.err == nil && r.seen[this] {
		r.err = errors.New("the plan has it twice")
	}
	r.seen[this] = true
	switch {
	case r.err != nil || change.Mode != tfjson.ManagedResourceMode:
		return
	case change.Type != cardType:
		if !change.Change.Actions.NoOp() || change.Change.Importing != nil {
			r.statement.Others = append(r.statement.Others, change.Address)
		}
		return
	}
	c := change.Change
	does := func(action tfjson.Action) bool { return slices.Contains(c.Actions, action) }
	creates, deletes, forgets := does(tfjson.ActionCreate), does(tfjson.ActionDelete), does(tfjson.ActionForget)
	before, after := valuesOf(c.Before, nil, c.BeforeSensitive), valuesOf(c.After, c.AfterUnknown, c.AfterSensitive)
	if refreshed := r.prior.cards[this]; refreshed != nil && refreshed.AttributeValues != nil {
		before.known = refreshed.AttributeValues
	}
	var needed []string
	if does(tfjson.ActionUpdate) {
		needed = []string{"amount", "topped_up", "frozen"}
	}
	if r.err = cmp.Or(before.check(needed...), after.check(needed...)); r.err != nil {
		return
	}
	id, _ := before.known["id"].(string)
	card := &Card{
		Address: change.Address, Deposed: change.Deposed, ID: before.text("id"), Last4: before.text("last4"),
		key: cmp.Or(id, change.Address), holder: change.Address, after: after, isNew: creates,
	}
	if !creates && (deletes || forgets) {
		card.after = before
	}
	card.Label = card.after.text("label")
	switch {
	case creates && (deletes || forgets):
		card.Actions = []Action{Replace}
	case creates:
		card.Actions = []Action{Issue}
	case deletes:
		card.Actions = []Action{Terminate}
	}
	if creates {
		r.issue(card)
	}
	if deletes {
		r.terminate(card, before)
	}
	if does(tfjson.ActionUpdate) {
		r.update(card, before, c.Importing != nil)
		r.stops(card, before)
	}
	if deletes || creates {
		delete(r.prior.cards, this)
	}
	if c.Importing != nil {
		card.Actions = append(card.Actions, Import)
	}
	if forgets {
		card.Actions = append(card.Actions, Forget)
	}
	if len(card.Actions) > 0 {
		r.add(card)
	}
}

func (r *reader) add(card *Card) {
	card.Sums.Net = card.Sums.net()
	card.Wallet = card.Sums.Net
	r.statement.Cards = append(r.statement.Cards, *card)
}

func (r *reader) note(address, reason string) {
	r.statement.Unknown = append(r.statement.Unknown, Unknown{Address: address, Reason: reason})
}

// missing notes what another plan does.
func (r *reader) missing(address, reason string) {
	r.statement.Unknown = append(r.statement.Unknown, Unknown{address, reason, true})
}

// unknown notes a value that the plan does not have, and what it may mean.
func (r *reader) unknown(card *Card, name string, may ...Action) {
	r.note(card.Address, name+" is known only during apply")
	card.Actions = append(card.Actions, may...)
	card.mayTake = card.mayTake || card.isNew || slices.Contains(may, Fund) || slices.Contains(may, TopUp)
}

func (r *reader) issue(card *Card) {
	load, fee := r.amount(card.after, "amount"), r.amount(card.after, "issuance_fee")
	if load == nil {
		r.unknown(card, "amount")
	}
	if fee == nil {
		r.unknown(card, "issuance_fee")
	}
	card.Sums.Loads, card.Sums.Fees = orZero(load), orZero(fee)
	if card.after.flag("frozen") {
		card.Actions = append(card.Actions, Freeze)
	}
}

func orZero(amount *usd.Amount) usd.Amount { return *cmp.Or(amount, new(usd.Amount)) }

func (r *reader) terminate(card *Card, before values) {
	balance := r.amount(before, "balance")
	if balance == nil {
		r.note(card.Address, "the balance that returns is not in the plan")
	}
	card.Sums.Returns = orZero(balance)
}

func (r *reader) update(card *Card, before values, imports bool) {
	r.load(card, before)
	had, has := orZero(r.amount(before, "topped_up")), orZero(r.amount(card.after, "topped_up"))
	switch {
	case card.after.isUnknown("topped_up"):
		r.unknown(card, "topped_up", TopUp)
	case has > had:
		card.Sums.TopUps = has - had
		card.Actions = append(card.Actions, TopUp)
	}
	frozen, freezes := before.flag("frozen"), card.after.flag("frozen")
	switch {
	case card.after.isUnknown("frozen"):
		// A withdrawal leaves it open, since the service may freeze the card for it.
		if !card.does(Withdraw) {
			r.unknown(card, "frozen", Freeze, Unfreeze)
		}
	case freezes && !frozen:
		card.Actions = append(card.Actions, Freeze)
	case frozen && !freezes:
		card.Actions = append(card.Actions, Unfreeze)
	}
	if !imports && (card.Baseline != nil || configures(before, card.after)) {
		card.Actions = append(card.Actions, Configure)
	}
}

// load reads what a change of amount moves; the first of an imported card moves nothing.
func (r *reader) load(card *Card, before values) {
	from, to := r.amount(before, "amount"), r.amount(card.after, "amount")
	switch {
	case card.after.isUnknown("amount") && from != nil:
		r.unknown(card, "amount", Fund, Withdraw)
	case from == nil:
		card.Baseline = to
	case to != nil && *to > *from:
		card.Sums.Funds = *to - *from
		card.Actions = append(card.Actions, Fund)
	case to != nil && *to < *from:
		card.Sums.Withdrawals = *from - *to
		card.Actions = append(card.Actions, Withdraw)
	}
}

// configures reports whether an update changes what is neither money nor freezing.
func configures(before, after values) bool {
	if after.isUnknown("top_up") || (before.known["amount"] == nil) != (after.known["amount"] == nil && !after.isUnknown("amount")) {
		return true
	}
	for name, value := range after.known {
		switch name {
		case "amount", "balance", "frozen", "money_record", "status", "topped_up":
			continue
		}
		if !reflect.DeepEqual(before.known[name], value) {
			return true
		}
	}
	return false
}

func (r *reader) action(a *invocation) {
	word, isOurs := map[string]Action{
		"vcard_card_fund": Fund, "vcard_card_withdraw": Withdraw, "vcard_card_freeze": Freeze, "vcard_card_unfreeze": Unfreeze,
	}[a.Type]
	if !isOurs {
		r.statement.Others = append(r.statement.Others, a.Address)
		return
	}
	config := valuesOf(a.Values, a.Unknown, a.Sensitive)
	if r.err = config.check(); r.err != nil {
		return
	}
	card := &Card{Address: a.Address, Actions: []Action{word}, ID: config.text("card_id")}
	card.key, _ = config.known["card_id"].(string)
	card.holder = cmp.Or(r.prior.byID[card.key].Address, card.ID)
	card.after = r.prior.byID[card.ID].values()
	card.Label, card.Last4 = card.after.text("label"), card.after.text("last4")
	amount := r.amount(config, "amount")
	switch {
	case word == Freeze || word == Unfreeze:
	case amount == nil && word == Withdraw && !config.isUnknown("amount"):
		r.note(a.Address, "withdraws all that the card holds at that moment")
	case amount == nil:
		r.unknown(card, "amount")
		card.mayTake = word == Fund
	case word == Fund:
		card.Sums.Funds = *amount
	default:
		card.Sums.Withdrawals = *amount
	}
	r.add(card)
}

// incomplete notes why the plan may not be all that there is to do.
func (r *reader) incomplete(plan *Plan) {
	told := len(r.statement.Unknown)
	if plan.Errored {
		r.missing("", "the plan failed, and shows only a part")
	}
	for _, deferred := range plan.DeferredChanges {
		if deferred == nil || deferred.Change == nil {
			r.missing("", "a change is left to a later plan")
			continue
		}
		r.missing(deferred.Change.Address, "is left to a later plan")
	}
	for _, deferred := range plan.DeferredInvocations {
		r.missing(deferred.Invocation.Address, "is left to a later plan")
	}
	if plan.Complete != nil && !*plan.Complete && len(r.statement.Unknown) == told {
		r.missing("", "the plan is of a part only, as with -target")
	}
}

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

// stops notes why apply may not make the planned movements, as far as balance and record tell.
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
		reason = h.untold() + ": apply may find it made, or stop"
	case h.more > 0 && (!withdraws || card.mayTake):
		reason = h.untold() + ": apply may stop"
	case withdraws && h.more == -card.Sums.Withdrawals:
		reason = fmt.Sprintf("holds just %s USD less than Terraform knows of: apply may find the withdrawal made, or stop", -h.more)
	default:
		return
	}
	r.note(card.Address, reason)
	delete(r.prior.cards, object{card.Address, card.Deposed})
}

// untold is what Terraform does not know of the card's money, and "" where it knows all.
func (h held) untold() string {
	switch {
	case h.record.Pending != nil:
		return fmt.Sprintf("of an earlier movement of %s USD it is not known whether it was made", signed(h.record.Pending.Delta))
	case h.more > 0:
		return fmt.Sprintf("holds %s USD more than Terraform knows of", h.more)
	}
	return ""
}

// others notes which other cards of the state hold more than Terraform knows of.
func (r *reader) others() {
	order := func(a, b object) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.deposed, b.deposed))
	}
	for _, object := range slices.SortedFunc(maps.Keys(r.prior.cards), order) {
		if untold := r.held(r.prior.cards[object].values()).untold(); untold != "" {
			r.statement.Notes = append(r.statement.Notes, Unknown{Address: object.address, Reason: untold})
		}
	}
}
