package card

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"

	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// planImmutable plans what is fixed when a card is issued: unchanged, adopted
// from the configuration of an imported card, or a reason to replace it.
func (p *planner) planImmutable(ctx context.Context) {
	s, c := &p.state, &p.config
	p.plan.ID, p.plan.Network, p.plan.Last4 = s.ID, s.Network, s.Last4
	p.plan.CreatedAt, p.plan.ExpiresAt, p.plan.IssuanceFee = s.CreatedAt, s.ExpiresAt, s.IssuanceFee

	if !c.BinID.Equal(s.BinID) && !p.private.isShown("bin_id", c.BinID) {
		p.replace(ctx, "bin_id", s.BinID, c.BinID)
	}
	switch {
	case c.Label.IsNull():
		p.plan.Label = s.Label
	case !c.Label.Equal(s.Label) && !labelAsShown(c.Label).Equal(s.Label) && !p.private.isShown("label", labelAsShown(c.Label)):
		p.replace(ctx, "label", s.Label, c.Label)
	}
	switch {
	case c.SpendingLimit.IsNull() || c.SpendingLimit.SameCents(s.SpendingLimit):
		p.plan.SpendingLimit = s.SpendingLimit
	case !p.private.isShown("spending_limit", c.SpendingLimit):
		p.replace(ctx, "spending_limit", s.SpendingLimit, c.SpendingLimit)
	}

	var adopted []string
	unreadable := func(name string, before, after attr.Value, same bool) {
		switch {
		case same:
		case s.isImported() && before.IsNull():
			adopted = append(adopted, name)
		default:
			p.replace(ctx, name, before, after)
		}
	}
	unreadable("allowed_categories", s.AllowedCategories, c.AllowedCategories, c.AllowedCategories.Equal(s.AllowedCategories))
	unreadable("metadata", s.Metadata, c.Metadata,
		c.Metadata.Equal(s.Metadata) || !c.Metadata.IsUnknown() && len(c.Metadata.Elements()) == 0 && len(s.Metadata.Elements()) == 0)
	unreadable("auto_freeze_at", s.AutoFreezeAt, c.AutoFreezeAt, c.AutoFreezeAt.SameCents(s.AutoFreezeAt))
	if c.AutoFreezeAt.SameCents(s.AutoFreezeAt) {
		p.plan.AutoFreezeAt = s.AutoFreezeAt
	}
	if len(adopted) > 0 && len(p.replacement.Paths) == 0 { // else the new card has them
		p.diags.AddWarning("Taken over without proof: "+strings.Join(adopted, ", "),
			fmt.Sprintf("%s was imported, and the service does not report %s. The configured values go into the state as they are, and the card is not touched. "+
				"If they must hold for certain, issue the card anew with -replace.", capitalized(p.state.name()), strings.Join(adopted, ", ")))
	}
}

// replace notes that an attribute replaces the card, and between which values.
func (p *planner) replace(ctx context.Context, name string, before, after attr.Value) {
	p.replacement.Add(ctx, name, after)
	p.changes = append(p.changes, name+changeOf(before, after))
}

func (p *planner) planReplacement(ctx context.Context) {
	if p.isProtected() {
		p.diags.Append(protected(p.state.name(), p))
		return
	}
	if p.plan.Amount.IsNull() {
		p.diags.Append(replacedWithoutLoad(p))
		return
	}
	p.private.Replaced.Planned = p.plan.issueCost() - p.state.Balance.Amount()
	p.addNewCard(ctx)
	p.spend(ctx, session.PlannedSpend{Taken: p.plan.issueCost(), Returned: p.state.Balance.Amount()})
	p.diags.Append(replaced(ctx, p))
}
