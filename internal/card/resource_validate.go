package card

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// ValidateConfig checks what attributes say together.
func (r *cardResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	rule, _ := config.readTopUp(ctx)
	if rule == nil {
		return
	}
	below, to := rule.Below.Amount(), rule.To.Amount()
	if to >= 0 && to < below {
		resp.Diagnostics.AddAttributeError(path.Root("top_up").AtName("to"), "Top-up ends under its start",
			fmt.Sprintf("top_up.to must be at least top_up.below (%s USD), got %s USD.", below, to))
	}
	if at := config.AutoFreezeAt; at.IsKnown() && at.Amount() >= below {
		resp.Diagnostics.AddAttributeWarning(path.Root("auto_freeze_at"), "The card freezes before it is topped up",
			fmt.Sprintf("auto_freeze_at (%s USD) is not under top_up.below (%s USD): a card that is spent down is frozen by the service before a plan tops it up, and stays frozen after that unless frozen = false is set.", at.Amount(), below))
	}
}
