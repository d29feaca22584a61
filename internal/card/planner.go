package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// planner works out the plan of one card.
type planner struct {
	resource            *cardResource
	config, state, plan model
	private             privateState
	replacement         tfkit.Replacement
	changes             []string // what replaces the card, with both values
	diags               *diag.Diagnostics
}

// isProtected reports whether the card must not be terminated: it was applied
// with protection, or gets it with this very plan, as an imported card may.
func (p *planner) isProtected() bool {
	return p.state.DeletionProtection.ValueBool() || p.config.DeletionProtection.ValueBool()
}

// spend counts what the plan takes from the wallet and returns to it, and says
// when that is too much, and what else concerns the plan as a whole.
func (p *planner) spend(ctx context.Context, planned session.PlannedSpend) {
	planned.Card, planned.Holds = p.state.name(), p.state.Balance.Amount()
	if p.state.ID.IsNull() {
		planned.Card = newCardName(p.config.Label)
	}
	if !planned.Again {
		p.diags.Append(p.resource.session.OfOnePlan()...)
	}
	p.diags.Append(p.resource.session.Spend(ctx, planned)...)
}

// addNewCard counts a card that is issued, and names live cards that it may be, as a run
// that was cut off leaves them behind.
func (p *planner) addNewCard(ctx context.Context) {
	s, label := p.resource.session, p.config.Label
	if !s.IsPlanning() {
		return
	}
	p.diags.Append(s.AddNewCard(label.ValueString())...)
	if label.IsUnknown() {
		return
	}
	cards, err := s.Unmanaged(ctx, label.ValueString(), !p.state.ID.IsNull())
	switch {
	case err != nil:
		p.diags.Append(notLookedForLiveCards(err))
	case len(cards) > 0:
		p.diags.Append(mayBeIssuedAgain(cards))
	}
}
