package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// durationAtLeast wants a duration such as "30s".
type durationAtLeast time.Duration

func (v durationAtLeast) Description(context.Context) string {
	return fmt.Sprintf("a duration of at least %s", time.Duration(v))
}

func (v durationAtLeast) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v durationAtLeast) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d < time.Duration(v) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid duration",
			fmt.Sprintf("%s must be %s, written like 30s or 2m, got %q.", req.Path, v.Description(ctx), req.ConfigValue.ValueString()))
	}
}
