// Package usdtype makes usd.Amount an attribute type of Terraform schemas.
package usdtype

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Type is a Terraform number of US dollars. Validation refuses what is finer
// than a cent or beyond usd.Max. Attributes that are written add tfkit.AtLeast.
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
