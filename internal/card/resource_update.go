package card

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// Update unfreezes, moves money, then freezes, and saves the state after each
// step. A card that is to be frozen is frozen even when the money failed.
func (r *cardResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var u update
	resp.Diagnostics.Append(req.State.Get(ctx, &u.before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &u.plan)...)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "change "+u.before.name()) {
		return
	}
	u.client, u.imported = r.session.Client, private.Imported
	u.begin()
	for _, step := range []func(context.Context) diag.Diagnostics{u.unfreeze, u.move, u.checkAutoFreeze, u.freeze} {
		resp.Diagnostics.Append(step(ctx)...)
		save(ctx, u.now, &resp.State, resp.Identity, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		u.now.keepPlanned(u.plan)
		save(ctx, u.now, &resp.State, resp.Identity, &resp.Diagnostics)
	}
	if private.Prior = nil; u.pending != nil {
		private.Pending = u.pending
	}
	private.write(ctx, resp.Private, &resp.Diagnostics)
}

// update is the change of a card from its state before to the plan, and its state now.
type update struct {
	client            *api.Client
	before, plan, now model
	imported          bool
	withdrew          bool
	failed            bool
	pending           *pendingTransfer
}

// begin takes from the plan what needs no call, and from the state the rest.
func (u *update) begin() {
	u.now = u.plan
	u.now.Amount, u.now.ToppedUp = u.before.Amount, u.before.ToppedUp
	u.now.Frozen, u.now.Status, u.now.Balance = u.before.Frozen, u.before.Status, u.before.Balance
}

func (u *update) id() string { return u.before.ID.ValueString() }

func (u *update) unfreeze(ctx context.Context) diag.Diagnostics {
	if !u.planned(false) || !u.now.Frozen.ValueBool() {
		return nil
	}
	state, err := u.sendUnfreeze(ctx)
	if err != nil {
		u.failed = true
		return diag.Diagnostics{session.ErrorDiagnostic("unfreeze "+u.before.name(), err)}
	}
	u.now.setState(state.Status, state.Balance)
	return nil
}

func (u *update) sendUnfreeze(ctx context.Context) (api.CardState, error) {
	if threshold := u.before.AutoFreezeAt; threshold.IsKnown() {
		return u.client.UnfreezeCardBelow(ctx, u.id(), threshold.Amount())
	}
	return u.client.UnfreezeCard(ctx, u.id())
}

// planned reports whether the plan says that the card is to be frozen, or not.
func (u *update) planned(frozen bool) bool {
	return !u.plan.Frozen.IsUnknown() && u.plan.Frozen.ValueBool() == frozen
}

// move makes the planned movement in one call: what amount changed by and what top_up adds.
func (u *update) move(ctx context.Context) diag.Diagnostics {
	if u.failed {
		return nil
	}
	var delta usd.Amount
	if u.before.Amount.IsKnown() && u.plan.Amount.IsKnown() {
		delta = u.plan.Amount.Amount() - u.before.Amount.Amount()
	}
	if delta += u.plan.ToppedUp.Amount() - u.before.ToppedUp.Amount(); delta != 0 {
		transfer, try, err := u.transfer(ctx, delta)
		if err != nil {
			u.failed = true
			return u.notMoved(try, err)
		}
		u.withdrew = delta < 0
		u.now.Balance = usdtype.Of(transfer.CardBalance)
	}
	u.now.Amount, u.now.ToppedUp = u.plan.Amount, u.plan.ToppedUp
	return nil
}

func (u *update) transfer(ctx context.Context, delta usd.Amount) (api.Transfer, string, error) {
	if delta > 0 {
		t, err := u.client.FundCard(ctx, u.id(), delta)
		return t, "fund " + u.before.name() + " with " + delta.String() + " USD", err
	}
	t, err := u.client.WithdrawCard(ctx, u.id(), -delta)
	return t, "withdraw " + (-delta).String() + " USD from " + u.before.name(), err
}

func (u *update) notMoved(try string, err error) diag.Diagnostics {
	if open, ok := errors.AsType[*api.UndecidedError](err); ok {
		u.pending = &pendingTransfer{Transfer: *open.Transfer, Amount: u.plan.Amount.Pointer(), ToppedUp: u.plan.ToppedUp.Amount()}
	}
	if over, ok := errors.AsType[*api.OverWithdrawalError](err); ok {
		u.now.Amount = usdtype.Of(max(0, u.before.Amount.Amount()-over.Moved))
		u.now.Balance = usdtype.Of(over.Transfer.CardBalance)
	}
	return diag.Diagnostics{session.ErrorDiagnostic(try, err)}
}

// checkAutoFreeze reads whether a withdrawal made the service freeze the card,
// and undoes that where the configuration says frozen = false.
func (u *update) checkAutoFreeze(ctx context.Context) diag.Diagnostics {
	if !u.plan.Frozen.IsUnknown() && !(u.withdrew && mayAutoFreeze(u.now, u.now.Balance.Amount(), u.imported)) {
		return nil
	}
	summary, err := u.client.GetCard(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("see whether the service froze "+u.before.name()+" after the withdrawal", err)}
	}
	u.now.setState(summary.Status, summary.Balance)
	return u.unfreeze(ctx)
}

func (u *update) freeze(ctx context.Context) diag.Diagnostics {
	if !u.planned(true) || u.now.Frozen.ValueBool() {
		return nil
	}
	state, err := u.client.FreezeCard(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("freeze "+u.before.name(), err)}
	}
	u.now.setState(state.Status, state.Balance)
	return nil
}
