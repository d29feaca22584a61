package card

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// warnConfig warns of what the service takes and nobody means, when a card is
// issued with it or comes to it. It is here and not in the validation, which
// runs several times for each card. The titles are the same for all cards, so
// that Terraform shows one of many.
func (p *planner) warnConfig(ctx context.Context) {
	c, s := p.config, p.state
	at, amount := c.AutoFreezeAt, c.Amount
	isNew := s.ID.IsNull()
	if session := p.resource.session; session.Known() && session.Client.HasWritten() || isNew && p.private.Replaced != nil {
		return // it is said
	}
	reissued := isNew || len(p.replacement.Paths) > 0
	freezeChanged := isNew || !at.SameCents(s.AutoFreezeAt)
	warn := func(attribute, title, text string, args ...any) {
		p.diags.AddAttributeWarning(path.Root(attribute), title, fmt.Sprintf(text, args...))
	}
	rule, _ := c.readTopUp(ctx)
	if rule != nil && at.IsKnown() && at.Amount() >= rule.Below.Amount() && (freezeChanged || !c.TopUp.Equal(s.TopUp)) {
		warn("auto_freeze_at", "The card freezes before it is topped up",
			"auto_freeze_at (%s USD) is not under top_up.below (%s USD): a card that is spent down is frozen by the service before a plan tops it up, and stays frozen after that unless frozen = false is set.", at.Amount(), rule.Below.Amount())
	}
	if reissued && at.IsKnown() && amount.IsKnown() && at.Amount() >= amount.Amount() {
		warn("auto_freeze_at", "The card freezes with its first purchase",
			"auto_freeze_at (%s USD) is not under amount (%s USD): the first purchase leaves less than that on the card, and the service freezes it.", at.Amount(), amount.Amount())
	}
	if limit := c.SpendingLimit; reissued && limit.IsKnown() && amount.IsKnown() && limit.Amount() < amount.Amount() {
		warn("spending_limit", "The card is loaded with more than it may spend in a month",
			"spending_limit (%s USD a month) is under amount (%s USD): the rest lies on the card until the next month.", limit.Amount(), amount.Amount())
	}
	if label := c.Label.ValueString(); reissued && strings.TrimSpace(label) != label {
		warn("label", "Spaces around the label",
			"label is %q. The service may leave the spaces out, and nobody sees them; trimspace() takes them off.", label)
	}
	for _, element := range c.AllowedCategories.Elements() {
		category, _ := element.(types.String)
		if text := category.ValueString(); reissued && (strings.ToLower(text) != text || strings.ContainsAny(text, " \t\n")) {
			warn("allowed_categories", "A category is not written as the service writes them",
				"allowed_categories has %q. The service's categories are words in lower case, such as \"advertising\" and \"software\"; it refuses others, or declines every purchase.", text)
		}
	}
}
