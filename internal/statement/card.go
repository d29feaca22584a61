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

// New returns the statement of a plan. It returns an error if it cannot rely on the plan: for example, if an amount is
// negative, or if a change of a card has actions that this package does not know.
func New(plan *Plan) (*Statement, error) {
	if slices.Contains(plan.Changes, nil) || slices.Contains(plan.Invocations, nil) {
		return nil, errIncomplete
	}
	r := reader{
		plan:    plan,
		prior:   plan.prior(),
		wasRead: map[object]bool{},
		statement: &Statement{
			FormatVersion: "1.0",
			Unknown:       []Unknown{},
			Notes:         []Unknown{},
			Cards:         []Card{},
			Others:        []string{},
		},
	}
	for _, change := range plan.Changes {
		err := r.readChange(change)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sanitizeLine(change.Address), err)
		}
	}
	for _, action := range plan.Invocations {
		err := r.readAction(action)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sanitizeLine(action.Address), err)
		}
	}
	r.addMissingChanges()
	r.addNotes()
	if r.err != nil { // from addNotes; the loops above return earlier errors
		return nil, r.err
	}

	s := r.statement
	for _, card := range s.Cards {
		err := s.Wallet.add(card.Sums)
		if err != nil {
			return nil, err
		}
	}
	// The cards for which the wallet pays most come first.
	slices.SortStableFunc(s.Cards, func(a, b Card) int { return cmp.Compare(a.Wallet, b.Wallet) })
	s.Complete = len(s.Unknown) == 0
	balance, err := balanceOf(plan, r.prior.wallets, s)
	if err != nil {
		return nil, err
	}
	s.Balance = balance
	return s, nil
}

// reader makes a statement from the changes of a plan.
type reader struct {
	plan *Plan
	// prior is the refreshed state. Cards that need no note are removed from prior.cards.
	prior     prior
	wasRead   map[object]bool // the objects whose changes have been read
	statement *Statement
	err       error // of the first invalid amount
}

// amount returns nil for an amount that is null, unknown or invalid. It keeps the first error in r.err. The caller may
// continue as with an unknown amount, because New returns no statement after an error.
func (r *reader) amount(v values, name string) *usd.Amount {
	amount, err := v.amount(name)
	if r.err == nil {
		r.err = err
	}
	return amount
}

func (r *reader) readChange(change *change) error {
	err := checkChange(change)
	if err != nil {
		return err
	}
	instance := object{change.Address, change.Deposed}
	if r.wasRead[instance] {
		return errors.New("appears twice in the plan")
	}
	r.wasRead[instance] = true
	if change.Mode != tfjson.ManagedResourceMode {
		return nil
	}
	if change.Type == cardType {
		return r.readCard(change, instance)
	}
	changes := !change.Change.Actions.NoOp()
	imports := change.Change.Importing != nil
	if changes || imports {
		r.statement.Others = append(r.statement.Others, change.Address)
	}
	return nil
}

func (r *reader) readCard(change *change, instance object) error {
	c := change.Change
	creates := slices.Contains(c.Actions, tfjson.ActionCreate)
	updates := slices.Contains(c.Actions, tfjson.ActionUpdate)
	deletes := slices.Contains(c.Actions, tfjson.ActionDelete)
	forgets := slices.Contains(c.Actions, tfjson.ActionForget)
	imports := c.Importing != nil
	removes := deletes || forgets // the existing card leaves the state

	before := values{known: attributesOf(c.Before), sensitive: c.BeforeSensitive}
	after := values{known: attributesOf(c.After), unknown: c.AfterUnknown, sensitive: c.AfterSensitive}
	refreshed := r.prior.cards[instance]
	if refreshed != nil && refreshed.AttributeValues != nil {
		// The values in the change may be from before the refresh.
		before.known = refreshed.AttributeValues
	}
	var needed []string
	if updates { // an update compares these attributes
		needed = []string{"amount", "topped_up", "frozen"}
	}
	err := before.check(needed...)
	if err != nil {
		return err
	}
	err = after.check(needed...)
	if err != nil {
		return err
	}

	id, _ := before.known["id"].(string) // also if it is sensitive, unlike before.text("id")
	card := &Card{
		Address: change.Address,
		Deposed: change.Deposed,
		ID:      before.text("id"),
		Last4:   before.text("last4"),
		key:     cmp.Or(id, change.Address),
		holder:  change.Address,
		after:   after,
		isNew:   creates,
	}
	if removes && !creates {
		card.after = before
	}
	card.Label = card.after.text("label")

	if creates {
		action := Issue
		if removes {
			action = Replace
		}
		card.Actions = []Action{action}
		r.readIssue(card)
	} else if deletes {
		card.Actions = []Action{Terminate}
	}
	if deletes {
		r.readTermination(card, before)
	}
	if updates {
		r.readUpdate(card, before, imports)
		r.addStopReason(card, before)
	}
	if deletes || creates {
		delete(r.prior.cards, instance) // it needs no note
	}
	if imports {
		card.Actions = append(card.Actions, Import)
	}
	if forgets {
		card.Actions = append(card.Actions, Forget)
	}
	if len(card.Actions) > 0 {
		r.add(card)
	}
	return r.err
}

// add completes the sums of a card and adds the card to the statement.
func (r *reader) add(card *Card) {
	card.Sums.Net = card.Sums.computeNet()
	card.Wallet = card.Sums.Net
	r.statement.Cards = append(r.statement.Cards, *card)
}

// addUnknown adds something that is known only during apply, or a reason why apply may stop.
func (r *reader) addUnknown(address, reason string) {
	r.statement.Unknown = append(r.statement.Unknown, Unknown{Address: address, Reason: reason})
}

// addMissing adds a change that the plan leaves out.
func (r *reader) addMissing(address, reason string) {
	r.statement.Unknown = append(r.statement.Unknown, Unknown{Address: address, Reason: reason, isMissingChange: true})
}

// addUnknownValue adds a value that is known only during apply, and the actions that it may cause. It sets mayTakeMore
// if the value may make the wallet pay more.
func (r *reader) addUnknownValue(card *Card, name string, possible ...Action) {
	r.addUnknown(card.Address, name+" is known only during apply")
	card.Actions = append(card.Actions, possible...)
	mayLoad := slices.Contains(possible, Fund) || slices.Contains(possible, TopUp)
	if card.isNew || mayLoad {
		card.mayTakeMore = true
	}
}

func (r *reader) readIssue(card *Card) {
	load := r.amount(card.after, "amount")
	if load == nil {
		r.addUnknownValue(card, "amount")
	}
	fee := r.amount(card.after, "issuance_fee")
	if fee == nil {
		r.addUnknownValue(card, "issuance_fee")
	}
	card.Sums.Loads = orZero(load)
	card.Sums.Fees = orZero(fee)
	if card.after.isTrue("frozen") {
		card.Actions = append(card.Actions, Freeze)
	}
}

func orZero(amount *usd.Amount) usd.Amount {
	if amount == nil {
		return 0
	}
	return *amount
}

func (r *reader) readTermination(card *Card, before values) {
	balance := r.amount(before, "balance")
	if balance == nil {
		r.addUnknown(card.Address, "the plan does not contain the balance that returns to the wallet")
	}
	card.Sums.Returns = orZero(balance)
}

func (r *reader) readUpdate(card *Card, before values, imports bool) {
	r.readLoad(card, before)
	r.readTopUps(card, before)
	r.readFrozen(card, before)
	configures := card.Baseline != nil || changesSettings(before, card.after)
	if configures && !imports { // new settings of an imported card count as part of its import
		card.Actions = append(card.Actions, Configure)
	}
}

// readLoad compares the amounts. If the state has no amount, as for an imported card, the new one moves no money.
func (r *reader) readLoad(card *Card, before values) {
	from := r.amount(before, "amount")
	to := r.amount(card.after, "amount")
	if from == nil {
		card.Baseline = to
		return
	}
	if card.after.isUnknown("amount") {
		r.addUnknownValue(card, "amount", Fund, Withdraw)
		return
	}
	if to == nil {
		return // removing amount from the configuration moves no money
	}
	if *to > *from {
		card.Sums.Funds = *to - *from
		card.Actions = append(card.Actions, Fund)
	} else if *to < *from {
		card.Sums.Withdrawals = *from - *to
		card.Actions = append(card.Actions, Withdraw)
	}
}

func (r *reader) readTopUps(card *Card, before values) {
	from := orZero(r.amount(before, "topped_up"))
	to := orZero(r.amount(card.after, "topped_up"))
	if card.after.isUnknown("topped_up") {
		r.addUnknownValue(card, "topped_up", TopUp)
	} else if to > from {
		card.Sums.TopUps = to - from
		card.Actions = append(card.Actions, TopUp)
	}
}

func (r *reader) readFrozen(card *Card, before values) {
	if card.after.isUnknown("frozen") {
		// If the configuration does not set frozen, a withdrawal may make it unknown, because the service may freeze the
		// card by itself. That is no action of the plan.
		isConfigured := r.plan.configOf(card.Address).Expressions["frozen"] != nil
		mayFreezeItself := card.does(Withdraw) && !isConfigured
		if !mayFreezeItself {
			r.addUnknownValue(card, "frozen", Freeze, Unfreeze)
		}
		return
	}
	from := before.isTrue("frozen")
	to := card.after.isTrue("frozen")
	if to && !from {
		card.Actions = append(card.Actions, Freeze)
	} else if from && !to {
		card.Actions = append(card.Actions, Unfreeze)
	}
}

// changesSettings reports whether an update changes anything but money and freezing.
func changesSettings(before, after values) bool {
	if slices.ContainsFunc([]string{"top_up", "max_top_up_per_month", "deletion_protection"}, after.isUnknown) {
		return true
	}
	// A change of the value of amount moves money. Setting or removing amount is a change of settings.
	hadAmount := before.known["amount"] != nil
	hasAmount := after.known["amount"] != nil || after.isUnknown("amount")
	if hadAmount != hasAmount {
		return true
	}
	for name, value := range after.known {
		isSetting := !slices.Contains([]string{"amount", "balance", "frozen", "money_record", "status", "topped_up"}, name)
		if isSetting && !reflect.DeepEqual(before.known[name], value) {
			return true
		}
	}
	return false
}

func (r *reader) readAction(a *invocation) error {
	actionsByType := map[string]Action{
		"vcard_card_fund":     Fund,
		"vcard_card_withdraw": Withdraw,
		"vcard_card_freeze":   Freeze,
		"vcard_card_unfreeze": Unfreeze,
	}
	action, ok := actionsByType[a.Type]
	if !ok {
		r.statement.Others = append(r.statement.Others, a.Address)
		return nil
	}
	config := values{known: attributesOf(a.Values), unknown: a.Unknown, sensitive: a.Sensitive}
	err := config.check()
	if err != nil {
		return err
	}
	card := &Card{
		Address: a.Address,
		Actions: []Action{action},
		ID:      config.text("card_id"),
	}
	card.key, _ = config.known["card_id"].(string)
	card.holder = cmp.Or(r.prior.byID[card.key].Address, card.ID)
	card.after = r.prior.byID[card.ID].values() // none if the ID is hidden
	card.Label = card.after.text("label")
	card.Last4 = card.after.text("last4")
	if action == Fund || action == Withdraw {
		r.readActionAmount(card, action, config)
	}
	r.add(card)
	return r.err
}

func (r *reader) readActionAmount(card *Card, action Action, config values) {
	amount := r.amount(config, "amount")
	isOmitted := amount == nil && !config.isUnknown("amount")
	if isOmitted && action == Withdraw {
		r.addUnknown(card.Address, "withdraws the whole balance of the card, which is known only during apply")
		return
	}
	if amount == nil {
		r.addUnknown(card.Address, "amount is known only during apply")
		card.mayTakeMore = action == Fund
		return
	}
	if action == Fund {
		card.Sums.Funds = *amount
	} else {
		card.Sums.Withdrawals = *amount
	}
}

// addMissingChanges adds the reasons why the plan may not contain all changes.
func (r *reader) addMissingChanges() {
	plan := r.plan
	countBefore := len(r.statement.Unknown)
	if plan.Errored {
		r.addMissing("", "planning failed, so the plan is partial")
	}
	for _, deferred := range plan.DeferredChanges {
		if deferred == nil || deferred.Change == nil {
			r.addMissing("", "a change is deferred to a later plan")
			continue
		}
		r.addMissing(deferred.Change.Address, "is deferred to a later plan")
	}
	for _, deferred := range plan.DeferredInvocations {
		r.addMissing(deferred.Invocation.Address, "is deferred to a later plan")
	}
	isPartial := plan.Complete != nil && !*plan.Complete
	hasReason := len(r.statement.Unknown) > countBefore
	if isPartial && !hasReason {
		r.addMissing("", "the plan is partial, for example because of -target")
	}
}

// cardMoney is a card's record, compared with its balance at the refresh.
type cardMoney struct {
	record reconcile.Record
	// unexplained is the balance minus the balance of the record, in USD. It is negative if the card has less than the
	// record explains, for example after purchases, and 0 if either balance is missing.
	unexplained usd.Amount
}

func (r *reader) readMoney(card values) cardMoney {
	id, _ := card.known["id"].(string)
	text, _ := card.known["money_record"].(string)
	money := cardMoney{record: reconcile.ParseRecord(id, text)}
	balance := r.amount(card, "balance")
	if balance != nil && money.record.Anchor != nil {
		money.unexplained = *balance - money.record.Anchor.Balance
	}
	return money
}

// addStopReason adds the reason, if there is one, why apply may stop before the planned movements, judging by the card's
// balance and record.
func (r *reader) addStopReason(card *Card, before values) {
	withdrawn := card.Sums.Withdrawals
	receives := card.amountReceived() > 0 || card.mayTakeMore
	if withdrawn == 0 && !receives {
		return
	}
	money := r.readMoney(before)
	var reason string
	switch {
	case money.record.Anchor == nil:
		reason = "has lost its money_record, so earlier movements are unknown: apply will stop once"
	case money.record.Pending != nil:
		reason = money.discrepancy() + ": apply may find that the movement was made, or stop"
	case money.unexplained > 0 && receives:
		reason = money.discrepancy() + ": apply may stop"
	case withdrawn > 0 && money.unexplained == -withdrawn:
		reason = fmt.Sprintf("holds exactly %s USD less than Terraform knows of: apply may find that the withdrawal was made, or stop", withdrawn)
	default:
		return
	}
	r.addUnknown(card.Address, reason)
	delete(r.prior.cards, object{card.Address, card.Deposed}) // a note would repeat the reason
}

// discrepancy describes the pending movement, or else the money that the card has beyond what its record explains. It
// returns "" if there is neither.
func (m cardMoney) discrepancy() string {
	if m.record.Pending != nil {
		return fmt.Sprintf("the outcome of an earlier movement of %s USD is unknown", m.record.Pending.Delta.Signed())
	}
	if m.unexplained > 0 {
		return fmt.Sprintf("holds %s USD more than Terraform knows of", m.unexplained)
	}
	return ""
}

// addNotes adds a note about each card that is left in prior.cards and has a discrepancy.
func (r *reader) addNotes() {
	order := func(a, b object) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.deposed, b.deposed))
	}
	for _, instance := range slices.SortedFunc(maps.Keys(r.prior.cards), order) {
		card := r.prior.cards[instance]
		money := r.readMoney(card.values())
		discrepancy := money.discrepancy()
		if discrepancy != "" {
			r.statement.Notes = append(r.statement.Notes, Unknown{Address: instance.address, Reason: discrepancy})
		}
	}
}
