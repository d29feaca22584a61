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
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// ModifyPlan decides what a plan shows and checks what can be known before money moves. What
// it plans follows from its request alone, because apply plans again in another process.
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

func (p *planner) checkLoad(ctx context.Context) {
	p.diags.Append(p.resource.session.LoadDiagnostic(path.Root("amount"), p.config.Amount.Amount())...)
	if rule, _ := p.config.readTopUp(ctx); rule != nil {
		p.diags.Append(p.resource.session.LoadDiagnostic(path.Root("top_up").AtName("to"), rule.To.Amount())...)
	}
}

func (p *planner) destroy(ctx context.Context) {
	if p.isProtected() {
		p.protected(p.state.name(), "destroyed", moveInstead)
		return
	}
	p.spend(ctx, session.PlannedSpend{Returned: p.state.Balance.Amount()})
}

// issue plans a new card. It is also core's second plan of a replacement, which drops all
// warnings, and where only the private state knows the card that is replaced.
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
		p.checkLabel(ctx)
	} else {
		planned.Again = true
		planned.Returned = replaced.Balance
		planned.Counted = replaced.Planned
		planned.CountedTaken = replaced.Taken
	}
	p.spend(ctx, planned)
}

func (p *planner) checkIssue(ctx context.Context) {
	amount := p.plan.Amount
	refuse := func(title, text string, args ...any) {
		p.diags.AddAttributeError(path.Root("amount"), title, fmt.Sprintf(text, args...))
	}
	switch {
	case amount.IsNull():
		refuse("A new card needs a load", "amount must be set to issue a card: it is the initial load in USD, at least %s. "+
			"Only a card that is imported can go without, which leaves its load to others.", api.MinimumLoad)
	case amount.IsKnown() && amount.Amount() < api.MinimumLoad:
		refuse("Initial load too small", "amount must be at least %s USD to issue a card, got %s. "+
			"Once the card is issued, amount may be lowered under that.", api.MinimumLoad, amount.Amount())
	}
	if rule, _ := p.plan.readTopUp(ctx); rule != nil && amount.IsKnown() && amount.Amount() < rule.Below.Amount() {
		refuse("Initial load in the top-up range", "amount (%s USD) must be at least top_up.below (%s USD) to issue the card, or the next plan "+
			"would top it up at once. Load it with top_up.to (%s USD), for example.", amount.Amount(), rule.Below.Amount(), rule.To.Amount())
	}
	p.checkBIN(ctx)
}

func (p *planner) change(ctx context.Context) {
	p.private.Replaced = &replacedCard{Name: p.state.name(), Protected: p.isProtected(), Balance: p.state.Balance.Amount()}
	p.planFixed(ctx, whatIsFixed())
	if len(p.replacement.Paths) > 0 {
		p.planReplacement(ctx)
		return
	}
	p.planTransfer(ctx)
}

func (p *planner) checkBIN(ctx context.Context) {
	bin := p.plan.BinID
	if bin.IsUnknown() || !p.resource.session.Known() {
		return
	}
	bins, err := p.resource.session.Bins(ctx)
	if err != nil {
		p.diags.Append(p.resource.session.ErrorOnce(func() diag.Diagnostic {
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

type planner struct {
	resource            *cardResource
	config, state, plan model
	private             privateState
	replacement         tfkit.Replacement
	changes             []string // what replaces the card, with both values
	diags               *diag.Diagnostics
}

// warn is of one attribute. Its title is the same for all cards, so that Terraform folds them.
func (p *planner) warn(attribute, title, text string, args ...any) {
	p.diags.AddAttributeWarning(path.Root(attribute), title, fmt.Sprintf(text, args...))
}

// isProtected reports whether the card has protection, or gets it with this very plan.
func (p *planner) isProtected() bool {
	return p.state.DeletionProtection.ValueBool() || p.config.DeletionProtection.ValueBool()
}

// spend counts what the plan takes from the wallet and returns, and says when it is too much.
func (p *planner) spend(ctx context.Context, planned session.PlannedSpend) {
	planned.Card, planned.Holds = p.state.name(), p.state.Balance.Amount()
	if p.state.ID.IsNull() {
		planned.Card = newCardName(p.config.Label)
	}
	p.diags.Append(p.resource.session.Spend(ctx, planned)...)
}

// checkLabel warns of live cards that a new card may duplicate. Only a plan can tell: during
// apply, Terraform does not say whether a new card replaces another.
func (p *planner) checkLabel(ctx context.Context) {
	s, label := p.resource.session, p.config.Label
	if !s.IsPlanning() || label.IsUnknown() {
		return
	}
	if !label.IsNull() && !s.FirstTime(session.TopicNewLabel, label.ValueString()) && s.FirstTime(session.TopicSharedLabel, label.ValueString()) {
		p.warn("label", "Several new cards share a label",
			"More than one new card of this plan is labelled %q. If the response to the creation of one of them is lost, its label does not tell it from the others. "+
				"Give each card a label of its own, or leave label out.", label.ValueString())
	}
	newest, err := s.NewestCards(ctx)
	if err != nil {
		return // the call was cancelled
	}
	if newest.Err != nil {
		if s.FirstTime(session.TopicLabelsNotRead, "") {
			p.diags.Append(labelsNotRead(newest.Err))
		}
		return
	}
	if newest.Truncated && s.FirstTime(session.TopicLabelsPartial, "") {
		p.diags.AddWarning("Labels were checked against the newest 1,000 cards only",
			"This account has more live cards. An older card may already have the label of a new one."+
				"\n\n`vcard statement --no-unmanaged` compares with all of them.")
	}
	if label.IsNull() {
		if newest.Generated > 0 && s.FirstTime(session.TopicGenerated, "") {
			p.diags.Append(generatedLabelsExist(newest.Generated, s.LabelPrefix))
		}
		return
	}
	alike := slices.DeleteFunc(slices.Clone(newest.Labelled(label.ValueString())), func(card api.CardListItem) bool {
		return card.ID == p.state.ID.ValueString()
	})
	if len(alike) > 0 {
		p.diags.Append(labelExists(alike))
	}
}

// warnConfig warns of what the service takes and nobody means, when a card is issued with
// it or comes to it; not in the validation, which runs several times for each card.
func (p *planner) warnConfig(ctx context.Context) {
	c, s := p.config, p.state
	at, amount, limit, isNew := c.AutoFreezeAt, c.Amount, c.SpendingLimit, s.ID.IsNull()
	if session := p.resource.session; session.Known() && session.Client.HasWritten() || isNew && p.private.Replaced != nil {
		return // it is said
	}
	changed := isNew || !at.SameCents(s.AutoFreezeAt) || !c.TopUp.Equal(s.TopUp)
	if rule, _ := c.readTopUp(ctx); rule != nil && at.IsKnown() && at.Amount() >= rule.Below.Amount() && changed {
		p.warn("auto_freeze_at", "The card freezes before it is topped up",
			"auto_freeze_at (%s USD) is not under top_up.below (%s USD): a card that is spent down is frozen by the service before a plan tops it up, and stays frozen after that unless frozen = false is set.", at.Amount(), rule.Below.Amount())
	}
	if !isNew && len(p.replacement.Paths) == 0 {
		return
	}
	if at.IsKnown() && amount.IsKnown() && at.Amount() >= amount.Amount() {
		p.warn("auto_freeze_at", "The card freezes with its first purchase",
			"auto_freeze_at (%s USD) is not under amount (%s USD): the first purchase leaves less than that on the card, and the service freezes it.", at.Amount(), amount.Amount())
	}
	if limit.IsKnown() && amount.IsKnown() && limit.Amount() < amount.Amount() {
		p.warn("spending_limit", "The card is loaded with more than it may spend in a month",
			"spending_limit (%s USD a month) is under amount (%s USD): the rest lies on the card until the next month.", limit.Amount(), amount.Amount())
	}
	if label := c.Label.ValueString(); strings.TrimSpace(label) != label {
		p.warn("label", "Spaces around the label",
			"label is %q. The service may leave the spaces out, and nobody sees them; trimspace() takes them off.", label)
	}
	for _, element := range c.AllowedCategories.Elements() {
		category, _ := element.(types.String)
		text := category.ValueString()
		if strings.ToLower(text) != text || strings.ContainsAny(text, " \t\n") {
			p.warn("allowed_categories", "A category is not written as the service writes them",
				"allowed_categories has %q. The service's categories are words in lower case, such as \"advertising\" and \"software\"; it refuses others, or declines every purchase.", text)
		}
		if text == "ads" {
			p.warn("allowed_categories", "Category of a BIN, not of a card",
				"allowed_categories has \"ads\", which is a category of BINs. The service may refuse the card, or decline every purchase.\n\nWrite \"advertising\", the category of merchants.")
		}
	}
}
