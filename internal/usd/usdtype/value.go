// Package usdtype makes usd.Amount an attribute type of Terraform schemas.
package usdtype

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Value is an amount in USD, null or unknown. Two values are semantically equal if their cents agree, so that
// noise in a computed number is not a change. The zero value is null.
type Value struct {
	basetypes.NumberValue

	// amount is zero for null and unknown. If err is not nil, amount is the nearest amount, or zero if there is none.
	amount usd.Amount
	err    error // says why a known number is not an amount
}

var (
	_ basetypes.NumberValuableWithSemanticEquals = Value{}
	_ xattr.ValidateableAttribute                = Value{}
)

// Unknown returns an amount that is not known yet.
func Unknown() Value { return FromNumber(basetypes.NewNumberUnknown()) }

// FromAmount returns a known amount.
func FromAmount(a usd.Amount) Value {
	return Value{NumberValue: basetypes.NewNumberValue(a.BigFloat()), amount: a}
}

// WithAmount returns a known value for the amount a. If v has the same cents already, it returns v with its noise.
func (v Value) WithAmount(a usd.Amount) Value {
	isAmount := v.IsKnown() && v.err == nil
	if isAmount && v.amount == a {
		return v
	}
	return FromAmount(a)
}

// FromNumber parses a number. If the number is not an amount, Err returns the reason.
func FromNumber(number basetypes.NumberValue) Value {
	v := Value{NumberValue: number}
	if v.IsKnown() {
		v.amount, v.err = usd.FromBigFloat(number.ValueBigFloat())
	}
	return v
}

// IsKnown reports whether v is neither null nor unknown.
func (v Value) IsKnown() bool { return !v.IsNull() && !v.IsUnknown() }

// Amount returns the cents of a validated value, and zero for null and unknown.
func (v Value) Amount() usd.Amount { return v.amount }

// Pointer returns the cents, or nil for null and unknown.
func (v Value) Pointer() *usd.Amount {
	if !v.IsKnown() {
		return nil
	}
	return &v.amount
}

// maxLength limits the text of a number in a message. A text with more digits could be taken for a card number and
// redacted.
const maxLength = 12

// Err returns the reason why a known value is not an amount, or nil. The text completes "<attribute> …".
func (v Value) Err() error {
	if v.err == nil {
		return nil
	}
	if errors.Is(v.err, usd.ErrFraction) {
		const rule = "must be an amount in USD with at most two decimals"
		const digits = 24 // more than maxLength, so that a longer number is recognized
		text := v.ValueBigFloat().Text('g', digits)
		if len(text) > maxLength {
			// A shortened number could look like a valid amount, so a number whose text is too long is left out.
			return errors.New(rule)
		}
		return fmt.Errorf("%s, got %s", rule, text)
	}
	const digits = 4 // enough to recognize the number
	return fmt.Errorf("must be an amount in USD with at most 12 digits before the decimal point, got %s",
		v.ValueBigFloat().Text('g', digits))
}

// Type returns the type of the value.
func (v Value) Type(context.Context) attr.Type { return Type{} }

// Equal reports whether o is exactly the same value, including noise.
func (v Value) Equal(o attr.Value) bool {
	other, ok := o.(Value)
	return ok && v.NumberValue.Equal(other.NumberValue)
}

// SameCents reports whether both are null, both unknown, or both the same amount. A known value must be validated.
func (v Value) SameCents(o Value) bool {
	if v.IsKnown() && o.IsKnown() {
		return v.amount == o.amount
	}
	return v.IsNull() == o.IsNull() && v.IsUnknown() == o.IsUnknown()
}

// NumberSemanticEquals reports whether o is a Value for which SameCents reports true.
func (v Value) NumberSemanticEquals(_ context.Context, o basetypes.NumberValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Value)
	return ok && v.SameCents(other), nil
}

// ValidateAttribute refuses fractions of a cent and amounts out of range. It accepts an amount below zero, because the
// framework also validates values from the service. Rules for configurations belong in validators.
func (v Value) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if v.err == nil {
		return
	}
	if errors.Is(v.err, usd.ErrFraction) {
		resp.Diagnostics.AddAttributeError(req.Path, "Amount has fractions of a cent",
			fmt.Sprintf("%s %s. Round the amount, for example with floor(x * 100 + 0.5) / 100.", req.Path, v.Err()))
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Amount out of range",
		fmt.Sprintf("%s %s. Correct the number, or the expression that computes it.", req.Path, v.Err()))
}

// Type is the attribute type of a Value.
type Type struct {
	basetypes.NumberType
}

var _ basetypes.NumberTypable = Type{}

// Equal reports whether o is the same type.
func (t Type) Equal(o attr.Type) bool {
	other, ok := o.(Type)
	return ok && t.NumberType.Equal(other.NumberType)
}

// String names the type in framework messages.
func (t Type) String() string { return "usdtype.Type" }

// ValueFromNumber parses a number. It returns no diagnostics: ValidateAttribute reports an invalid amount.
func (t Type) ValueFromNumber(_ context.Context, in basetypes.NumberValue) (basetypes.NumberValuable, diag.Diagnostics) {
	return FromNumber(in), nil
}

// ValueFromTerraform parses a value from Terraform's protocol.
func (t Type) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	v, err := t.NumberType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	number, ok := v.(basetypes.NumberValue)
	if !ok {
		return nil, fmt.Errorf("expected a number, got %T", v)
	}
	return FromNumber(number), nil
}

// ValueType returns the Go type of this type's values.
func (t Type) ValueType(context.Context) attr.Value { return Value{} }
