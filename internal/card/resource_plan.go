package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// ModifyPlan decides what a plan shows and checks what can be known before
// money moves. The planned values follow from configuration, state and private
// state alone, because apply plans again in another process.
func (r *cardResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	p := planner{resource: r, diags: &resp.Diagnostics}
	if req.Private != nil {
		p.kept = recall(ctx, req.Private, p.diags)
	}
	if !req.State.Raw.IsNull() {
		p.diags.Append(req.State.Get(ctx, &p.state)...)
	}
	if !req.Plan.Raw.IsNull() {
		p.diags.Append(req.Config.Get(ctx, &p.config)...)
		p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	}
	if p.diags.HasError() {
		return
	}
	switch {
	case req.Plan.Raw.IsNull():
		p.destroy(ctx)
		return
	case req.State.Raw.IsNull():
		p.issue(ctx)
	default:
		p.change(ctx)
		resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
		p.kept.keep(ctx, resp.Private, p.diags)
	}
	if !p.diags.HasError() {
		p.diags.Append(resp.Plan.Set(ctx, p.plan)...)
	}
}

// planner works out the plan of one card.
type planner struct {
	resource            *cardResource
	config, state, plan model
	kept                memory
	replace             path.Paths
	diags               *diag.Diagnostics
}

// destroy plans a termination.
func (p *planner) destroy(ctx context.Context) {
	if p.isProtected() {
		p.diags.Append(protected(p.state.name()))
		return
	}
	p.spend(ctx, -p.state.Balance.Amount(), true)
}

// isProtected reports whether the card must not be terminated: it was applied
// with protection, or gets it with this very plan, as an imported card may.
func (p *planner) isProtected() bool {
	return p.state.DeletionProtection.ValueBool() || p.config.DeletionProtection.ValueBool()
}

// spend counts what the plan takes from the wallet. Heard says whether
// Terraform shows a warning that comes of it.
func (p *planner) spend(ctx context.Context, delta usd.Amount, heard bool) {
	p.diags.Append(p.resource.session.PlanSpend(ctx, delta, heard)...)
}

// issue plans a new card. It is also core's second look at a replacement,
// where only the private state still knows the card that is replaced, and
// where core drops every warning.
func (p *planner) issue(ctx context.Context) {
	replaced := p.kept.Prior
	if replaced != nil && replaced.Protected {
		p.diags.Append(protected(replaced.Name))
		return
	}
	p.plan.ToppedUp = usdtype.Of(0)
	if p.config.Frozen.ValueBool() {
		p.plan.Status = types.StringValue(string(api.StatusFrozen))
	}
	p.checkIssue(ctx)
	if p.diags.HasError() {
		return
	}
	if replaced == nil {
		p.warnSharedLabel()
		p.spend(ctx, p.issueCost(), true)
		return
	}
	p.spend(ctx, p.issueCost()-replaced.Balance-replaced.Planned, false)
}

// checkIssue refuses a card that the service would refuse.
func (p *planner) checkIssue(ctx context.Context) {
	amount := p.plan.Amount
	switch {
	case amount.IsNull():
		p.diags.AddAttributeError(path.Root("amount"), "A new card needs a load", noAmount)
	case amount.IsKnown() && amount.Amount() < api.MinimumLoad:
		p.diags.AddAttributeError(path.Root("amount"), "Initial load too small", loadTooSmall(amount.Amount()))
	}
	if rule, _ := p.plan.readTopUp(ctx); rule != nil && amount.IsKnown() && amount.Amount() < rule.Below.Amount() {
		p.diags.AddAttributeError(path.Root("amount"), "Initial load in the top-up range", loadInTopUpRange(amount.Amount(), rule))
	}
	p.checkBIN(ctx)
}

// issueCost is the load and the fee, at least, while the load is not known.
func (p *planner) issueCost() usd.Amount {
	return max(p.plan.Amount.Amount(), api.MinimumLoad) + api.IssuanceFee
}

// change plans an update of a live card, or its replacement.
func (p *planner) change(ctx context.Context) {
	p.kept.Prior = &priorCard{
		Name:      p.state.name(),
		Protected: p.isProtected(),
		Balance:   p.state.Balance.Amount(),
	}
	p.planWritten()
	if len(p.replace) > 0 {
		p.planReplacement(ctx)
		return
	}
	p.planMoves(ctx)
}

func (p *planner) planReplacement(ctx context.Context) {
	if p.isProtected() {
		p.diags.Append(protected(p.state.name()))
		return
	}
	p.diags.Append(replacement(p.state, p.plan, p.replace))
	p.warnSharedLabel()
	p.kept.Prior.Planned = p.issueCost() - p.state.Balance.Amount()
	p.spend(ctx, p.kept.Prior.Planned, true)
}
