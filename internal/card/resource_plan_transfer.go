package card

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// plannedTransfer is the money that a plan moves on a card, in USD.
type plannedTransfer struct {
	amount  usd.Amount // change of amount: positive funds the card, negative withdraws
	topUp   usd.Amount // the top-up, which is funded in addition
	unknown bool       // at least one of the two is known only during apply
}

// planTransfer plans the attributes that show the card's money or status, and checks the transfers.
func (p *planner) planTransfer(ctx context.Context) {
	record := p.state.record()
	t := p.planAmount()
	t = p.planTopUp(ctx, t, record)
	if p.diags.HasError() {
		return
	}
	p.private.TopUpPaused = p.config.Frozen.ValueBool() // a card that someone else froze is still topped up
	change := moneyChange(ctx, p.state, p.plan, p.private.TopUpPaused)
	mayMoveMoney := t.unknown || len(change.Movements()) > 0
	// Without top_up, an apply that moves no money abandons a pending transfer.
	mayHaveNoTopUp := p.plan.TopUp.IsNull() || p.plan.TopUp.IsUnknown()
	mayAbandonTransfer := record.Pending != nil && mayHaveNoTopUp
	p.plan.Balance = p.state.Balance
	p.plan.MoneyRecord = p.state.MoneyRecord
	if mayMoveMoney || mayAbandonTransfer {
		p.plan.Balance = usdtype.Unknown()
		p.plan.MoneyRecord = types.StringUnknown()
	}
	if record.Pending != nil {
		p.warnPending(t, change.Movements(), record, mayHaveNoTopUp)
	}
	p.planFrozen(t)
	p.warnExpiry(t.amount + t.topUp)
	net := p.preview(ctx, t, change, record)
	p.warnUnspendable(t, net)
	planned := session.PlannedSpend{Taken: max(0, net), Returned: max(0, -net)}
	p.private.Replaced.CountedNet = net
	p.private.Replaced.CountedTaken = planned.Taken
	p.countSpend(ctx, planned)
}

// warnUnspendable warns if the plan funds a card whose money may not be spendable. net is the money that the plan moves
// to the card, in USD; it is negative for a withdrawal.
func (p *planner) warnUnspendable(t plannedTransfer, net usd.Amount) {
	if !p.resource.session.IsPlanning() {
		return
	}
	if net > 0 && p.plan.Frozen.ValueBool() {
		p.warn("frozen", "Plan funds a frozen card",
			"%s gets %s USD and will be frozen after apply. The money cannot be spent until you set frozen = false.",
			capitalized(p.state.name()), net)
	}
	status := api.CardStatus(p.state.Status.ValueString())
	if t.amount > 0 && !transfer.IsUsable(status) {
		p.warn("amount", "Plan funds a card that may not be usable",
			"%s gets %s USD, and the service shows the card as %s. Check in the dashboard that the money can be spent.",
			capitalized(p.state.name()), t.amount, status)
	}
}

// warnPending warns of what the plan does about the pending transfer. mayHaveNoTopUp says that top_up is null or unknown.
func (p *planner) warnPending(t plannedTransfer, movements []reconcile.Movement, record reconcile.Record, mayHaveNoTopUp bool) {
	pending := *record.Pending
	if len(movements) > 0 {
		repeats := record.Repeats(movements[0])
		if !repeats {
			p.diags.Append(willStopForPending(p.state, pending))
		}
		return
	}
	// Apply abandons the transfer if no money moves and there is no top_up. While amount or top_up is unknown, the plan
	// cannot tell.
	if p.plan.TopUp.IsNull() && !t.unknown {
		p.diags.Append(willAbandonPending(p.state, pending, p.plan.Amount.IsNull()))
	} else if mayHaveNoTopUp {
		p.diags.Append(mayAbandonPending(p.state, pending, p.plan.TopUp.IsUnknown()))
	} else if t.unknown {
		p.diags.Append(mayStopForPending(p.state, pending))
	}
}

// preview adds the diagnostics about the planned transfers. It returns the amount in USD that they take from the wallet,
// which is negative if they return money. A transfer that a fresh reading shows as made does not count.
func (p *planner) preview(ctx context.Context, t plannedTransfer, change reconcile.Change, record reconcile.Record) usd.Amount {
	movements := change.Movements()
	var net usd.Amount
	for _, m := range movements {
		net += m.Delta
	}
	if len(movements) == 0 {
		return net
	}
	blocked := record.Pending != nil && !record.Repeats(movements[0])
	if blocked {
		return net // apply stops
	}
	if !p.resource.session.IsConfigured() {
		p.checkWithdrawal(ctx, t) // the card cannot be read, but the state shows its balance
		return net
	}
	if !p.resource.session.IsPlanning() {
		return net // apply reads the card before it moves money
	}
	// If a reading fails, the decisions are from an earlier one. The plan does not report the error, because apply reads the
	// card again.
	decisions, err := p.resource.session.Mover.Preview(ctx, p.state.ID.ValueString(), record, change, p.state.Balance.Amount())
	readingFailed := err != nil
	for _, d := range decisions {
		p.diags.Append(previewWarnings(p.state, d)...)
		if d.Verdict == reconcile.Made && !readingFailed {
			net -= d.Movement.Delta
		}
		if d.Movement.Purpose == reconcile.ForAmount && showsWhatIsLeft(d) {
			p.checkWithdrawal(ctx, t)
		}
	}
	return net
}

// showsWhatIsLeft reports whether the card's balance shows how much money a withdrawal leaves on the card.
func showsWhatIsLeft(d reconcile.Decision) bool {
	if d.Reason == reconcile.LooksEither { // the withdrawal may have been made already
		return false
	}
	// A withdrawal with the verdict Send has not been made yet. Neither has one with the reason IntoRange: apply would stop,
	// because it leaves less than top_up.below.
	return d.Verdict == reconcile.Send || d.Reason == reconcile.IntoRange
}

// checkWithdrawal refuses to withdraw more than the card has, or money that the next plan would load again. If frozen is
// not configured, it warns of a withdrawal that makes the service freeze the card.
func (p *planner) checkWithdrawal(ctx context.Context, t plannedTransfer) {
	if t.amount >= 0 {
		return
	}
	before := p.state.Amount.Amount()
	balance := p.state.Balance.Amount()
	after := balance + t.amount
	if after < 0 {
		p.diags.AddAttributeError(path.Root("amount"), "Withdrawal exceeds the card's balance",
			fmt.Sprintf("Lowering amount from %s to %s USD withdraws %s USD. But %s held only %s USD at the last refresh. "+
				"Set amount to at least %s.",
				before, p.plan.Amount.Amount(), -t.amount, p.state.name(), balance, before-balance)+replaceAdvice(p.plan.Amount.Amount()))
		return
	}

	topUpMayPause := p.config.Frozen.ValueBool() || p.config.Frozen.IsUnknown()
	rule, _ := p.config.readTopUp(ctx)
	belowRange := rule != nil && after < rule.Below.Amount()
	if belowRange && !topUpMayPause {
		p.diags.AddAttributeError(path.Root("amount"), "Withdrawal would trigger a top-up",
			withdrawsIntoTopUp(p.state, after, rule.Below.Amount())+replaceAdvice(p.plan.Amount.Amount()))
		return
	}

	mayBeToppedUp := t.unknown // then the card may be left with more than this balance
	if mayBeToppedUp || p.state.Frozen.ValueBool() {
		return
	}
	threshold := p.state.AutoFreezeAt
	freezes := threshold.IsKnown() && after < threshold.Amount()
	if freezes && p.config.Frozen.IsNull() {
		p.warn("amount", "Withdrawal will freeze the card",
			"%s is left with %s USD, less than auto_freeze_at (%s USD), so the service freezes the card. "+
				"To avoid that, lower amount by less. To use a frozen card again, fund and unfreeze it.",
			capitalized(p.state.name()), after, threshold.Amount())
	}
}

// warnExpiry warns of a card that expires soon or has expired. delta is the money that the plan moves to the card, in USD.
func (p *planner) warnExpiry(delta usd.Amount) {
	const soon = 30 * 24 * time.Hour
	lastDay, err := time.Parse(time.DateOnly, p.state.ExpiresAt.ValueString())
	if err != nil || !p.resource.session.IsPlanning() {
		return
	}
	end := lastDay.AddDate(0, 0, 1) // assuming that the card is valid until the end of that day
	remaining := end.Sub(p.resource.session.Client.ServiceTime())
	if remaining > soon {
		return
	}
	expired := remaining <= 0
	title := "Card expires soon"
	text := fmt.Sprintf("%s expires on %s. ", capitalized(p.state.name()), p.state.ExpiresAt.ValueString())
	if expired {
		title = "Card has expired"
		text = fmt.Sprintf("%s expired on %s. ", capitalized(p.state.name()), p.state.ExpiresAt.ValueString())
	}
	if delta > 0 && expired {
		text += fmt.Sprintf("This plan still loads %s USD onto the card, and this money cannot be spent. ", delta)
	} else if delta > 0 {
		text += fmt.Sprintf("This plan still loads %s USD onto the card. ", delta)
	}
	text += fmt.Sprintf("The API cannot renew a card. Issue another with -replace, for a fee of %s USD; the balance returns to the wallet. "+
		"With create_before_destroy = true in the lifecycle block, the new card is issued first.", api.IssuanceFee)
	p.diags.AddWarning(title, text)
}

// planAmount plans the change of amount. It compares cents, so that noise in a computed number causes no diff.
func (p *planner) planAmount() plannedTransfer {
	var t plannedTransfer
	before := p.state.Amount
	after := p.config.Amount
	switch {
	case after.IsUnknown():
		t.unknown = true
	case before.SameCents(after):
		p.plan.Amount = before
	case before.IsNull():
		p.warn("amount", "amount becomes the baseline and moves no money",
			"Terraform does not manage the load of %s yet. "+
				"amount = %s becomes the baseline, whatever the card's balance is (%s USD at the last refresh). "+
				"Later changes to amount move only the difference.",
			p.state.name(), after.Amount(), p.state.Balance.Amount())
	case after.IsNull():
		p.warn("amount", "amount is no longer managed and moves no money",
			"amount was removed from the configuration, so Terraform no longer manages the load of %s. That moves no money. "+
				"The card's balance was %s USD at the last refresh; the amount in the state was %s USD. "+
				"If this is a mistake, set amount back to %s before you apply.",
			p.state.name(), p.state.Balance.Amount(), before.Amount(), before.Amount())
	default:
		t.amount = after.Amount() - before.Amount()
	}
	return t
}

// planTopUp plans topped_up, and returns the planned transfer with the top-up. If top_up or
// max_top_up_per_month has the same cents as in the state, the plan keeps the state's notation.
func (p *planner) planTopUp(ctx context.Context, t plannedTransfer, record reconcile.Record) plannedTransfer {
	p.plan.ToppedUp = p.state.ToppedUp
	rule, known := p.config.readTopUp(ctx)
	old, _ := p.state.readTopUp(ctx)
	if old != nil && rule != nil {
		sameRange := old.Below.SameCents(rule.Below) && old.To.SameCents(rule.To)
		if sameRange {
			p.plan.TopUp = p.state.TopUp
		}
	}
	if p.config.MaxTopUpPerMonth.SameCents(p.state.MaxTopUpPerMonth) {
		p.plan.MaxTopUpPerMonth = p.state.MaxTopUpPerMonth
	}
	if p.config.Frozen.ValueBool() { // top_up pauses
		return t
	}
	if !known {
		return p.topUpDuringApply(t)
	}
	if rule == nil {
		return t
	}
	if t.unknown {
		return p.topUpDuringApply(t)
	}
	if t.amount < 0 { // not a reason to top up: a withdrawal that would lead to a top-up is refused, now or during apply
		return t
	}
	after := p.state.Balance.Amount() + t.amount
	if after >= rule.Below.Amount() {
		return t
	}
	limit := p.config.MaxTopUpPerMonth
	if p.config.Frozen.IsUnknown() || limit.IsUnknown() {
		return p.topUpDuringApply(t)
	}
	status := api.CardStatus(p.state.Status.ValueString())
	if !transfer.IsUsable(status) {
		p.warn("top_up", "Card is not topped up because of its status",
			"%s holds %s USD, less than top_up.below (%s USD). The service shows it as %s, so the money may not be usable, and no top-up is planned. "+
				"Check the card in the dashboard. You can still fund it by raising amount.",
			capitalized(p.state.name()), p.state.Balance.Amount(), rule.Below.Amount(), status)
		return t
	}
	topUpRange := reconcile.Range{Below: rule.Below.Amount(), To: rule.To.Amount(), Limit: limit.Pointer()}
	t.topUp = topUpRange.Due(after, record.TopUps, p.private.Month)
	needed := topUpRange.To - after
	if t.topUp < needed {
		p.warn("max_top_up_per_month", "Top-up is limited by max_top_up_per_month", "%s",
			limitedTopUp(p.state, needed, t.topUp, record.TopUps, p.private.Month, limit.Amount()))
	}
	p.plan.ToppedUp = usdtype.FromAmount(p.state.ToppedUp.Amount() + t.topUp)
	return t
}

// topUpDuringApply plans a top-up whose amount is known only during apply.
func (p *planner) topUpDuringApply(t plannedTransfer) plannedTransfer {
	p.plan.ToppedUp = usdtype.Unknown()
	p.warn("top_up", "Top-up is decided during apply",
		"The top-up of %s depends on values that are known only after apply. The card held %s USD at the last refresh. "+
			"If the balance is less than top_up.below when apply reads it, "+
			"apply may fund the card up to top_up.to, within max_top_up_per_month if it is set. "+
			"To see the amount in the plan, first apply what these values depend on, with -target.",
		p.state.name(), p.state.Balance.Amount())
	t.unknown = true
	return t
}

// planFrozen plans frozen and status. Both are unknown if the configured value is unknown, or if there is none and a
// withdrawal may make the service freeze the card.
func (p *planner) planFrozen(t plannedTransfer) {
	p.plan.Status = p.state.Status
	wanted := p.config.Frozen
	isFrozen := p.state.Frozen.ValueBool()
	after := p.state.Balance.Amount() + t.amount + t.topUp
	keptActive := wanted.IsNull() && !isFrozen
	mayFreeze := keptActive && p.mayAutoFreeze(t, after)
	if wanted.IsUnknown() || mayFreeze {
		p.plan.Frozen = types.BoolUnknown()
		p.plan.Status = types.StringUnknown()
		return
	}
	if wanted.IsNull() {
		p.plan.Frozen = p.state.Frozen
		return
	}
	if wanted.ValueBool() == isFrozen {
		return
	}
	if wanted.ValueBool() {
		p.plan.Status = types.StringValue(string(api.StatusFrozen))
		return
	}

	p.plan.Status = types.StringValue(string(api.StatusActive))
	if p.private.FrozenOutside && p.resource.session.IsPlanning() {
		p.diags.Append(willUnfreeze(p.state))
	}
	threshold := p.plan.AutoFreezeAt
	staysBelow := threshold.IsKnown() && after < threshold.Amount()
	if staysBelow && !t.unknown {
		p.warn("frozen", "Card may freeze again",
			"This plan unfreezes %s with a balance of %s USD, less than auto_freeze_at (%s USD). "+
				"The service may freeze it again at the next purchase. To keep the card active, raise amount.",
			p.state.name(), after, threshold.Amount())
	}
}

// mayAutoFreeze reports whether the change of amount may make the service freeze the card. after is the balance after the
// planned transfers, in USD.
func (p *planner) mayAutoFreeze(t plannedTransfer, after usd.Amount) bool {
	mayWithdraw := t.amount < 0
	lowest := after
	if p.config.Amount.IsUnknown() { // it may withdraw everything
		mayWithdraw = true
		lowest = 0
	}
	if !mayWithdraw {
		return false
	}
	threshold := p.state.AutoFreezeAt
	if threshold.IsNull() {
		return p.state.isImported() // the service may know a threshold that it does not report
	}
	return lowest < threshold.Amount()
}
