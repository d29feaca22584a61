package card

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// plannedTransfer is the money that a plan moves on a live card, in USD.
type plannedTransfer struct {
	amount  usd.Amount // funded when above zero, withdrawn when below
	topUp   usd.Amount // funded besides
	unknown bool       // some of it is known only during apply
	// mayBeMade says that a run that was cut off may have made it already; apply
	// finds out.
	mayBeMade bool
}

// planTransfer plans money and freezing of a card that stays.
func (p *planner) planTransfer(ctx context.Context) {
	t := p.planAmount()
	t = p.planTopUp(ctx, t)
	if p.diags.HasError() {
		return
	}
	p.plan.Balance = p.state.Balance
	moves := t.unknown || t.amount != 0 || t.topUp != 0
	pending := p.private.Pending
	if moves || pending != nil {
		p.plan.Balance = usdtype.Unknown()
	}
	switch {
	case moves && pending != nil && !p.asksAgain(t):
		p.diags.Append(stillUndecided(p.state, pending))
		return
	case pending != nil && !moves:
		p.diags.Append(givesUpPending(p.state, pending))
	case moves && p.gainedSinceAnchor() > 0:
		p.diags.Append(holdsMoreThanKnown(p.state, p.private.Anchor.Balance, t.amount+t.topUp))
	}
	p.planFrozen(t)
	p.warnExpiry(t.amount + t.topUp)
	p.private.Prior.Planned = t.amount + t.topUp
	if t.mayBeMade {
		p.private.Prior.Planned = 0
	}
	p.spend(ctx, max(0, p.private.Prior.Planned), max(0, -p.private.Prior.Planned))
}

// expirySoon is how long before a card expires plans begin to say so.
const expirySoon = 30 * 24 * time.Hour

// warnExpiry warns of a card that expires soon or has expired, and of money that
// is loaded onto it.
func (p *planner) warnExpiry(delta usd.Amount) {
	lastDay, err := time.Parse(time.DateOnly, p.state.ExpiresAt.ValueString())
	if err != nil || !p.resource.session.IsPlanning() {
		return
	}
	now, tells := p.resource.session.Client.ServiceTime()
	if !tells {
		now = p.resource.session.Client.Now()
	}
	switch left := lastDay.AddDate(0, 0, 1).Sub(now); {
	case left <= 0:
		p.diags.Append(expired(p.state, delta))
	case left <= expirySoon:
		p.diags.Append(expiresSoon(p.state, delta))
	}
}

// asksAgain reports whether a plan makes the pending movement once more under
// the same key, which a service that honours keys counts once.
func (p *planner) asksAgain(t plannedTransfer) bool {
	session := p.resource.session
	if t.unknown || !session.Known() || !session.Client.KeysHonoured() {
		return false
	}
	key := p.private.movementKey(p.state.ID.ValueString(), loadsOf(p.state), loadsOf(p.plan))
	return key == p.private.Pending.Transfer.Key
}

// gainedSinceAnchor is what the card holds beyond its anchor, in USD; below zero
// after purchases.
func (p *planner) gainedSinceAnchor() usd.Amount {
	if p.private.Anchor == nil {
		return 0
	}
	return p.state.Balance.Amount() - p.private.Anchor.Balance
}

// mayBeMade reports whether a run that was cut off may have made a movement
// already: the balance has changed by at least as much.
func (p *planner) mayBeMade(delta usd.Amount) bool {
	gained := p.gainedSinceAnchor()
	return delta > 0 && gained >= delta || delta < 0 && gained <= delta
}

// planAmount compares by cents, so that computed numbers make no perpetual diff.
func (p *planner) planAmount() plannedTransfer {
	before, after := p.state.Amount, p.config.Amount
	switch {
	case after.IsUnknown():
		return plannedTransfer{unknown: true}
	case before.SameCents(after):
		p.plan.Amount = before
	case before.IsNull():
		p.diags.Append(baseline(p.state, after.Amount()))
	case after.IsNull():
		p.diags.Append(noLongerManaged(p.state))
	default:
		delta := after.Amount() - before.Amount()
		t := plannedTransfer{amount: delta, mayBeMade: p.mayBeMade(delta)}
		switch {
		case -delta <= p.state.Balance.Amount():
		case t.mayBeMade:
			p.diags.Append(mayBeWithdrawn(p.state, delta))
		default:
			p.diags.AddAttributeError(path.Root("amount"), "The card holds less than that", withdrawsTooMuch(p.state, before.Amount(), after.Amount()))
		}
		return t
	}
	return plannedTransfer{}
}

func (p *planner) planTopUp(ctx context.Context, t plannedTransfer) plannedTransfer {
	p.plan.ToppedUp = p.state.ToppedUp
	rule, known := p.config.readTopUp(ctx)
	if old, _ := p.state.readTopUp(ctx); old != nil && rule != nil && old.Below.SameCents(rule.Below) && old.To.SameCents(rule.To) {
		p.plan.TopUp = p.state.TopUp
	}
	switch {
	case p.config.Frozen.ValueBool(): // a paused card needs no money
		return t
	case !known || (rule != nil && t.unknown):
		return p.topUpDuringApply(t)
	case rule == nil:
		return t
	}
	after := p.state.Balance.Amount() + t.amount
	if t.mayBeMade && t.amount > 0 {
		after = p.state.Balance.Amount()
	}
	switch {
	case after >= rule.Below.Amount():
	case p.config.Frozen.IsUnknown():
		return p.topUpDuringApply(t)
	case t.amount < 0 && t.mayBeMade:
		if -t.amount <= p.state.Balance.Amount() { // else it is said already
			p.diags.Append(mayBeWithdrawn(p.state, t.amount))
		}
	case t.amount < 0:
		p.diags.AddAttributeError(path.Root("amount"), "Withdrawal into the top-up range", withdrawsIntoTopUp(p.state, after, rule.Below.Amount())+replaceInstead)
	default:
		t.topUp = rule.To.Amount() - after
		p.plan.ToppedUp = usdtype.Of(p.state.ToppedUp.Amount() + t.topUp)
	}
	return t
}

func (p *planner) topUpDuringApply(t plannedTransfer) plannedTransfer {
	p.plan.ToppedUp = usdtype.Unknown()
	p.diags.Append(topUpNotKnown(p.state))
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
		if threshold := p.plan.AutoFreezeAt; threshold.IsKnown() && after < threshold.Amount() && !t.unknown {
			p.diags.Append(unfreezesUnderThreshold(p.state, after, threshold.Amount()))
		}
	}
}

// mayAutoFreeze reports whether what amount turns out to be may make the service
// freeze the card. One that is not known yet may withdraw everything.
func (p *planner) mayAutoFreeze(t plannedTransfer, after usd.Amount) bool {
	if p.config.Amount.IsUnknown() {
		return mayAutoFreeze(p.state, 0, p.private.Imported)
	}
	return t.amount < 0 && mayAutoFreeze(p.state, after, p.private.Imported)
}

// mayAutoFreeze reports whether the service may freeze the card when a decrease
// leaves this balance. Of an imported card the threshold may be anything.
func mayAutoFreeze(m model, balance usd.Amount, imported bool) bool {
	if m.AutoFreezeAt.IsNull() {
		return imported
	}
	return balance < m.AutoFreezeAt.Amount()
}
