package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Update unfreezes, moves money, then freezes, even when the money failed, and saves each step.
func (r *cardResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var u update
	var config model
	decode(ctx, req.Config.Raw, &config, &resp.Diagnostics)
	decode(ctx, req.State.Raw, &u.before, &resp.Diagnostics)
	decode(ctx, req.Plan.Raw, &u.plan, &resp.Diagnostics)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "change "+u.before.name()) {
		return
	}
	private.Replaced, private.NextCost = nil, 0
	u.active = !config.Frozen.IsNull() && !config.Frozen.ValueBool()
	u.client = r.session.Client
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
}

// update is the change of a card from its state before to the plan, and its state now.
type update struct {
	client            *api.Client
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
	return session.LostResponseWarning("unfreeze "+u.before.name(), state.LostResponse)
}

// isPlanned reports whether the plan has the card frozen, or not.
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
	return session.LostResponseWarning("freeze "+u.before.name(), state.LostResponse)
}
