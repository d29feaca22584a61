package card

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/labels"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// planFixed plans the settings that are fixed when a card is issued. Each one agrees with the card, is adopted from the
// configuration of an imported card, or is a reason to replace the card.
func (p *planner) planFixed(ctx context.Context) {
	var adopted []string
	for _, s := range settings(&p.state, &p.config) {
		agrees := s.isLeftOut() || s.isSame() || s.isAlreadyShown(p.private.Shown)
		if agrees {
			continue
		}
		if p.adopts(s) {
			adopted = append(adopted, s.name)
		} else {
			p.replacement.Add(ctx, s.name, s.wanted)
			p.changes = append(p.changes, s.name+changeOf(s.current, s.wanted))
		}
	}

	// A label or limit that is left out stays as it is, and an amount with the same cents keeps its notation.
	if p.config.Label.IsNull() {
		p.plan.Label = p.state.Label
	}
	if p.config.SpendingLimit.IsNull() || p.config.SpendingLimit.SameCents(p.state.SpendingLimit) {
		p.plan.SpendingLimit = p.state.SpendingLimit
	}
	if p.config.AutoFreezeAt.SameCents(p.state.AutoFreezeAt) {
		p.plan.AutoFreezeAt = p.state.AutoFreezeAt
	}

	if len(adopted) > 0 && len(p.replacement.Paths) == 0 { // a replacement is issued with the configured values
		names := tfkit.Enumerate(adopted)
		p.diags.AddWarning("Adopted without verification",
			fmt.Sprintf("%s was imported, and the service does not report its %s. Apply writes the configured values to the state and does not change the card. "+
				"To be certain of these values, replace the card with -replace: that issues a card with another number, for a fee of %s USD.", capitalized(p.state.name()), names, api.IssuanceFee))
	}
}

// adopts reports whether the state takes the configured value of a setting, because the card's own value is not known.
func (p *planner) adopts(s setting) bool {
	if s.isReported() {
		return false
	}
	return p.state.isImported() && s.current.IsNull()
}

// planReplacement plans the replacement of the card. p.replacement must have at least one path.
func (p *planner) planReplacement(ctx context.Context) {
	card := p.state
	changes := strings.Join(p.changes, ", ")
	keepAsItIs := fmt.Sprintf("These settings of a live card cannot change: %s. To keep the card as it is, add ignore_changes = [%s] to its lifecycle block.",
		changes, p.replacement.NamesInHCL())
	if p.isProtected() {
		p.refuseTermination(card.name(), forReplacement, keepAsItIs)
		return
	}
	if p.plan.Amount.IsNull() {
		p.diags.AddAttributeError(p.replacement.Paths[0], "amount is required to replace a card",
			fmt.Sprintf("The configuration differs from %s in settings that cannot change: %s. To keep the card, configure the values that it has. "+
				"To replace it with a new card and number, set amount: the initial load in USD, at least %s.",
				card.name(), changes, api.MinimumLoad))
		return
	}
	planned := session.PlannedSpend{Taken: p.plan.issueCost(), Returned: card.Balance.Amount()}
	p.private.Replaced.CountedNet = planned.Taken - planned.Returned
	p.private.Replaced.CountedTaken = planned.Taken
	p.checkLabel(ctx)
	p.countSpend(ctx, planned) // before UpfrontCost, whose result depends on it

	load := "its amount, known after apply"
	if p.plan.Amount.IsKnown() {
		load = p.plan.Amount.Amount().String() + " USD"
	}
	effect := fmt.Sprintf("%s is terminated permanently, and its last known balance of %s USD returns to the wallet. "+
		"A new card with another number is issued for a fee of %s USD and loaded with %s.",
		capitalized(card.name()), card.Balance.Amount(), api.IssuanceFee, load)
	upfront, wallet, exceedsWallet := p.resource.session.UpfrontCost(ctx)
	if exceedsWallet {
		effect += fmt.Sprintf(" With create_before_destroy, the new card is paid for before the old balance returns, so deposit first. So far, this plan takes %s USD before any balance returns; the wallet holds %s USD.", upfront, wallet)
	}

	paragraphs := []string{effect, keepAsItIs + p.replacement.UnknownAdvice("card")}
	lost := p.lostSettings()
	if len(lost) > 0 {
		paragraphs = append(paragraphs, "The new card does not have these settings, because they are not in the configuration: "+strings.Join(lost, ", ")+".")
	}
	paragraphs = append(paragraphs, "Without create_before_destroy, the old card is terminated first. If the service then refuses the new one, you are left without a card."+p.refusalNote())
	p.diags.AddWarning("Card will be replaced and get a new number", strings.Join(paragraphs, "\n\n"))
}

// refusalNote names the settings of the new card whose values the service may refuse. It returns "" if there are none.
func (p *planner) refusalNote() string {
	isChanged := func(name string) bool { return p.replacement.Paths.Contains(path.Root(name)) }
	var doubtful []string
	// An imported card has no categories in the state, so those in the configuration may be new.
	newCategories := isChanged("allowed_categories") || p.state.AllowedCategories.IsNull()
	if newCategories && !p.config.AllowedCategories.IsNull() {
		doubtful = append(doubtful, "allowed_categories (it does not publish the list)")
	}
	newLimit := isChanged("spending_limit") || isChanged("bin_id") // each BIN has its own maximum
	if newLimit && !p.config.SpendingLimit.IsNull() {
		doubtful = append(doubtful, "spending_limit (it does not publish the BIN's maximum)")
	}
	if len(doubtful) == 0 {
		return ""
	}
	return " The service may refuse the new " + strings.Join(doubtful, " and ") + "."
}

// lostSettings names settings that the card has or may have, and that a new card lacks, because they are not in the
// configuration.
func (p *planner) lostSettings() []string {
	var lost []string
	if p.config.SpendingLimit.IsNull() && !p.private.DefaultLimit {
		lost = append(lost, fmt.Sprintf("spending_limit (%s USD; the new card gets the BIN's maximum)", p.state.SpendingLimit.Amount()))
	}
	label := p.state.Label.ValueString()
	hasChosenLabel := label != "" && !labels.IsGenerated(label)
	if p.config.Label.IsNull() && hasChosenLabel {
		lost = append(lost, fmt.Sprintf("label (%q; the new card gets a generated one)", label))
	}
	if p.config.Frozen.IsNull() && p.state.Frozen.ValueBool() {
		lost = append(lost, "frozen (the new card is active)")
	}
	names := unreportedNames(&p.config)
	if p.state.isImported() && len(names) > 0 {
		lost = append(lost, "any "+tfkit.Enumerate(names)+" that the old card was issued with (the service does not report them)")
	}
	return lost
}

const (
	// moveInstead is advice about a protected card that a plan would destroy.
	moveInstead = "Renamed or moved: add a moved block with the old and the new address, and the card stays. " +
		"Removed from the configuration: put it back first. To keep the card outside Terraform, use terraform state rm, or a removed block with destroy = false. " +
		"Deposed object, left by a replacement with create_before_destroy: terminate it in the dashboard; the next plan removes it from the state."
	// doNotForce is advice about a protected card that -replace or replace_triggered_by would replace.
	doNotForce = "Without -replace or replace_triggered_by, the card stays."
)

// maxProtected is the maximum number of protected cards that a plan names.
const maxProtected = 10

// terminationReason says why a plan would terminate a card. It is not shown: it is a key, so that the advice is not
// repeated for other cards with the same reason.
type terminationReason string

const (
	forDestroy           terminationReason = "destroyed"
	forReplacement       terminationReason = "replaced"
	forForcedReplacement terminationReason = "forced" // by -replace or replace_triggered_by
)

// refuseTermination adds the error for a protected card, unless this plan has already reported maxProtected of them.
func (p *planner) refuseTermination(name string, reason terminationReason, advice string) {
	s := p.resource.session
	count := s.CountProtected()
	// The earlier errors already fail the plan. During apply, each card needs its own error, because an error about one
	// card does not stop the others.
	if count > maxProtected && s.IsPlanning() {
		return
	}
	text := "deletion_protection is true, and this plan would terminate " + name + "."
	if s.FirstTime(session.TopicProtected, string(reason)) {
		text += "\n\n" + advice + "\n\nTo terminate the card, set deletion_protection = false, apply only that, then try again."
	}
	if count == maxProtected && s.IsPlanning() {
		text += fmt.Sprintf("\n\nA plan lists at most %d protected cards.", maxProtected)
	}
	p.diags.AddError("Deletion protection prevents terminating "+name, text)
}

// setting is an attribute that is fixed when a card is issued. The state keeps the configured value even if the
// service shows another: replacing a card ends its number, so only the configuration may cause a replacement.
type setting struct {
	name    string
	current attr.Value
	wanted  attr.Value
}

// settings returns the settings of a card, each with its wanted value. To get the values of a single model, pass it
// twice.
func settings(card, wanted *model) []setting {
	return []setting{
		{"bin_id", card.BinID, wanted.BinID},
		{"label", card.Label, wanted.Label},
		{"spending_limit", card.SpendingLimit, wanted.SpendingLimit},
		{"allowed_categories", card.AllowedCategories, wanted.AllowedCategories},
		{"metadata", card.Metadata, wanted.Metadata},
		{"auto_freeze_at", card.AutoFreezeAt, wanted.AutoFreezeAt},
	}
}

// isReported reports whether the service shows this setting of a card.
func (s setting) isReported() bool {
	switch s.name {
	case "bin_id", "label", "spending_limit":
		return true
	}
	return false
}

// isLeftOut reports whether the configuration leaves out a label or a spending limit, which the card then keeps. For any
// other setting, it reports false: if such a setting is left out, the card should have none.
func (s setting) isLeftOut() bool {
	switch s.name {
	case "label", "spending_limit":
		return s.wanted.IsNull()
	}
	return false
}

// isSame reports whether the card has the wanted value.
func (s setting) isSame() bool {
	switch wanted := s.wanted.(type) {
	case usdtype.Value:
		current, ok := s.current.(usdtype.Value)
		return ok && wanted.SameCents(current)
	case types.Map:
		current, ok := s.current.(types.Map)
		if ok && isEmpty(wanted) {
			return isEmpty(current)
		}
	case types.String:
		if s.name == "label" && s.isSameLabel() {
			return true
		}
	}
	return s.wanted.Equal(s.current)
}

// isSameLabel reports whether the card's label is the shown form of the wanted one.
func (s setting) isSameLabel() bool {
	current, ok := s.current.(types.String)
	if !ok || !isKnown(s.wanted) {
		return false
	}
	return s.shownForm(s.wanted) == current.ValueString()
}

// isEmpty reports whether a map is null or has no elements. An unknown map may have some.
func isEmpty(m types.Map) bool { return !m.IsUnknown() && len(m.Elements()) == 0 }

// isKnown reports whether a value is neither null nor unknown.
func isKnown(value attr.Value) bool { return !value.IsNull() && !value.IsUnknown() }

// shownForm returns a value in the form of the texts in privateState.Shown. Characters of a label that are unsafe to show
// are replaced. For a collection, it returns "".
func (s setting) shownForm(value attr.Value) string {
	switch v := value.(type) {
	case usdtype.Value:
		return v.Amount().String()
	case types.String:
		if s.name == "label" {
			return transport.NewLabel(v.ValueString()).String()
		}
		return v.ValueString()
	}
	return ""
}

// isAlreadyShown reports whether the wanted value is the one that the service shows, although the state has another.
// shown maps settings to the service's values that differ from the state.
func (s setting) isAlreadyShown(shown map[string]string) bool {
	value, differs := shown[s.name]
	if !differs || !isKnown(s.wanted) {
		return false
	}
	return s.shownForm(s.wanted) == value
}

// keepConfigured restores the configured settings in a model after the service's values have overwritten them. It
// returns the service's values that differ from the configured ones, by the names of the settings. If defaultLimit is
// true, or configured has no known spending limit, the limit follows the service.
func keepConfigured(m, configured *model, defaultLimit bool) map[string]string {
	limitFollowsService := defaultLimit || !isKnown(configured.SpendingLimit)
	shown := map[string]string{}
	for _, s := range settings(m, configured) {
		if s.name == "spending_limit" && limitFollowsService {
			continue
		}
		if s.isReported() && !s.isSame() {
			shown[s.name] = s.shownForm(s.current)
		}
	}
	// The service reports no other settings, so nothing has overwritten them.
	m.BinID = configured.BinID
	m.Label = configured.Label
	if !limitFollowsService {
		m.SpendingLimit = configured.SpendingLimit
	}
	return shown
}

// differences lists the service's values that are in shown, each with the configured value.
func differences(shown map[string]string, card *model) []string {
	var texts []string
	for _, s := range settings(card, card) {
		value, differs := shown[s.name]
		if !differs {
			continue
		}
		text := strconv.Quote(value)
		if s.name == "spending_limit" {
			text = value + " USD"
		}
		configured, _ := display(s.wanted) // each setting that the service reports is a text or an amount
		texts = append(texts, fmt.Sprintf("%s %s instead of %s", s.name, text, configured))
	}
	return texts
}

// unreportedNames names the settings that a configuration leaves out and that the service does not report.
func unreportedNames(config *model) []string {
	var names []string
	for _, s := range settings(config, config) {
		if !s.isReported() && s.wanted.IsNull() {
			names = append(names, s.name)
		}
	}
	return names
}

// changeOf describes a change of a value, as in " (10.00 USD to 20.00 USD)". For a collection, it returns "".
func changeOf(current, wanted attr.Value) string {
	currentText, ok := display(current)
	if !ok {
		return ""
	}
	wantedText, _ := display(wanted)
	return " (" + currentText + " to " + wantedText + ")"
}

// display returns a text or an amount as a person reads it. For a collection, it returns "" and false.
func display(value attr.Value) (string, bool) {
	text, isText := value.(types.String)
	amount, isAmount := value.(usdtype.Value)
	if !isText && !isAmount {
		return "", false
	}
	if value.IsNull() {
		return "not set", true
	}
	if value.IsUnknown() {
		return "a value known after apply", true
	}
	if isAmount {
		return amount.Amount().String() + " USD", true
	}
	return strconv.Quote(text.ValueString()), true
}
