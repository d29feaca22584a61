package usdtype

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// AtLeast refuses known amounts under minimum. Null and unknown pass.
func AtLeast(minimum usd.Amount) validator.Number { return atLeast{minimum} }

type atLeast struct{ minimum usd.Amount }

func (v atLeast) Description(context.Context) string {
	return fmt.Sprintf("at least %s USD", v.minimum)
}

func (v atLeast) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v atLeast) ValidateNumber(_ context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	value := Value{NumberValue: req.ConfigValue}
	if !value.IsKnown() {
		return
	}
	a, err := usd.FromBigFloat(value.ValueBigFloat())
	if err != nil || a >= v.minimum {
		return // what is no amount at all is the type's to refuse, once
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Amount too small",
		fmt.Sprintf("%s must be at least %s USD, got %s.", req.Path, v.minimum, a))
}
