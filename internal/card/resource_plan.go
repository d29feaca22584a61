package card

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// ModifyPlan decides what a plan shows and checks what can be known before
// money moves. The planned values follow from configuration, state and private
// state alone, because apply plans again in another process.
func (r *cardResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	p := planner{resource: r, diags: &resp.Diagnostics}
	if req.Private != nil {
		p.private = readPrivateState(ctx, req.Private, p.diags)
	}
	decode(ctx, req.State.Raw, &p.state, p.diags)
	decode(ctx, req.Config.Raw, &p.config, p.diags)
	decode(ctx, req.Plan.Raw, &p.plan, p.diags)
	if p.diags.HasError() {
		return
	}
	proposed := p.plan
	p.private.NextCost = 0
	p.checkLoad(ctx)
	switch {
	case req.Plan.Raw.IsNull():
		p.destroy(ctx)
		p.private.write(ctx, resp.Private, p.diags)
		return
	case req.State.Raw.IsNull():
		p.issue(ctx)
		p.warnConfig(ctx)
		p.private.NextCost = p.plan.issueCost()
	default:
		p.change(ctx)
		p.warnConfig(ctx)
		resp.RequiresReplace = append(resp.RequiresReplace, p.replacement.Paths...)
	}
	p.private.write(ctx, resp.Private, p.diags)
	if !p.diags.HasError() && !reflect.DeepEqual(p.plan, proposed) { //nolint:govet // writing takes long, and what is taken for changed is only written once too often
		p.diags.Append(resp.Plan.Set(ctx, p.plan)...)
	}
}

// checkLoad refuses what gives the card more than the provider configuration allows.
func (p *planner) checkLoad(ctx context.Context) {
	p.diags.Append(p.resource.session.LoadDiagnostic(path.Root("amount"), p.config.Amount.Amount())...)
	if rule, _ := p.config.readTopUp(ctx); rule != nil {
		p.diags.Append(p.resource.session.LoadDiagnostic(path.Root("top_up").AtName("to"), rule.To.Amount())...)
	}
}

// destroy plans a termination.
func (p *planner) destroy(ctx context.Context) {
	if p.isProtected() {
		p.protected(p.state.name(), "destroyed", moveInstead)
		return
	}
	p.spend(ctx, session.PlannedSpend{Returned: p.state.Balance.Amount()})
}

// issue plans a new card. It is also core's second plan of a replacement,
// where only the private state still knows the card that is replaced, and
// where core drops every warning.
func (p *planner) issue(ctx context.Context) {
	replaced := p.private.Replaced
	if replaced != nil && replaced.Protected {
		p.protected(replaced.Name, "forced", doNotForce)
		return
	}
	p.plan.ToppedUp, p.plan.IssuanceFee = usdtype.Of(0), usdtype.Of(api.IssuanceFee)
	p.plan.MoneyRecord = types.StringUnknown()
	if p.config.Frozen.ValueBool() {
		p.plan.Status = types.StringValue(string(api.StatusFrozen))
	}
	p.checkIssue(ctx)
	if p.diags.HasError() {
		return
	}
	planned := session.PlannedSpend{Taken: p.plan.issueCost()}
	if replaced == nil {
		p.addNewCard(ctx)
	} else {
		planned.Again, planned.Returned, planned.Counted = true, replaced.Balance, replaced.Planned
	}
	p.spend(ctx, planned)
}

// checkIssue refuses a card that the service would refuse.
func (p *planner) checkIssue(ctx context.Context) {
	amount := p.plan.Amount
	switch {
	case amount.IsNull():
		p.diags.AddAttributeError(path.Root("amount"), "A new card needs a load", noAmount())
	case amount.IsKnown() && amount.Amount() < api.MinimumLoad:
		p.diags.AddAttributeError(path.Root("amount"), "Initial load too small", loadTooSmall(amount.Amount()))
	}
	if rule, _ := p.plan.readTopUp(ctx); rule != nil && amount.IsKnown() && amount.Amount() < rule.Below.Amount() {
		p.diags.AddAttributeError(path.Root("amount"), "Initial load in the top-up range", loadInTopUpRange(amount.Amount(), rule))
	}
	p.checkBIN(ctx)
}

// change plans an update of a live card, or its replacement.
func (p *planner) change(ctx context.Context) {
	p.private.Replaced = &replacedCard{
		Name:      p.state.name(),
		Protected: p.isProtected(),
		Balance:   p.state.Balance.Amount(),
	}
	p.planFixed(ctx, whatIsFixed())
	if len(p.replacement.Paths) > 0 {
		p.planReplacement(ctx)
		return
	}
	p.planTransfer(ctx)
}

// checkBIN refuses a BIN that the catalogue does not have.
func (p *planner) checkBIN(ctx context.Context) {
	bin := p.plan.BinID
	if bin.IsUnknown() || !p.resource.session.Known() {
		return
	}
	bins, err := p.resource.session.Bins(ctx)
	if err != nil {
		p.diags.Append(p.resource.session.Untold(func() diag.Diagnostic {
			return session.ErrorDiagnostic("check the BIN of "+newCardName(p.plan.Label), err)
		})...)
		return
	}
	if slices.ContainsFunc(bins, func(b api.Bin) bool { return b.ID == bin.ValueString() }) {
		return
	}
	lines := make([]string, len(bins))
	for i, b := range bins {
		lines[i] = fmt.Sprintf("  %s (%s, %s)", b.ID, b.Network, b.Category)
	}
	slices.Sort(lines)
	p.diags.AddAttributeError(path.Root("bin_id"), "Unknown BIN",
		fmt.Sprintf("bin_id must be one of the BINs that this account can issue on, got %q. There are:\n%s", bin.ValueString(), strings.Join(lines, "\n")))
}
