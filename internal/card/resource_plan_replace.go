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
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// planFixed plans the settings that are fixed when a card is issued. Each one is unchanged, adopted
// from the configuration of an imported card, or a reason to replace the card.
func (p *planner) planFixed(ctx context.Context) {
	var adopted []string
	for _, s := range settings(&p.state, &p.config) {
		if s.isLeftOut() || s.isSame() || s.isShownInstead(p.private.Shown) {
			continue
		}
		if !s.isReported() && p.state.isImported() && s.has.IsNull() {
			adopted = append(adopted, s.name)
			continue
		}
		p.replacement.Add(ctx, s.name, s.wanted)
		p.changes = append(p.changes, s.name+changeOf(s.has, s.wanted))
	}

	// What is left out stays as it is, and the same amount keeps its notation.
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
		names := strings.Join(adopted, ", ")
		p.diags.AddWarning("Adopted without verification",
			fmt.Sprintf("%s was imported, and the service does not report its %s. The state takes the configured values, and the card does not change. "+
				"To be certain of these values, replace the card with -replace.", capitalized(p.state.name()), names))
	}
}

// planReplacement warns under one title for all cards, so that Terraform folds them.
func (p *planner) planReplacement(ctx context.Context) {
	card := p.state
	changes := strings.Join(p.changes, ", ")
	keepAsItIs := fmt.Sprintf("A live card cannot change this: %s. To keep the card as it is, add ignore_changes = [%s] to its lifecycle block.",
		changes, p.replacement.Attributes())
	if p.isProtected() {
		p.refuseTermination(card.name(), "replaced", keepAsItIs)
		return
	}
	if p.plan.Amount.IsNull() { // as on an imported card
		p.diags.AddAttributeError(p.replacement.Paths[0], "amount is required to replace a card",
			fmt.Sprintf("The configuration differs from %s in settings that a live card cannot change: %s. To keep the card, configure the values that it has. "+
				"To replace it with a new card and number, set amount: the initial load in USD, at least %s.",
				card.name(), changes, api.MinimumLoad))
		return
	}
	planned := session.PlannedSpend{Taken: p.plan.issueCost(), Returned: p.state.Balance.Amount()}
	p.private.Replaced.Planned = planned.Taken - planned.Returned
	p.private.Replaced.Taken = planned.Taken
	p.checkLabel(ctx)
	p.spend(ctx, planned)
	load := "its amount, known after apply"
	if p.plan.Amount.IsKnown() {
		load = p.plan.Amount.Amount().String() + " USD"
	}
	ends := fmt.Sprintf("%s is terminated permanently, and its last known balance of %s USD returns to the wallet. "+
		"A new card with another number is loaded with %s, for a fee of %s USD.",
		capitalized(card.name()), card.Balance.Amount(), load, api.IssuanceFee)
	upfront, wallet, tooMuch := p.resource.session.PaidUpfront(ctx)
	if tooMuch {
		ends += fmt.Sprintf(" With create_before_destroy, the new card is paid before the old balance returns. So far, this plan takes %s USD before any balance returns; the wallet holds %s USD.", upfront, wallet)
	}
	paragraphs := []string{ends, keepAsItIs + p.replacement.UnknownAdvice("card")}
	if lost := p.notCarriedOver(); len(lost) > 0 {
		paragraphs = append(paragraphs, "The new card does not have these settings, because they are not in the configuration: "+strings.Join(lost, ", ")+".")
	}
	paragraphs = append(paragraphs, "Without create_before_destroy, the old card is terminated first. If the service then refuses the new one, there is no card."+p.mayBeRefused())
	p.diags.AddWarning("Card will be replaced and get a new number", strings.Join(paragraphs, "\n\n"))
}

// mayBeRefused names the changes whose values the service does not publish.
func (p *planner) mayBeRefused() string {
	changes := func(name string) bool { return p.replacement.Paths.Contains(path.Root(name)) }
	var doubtful []string
	if (changes("allowed_categories") || p.state.AllowedCategories.IsNull()) && !p.config.AllowedCategories.IsNull() {
		doubtful = append(doubtful, "allowed_categories (it does not publish the list)")
	}
	if (changes("spending_limit") || changes("bin_id")) && !p.config.SpendingLimit.IsNull() {
		doubtful = append(doubtful, "spending_limit (it does not publish the BIN's maximum)")
	}
	if len(doubtful) == 0 {
		return ""
	}
	return " It may refuse the new " + strings.Join(doubtful, " and ") + "."
}

// notCarriedOver names what the card has beyond its configuration.
func (p *planner) notCarriedOver() []string {
	var lost []string
	if p.config.SpendingLimit.IsNull() && !p.private.DefaultLimit {
		lost = append(lost, fmt.Sprintf("spending_limit (%s USD; the new card gets the BIN's maximum)", p.state.SpendingLimit.Amount()))
	}
	label := p.state.Label.ValueString()
	if p.config.Label.IsNull() && label != "" && !labels.IsGenerated(label) {
		lost = append(lost, fmt.Sprintf("label (%q; the new card gets a generated one)", label))
	}
	if p.config.Frozen.IsNull() && p.state.Frozen.ValueBool() {
		lost = append(lost, "frozen (the new card is active)")
	}
	names := unreported(&p.config)
	if p.state.isImported() && len(names) > 0 {
		lost = append(lost, "any "+strings.Join(names, ", ")+" that it was issued with (the service does not report them)")
	}
	return lost
}

// How to keep a protected card, by the reason why the plan would terminate it.
const (
	moveInstead = "Renamed or moved: add a moved block with the old and the new address, and the card stays. " +
		"Removed from the configuration: put it back first. To keep the card outside Terraform, use terraform state rm, or a removed block with destroy = false. " +
		"Deposed object, left by a replacement with create_before_destroy: terminate it in the dashboard; the next plan removes it from the state."
	doNotForce = "Without -replace the card stays."
)

// mostProtected is how many protected cards one plan names. The first of these errors fails it.
const mostProtected = 10

// refuseTermination adds the error for a protected card, in full once for each reason.
func (p *planner) refuseTermination(name, reason, keep string) {
	s := p.resource.session
	count := s.CountProtected()
	if count > mostProtected && s.IsPlanning() {
		return
	}
	text := "deletion_protection is true, and this plan would terminate " + name + "."
	if s.FirstTime(session.TopicProtected, reason) {
		text += "\n\n" + keep + "\n\nTo terminate it, set deletion_protection = false, apply only that, then try again."
	}
	if count == mostProtected {
		text += "\n\nOther protected cards are not listed."
	}
	p.diags.AddError("Deletion protection prevents terminating "+name, text)
}

// setting is an attribute that is fixed when a card is issued, with the value that the card has and
// the one that is wanted. The state keeps the configured value, whatever the service shows: replacing
// a card ends its number, so only the configuration may cause it.
type setting struct {
	name        string
	has, wanted attr.Value
}

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

// isReported reports whether the service shows this setting of a card. An imported card has the others
// from the configuration.
func (s setting) isReported() bool {
	return s.name == "bin_id" || s.name == "label" || s.name == "spending_limit"
}

// isLeftOut reports whether the configuration leaves out a setting that the card then keeps.
func (s setting) isLeftOut() bool {
	return (s.name == "label" || s.name == "spending_limit") && s.wanted.IsNull()
}

// isSame reports whether the card has what is wanted.
func (s setting) isSame() bool {
	switch wanted := s.wanted.(type) {
	case usdtype.Value:
		has, ok := s.has.(usdtype.Value)
		return ok && wanted.SameCents(has)
	case types.Map:
		has, ok := s.has.(types.Map)
		return ok && (wanted.Equal(has) || isEmpty(wanted) && isEmpty(has))
	case types.String:
		has, ok := s.has.(types.String)
		if s.name == "label" && isKnown(wanted) && ok && s.reported(wanted) == has.ValueString() {
			return true
		}
	}
	return s.wanted.Equal(s.has)
}

func isEmpty(m types.Map) bool { return !m.IsUnknown() && len(m.Elements()) == 0 }

func isKnown(value attr.Value) bool { return !value.IsNull() && !value.IsUnknown() }

// reported is a value in the form in which the service reports it.
func (s setting) reported(value attr.Value) string {
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

// isShownInstead reports whether the wanted value is the one that the service shows instead of the
// configured one.
func (s setting) isShownInstead(shown map[string]string) bool {
	value, differs := shown[s.name]
	return differs && isKnown(s.wanted) && s.reported(s.wanted) == value
}

// keepConfigured gives a card that was read the settings in the state, and returns the values of the
// service that differ from them. A spending limit that was not configured follows the service.
func keepConfigured(card, state *model, defaultLimit bool) map[string]string {
	followsLimit := defaultLimit || !isKnown(state.SpendingLimit)
	shown := map[string]string{}
	for _, s := range settings(card, state) {
		if !s.isReported() || s.isSame() || s.name == "spending_limit" && followsLimit {
			continue
		}
		shown[s.name] = s.reported(s.has)
	}
	card.BinID = state.BinID
	card.Label = state.Label
	if !followsLimit {
		card.SpendingLimit = state.SpendingLimit
	}
	return shown
}

// differences lists the service's values, each with the configured one.
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
		configured, _ := display(s.wanted)
		texts = append(texts, fmt.Sprintf("%s %s instead of %s", s.name, text, configured))
	}
	return texts
}

// unreported names the settings that a configuration leaves out and the service does not report.
func unreported(config *model) []string {
	var names []string
	for _, s := range settings(config, config) {
		if !s.isReported() && s.wanted.IsNull() {
			names = append(names, s.name)
		}
	}
	return names
}

// changeOf shows both values if they are short.
func changeOf(before, after attr.Value) string {
	old, ok := display(before)
	if !ok {
		return ""
	}
	changed, _ := display(after)
	return " (" + old + " to " + changed + ")"
}

// display returns a short value as a person reads it. It reports false for a collection.
func display(value attr.Value) (string, bool) {
	text := ""
	isShort := false
	switch v := value.(type) {
	case types.String:
		text = strconv.Quote(v.ValueString())
		isShort = true
	case usdtype.Value:
		text = v.Amount().String() + " USD"
		isShort = true
	}
	if value.IsNull() {
		text = "not set"
	} else if value.IsUnknown() {
		text = "a value known after apply"
	}
	return text, isShort
}
