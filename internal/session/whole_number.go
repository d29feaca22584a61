package session

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// WholeNumber wants a number without a fraction. An Int64 attribute would call
// 1000 / 3 a bug in the provider.
func WholeNumber() validator.Number { return WholeNumberBetween(math.MinInt64, math.MaxInt64) }

// WholeNumberBetween wants a number without a fraction within bounds, both included.
func WholeNumberBetween(least, most int64) validator.Number { return wholeNumber{least, most} }

type wholeNumber struct{ least, most int64 }

func (v wholeNumber) Description(context.Context) string {
	if v.most == math.MaxInt64 {
		return "a whole number"
	}
	return fmt.Sprintf("a whole number between %d and %d", v.least, v.most)
}

func (v wholeNumber) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v wholeNumber) ValidateNumber(ctx context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	number := req.ConfigValue.ValueBigFloat()
	if n, accuracy := number.Int64(); accuracy == big.Exact && n >= v.least && n <= v.most {
		return
	}
	summary, advice := "Number out of range", ""
	if !number.IsInt() {
		summary, advice = "Not a whole number", " Round what you compute, as with floor()."
	}
	resp.Diagnostics.AddAttributeError(req.Path, summary,
		fmt.Sprintf("%s must be %s, got %s.", req.Path, v.Description(ctx), number.Text('g', 10))+advice)
}
