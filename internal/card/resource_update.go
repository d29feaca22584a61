package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// Update unfreezes, moves money, then freezes, and saves the state after each
// step. A card that is to be frozen is frozen even when the money failed.
func (r *cardResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var u update
	decode(ctx, req.State.Raw, &u.before, &resp.Diagnostics)
	decode(ctx, req.Plan.Raw, &u.plan, &resp.Diagnostics)
	decode(ctx, req.Config.Raw, &u.config, &resp.Diagnostics)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "change "+u.before.name()) {
		return
	}
	private.Prior, private.Next = nil, nil
	u.client, u.private = r.session.Client, &private
	u.begin()
	for _, step := range []func(context.Context) diag.Diagnostics{u.unfreeze, u.move, u.checkAutoFreeze, u.freeze} {
		resp.Diagnostics.Append(step(ctx)...)
		save(ctx, u.now, &resp.State, resp.Identity, &resp.Diagnostics)
	}
	private.IssuedOtherwise.adopt(u.plan)
	if !resp.Diagnostics.HasError() {
		u.now.keepPlanned(u.plan)
		save(ctx, u.now, &resp.State, resp.Identity, &resp.Diagnostics)
	}
	private.write(ctx, resp.Private, &resp.Diagnostics)
}

// update is the change of a card from its state before to the plan, and its state now.
type update struct {
	client                    *api.Client
	before, config, plan, now model
	private                   *privateState
	withdrew                  bool
	unfreezeFailed            bool
}

// begin takes from the plan what needs no call, and from the state the rest.
func (u *update) begin() {
	u.now = u.plan
	u.now.Amount, u.now.ToppedUp = u.before.Amount, u.before.ToppedUp
	u.now.Frozen, u.now.Status, u.now.Balance = u.before.Frozen, u.before.Status, u.before.Balance
}

func (u *update) id() string { return u.before.ID.ValueString() }

func (u *update) unfreeze(ctx context.Context) diag.Diagnostics {
	if !u.configured(false) || !u.now.Frozen.ValueBool() {
		return nil
	}
	state, err := u.sendUnfreeze(ctx)
	if err != nil {
		u.unfreezeFailed = true
		return diag.Diagnostics{session.ErrorDiagnostic("unfreeze "+u.before.name(), err)}
	}
	u.now.setState(state.Status, state.Balance)
	return session.DelayWarning("unfreeze "+u.before.name(), state.Delay)
}

func (u *update) sendUnfreeze(ctx context.Context) (api.CardState, error) {
	if threshold := u.before.AutoFreezeAt; threshold.IsKnown() {
		return u.client.UnfreezeCardBelow(ctx, u.id(), threshold.Amount())
	}
	return u.client.UnfreezeCard(ctx, u.id())
}

// configured reports whether the configuration says that the card is to be
// frozen, or not. What the state happened to hold does not count.
func (u *update) configured(frozen bool) bool {
	return !u.config.Frozen.IsNull() && u.config.Frozen.ValueBool() == frozen
}

// checkAutoFreeze finds out whether a withdrawal made the service freeze the
// card, and undoes that where the configuration says frozen = false. What the
// service shows right after a movement may be from before it.
func (u *update) checkAutoFreeze(ctx context.Context) diag.Diagnostics {
	balance := u.now.Balance.Amount()
	if !u.plan.Frozen.IsUnknown() && !(u.withdrew && mayAutoFreeze(u.now, balance, u.private.Imported)) {
		return nil
	}
	read := u.client.GetCard
	if threshold := u.now.AutoFreezeAt; u.withdrew && threshold.IsKnown() && balance < threshold.Amount() {
		if u.configured(false) { // which does no harm to a card that is active
			u.now.setState(api.StatusFrozen, balance)
			return u.unfreeze(ctx)
		}
		read = func(ctx context.Context, id string) (api.CardSummary, error) {
			return u.client.AwaitBalance(ctx, id, balance)
		}
	}
	summary, err := read(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("see whether the service froze "+u.before.name()+" after the withdrawal", err)}
	}
	if !u.withdrew {
		balance = summary.Balance
	}
	u.now.setState(summary.Status, balance)
	return u.unfreeze(ctx)
}

func (u *update) freeze(ctx context.Context) diag.Diagnostics {
	if !u.configured(true) || u.now.Frozen.ValueBool() {
		return nil
	}
	state, err := u.client.FreezeCard(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("freeze "+u.before.name(), err)}
	}
	u.now.setState(state.Status, state.Balance)
	return session.DelayWarning("freeze "+u.before.name(), state.Delay)
}
