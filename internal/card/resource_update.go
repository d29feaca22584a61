package card

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// Update unfreezes the card, moves money, undoes an automatic freeze, and freezes the card. It skips a step that is not
// needed, and saves the state after each step. It freezes the card even if moving money failed.
func (r *cardResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var config, prior, plan model
	decode(ctx, req.Config.Raw, &config, &resp.Diagnostics)
	decode(ctx, req.State.Raw, &prior, &resp.Diagnostics)
	decode(ctx, req.Plan.Raw, &plan, &resp.Diagnostics)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	id := prior.ID.ValueString()
	r.session.BeginUpdate(id) // actions check whether the update has succeeded
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "change "+prior.name()) {
		return
	}
	// These values are for the plan that is applied now, and not for a later one.
	private.Replaced = nil
	private.NextCost = 0
	private.FrozenOutside = false
	topUpPaused := private.TopUpPaused
	private.TopUpPaused = false

	u := update{
		client:           r.session.Client,
		mover:            r.session.Mover,
		prior:            prior,
		plan:             plan,
		state:            initialState(prior, plan),
		configuredActive: !config.Frozen.IsNull() && !config.Frozen.ValueBool(),
		topUpPaused:      topUpPaused,
	}
	resp.Diagnostics.Append(u.unfreeze(ctx)...)
	save(ctx, u.state, &resp.State, resp.Identity, &resp.Diagnostics)
	resp.Diagnostics.Append(u.move(ctx)...)
	save(ctx, u.state, &resp.State, resp.Identity, &resp.Diagnostics)
	resp.Diagnostics.Append(u.undoAutoFreeze(ctx)...)
	save(ctx, u.state, &resp.State, resp.Identity, &resp.Diagnostics)
	resp.Diagnostics.Append(u.freeze(ctx)...)
	save(ctx, u.state, &resp.State, resp.Identity, &resp.Diagnostics)
	resp.Diagnostics.Append(u.warnFrozen()...)
	if !resp.Diagnostics.HasError() {
		u.state.keepPlanned(plan)
		save(ctx, u.state, &resp.State, resp.Identity, &resp.Diagnostics)
	}
	private.write(ctx, resp.Private, &resp.Diagnostics)
	succeeded := !resp.Diagnostics.HasError()
	r.session.EndUpdate(id, succeeded)
}

// update is one call of Update.
type update struct {
	client           *api.Client
	mover            *transfer.Mover
	prior            model // the state before the update
	plan             model
	state            model // the state after the steps so far
	configuredActive bool  // the configuration has frozen = false; with ignore_changes, the plan may differ
	topUpPaused      bool  // the planned configuration has frozen = true; see privateState
	withdrew         bool  // money was withdrawn, so the service may have frozen the card
	unfreezeFailed   bool
}

// initialState returns the state before the first step: the plan, except for the values that need a request.
func initialState(prior, plan model) model {
	state := plan
	state.Amount = prior.Amount
	state.ToppedUp = prior.ToppedUp
	state.Frozen = prior.Frozen
	state.Status = prior.Status
	state.Balance = prior.Balance
	state.MoneyRecord = prior.MoneyRecord
	return state
}

func (u *update) id() string { return u.prior.ID.ValueString() }

func (u *update) unfreeze(ctx context.Context) diag.Diagnostics {
	plannedActive := !u.plan.Frozen.IsUnknown() && !u.plan.Frozen.ValueBool()
	mustUnfreeze := plannedActive && u.state.Frozen.ValueBool()
	if !mustUnfreeze {
		return nil
	}
	unfrozen, err := u.client.UnfreezeCard(ctx, u.id(), u.prior.AutoFreezeAt.Pointer())
	if err != nil {
		u.unfreezeFailed = true
		return diag.Diagnostics{rejection(api.StatusFrozen, "unfreeze "+u.prior.name(), err)}
	}
	u.state.setState(unfrozen.Status, unfrozen.Balance)
	return session.LostResponseWarning("unfreeze "+u.prior.name(), unfrozen.How.LostResponse())
}

// undoAutoFreeze unfreezes the card if the withdrawal made the service freeze it although the configuration has
// frozen = false.
func (u *update) undoAutoFreeze(ctx context.Context) diag.Diagnostics {
	if u.withdrew && u.configuredActive {
		return u.unfreeze(ctx)
	}
	return nil
}

// warnFrozen warns of a card that is frozen after a withdrawal although the plan shows it as active.
func (u *update) warnFrozen() diag.Diagnostics {
	plannedActive := !u.plan.Frozen.IsUnknown() && !u.plan.Frozen.ValueBool()
	frozen := plannedActive && u.state.Frozen.ValueBool()
	if !u.withdrew || !frozen || u.unfreezeFailed {
		return nil
	}
	return diag.Diagnostics{frozenAfterWithdrawal(fmt.Sprintf("After the withdrawal, %s holds %s USD and is frozen.",
		u.prior.name(), u.state.Balance.Amount()))}
}

func (u *update) freeze(ctx context.Context) diag.Diagnostics {
	// A card that was frozen before is not frozen again, even if someone has unfrozen it since the plan.
	planned := u.plan.Frozen.ValueBool() && !u.prior.Frozen.ValueBool()
	if !planned {
		return nil
	}
	if u.state.Frozen.ValueBool() { // a withdrawal may have frozen it
		return nil
	}
	frozen, err := u.client.FreezeCard(ctx, u.id())
	if err != nil {
		status := api.CardStatus(u.state.Status.ValueString())
		return diag.Diagnostics{rejection(status, "freeze "+u.prior.name(), err)}
	}
	u.state.setState(frozen.Status, frozen.Balance)
	return session.LostResponseWarning("freeze "+u.prior.name(), frozen.How.LostResponse())
}

// move makes the planned transfers in their order, and stops after one that fails. Without top_up, an update that moves
// no money abandons a pending transfer. If unfreezing the card has failed, move does nothing.
func (u *update) move(ctx context.Context) diag.Diagnostics {
	if u.unfreezeFailed {
		return nil
	}
	change := moneyChange(ctx, u.prior, u.plan, u.topUpPaused)
	record := u.prior.record()
	// If no money moves for amount, for example because it is a new baseline, the state takes the planned amount at once.
	if change.AmountBefore == change.AmountAfter {
		u.state.Amount = u.plan.Amount
	}
	movements := change.Movements()
	mayAbandonTransfer := record.Pending != nil && u.plan.TopUp.IsNull()
	if len(movements) == 0 && mayAbandonTransfer {
		return u.abandonPending(ctx, record)
	}

	var diags diag.Diagnostics
	for _, m := range movements {
		operation := operationOf(u.prior.name(), m.Delta)
		earlier := record.Pending
		result, err := u.mover.Move(ctx, u.id(), m, &record)
		record = result.Record // it must be kept even after an error
		u.state.setRecord(record)
		if err != nil {
			diags.Append(u.notMoved(operation, earlier, result.CardStatus, err))
			return diags
		}
		if m.Delta < 0 {
			u.withdrew = true
		}
		u.state.setState(result.CardStatus, result.CardBalance)
		u.state.setTotalAfter(m)
		diags.Append(moveWarnings(u.prior, operation, m, result)...)
	}
	return diags
}

// moneyChange returns how an update changes the card's money. The attribute amount counts as unchanged if it is null or
// unknown in the prior state or in the plan, and topped_up if it is unknown in the plan.
func moneyChange(ctx context.Context, prior, plan model, topUpPaused bool) reconcile.Change {
	c := reconcile.Change{
		RangeBefore: prior.topUpRange(ctx),
		RangeAfter:  plan.topUpRange(ctx),
		TopUpPaused: topUpPaused,
	}
	if prior.Amount.IsKnown() && plan.Amount.IsKnown() {
		c.AmountBefore = prior.Amount.Amount()
		c.AmountAfter = plan.Amount.Amount()
	}
	if plan.ToppedUp.IsKnown() {
		c.ToppedUpBefore = prior.ToppedUp.Amount()
		c.ToppedUpAfter = plan.ToppedUp.Amount()
	}
	if c.RangeAfter != nil {
		c.RangeAfter.Limit = plan.MaxTopUpPerMonth.Pointer()
	}
	return c
}

// topUpRange returns the range of top_up without its monthly limit, or nil if top_up is not set or not known.
func (m model) topUpRange(ctx context.Context) *reconcile.Range {
	rule, _ := m.readTopUp(ctx)
	if rule == nil {
		return nil
	}
	return &reconcile.Range{Below: rule.Below.Amount(), To: rule.To.Amount()}
}

// abandonPending removes the pending transfer from the record, although its outcome is unknown. It moves no money.
func (u *update) abandonPending(ctx context.Context, record reconcile.Record) diag.Diagnostics {
	snapshot, err := u.mover.Cards.ReadSnapshot(ctx, u.id(), record)
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("read "+u.prior.name(), err)}
	}
	u.state.setState(api.CardStatus(snapshot.Status), snapshot.Balance)
	u.state.setRecord(record.GivenUp(snapshot))
	return nil
}

// notMoved returns the error for a transfer that failed or was not sent, and records what the failure shows about the
// card. earlier is the transfer that an earlier apply left pending, or nil if there is none. status is the card's status
// as read for this transfer, or "" if it was not read.
func (u *update) notMoved(operation string, earlier *reconcile.Pending, status api.CardStatus, err error) diag.Diagnostic {
	_, blocked := errors.AsType[*transfer.PendingError](err)
	if blocked { // by the earlier transfer
		return stoppedForPending(u.prior, operation, *earlier)
	}
	// A transfer that the service has confirmed is not sent again, so this error is about the earlier request.
	confirmed := earlier != nil && earlier.Answered
	_, undecided := errors.AsType[*transport.UndecidedError](err)
	if confirmed && undecided {
		return stoppedForPending(u.prior, operation, *earlier)
	}
	unusable, ok := errors.AsType[*transfer.StatusError](err)
	if ok {
		u.state.setState(unusable.Status, unusable.Balance)
		return notToppedUp(u.prior, operation, unusable)
	}
	stop, ok := errors.AsType[*transfer.StoppedError](err)
	if ok {
		u.state.Balance = usdtype.FromAmount(stop.Balance)
		return notMovedAfterStop(u.prior, operation, stop, u.state.record())
	}
	return rejection(status, operation, err)
}

// operationOf describes a transfer on the card with this name. The text completes "Could not …".
func operationOf(name string, delta usd.Amount) string {
	if delta < 0 {
		return "withdraw " + (-delta).String() + " USD from " + name
	}
	return "fund " + name + " with " + delta.String() + " USD"
}
