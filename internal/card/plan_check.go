package card

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// checkBIN refuses a BIN that the catalogue does not have.
func (p *planner) checkBIN(ctx context.Context) {
	bin := p.plan.BinID
	if bin.IsUnknown() || !p.resource.session.Known() {
		return
	}
	bins, err := p.resource.session.Bins(ctx)
	if err != nil {
		p.diags.Append(session.ErrorDiagnostic("read the BIN catalogue to check bin_id", err))
		return
	}
	if slices.ContainsFunc(bins, func(b api.Bin) bool { return b.ID == bin.ValueString() }) {
		return
	}
	lines := make([]string, len(bins))
	for i, b := range bins {
		lines[i] = fmt.Sprintf("  %s (%s, %s)", b.ID, b.Network, b.Category)
	}
	slices.Sort(lines)
	p.diags.AddAttributeError(path.Root("bin_id"), "No such BIN",
		fmt.Sprintf("bin_id must be one of the BINs that this account can issue on, got %q. There are:\n%s", bin.ValueString(), strings.Join(lines, "\n")))
}

// warnSharedLabel warns of a second planned card with the same written label.
func (p *planner) warnSharedLabel() {
	label := p.config.Label
	if label.IsNull() || label.IsUnknown() || p.resource.session == nil || p.resource.session.FirstUse(label.ValueString()) {
		return
	}
	p.diags.AddAttributeWarning(path.Root("label"), fmt.Sprintf("Several new cards are labelled %q", label.ValueString()),
		"If the answer to the creation of one of them is lost, it cannot be told from the others by its label. Give each card a label of its own, or leave label out.")
}
