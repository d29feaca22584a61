package card

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// planWritten plans what is fixed when a card is issued: unchanged, adopted
// from the configuration of an imported card, or a reason to replace it.
func (p *planner) planWritten() {
	s, c := &p.state, &p.config
	p.plan.ID, p.plan.Network, p.plan.Last4 = s.ID, s.Network, s.Last4
	p.plan.CreatedAt, p.plan.ExpiresAt = s.CreatedAt, s.ExpiresAt

	if !c.BinID.Equal(s.BinID) {
		p.replaceFor("bin_id")
	}
	switch {
	case c.Label.IsNull():
		p.plan.Label = s.Label
	case !c.Label.Equal(s.Label):
		p.replaceFor("label")
	}
	switch {
	case c.SpendingLimit.IsNull() || c.SpendingLimit.SameCents(s.SpendingLimit):
		p.plan.SpendingLimit = s.SpendingLimit
	default:
		p.replaceFor("spending_limit")
	}

	var adopted []string
	unreadable := func(name string, known attr.Value, same bool) {
		switch {
		case same:
		case p.kept.Imported && known.IsNull():
			adopted = append(adopted, name)
		default:
			p.replaceFor(name)
		}
	}
	unreadable("allowed_categories", s.AllowedCategories, c.AllowedCategories.Equal(s.AllowedCategories))
	unreadable("metadata", s.Metadata,
		c.Metadata.Equal(s.Metadata) || !c.Metadata.IsUnknown() && len(c.Metadata.Elements()) == 0 && len(s.Metadata.Elements()) == 0)
	unreadable("auto_freeze_at", s.AutoFreezeAt, c.AutoFreezeAt.SameCents(s.AutoFreezeAt))
	if c.AutoFreezeAt.SameCents(s.AutoFreezeAt) {
		p.plan.AutoFreezeAt = s.AutoFreezeAt
	}
	if len(adopted) > 0 {
		p.diags.AddWarning("Taken over without proof: "+strings.Join(adopted, ", "),
			fmt.Sprintf("%s was imported, and the service does not report %s. The configured values go into the state as they are, and the card is not touched. "+
				"If they must hold for certain, issue the card anew with -replace.", capitalized(p.state.name()), strings.Join(adopted, ", ")))
	}
}

func (p *planner) replaceFor(attribute string) {
	p.replace = append(p.replace, path.Root(attribute))
}
