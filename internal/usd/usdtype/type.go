// Package usdtype makes usd.Amount an attribute type of Terraform schemas.
package usdtype

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Type is a Terraform number of US dollars. Validation refuses what is finer
// than a cent or beyond usd.Max. Attributes that are written add AtLeast.
type Type struct {
	basetypes.NumberType
}

var _ basetypes.NumberTypable = Type{}

// Equal reports whether o is this type too.
func (t Type) Equal(o attr.Type) bool {
	other, ok := o.(Type)
	return ok && t.NumberType.Equal(other.NumberType)
}

// String names the type in framework messages.
func (t Type) String() string { return "usdtype.Type" }

// ValueFromNumber parses a number; validation says what is wrong with it.
func (t Type) ValueFromNumber(_ context.Context, in basetypes.NumberValue) (basetypes.NumberValuable, diag.Diagnostics) {
	return FromNumber(in), nil
}

// ValueFromTerraform parses a wire value.
func (t Type) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	v, err := t.NumberType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	number, ok := v.(basetypes.NumberValue)
	if !ok {
		return nil, fmt.Errorf("a number came as %T", v)
	}
	return FromNumber(number), nil
}

// ValueType returns the Go type of this type's values.
func (t Type) ValueType(context.Context) attr.Value { return Value{} }

// AtLeast refuses known amounts under minimum. Null and unknown pass.
func AtLeast(minimum usd.Amount) validator.Number { return atLeast{minimum} }

type atLeast struct{ minimum usd.Amount }

func (v atLeast) Description(context.Context) string {
	return fmt.Sprintf("at least %s USD", v.minimum)
}

func (v atLeast) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v atLeast) ValidateNumber(_ context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	value := FromNumber(req.ConfigValue)
	if !value.IsKnown() || value.err != nil || value.amount >= v.minimum {
		return // what is no amount at all is the type's to refuse, once
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Amount too small",
		fmt.Sprintf("%s must be at least %s USD, got %s.", req.Path, v.minimum, value.amount))
}
