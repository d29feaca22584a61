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

type plannedTransfer struct {
	amount  usd.Amount // funded when above zero, withdrawn when below
	topUp   usd.Amount // funded besides
	unknown bool       // some of it is known only during apply
}

func (p *planner) planTransfer(ctx context.Context) {
	record := p.state.record()
	t := p.planAmount()
	t = p.planTopUp(ctx, t, record)
	if p.diags.HasError() {
		return
	}
	change := moneyOf(ctx, p.state, p.plan)
	movements := change.Movements()
	moves := t.unknown || len(movements) > 0
	givesUp := !moves && record.Pending != nil && p.plan.TopUp.IsNull()
	p.plan.Balance, p.plan.MoneyRecord = p.state.Balance, p.state.MoneyRecord
	if moves || givesUp {
		p.plan.Balance, p.plan.MoneyRecord = usdtype.Unknown(), types.StringUnknown()
	}
	switch pending := record.Pending; {
	case givesUp:
		p.diags.Append(givesUpPending(p.state, *pending))
	case pending != nil && len(movements) == 0 && (p.plan.TopUp.IsUnknown() || t.unknown && p.plan.TopUp.IsNull()): // apply may give it up
		p.diags.Append(mayGiveUpPending(p.state, *pending))
	case pending != nil && moves && (len(movements) == 0 || !record.Repeats(movements[0])):
		p.diags.Append(stopsForPending(p.state, *pending, movements...))
	}
	p.planFrozen(t)
	p.warnExpiry(t.amount + t.topUp)
	net := p.preview(ctx, t, change, record)
	p.private.Replaced.Planned = net
	if net > 0 && p.plan.Frozen.ValueBool() && p.resource.session.IsPlanning() {
		p.warn("frozen", "Money goes to a card that is frozen",
			"%s gets %s USD and is frozen after this plan: nobody can spend them until it is unfrozen (frozen = false).",
			capitalized(p.state.name()), net)
	}
	status := api.CardStatus(p.state.Status.ValueString())
	if t.amount > 0 && !transfer.IsUsable(status) && p.resource.session.IsPlanning() {
		p.warn("amount", "Money goes to a card that may not be usable",
			"%s gets %s USD. The service shows it as %s: check in the dashboard that the money can be spent there.",
			capitalized(p.state.name()), t.amount, status)
	}
	planned := session.PlannedSpend{Taken: max(0, net), Returned: max(0, -net)}
	p.private.Replaced.Taken = planned.Taken
	p.spend(ctx, planned)
}

// preview says what apply would stop for, and refuses what the card cannot give. It returns
// what the movements take from the wallet: all that are planned, but for those that a fresh
// reading of the card shows as made.
func (p *planner) preview(ctx context.Context, t plannedTransfer, change reconcile.Change, record reconcile.Record) usd.Amount {
	movements := change.Movements()
	var net usd.Amount
	for _, m := range movements {
		net += m.Delta
	}
	if len(movements) == 0 || record.Pending != nil && !record.Repeats(movements[0]) {
		return net
	}
	if !p.resource.session.IsPlanning() {
		if !p.resource.session.Known() {
			p.checkWithdrawal(ctx, t)
		}
		return net
	}
	decisions, err := p.resource.session.Mover.Preview(ctx, p.state.ID.ValueString(), record, change, p.state.Balance.Amount())
	for _, d := range decisions {
		p.diags.Append(previewed(p.state, d)...)
		if d.Verdict == reconcile.Made && err == nil {
			net -= d.Movement.Delta
		}
		sends := d.Verdict == reconcile.Send && d.Reason != reconcile.LooksEither
		if d.Movement.Purpose == reconcile.ForAmount && (sends || d.Reason == reconcile.IntoRange) {
			p.checkWithdrawal(ctx, t)
		}
	}
	return net
}

// checkWithdrawal refuses to withdraw what the card does not hold, or what the same
// plan would load again, and warns where the service freezes the card for it.
func (p *planner) checkWithdrawal(ctx context.Context, t plannedTransfer) {
	before, balance, threshold := p.state.Amount.Amount(), p.state.Balance.Amount(), p.state.AutoFreezeAt
	after := balance + t.amount
	rule, _ := p.config.readTopUp(ctx)
	switch {
	case t.amount >= 0:
	case after < 0:
		p.diags.AddAttributeError(path.Root("amount"), "The card holds less than that",
			fmt.Sprintf("Lowering amount from %s to %s USD withdraws %s USD, but %s held %s USD at the last refresh; the rest has been spent. amount must be at least %s.",
				before, p.plan.Amount.Amount(), -t.amount, p.state.name(), balance, before-balance)+replaceInstead(p.plan.Amount.Amount()))
	case rule != nil && !p.config.Frozen.ValueBool() && !p.config.Frozen.IsUnknown() && after < rule.Below.Amount():
		p.diags.AddAttributeError(path.Root("amount"), "Withdrawal into the top-up range", withdrawsIntoTopUp(p.state, after, rule.Below.Amount())+replaceInstead(p.plan.Amount.Amount()))
	case threshold.IsKnown() && after < threshold.Amount() && !t.unknown && p.config.Frozen.IsNull() && !p.state.Frozen.ValueBool():
		p.warn("amount", "The service freezes a card that this plan withdraws from",
			"%s is left with %s USD, which is under auto_freeze_at (%s USD): the service freezes it. Withdraw less, or fund and unfreeze it to use it again.",
			capitalized(p.state.name()), after, threshold.Amount())
	}
}

// warnExpiry warns of a card that expires soon or has expired, and of money that
// is loaded onto it.
func (p *planner) warnExpiry(delta usd.Amount) {
	const soon = 30 * 24 * time.Hour
	lastDay, err := time.Parse(time.DateOnly, p.state.ExpiresAt.ValueString())
	if err != nil || !p.resource.session.IsPlanning() {
		return
	}
	left := lastDay.AddDate(0, 0, 1).Sub(p.resource.session.Client.ServiceTime())
	title, on, unused := "A card expires soon", "expires on", ""
	switch {
	case left > soon:
		return
	case left <= 0:
		title, on, unused = "A card has expired", "expired on", ", which nobody can spend"
	}
	text := fmt.Sprintf("%s %s %s. ", capitalized(p.state.name()), on, p.state.ExpiresAt.ValueString())
	if delta > 0 {
		text += fmt.Sprintf("This plan still loads %s USD onto it%s. ", delta, unused)
	}
	p.diags.AddWarning(title, text+"The service does not renew cards: issue another with -replace; add create_before_destroy = "+
		"true to its lifecycle block, so that it comes first. What this one holds returns to the wallet.")
}

// planAmount compares by cents, so that computed numbers make no perpetual diff.
func (p *planner) planAmount() (t plannedTransfer) {
	before, after := p.state.Amount, p.config.Amount
	switch {
	case after.IsUnknown():
		t.unknown = true
	case before.SameCents(after):
		p.plan.Amount = before
	case before.IsNull():
		p.warn("amount", "amount is taken as the baseline; no money moves",
			"Terraform has not managed the load of %s so far. amount = %s becomes its starting point, whatever the card holds (%s USD at the last refresh); from the next change of amount on, the difference is funded or withdrawn.",
			p.state.name(), after.Amount(), p.state.Balance.Amount())
	case after.IsNull():
		p.warn("amount", "The load is no longer managed; no money moves",
			"amount was taken out of the configuration: %s keeps what it holds (%s USD at the last refresh), and Terraform forgets what it has loaded (%s USD).",
			p.state.name(), p.state.Balance.Amount(), before.Amount())
	default:
		t.amount = after.Amount() - before.Amount()
	}
	return t
}

func (p *planner) planTopUp(ctx context.Context, t plannedTransfer, record reconcile.Record) plannedTransfer {
	p.plan.ToppedUp = p.state.ToppedUp
	rule, known := p.config.readTopUp(ctx)
	if old, _ := p.state.readTopUp(ctx); old != nil && rule != nil && old.Below.SameCents(rule.Below) && old.To.SameCents(rule.To) {
		p.plan.TopUp = p.state.TopUp
	}
	if p.config.MaxTopUpPerMonth.SameCents(p.state.MaxTopUpPerMonth) {
		p.plan.MaxTopUpPerMonth = p.state.MaxTopUpPerMonth
	}
	limit := p.config.MaxTopUpPerMonth
	switch {
	case p.config.Frozen.ValueBool(): // a paused card needs no money
		return t
	case !known || rule != nil && t.unknown:
		return p.topUpDuringApply(t)
	case rule == nil:
		return t
	}
	after := p.state.Balance.Amount() + t.amount
	switch {
	case after >= rule.Below.Amount(), t.amount < 0: // which checkWithdrawal refuses
		return t
	case p.config.Frozen.IsUnknown(), limit.IsUnknown():
		return p.topUpDuringApply(t)
	}
	status := api.CardStatus(p.state.Status.ValueString())
	if !transfer.IsUsable(status) {
		p.warn("top_up", "Card is not topped up because of its status",
			"%s holds %s USD, which is under top_up.below (%s USD). The service shows it as %s, so money may be of no use there, and none is planned. "+
				"Look at the card in the dashboard. A higher amount still funds it.",
			capitalized(p.state.name()), p.state.Balance.Amount(), rule.Below.Amount(), status)
		return t
	}
	keeps := reconcile.Range{Below: rule.Below.Amount(), To: rule.To.Amount(), Limit: limit.Pointer()}
	t.topUp = keeps.Due(after, record.TopUps, p.private.Month)
	if due := keeps.To - after; t.topUp < due {
		p.warn("max_top_up_per_month", "A top-up is cut by the month's cap", "%s would be topped up with %s USD, and gets %s; %s",
			capitalized(p.state.name()), due, t.topUp, hadInMonth(record.TopUps, p.private.Month, limit.Amount()))
	}
	p.plan.ToppedUp = usdtype.Of(p.state.ToppedUp.Amount() + t.topUp)
	return t
}

func (p *planner) topUpDuringApply(t plannedTransfer) plannedTransfer {
	p.plan.ToppedUp = usdtype.Unknown()
	p.warn("top_up", "Whether a card is topped up is decided during apply",
		"What %s is to hold depends on values that are known only after apply. It held %s USD at the last refresh; if that turns out to be under top_up.below, apply funds it up to top_up.to, or as far as max_top_up_per_month allows.",
		p.state.name(), p.state.Balance.Amount())
	t.unknown = true
	return t
}

// planFrozen plans frozen and status. A withdrawal under the auto-freeze
// threshold leaves both open, unless the configuration decides.
func (p *planner) planFrozen(t plannedTransfer) {
	p.plan.Status = p.state.Status
	wanted := p.config.Frozen
	after := p.state.Balance.Amount() + t.amount + t.topUp
	switch {
	case wanted.IsUnknown():
		p.plan.Frozen, p.plan.Status = types.BoolUnknown(), types.StringUnknown()
	case wanted.IsNull() && !p.state.Frozen.ValueBool() && p.mayAutoFreeze(t, after):
		p.plan.Frozen, p.plan.Status = types.BoolUnknown(), types.StringUnknown()
	case wanted.IsNull():
		p.plan.Frozen = p.state.Frozen
	case wanted.ValueBool() == p.state.Frozen.ValueBool():
	case wanted.ValueBool():
		p.plan.Status = types.StringValue(string(api.StatusFrozen))
	default:
		p.plan.Status = types.StringValue(string(api.StatusActive))
		if p.private.FrozenOutside && p.resource.session.IsPlanning() {
			p.diags.Append(unfreezes(p.state))
		}
		if threshold := p.plan.AutoFreezeAt; threshold.IsKnown() && after < threshold.Amount() && !t.unknown {
			p.warn("frozen", "A card may freeze again at once",
				"%s is unfrozen with %s USD, which is under auto_freeze_at (%s USD): the service freezes it again with the next purchase. Raise amount to keep it in use.",
				capitalized(p.state.name()), after, threshold.Amount())
		}
	}
}

// mayAutoFreeze reports whether what amount turns out to be may make the service freeze the
// card. One that is not known yet may withdraw everything, and of an imported card the
// threshold may be anything.
func (p *planner) mayAutoFreeze(t plannedTransfer, after usd.Amount) bool {
	withdraws := t.amount < 0
	if p.config.Amount.IsUnknown() {
		withdraws, after = true, 0
	}
	if p.state.AutoFreezeAt.IsNull() {
		return withdraws && p.state.isImported()
	}
	return withdraws && after < p.state.AutoFreezeAt.Amount()
}
