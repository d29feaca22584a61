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

// Update unfreezes, moves money, then freezes, even when the money failed, and saves each step.
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
	private.Replaced, private.NextCost = nil, 0
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
	// active says that the configuration has the card active. Alone it changes
	// nothing, since with ignore_changes the plan may say otherwise.
	active         bool
	withdrew       bool
	unfreezeFailed bool
	said           diag.Diagnostics // of movements
}

// begin takes from the plan what needs no call, and from the state the rest.
func (u *update) begin() {
	u.now = u.plan
	u.now.Amount, u.now.ToppedUp = u.before.Amount, u.before.ToppedUp
	u.now.Frozen, u.now.Status, u.now.Balance = u.before.Frozen, u.before.Status, u.before.Balance
	u.now.MoneyRecord = u.before.MoneyRecord
}

func (u *update) id() string { return u.before.ID.ValueString() }

func (u *update) unfreeze(ctx context.Context) diag.Diagnostics {
	if !u.isPlanned(false) || !u.now.Frozen.ValueBool() {
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

func (u *update) isPlanned(frozen bool) bool {
	return !u.plan.Frozen.IsUnknown() && u.plan.Frozen.ValueBool() == frozen
}

// undoAutoFreeze unfreezes a card that the service froze for the withdrawal.
func (u *update) undoAutoFreeze(ctx context.Context) diag.Diagnostics {
	if !u.withdrew || !u.active {
		return nil
	}
	return u.unfreeze(ctx)
}

func (u *update) freeze(ctx context.Context) diag.Diagnostics {
	if !u.isPlanned(true) || u.before.Frozen.ValueBool() || u.now.Frozen.ValueBool() {
		return nil
	}
	state, err := u.client.FreezeCard(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{rejection(api.CardStatus(u.now.Status.ValueString()), "freeze "+u.before.name(), err)}
	}
	u.now.setState(state.Status, state.Balance)
	return session.LostResponseWarning("freeze "+u.before.name(), state.How.LostResponse())
}

// move makes what the plan shows: the change of amount, then the top-up, which is
// not sent when the first was not made.
func (u *update) move(ctx context.Context) diag.Diagnostics {
	if u.unfreezeFailed {
		return nil
	}
	change, record := moneyOf(ctx, u.before, u.plan), u.before.record()
	if change.Amount.From == change.Amount.To {
		u.now.Amount = u.plan.Amount
	}
	if len(change.Movements()) == 0 && record.Pending != nil && u.plan.TopUp.IsNull() {
		return u.giveUp(ctx, record)
	}
	_, err := change.Make(record, func(m reconcile.Movement, record reconcile.Record) (reconcile.Record, error) {
		return u.make(ctx, m, record)
	})
	_ = err // it is in what was said
	return u.said
}

func (u *update) make(ctx context.Context, m reconcile.Movement, record reconcile.Record) (reconcile.Record, error) {
	operation := operationOf(u.before, m.Delta)
	moved, err := u.mover.Move(ctx, transfer.Movement{Movement: m, CardID: u.id(), Record: &record})
	u.now.setRecord(moved.Record)
	if err != nil {
		u.said.Append(u.notMoved(operation, m, moved.CardStatus, err))
		return moved.Record, err
	}
	u.withdrew = u.withdrew || m.Delta < 0
	u.now.setState(moved.CardStatus, moved.CardBalance)
	u.now.add(m)
	u.said.Append(u.moved(operation, m, moved)...)
	return moved.Record, nil
}

func moneyOf(ctx context.Context, before, after model) reconcile.Change {
	c := reconcile.Change{
		Amount:   stepOf(before.Amount, after.Amount),
		ToppedUp: stepOf(usdtype.Of(before.ToppedUp.Amount()), after.ToppedUp),
		Was:      before.toppedUpIn(ctx), Range: after.toppedUpIn(ctx), Freezes: after.Frozen.ValueBool(),
	}
	if c.Range != nil {
		c.Range.Limit = after.MaxTopUpPerMonth.Pointer()
	}
	return c
}

// stepOf is none where one of them is not known.
func stepOf(before, after usdtype.Value) reconcile.Step {
	if !before.IsKnown() || !after.IsKnown() {
		return reconcile.Step{}
	}
	return reconcile.Step{From: before.Amount(), To: after.Amount()}
}

// toppedUpIn is the range of top_up, nil without one.
func (m model) toppedUpIn(ctx context.Context) *reconcile.Range {
	rule, _ := m.readTopUp(ctx)
	if rule == nil {
		return nil
	}
	return &reconcile.Range{Below: rule.Below.Amount(), To: rule.To.Amount()}
}

// giveUp ends a pending movement that cannot be decided. It moves nothing.
func (u *update) giveUp(ctx context.Context, record reconcile.Record) diag.Diagnostics {
	snapshot, err := u.mover.Cards.ReadSnapshot(ctx, u.id(), record.Anchor)
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("read "+u.before.name(), err)}
	}
	u.now.setState(api.CardStatus(snapshot.Status), snapshot.Balance)
	u.now.setRecord(record.GivenUp(snapshot))
	return nil
}

func (u *update) moved(operation string, m reconcile.Movement, moved transfer.Transfer) diag.Diagnostics {
	diags := session.LostResponseWarning(operation, moved.How.LostResponse())
	name, holds := u.before.name(), moved.CardBalance
	again := fmt.Sprintf("If it is to come on top, change amount by %s USD once more and apply.", m.Delta.Abs())
	if m.Purpose == reconcile.ForTopUp {
		again = "If it was another hand's, the card is topped up again as soon as that is due."
	}
	switch {
	case moved.How == api.AlreadySo:
		diags.AddWarning("Already applied: "+operation,
			fmt.Sprintf("%s holds %s USD, which is what it held before with just this movement, as after an apply that was cut off before it could save its state, an action of the apply before, "+
				"or a card that was changed by hand first and in the configuration then. So the movement counts as made, and the state says so. %s",
				capitalized(name), holds, again))
	case moved.LeftOver != 0:
		diags.AddWarning("Money moved on a card without Terraform",
			fmt.Sprintf("Since Terraform last moved money on %s, %s that no transaction explains: by another hand, an action, a run that was cut off, or a transaction that is not listed yet. "+
				"The planned movement was made all the same, and the card holds %s USD now.", name, cameOrWent(moved.LeftOver), holds))
	case moved.Ignored != "":
		diags.AddWarning("A transaction of a card cannot be counted",
			fmt.Sprintf("Of %s, %s. It counts as nothing where it is found out whether a movement was made. The planned movement was made, and the card holds %s USD now.",
				name, strings.TrimSuffix(moved.Ignored, "."), holds))
	}
	if moved.Excess != 0 {
		diags.Append(excess(u.before.name(), operation, moved))
	}
	return diags
}

func (u *update) notMoved(operation string, m reconcile.Movement, status api.CardStatus, err error) diag.Diagnostic {
	_, isPending := errors.AsType[*transfer.PendingError](err)
	_, isOpen := errors.AsType[*transport.UndecidedError](err)
	if pending := u.before.record().Pending; isPending || isOpen && pending != nil && pending.Answered {
		return undecidedBefore(u.before, operation, *pending, m)
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
func operationOf(card model, delta usd.Amount) string {
	if delta < 0 {
		return "withdraw " + (-delta).String() + " USD from " + card.name()
	}
	return "fund " + card.name() + " with " + delta.String() + " USD"
}
