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
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// planner computes the plan of one card and collects its diagnostics.
type planner struct {
	resource            *cardResource
	config, state, plan model
	private             privateState
	replacement         tfkit.Replacement
	changes             []string // that replace the card, as in "spending_limit (10.00 USD to 20.00 USD)"
	diags               *diag.Diagnostics
}

// ModifyPlan computes the planned values and checks the plan. The values must not depend on the service's responses,
// because apply computes them again in another process.
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
	// An earlier plan may have set these.
	p.private.NextCost = 0
	p.private.TopUpPaused = false
	p.checkLoad(ctx)
	if req.Plan.Raw.IsNull() {
		p.planDestroy(ctx)
	} else if req.State.Raw.IsNull() {
		p.planIssue(ctx)
		p.warnConfig(ctx)
		p.private.NextCost = p.plan.issueCost() // for Delete, if the new card replaces another
	} else {
		p.planChange(ctx)
		p.warnConfig(ctx)
		resp.RequiresReplace = append(resp.RequiresReplace, p.replacement.Paths...)
	}
	p.private.write(ctx, resp.Private, p.diags)
	changed := !reflect.DeepEqual(p.plan, proposed) //nolint:govet // Set is slow; a false difference only costs an unneeded call of it
	if changed && !p.diags.HasError() {
		p.diags.Append(resp.Plan.Set(ctx, p.plan)...)
	}
}

// checkLoad adds an error if amount or top_up.to exceeds max_card_load of the provider configuration.
func (p *planner) checkLoad(ctx context.Context) {
	p.diags.Append(p.resource.session.LoadDiagnostic(path.Root("amount"), p.config.Amount.Amount())...)
	rule, _ := p.config.readTopUp(ctx)
	if rule != nil {
		p.diags.Append(p.resource.session.LoadDiagnostic(path.Root("top_up").AtName("to"), rule.To.Amount())...)
	}
}

// planDestroy plans the termination of the card.
func (p *planner) planDestroy(ctx context.Context) {
	if p.isProtected() {
		p.refuseTermination(p.state.name(), forDestroy, moveInstead)
		return
	}
	p.countSpend(ctx, session.PlannedSpend{Returned: p.state.Balance.Amount()})
}

// planIssue plans a new card. This may be the second plan of a replacement, whose warnings Terraform drops. Then the
// private state describes the replaced card.
func (p *planner) planIssue(ctx context.Context) {
	replaced := p.private.Replaced
	if replaced != nil && replaced.Protected {
		p.refuseTermination(replaced.Name, forForcedReplacement, doNotForce)
		return
	}
	p.plan.ToppedUp = usdtype.FromAmount(0)
	p.plan.IssuanceFee = usdtype.FromAmount(api.IssuanceFee)
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
		planned.IsReplan = true
		planned.Returned = replaced.Balance
		planned.CountedNet = replaced.CountedNet
		planned.CountedTaken = replaced.CountedTaken
	}
	p.countSpend(ctx, planned)
}

// checkIssue checks the load and the BIN of a new card. It also refuses a load that would lead to a top-up right away.
func (p *planner) checkIssue(ctx context.Context) {
	amount := p.plan.Amount
	refuse := func(title, text string, args ...any) {
		p.diags.AddAttributeError(path.Root("amount"), title, fmt.Sprintf(text, args...))
	}
	if amount.IsNull() {
		refuse("amount is required for a new card", "Set amount to the initial load of the new card in USD, at least %s. "+
			"Only an existing card can omit amount; Terraform then does not manage its load.", api.MinimumLoad)
	} else if amount.IsKnown() && amount.Amount() < api.MinimumLoad {
		refuse("Initial load too small", "amount must be at least %s USD to issue a card, got %s. "+
			"Once the card is issued, you may lower amount below that.", api.MinimumLoad, amount.Amount())
	}
	rule, _ := p.plan.readTopUp(ctx)
	startsBelowRange := rule != nil && amount.IsKnown() && amount.Amount() < rule.Below.Amount()
	if startsBelowRange {
		refuse("amount is lower than top_up.below", "amount (%s USD) must be at least top_up.below (%s USD) to issue the card. "+
			"Otherwise a later plan would top the card up. Set amount to %s, for example.",
			amount.Amount(), rule.Below.Amount(), max(rule.To.Amount(), api.MinimumLoad))
	}
	p.checkBIN(ctx)
}

// planChange plans an update or a replacement of the card.
func (p *planner) planChange(ctx context.Context) {
	// The private state describes the card even if this plan does not replace it, because the provider cannot see -replace.
	p.private.Replaced = &replacedCard{
		Name:      p.state.name(),
		Protected: p.isProtected(),
		Balance:   p.state.Balance.Amount(),
	}
	p.planFixed(ctx)
	if len(p.replacement.Paths) > 0 {
		p.planReplacement(ctx)
		return
	}
	p.planTransfer(ctx)
}

// checkBIN adds an error if the BIN of a new card is not in the catalogue, or if the catalogue cannot be read.
func (p *planner) checkBIN(ctx context.Context) {
	bin := p.plan.BinID
	if bin.IsUnknown() || !p.resource.session.IsConfigured() {
		return
	}
	bins, err := p.resource.session.Bins(ctx)
	if err != nil {
		p.diags.Append(p.resource.session.ErrorOnce(func() diag.Diagnostic {
			return session.ErrorDiagnostic("check the BIN of "+newCardName(p.plan.Label), err)
		})...)
		return
	}
	exists := slices.ContainsFunc(bins, func(b api.Bin) bool { return b.ID == bin.ValueString() })
	if exists {
		return
	}
	if len(bins) == 0 {
		p.diags.AddAttributeError(path.Root("bin_id"), "Unknown BIN",
			fmt.Sprintf("This account cannot issue cards on the BIN %q, and the service lists no BINs at all. Ask the service's support which BINs the account can use.", bin.ValueString()))
		return
	}
	lines := make([]string, len(bins))
	for i, b := range bins {
		lines[i] = fmt.Sprintf("  %s (%s, %s)", b.ID, b.Network, b.Category)
	}
	slices.Sort(lines)
	p.diags.AddAttributeError(path.Root("bin_id"), "Unknown BIN",
		fmt.Sprintf("This account cannot issue cards on the BIN %q. Set bin_id to one of these:\n%s", bin.ValueString(), strings.Join(lines, "\n")))
}

// warn adds a warning about one attribute. The title must not depend on the card, so that Terraform folds the warnings.
func (p *planner) warn(attribute, title, text string, args ...any) {
	p.diags.AddAttributeWarning(path.Root(attribute), title, fmt.Sprintf(text, args...))
}

// isProtected reports whether the card has deletion protection in the state or the configuration.
func (p *planner) isProtected() bool {
	return p.state.DeletionProtection.ValueBool() || p.config.DeletionProtection.ValueBool()
}

// countSpend counts the money that the plan of this card takes from the wallet and returns to it. It adds the
// diagnostics about the total of the cards planned so far.
func (p *planner) countSpend(ctx context.Context, planned session.PlannedSpend) {
	if p.state.ID.IsNull() {
		planned.CardName = newCardName(p.config.Label)
	} else {
		planned.CardName = p.state.name()
		planned.CardBalance = p.state.Balance.Amount()
	}
	p.diags.Append(p.resource.session.CountSpend(ctx, planned)...)
}

// checkLabel warns of cards that a new card may duplicate. It does so only while planning, because during apply the
// provider cannot see whether a new card replaces another.
func (p *planner) checkLabel(ctx context.Context) {
	s := p.resource.session
	label := p.config.Label
	if !s.IsPlanning() || label.IsUnknown() {
		return
	}
	if !label.IsNull() {
		p.warnSharedLabel(label.ValueString())
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
		p.diags.AddWarning("Labels were checked against the newest cards only",
			"The plan compares labels with the newest 1,000 active and the newest 1,000 frozen cards, but this account has more. "+
				"An older card may already have the label of a card in this plan."+
				"\n\nTo check all live cards, add data \"vcard_cards\" \"all\" {} to the configuration. Then run: "+
				"terraform plan -out=plan && terraform show -json plan | vcard statement --no-unmanaged -")
	}
	if label.IsNull() {
		if newest.GeneratedCount > 0 && s.FirstTime(session.TopicGenerated, "") {
			p.diags.Append(generatedLabelsExist(newest.GeneratedCount, s.LabelPrefix))
		}
		return
	}
	var others []api.CardListItem
	for _, card := range newest.CardsWithLabel(label.ValueString()) {
		if card.ID != p.state.ID.ValueString() { // the card that is replaced does not count
			others = append(others, card)
		}
	}
	if len(others) > 0 {
		p.diags.Append(labelExists(others))
	}
}

// warnSharedLabel warns if another new card of this plan has the same label, once for each label.
func (p *planner) warnSharedLabel(label string) {
	s := p.resource.session
	shared := !s.FirstTime(session.TopicNewLabel, label)
	if !shared {
		return
	}
	if s.FirstTime(session.TopicSharedLabel, label) {
		p.warn("label", "Several new cards share a label",
			"More than one new card in this plan has the label %q. If a response is lost, the provider cannot identify the card by its label. "+
				"Give each card a different label, or leave label out.", label)
	}
}

// warnConfig warns of settings that are valid but probably mistakes. Validation would repeat these warnings, because it
// runs several times for each card.
func (p *planner) warnConfig(ctx context.Context) {
	isNew := p.state.ID.IsNull()
	s := p.resource.session
	applying := s.IsConfigured() && s.Client.HasWritten() // only apply changes something
	secondPlan := isNew && p.private.Replaced != nil
	if applying || secondPlan {
		return // an earlier plan may have warned already
	}

	threshold := p.config.AutoFreezeAt
	rule, _ := p.config.readTopUp(ctx)
	unchanged := threshold.SameCents(p.state.AutoFreezeAt) && p.config.TopUp.Equal(p.state.TopUp)
	settingsAreNew := isNew || !unchanged
	frozen := p.config.Frozen
	// With frozen = false, each apply unfreezes the card, as the warning advises.
	staysActive := !frozen.IsNull() && !frozen.IsUnknown() && !frozen.ValueBool()
	if settingsAreNew && !staysActive && freezesBeforeTopUp(threshold, rule) {
		p.warn("auto_freeze_at", "Card freezes before it is topped up",
			"auto_freeze_at (%s USD) is not lower than top_up.below (%s USD). The service freezes the card before a plan tops it up, "+
				"and the card stays frozen unless frozen = false."+
				"\n\nRaise top_up.below above auto_freeze_at, or set frozen = false to unfreeze the card with each apply. "+
				"You can also lower auto_freeze_at, but on an existing card that replaces the card.", threshold.Amount(), rule.Below.Amount())
	}
	if isNew || len(p.replacement.Paths) > 0 {
		p.warnIssue()
	}
}

// freezesBeforeTopUp reports whether a card is already frozen by the service when its balance is low enough for a top-up.
// If auto_freeze_at or top_up is not set or not known, it reports false.
func freezesBeforeTopUp(threshold usdtype.Value, rule *topUpRule) bool {
	if rule == nil || !threshold.IsKnown() {
		return false
	}
	return threshold.Amount() >= rule.Below.Amount()
}

// warnIssue warns of probable mistakes in the settings of a new card.
func (p *planner) warnIssue() {
	if p.config.Amount.IsKnown() {
		p.warnLoad(p.config.Amount.Amount())
	}
	label := p.config.Label.ValueString()
	if strings.TrimSpace(label) != label {
		p.warn("label", "Label has leading or trailing spaces",
			"label is %q. The service may remove the spaces. Remove them with trimspace().", label)
	}
	for _, element := range p.config.AllowedCategories.Elements() {
		category, _ := element.(types.String)
		text := category.ValueString()
		if strings.ToLower(text) != text || strings.ContainsAny(text, " \t\n") {
			p.warn("allowed_categories", "Unlikely merchant category",
				"allowed_categories contains %q. The documented categories are single words in lower case, such as \"advertising\" and \"software\". "+
					"The service may refuse the card, or decline every purchase. Check the spelling.", text)
		}
		if text == "ads" {
			p.warn("allowed_categories", "BIN category used for a card",
				"allowed_categories contains \"ads\", which is a category of BINs, not of merchants. The service may refuse the card, or decline every purchase.\n\nWrite \"advertising\" instead.")
		}
	}
}

// warnLoad warns of settings that do not fit the initial load, which is in USD.
func (p *planner) warnLoad(load usd.Amount) {
	threshold := p.config.AutoFreezeAt
	if threshold.IsKnown() && threshold.Amount() >= load {
		p.warn("auto_freeze_at", "Card freezes at its first purchase",
			"auto_freeze_at (%s USD) is not lower than amount (%s USD). The first purchase takes the balance below auto_freeze_at, and the service freezes the card. Lower auto_freeze_at, or raise amount.",
			threshold.Amount(), load)
	}
	limit := p.config.SpendingLimit
	if limit.IsKnown() && limit.Amount() < load {
		p.warn("spending_limit", "spending_limit is lower than amount",
			"spending_limit is %s USD a month, and amount loads %s USD. The card cannot spend the rest before the next month. Raise spending_limit, or lower amount.",
			limit.Amount(), load)
	}
}
