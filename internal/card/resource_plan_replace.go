package card

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/vcard/terraform-provider-vcard/internal/api"
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
	p.private.Replaced.Planned = p.plan.issueCost() - p.state.Balance.Amount()
	p.addNewCard(ctx)
	p.spend(ctx, session.PlannedSpend{Taken: p.plan.issueCost(), Returned: p.state.Balance.Amount()})
	load := "the new load, known after apply"
	if p.plan.Amount.IsKnown() {
		load = p.plan.Amount.Amount().String() + " USD"
	}
	ends := fmt.Sprintf("%s is terminated for good; its last known balance of %s USD returns to the wallet. "+
		"A new card, with another number, is loaded with %s, for a fee of %s USD.", capitalized(card.name()), card.Balance.Amount(), load, api.IssuanceFee)
	if upfront, wallet, tooMuch := p.resource.session.PaidUpfront(ctx); tooMuch {
		ends += fmt.Sprintf(" With create_before_destroy the new card is paid first, which the wallet cannot: so far this plan takes %s USD before anything returns, and the wallet holds %s USD.", upfront, wallet)
	}
	paragraphs := []string{ends, keepAsItIs + p.replacement.UnknownAdvice("card")}
	if lost := p.notCarriedOver(); len(lost) > 0 {
		paragraphs = append(paragraphs, "Not in the configuration, so the new card does not have it: "+strings.Join(lost, ", ")+".")
	}
	paragraphs = append(paragraphs, "Add create_before_destroy = true to its lifecycle block, or the old card ends first, and a new one that is refused leaves none."+p.mayBeRefused()+
		" With destroy = false there, the old card keeps its number and its money.")
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
	if label := p.state.Label.ValueString(); p.config.Label.IsNull() && label != "" && !session.IsGeneratedLabel(label) {
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

// mostProtected is how many protected cards one plan names for one reason: the first of
// these errors fails it.
const mostProtected = 10

// protected refuses to terminate the card, in full once for each reason.
func (p *planner) protected(name, reason, keep string) {
	s, detail := p.resource.session, ""
	switch before := s.Told(reason); {
	case before == 0:
		detail = keep + "\n\nThe plan would terminate this card, but deletion_protection is true. " +
			"To terminate it all the same, set deletion_protection = false, apply that alone, then try again." +
			fmt.Sprintf("\n\nAt most %d protected cards are named.", mostProtected)
	case before >= mostProtected && s.IsPlanning():
		return
	}
	p.diags.AddError("Deletion protection keeps "+name, detail)
}
