package card

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// Update unfreezes the card, moves money, and then freezes the card, even if moving money failed. It
// saves the state after each step.
func (r *cardResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var u update
	var config model
	decode(ctx, req.Config.Raw, &config, &resp.Diagnostics)
	decode(ctx, req.State.Raw, &u.before, &resp.Diagnostics)
	decode(ctx, req.Plan.Raw, &u.plan, &resp.Diagnostics)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	r.session.NoteUpdate(u.id(), false) // until it has succeeded, actions move no money on the card
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "change "+u.before.name()) {
		return
	}
	private.Replaced = nil
	private.NextCost = 0
	private.FrozenOutside = false
	u.active = !config.Frozen.IsNull() && !config.Frozen.ValueBool()
	u.client = r.session.Client
	u.mover = r.session.Mover
	u.begin()
	for _, step := range []func(context.Context) diag.Diagnostics{u.unfreeze, u.move, u.undoAutoFreeze, u.freeze} {
		resp.Diagnostics.Append(step(ctx)...)
		save(ctx, u.now, &resp.State, resp.Identity, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		u.now.keepPlanned(u.plan)
		save(ctx, u.now, &resp.State, resp.Identity, &resp.Diagnostics)
	}
	private.write(ctx, resp.Private, &resp.Diagnostics)
	r.session.NoteUpdate(u.id(), !resp.Diagnostics.HasError())
}

type update struct {
	client            *api.Client
	mover             *transfer.Mover
	before, plan, now model
	// active reports that the configuration has frozen = false. That alone changes nothing, because
	// with ignore_changes the plan may differ.
	active         bool
	withdrew       bool
	unfreezeFailed bool
}

// begin takes from the plan what needs no request, and the rest from the state.
func (u *update) begin() {
	u.now = u.plan
	u.now.Amount = u.before.Amount
	u.now.ToppedUp = u.before.ToppedUp
	u.now.Frozen = u.before.Frozen
	u.now.Status = u.before.Status
	u.now.Balance = u.before.Balance
	u.now.MoneyRecord = u.before.MoneyRecord
}

func (u *update) id() string { return u.before.ID.ValueString() }

func (u *update) unfreeze(ctx context.Context) diag.Diagnostics {
	if !u.plansActive() || !u.now.Frozen.ValueBool() {
		return nil
	}
	var threshold *usd.Amount
	if at := u.before.AutoFreezeAt; at.IsKnown() {
		threshold = new(at.Amount())
	}
	state, err := u.client.UnfreezeCard(ctx, u.id(), threshold)
	if err != nil {
		u.unfreezeFailed = true
		return diag.Diagnostics{rejection(api.StatusFrozen, "unfreeze "+u.before.name(), err)}
	}
	u.now.setState(state.Status, state.Balance)
	return session.LostResponseWarning("unfreeze "+u.before.name(), state.How.LostResponse())
}

func (u *update) plansFrozen() bool { return u.plan.Frozen.ValueBool() }

// plansActive reports false for an unknown value, which changes nothing.
func (u *update) plansActive() bool { return !u.plan.Frozen.IsUnknown() && !u.plan.Frozen.ValueBool() }

// undoAutoFreeze unfreezes a card that the service froze for the withdrawal.
func (u *update) undoAutoFreeze(ctx context.Context) diag.Diagnostics {
	if !u.withdrew || !u.active {
		return nil
	}
	return u.unfreeze(ctx)
}

func (u *update) freeze(ctx context.Context) diag.Diagnostics {
	if !u.plansFrozen() || u.before.Frozen.ValueBool() || u.now.Frozen.ValueBool() {
		return nil
	}
	state, err := u.client.FreezeCard(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{rejection(api.CardStatus(u.now.Status.ValueString()), "freeze "+u.before.name(), err)}
	}
	u.now.setState(state.Status, state.Balance)
	return session.LostResponseWarning("freeze "+u.before.name(), state.How.LostResponse())
}

// move makes the planned transfers: the change of amount, and then the top-up, which is not sent if
// the first one failed.
func (u *update) move(ctx context.Context) diag.Diagnostics {
	if u.unfreezeFailed {
		return nil
	}
	change := moneyOf(ctx, u.before, u.plan)
	record := u.before.record()
	if change.AmountBefore == change.AmountAfter {
		u.now.Amount = u.plan.Amount
	}
	movements := change.Movements()
	if len(movements) == 0 && record.Pending != nil && u.plan.TopUp.IsNull() {
		return u.abandonPending(ctx, record)
	}

	var diags diag.Diagnostics
	for _, m := range movements {
		operation := operationOf(u.before.name(), m.Delta)
		result, err := u.mover.Move(ctx, u.id(), m, &record) // which leaves the record as it is
		record = result.Record
		u.now.setRecord(record)
		if err != nil {
			diags.Append(u.explainNotMoved(operation, result.CardStatus, err))
			return diags
		}
		if m.Delta < 0 {
			u.withdrew = true
		}
		u.now.setState(result.CardStatus, result.CardBalance)
		u.now.setLoadedAfter(m)
		diags.Append(u.warnAfterMove(operation, m, result)...)
	}
	return diags
}

// moneyOf returns what an update changes of the card's money. An amount that is not known, before or
// after, does not change.
func moneyOf(ctx context.Context, before, after model) reconcile.Change {
	c := reconcile.Change{
		RangeBefore: before.topUpRange(ctx),
		RangeAfter:  after.topUpRange(ctx),
		Freezes:     after.Frozen.ValueBool(),
	}
	if before.Amount.IsKnown() && after.Amount.IsKnown() {
		c.AmountBefore = before.Amount.Amount()
		c.AmountAfter = after.Amount.Amount()
	}
	if after.ToppedUp.IsKnown() {
		c.ToppedUpBefore = before.ToppedUp.Amount()
		c.ToppedUpAfter = after.ToppedUp.Amount()
	}
	if c.RangeAfter != nil {
		c.RangeAfter.Limit = after.MaxTopUpPerMonth.Pointer()
	}
	return c
}

// topUpRange returns the range of top_up, nil without top_up.
func (m model) topUpRange(ctx context.Context) *reconcile.Range {
	rule, _ := m.readTopUp(ctx)
	if rule == nil {
		return nil
	}
	return &reconcile.Range{Below: rule.Below.Amount(), To: rule.To.Amount()}
}

// abandonPending forgets a pending transfer whose outcome cannot be decided. It moves nothing.
func (u *update) abandonPending(ctx context.Context, record reconcile.Record) diag.Diagnostics {
	snapshot, err := u.mover.Cards.ReadSnapshot(ctx, u.id(), record.Anchor)
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("read "+u.before.name(), err)}
	}
	u.now.setState(api.CardStatus(snapshot.Status), snapshot.Balance)
	u.now.setRecord(record.GivenUp(snapshot))
	return nil
}

func (u *update) warnAfterMove(operation string, m reconcile.Movement, moved transfer.Transfer) diag.Diagnostics {
	diags := session.LostResponseWarning(operation, moved.How.LostResponse())
	name := u.before.name()
	again := fmt.Sprintf("If you want to move the same amount again, change amount by another %s USD and apply.", m.Delta.Abs())
	if m.Purpose == reconcile.ForTopUp {
		again = "If someone else moved it, the card is topped up again when that is due."
	}
	switch {
	case moved.How == api.AlreadyDone:
		diags.AddWarning("Already applied: "+operation,
			fmt.Sprintf("%s already holds %s USD, the balance that this transfer leads to. An interrupted apply, an action, or someone in the dashboard may have made it. "+
				"The transfer counts as made, and nothing was sent. %s",
				capitalized(name), moved.CardBalance, again))
	case moved.LeftOver != 0:
		diags.AddWarning("Money moved outside Terraform",
			fmt.Sprintf("Since Terraform's last transfer, the balance of %s shows %s that no transaction explains. "+
				"The cause may be someone else, an action, an interrupted run, or a transaction that is not listed yet. "+
				"The planned transfer was made in addition, and the card now holds %s USD.", name, describeDelta(moved.LeftOver), moved.CardBalance))
	case moved.Ignored != "":
		diags.AddWarning("Transaction could not be counted",
			fmt.Sprintf("For %s, %s. It is ignored when the provider checks whether a transfer was made. The planned transfer was made, and the card now holds %s USD.",
				name, strings.TrimSuffix(moved.Ignored, "."), moved.CardBalance))
	}
	if moved.Excess != 0 {
		diags.Append(excess(name, operation, moved))
	}
	return diags
}

func (u *update) explainNotMoved(operation string, status api.CardStatus, err error) diag.Diagnostic {
	earlier := u.before.record().Pending
	_, blocked := errors.AsType[*transfer.PendingError](err)
	_, undecided := errors.AsType[*transport.UndecidedError](err)
	if blocked || undecided && earlier != nil && earlier.Answered {
		return stoppedForPending(u.before, operation, *earlier)
	}
	if unusable, ok := errors.AsType[*transfer.StatusError](err); ok {
		u.now.setState(unusable.Status, unusable.Balance)
		return notToppedUp(u.before, operation, unusable)
	}
	if halted, ok := errors.AsType[*transfer.StoppedError](err); ok {
		u.now.Balance = usdtype.Of(halted.Balance)
		return stopped(u.before, operation, halted, u.now.record())
	}
	return rejection(status, operation, err)
}

// operationOf completes "Could not …".
func operationOf(card string, delta usd.Amount) string {
	if delta < 0 {
		return "withdraw " + (-delta).String() + " USD from " + card
	}
	return "fund " + card + " with " + delta.String() + " USD"
}
