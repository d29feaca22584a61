package card

import (
	"context"
	"fmt"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// planFixed plans what is fixed when a card is issued: unchanged, adopted from the
// configuration of an imported card, or a reason to replace it.
func (p *planner) planFixed(ctx context.Context, all fixedAttributes) {
	s := &p.state
	p.plan.ID, p.plan.Network, p.plan.Last4 = s.ID, s.Network, s.Last4
	p.plan.CreatedAt, p.plan.ExpiresAt, p.plan.IssuanceFee = s.CreatedAt, s.ExpiresAt, s.IssuanceFee
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
