package card

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

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

// keepAsItIs is how a card lives on whose configuration says otherwise.
func keepAsItIs(p *planner) string {
	return fmt.Sprintf("The service cannot change this on a live card: %s. To keep the card with what it has, write lifecycle { ignore_changes = [%s] } into the resource.",
		strings.Join(p.changes, ", "), p.replacement.Attributes())
}

// replaced has one title for all cards, so that Terraform folds them.
func replaced(ctx context.Context, p *planner) diag.Diagnostic {
	card := p.state
	load := "the new load, known after apply"
	if p.plan.Amount.IsKnown() {
		load = p.plan.Amount.Amount().String() + " USD"
	}
	paragraphs := []string{
		fmt.Sprintf("%s is terminated for good, and its last known balance of %s USD returns to the wallet. Its number stops working. "+
			"A new card with another number is issued and loaded with %s, for a fee of %s USD.",
			capitalized(card.name()), card.Balance.Amount(), load, api.IssuanceFee) + p.paidUpfront(ctx),
		keepAsItIs(p) + p.replacement.UnknownAdvice("card"),
	}
	if lost := p.notCarriedOver(); len(lost) > 0 {
		paragraphs = append(paragraphs, "Not in the configuration, so the new card does not have it: "+strings.Join(lost, ", ")+".")
	}
	paragraphs = append(paragraphs, "Unless the resource has lifecycle { create_before_destroy = true }, Terraform terminates the card first, and a new one that is refused leaves none."+p.mayBeRefused()+
		" With lifecycle { destroy = false }, the old card keeps its number and its money. The provider cannot see lifecycle settings.")
	return diag.NewWarningDiagnostic("A card is replaced, and its number ends", strings.Join(paragraphs, "\n\n"))
}

// replacedWithoutLoad is for an imported card above all, of which the configuration
// was to say what it has.
func replacedWithoutLoad(p *planner) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(p.replacement.Paths[0], "A card would be replaced, without a load for the new one",
		fmt.Sprintf("%s differs from the configuration in what no live card changes: %s. To keep the card, set it to what the card has. "+
			"Only to replace it by a new card, with another number, set amount: the initial load in USD, at least %s.",
			capitalized(p.state.name()), strings.Join(p.changes, ", "), api.MinimumLoad))
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

// paidUpfront says when the wallet cannot pay for new cards before old ones return their money.
func (p *planner) paidUpfront(ctx context.Context) string {
	upfront, wallet, tooMuch := p.resource.session.PaidUpfront(ctx)
	if !tooMuch {
		return ""
	}
	return fmt.Sprintf(" With create_before_destroy the new card is paid first, which the wallet cannot: so far this plan takes %s USD before anything returns, and the wallet holds %s USD.", upfront, wallet)
}

// notCarriedOver names what the card has beyond its configuration.
func (p *planner) notCarriedOver() []string {
	var lost []string
	if p.config.SpendingLimit.IsNull() && !p.private.DefaultLimit {
		lost = append(lost, fmt.Sprintf("spending_limit (%s USD; the new card gets the BIN's maximum)", p.state.SpendingLimit.Amount()))
	}
	if label := p.state.Label.ValueString(); p.config.Label.IsNull() && label != "" && !strings.HasPrefix(label, generatedPrefix) {
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

// deposedAdvice is for the one case that no change of the configuration reaches.
const deposedAdvice = " Where the new card was issued before it (create_before_destroy), the old one is a deposed object, which neither reaches: " +
	"terminate it in the dashboard; the next plan sees that and removes it from the state."

// protected refuses to terminate a card; a nil planner knows no attribute that
// would replace it.
func protected(name string, replacing *planner) diag.Diagnostic {
	keep, removed := "", " A card that was taken out of the configuration has to go back there first. To keep it outside Terraform, use terraform state rm, or a removed block with destroy = false."
	if replacing != nil {
		keep, removed = " "+keepAsItIs(replacing), ""
	}
	return diag.NewErrorDiagnostic("Deletion protection keeps "+name,
		"The plan would terminate this card, but deletion_protection is true."+keep+
			" To terminate it, set deletion_protection = false, apply that alone, then try again."+removed+" A tainted card is not updated: run terraform untaint on it first."+deposedAdvice)
}

func protectedFromDelete(name string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Deletion protection keeps "+name,
		"This card was to be terminated without a plan of its own, as the old one of a replacement is, but deletion_protection is true in its state. Nothing was terminated. "+
			"Where it is still the resource's card, compare what it holds with amount, then keep it with terraform untaint, or set deletion_protection = false and apply that alone first."+deposedAdvice)
}

func wouldLeaveNoCard(card model, next, short usd.Amount) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The wallet cannot pay for the card that replaces "+card.name(),
		fmt.Sprintf("The new card takes %s USD with its fee. The wallet and what this card returns fall short of that by %s USD. "+
			"So this card was not terminated, and keeps what it has. Deposit at least that (the data source vcard_deposit_addresses lists where) or lower amount, then apply again. "+
			"To terminate it without another, run terraform destroy with -target on this resource.", next, short))
}

func replacementUnchecked(card model, err error) diag.Diagnostic {
	failure := session.ErrorDiagnostic("see whether the wallet can pay for the card that replaces "+card.name(), err)
	return diag.NewErrorDiagnostic(failure.Summary(), failure.Detail()+
		` This card was not terminated. To replace it without looking, set wallet_check = "off" in the provider configuration.`)
}
