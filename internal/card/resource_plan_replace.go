package card

import (
	"context"
	"fmt"
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

// planFixed plans what is fixed when a card is issued: unchanged, adopted from the
// configuration of an imported card, or a reason to replace it.
func (p *planner) planFixed(ctx context.Context, all fixedAttributes) {
	s := &p.state
	var adopted []string
	for _, f := range all {
		configured, asked := f.get(&p.config), f.get(s)
		_, isAmount := configured.(usdtype.Value)
		same := f.same(configured, asked)
		switch {
		case f.computed && configured.IsNull(), same && isAmount: // whose notation may differ
			f.keep(&p.plan, s)
		case same, f.isShown(configured, p.private.Shown):
		case f.shown == nil && s.isImported() && asked.IsNull():
			adopted = append(adopted, f.name)
		default:
			p.replacement.Add(ctx, f.name, configured)
			p.changes = append(p.changes, f.name+changeOf(asked, configured))
		}
	}
	if len(adopted) > 0 && len(p.replacement.Paths) == 0 { // else the new card has them
		p.diags.AddWarning("Taken over without proof: "+strings.Join(adopted, ", "),
			fmt.Sprintf("%s was imported, and the service does not report %s. The configured values go into the state as they are, and the card is not touched. "+
				"If they must hold for certain, issue the card anew with -replace.", capitalized(p.state.name()), strings.Join(adopted, ", ")))
	}
}

// planReplacement warns under one title for all cards, so that Terraform folds them.
func (p *planner) planReplacement(ctx context.Context) {
	card, changes := p.state, strings.Join(p.changes, ", ")
	keepAsItIs := fmt.Sprintf("The service cannot change this on a live card: %s. To keep the card with what it has, add ignore_changes = [%s] to its lifecycle block.",
		changes, p.replacement.Attributes())
	if p.isProtected() {
		p.protected(card.name(), "replaced", keepAsItIs)
		return
	}
	if p.plan.Amount.IsNull() { // as on an imported card
		p.diags.AddAttributeError(p.replacement.Paths[0], "A card would be replaced, without a load for the new one",
			fmt.Sprintf("%s differs from the configuration in what no live card changes: %s. To keep the card, set it to what the card has. "+
				"Only to replace it by a new card, with another number, set amount: the initial load in USD, at least %s.",
				capitalized(card.name()), changes, api.MinimumLoad))
		return
	}
	planned := session.PlannedSpend{Taken: p.plan.issueCost(), Returned: p.state.Balance.Amount()}
	p.private.Replaced.Planned = planned.Taken - planned.Returned
	p.private.Replaced.Taken = planned.Taken
	p.checkLabel(ctx)
	p.spend(ctx, planned)
	load := "the new load, known after apply"
	if p.plan.Amount.IsKnown() {
		load = p.plan.Amount.Amount().String() + " USD"
	}
	ends := fmt.Sprintf("%s is terminated for good; its last known balance of %s USD returns to the wallet. "+
		"A new card, with another number, is loaded with %s, for a fee of %s USD.",
		capitalized(card.name()), card.Balance.Amount(), load, api.IssuanceFee)
	if upfront, wallet, tooMuch := p.resource.session.PaidUpfront(ctx); tooMuch {
		ends += fmt.Sprintf(" With create_before_destroy, the new card is paid before the old balance returns: so far this plan takes %s USD before anything returns, and the wallet holds %s USD.", upfront, wallet)
	}
	paragraphs := []string{ends, keepAsItIs + p.replacement.UnknownAdvice("card")}
	if lost := p.notCarriedOver(); len(lost) > 0 {
		paragraphs = append(paragraphs, "Not in the configuration, so the new card does not have it: "+strings.Join(lost, ", ")+".")
	}
	paragraphs = append(paragraphs, "Without create_before_destroy, the old card ends before the new one is issued. If the service then refuses the new one, there is no card."+p.mayBeRefused())
	p.diags.AddWarning("A card is replaced, and its number ends", strings.Join(paragraphs, "\n\n"))
}

// mayBeRefused names the changes whose values the service does not publish.
func (p *planner) mayBeRefused() string {
	changes := func(name string) bool { return p.replacement.Paths.Contains(path.Root(name)) }
	var doubtful []string
	if (changes("allowed_categories") || p.state.AllowedCategories.IsNull()) && !p.config.AllowedCategories.IsNull() {
		doubtful = append(doubtful, "allowed_categories (it does not publish which there are)")
	}
	if (changes("spending_limit") || changes("bin_id")) && !p.config.SpendingLimit.IsNull() {
		doubtful = append(doubtful, "spending_limit (it does not publish the BIN's maximum)")
	}
	if len(doubtful) == 0 {
		return ""
	}
	return " The service may refuse the new " + strings.Join(doubtful, " and ") + "."
}

// notCarriedOver names what the card has beyond its configuration.
func (p *planner) notCarriedOver() []string {
	var lost []string
	if p.config.SpendingLimit.IsNull() && !p.private.DefaultLimit {
		lost = append(lost, fmt.Sprintf("spending_limit (%s USD; the new card gets the BIN's maximum)", p.state.SpendingLimit.Amount()))
	}
	if label := p.state.Label.ValueString(); p.config.Label.IsNull() && label != "" && !labels.IsGenerated(label) {
		lost = append(lost, fmt.Sprintf("label (%q; the new card gets a generated one)", label))
	}
	if p.config.Frozen.IsNull() && p.state.Frozen.ValueBool() {
		lost = append(lost, "frozen (the new card is active)")
	}
	if untold := whatIsFixed().notTold(&p.config); p.state.isImported() && len(untold) > 0 {
		lost = append(lost, "whatever else it was issued with and the service does not report ("+strings.Join(untold, ", ")+")")
	}
	return lost
}

// How a protected card is kept, by why the plan would end it.
const (
	moveInstead = "Renamed or moved? Write `moved` with the old address and the new one, and the card stays. " +
		"Taken out of the configuration? It has to go back there first; terraform state rm, or a removed block with destroy = false, keeps it outside Terraform. " +
		"The old card of a replacement that came first (create_before_destroy; a deposed object)? Terminate it in the dashboard; the next plan sees that and removes it from the state."
	doNotForce = "Without -replace the card stays."
)

// mostProtected is how many protected cards one plan names. The first of these errors fails it.
const mostProtected = 10

// protected refuses to terminate a card, in full once for each reason.
func (p *planner) protected(name, reason, keep string) {
	s := p.resource.session
	count := s.CountProtected()
	if count > mostProtected && s.IsPlanning() {
		return
	}
	text := "deletion_protection is true, and this plan would terminate " + name + "."
	if s.FirstTime(session.TopicProtected, reason) {
		text += "\n\n" + keep + "\n\nTo terminate it, set deletion_protection = false, apply that alone, then try again."
	}
	if count == mostProtected {
		text += "\n\nFurther protected cards are not named."
	}
	p.diags.AddError("Deletion protection keeps "+name, text)
}

// fixedAttribute is fixed when a card is issued. It stays in the state as it was asked for:
// a replacement kills the card's number, so that only the configuration causes one.
type fixedAttribute struct {
	name     string
	computed bool // where the configuration leaves it out, it stays as it is
	get      func(*model) attr.Value
	keep     func(m, asked *model)
	same     func(configured, asked attr.Value) bool
	// shown is a value as the service shows it; nil where it shows it to nobody, and an
	// imported card has it from the configuration.
	shown func(attr.Value) string
	quote string // the format of what is shown
}

type fixedAttributes []fixedAttribute

func whatIsFixed() fixedAttributes {
	label := fixed("label", func(m *model) *types.String { return &m.Label }, types.String.Equal)
	label.computed, label.quote = true, "%q"
	label.shown = func(v attr.Value) string { return transport.NewLabel(textOf(v)).String() }
	equal := label.same
	label.same = func(configured, asked attr.Value) bool {
		return equal(configured, asked) || !configured.IsUnknown() && !configured.IsNull() && label.shown(configured) == textOf(asked)
	}
	bin := fixed("bin_id", func(m *model) *types.String { return &m.BinID }, types.String.Equal)
	bin.shown, bin.quote = textOf, "%q"
	limit := fixed("spending_limit", func(m *model) *usdtype.Value { return &m.SpendingLimit }, sameCents)
	limit.computed, limit.quote = true, "%s USD"
	limit.shown = func(v attr.Value) string { return v.(usdtype.Value).Amount().String() } //nolint:forcetypeassert // its own
	return fixedAttributes{
		bin, label, limit,
		fixed("allowed_categories", func(m *model) *types.Set { return &m.AllowedCategories }, types.Set.Equal),
		fixed("metadata", func(m *model) *types.Map { return &m.Metadata }, func(configured types.Map, asked attr.Value) bool {
			none := func(m types.Map) bool { return !m.IsUnknown() && len(m.Elements()) == 0 }
			return configured.Equal(asked) || none(configured) && none(asked.(types.Map)) //nolint:forcetypeassert // its own
		}),
		fixed("auto_freeze_at", func(m *model) *usdtype.Value { return &m.AutoFreezeAt }, sameCents),
	}
}

func fixed[V attr.Value](name string, at func(*model) *V, same func(configured V, asked attr.Value) bool) fixedAttribute {
	return fixedAttribute{
		name: name,
		get:  func(m *model) attr.Value { return *at(m) },
		keep: func(m, asked *model) { *at(m) = *at(asked) },
		same: func(configured, asked attr.Value) bool { return same(configured.(V), asked) }, //nolint:forcetypeassert // its own
	}
}

func textOf(v attr.Value) string { return v.(types.String).ValueString() } //nolint:forcetypeassert // of a text

func sameCents(a usdtype.Value, b attr.Value) bool { return a.SameCents(b.(usdtype.Value)) } //nolint:forcetypeassert // of an amount

// keepAsked gives a card that was read the values that the state has of what was asked for,
// and returns what the service shows in their place, as text. The default is nobody's wish.
func (all fixedAttributes) keepAsked(read, state *model, defaultLimit bool) (shown map[string]string) {
	shown = map[string]string{}
	for _, f := range all {
		asked := f.get(state)
		if f.shown == nil || f.name == "spending_limit" && (defaultLimit || asked.IsNull() || asked.IsUnknown()) {
			continue
		}
		if is := f.get(read); !f.same(asked, is) {
			shown[f.name] = f.shown(is)
		}
		f.keep(read, state)
	}
	return shown
}

// isShown reports whether the service shows a configured value in place of what was asked.
func (f fixedAttribute) isShown(configured attr.Value, by map[string]string) bool {
	shown, differs := by[f.name]
	return differs && !configured.IsNull() && !configured.IsUnknown() && f.shown(configured) == shown
}

// differences completes "The service shows …".
func (all fixedAttributes) differences(shown map[string]string, asked *model) (texts []string) {
	for _, f := range all {
		if is, differs := shown[f.name]; differs {
			was, _ := shownAs(f.get(asked))
			texts = append(texts, fmt.Sprintf("%s "+f.quote+" in place of %s", f.name, is, was))
		}
	}
	return texts
}

// notTold names what a configuration leaves out of what the service shows to nobody.
func (all fixedAttributes) notTold(config *model) (names []string) {
	for _, f := range all {
		if f.shown == nil && f.get(config).IsNull() {
			names = append(names, f.name)
		}
	}
	return names
}

// changeOf shows both values where they are short.
func changeOf(before, after attr.Value) string {
	if text, ok := shownAs(before); ok {
		next, _ := shownAs(after)
		return " (" + text + " to " + next + ")"
	}
	return ""
}

// shownAs is a short value as a person reads it; false for a long one.
func shownAs(value attr.Value) (text string, ok bool) {
	switch v := value.(type) {
	case types.String:
		text, ok = fmt.Sprintf("%q", v.ValueString()), true
	case usdtype.Value:
		text, ok = v.Amount().String()+" USD", true
	}
	switch {
	case value.IsNull():
		text = "not set"
	case value.IsUnknown():
		text = "a value known after apply"
	}
	return text, ok
}
