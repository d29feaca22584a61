package usdtype_test

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

func fromText(t *testing.T, text string) usdtype.Value {
	t.Helper()
	f, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	v, err := usdtype.Type{}.ValueFromTerraform(context.Background(), tftypes.NewValue(tftypes.Number, f))
	if err != nil {
		t.Fatal(err)
	}
	return v.(usdtype.Value)
}

func TestValidateAttribute(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "", "50": "", "50.10": "", "7.4100000000000000000000001": "",
		"50.001": "Amount has fractions of a cent: amount must be an amount in USD with at most two decimals, got 50.001. " +
			"Round the amount, for example with floor(x * 100 + 0.5) / 100.",
		"1234567890.1234": "Amount has fractions of a cent: amount must be an amount in USD with at most two decimals. " +
			"Round the amount, for example with floor(x * 100 + 0.5) / 100.",
		"12345678901234567890": "Amount out of range: amount must be an amount in USD with at most 12 digits before the decimal point, got 1.235e+19. " +
			"Correct the number, or the expression that computes it.",
	} {
		var resp xattr.ValidateAttributeResponse
		fromText(t, text).ValidateAttribute(context.Background(), xattr.ValidateAttributeRequest{Path: path.Root("amount")}, &resp)
		var got []string
		for _, diagnostic := range resp.Diagnostics {
			got = append(got, diagnostic.Summary()+": "+diagnostic.Detail())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for _, v := range []usdtype.Value{{}, usdtype.Unknown()} {
		var resp xattr.ValidateAttributeResponse
		v.ValidateAttribute(context.Background(), xattr.ValidateAttributeRequest{}, &resp)
		if resp.Diagnostics.HasError() {
			t.Errorf("%s refused: %v", v, resp.Diagnostics)
		}
	}
}

func TestSemanticEquality(t *testing.T) {
	t.Parallel()
	noisy := fromText(t, "7.41000000000000000000000000000000001")
	for _, c := range []struct {
		a, b usdtype.Value
		want bool
	}{
		{usdtype.FromAmount(741), noisy, true},
		{noisy, usdtype.FromAmount(741), true},
		{usdtype.FromAmount(741), usdtype.FromAmount(742), false},
		{usdtype.Value{}, usdtype.Value{}, true},
		{usdtype.Value{}, usdtype.FromAmount(0), false},
		{usdtype.FromAmount(0), usdtype.Value{}, false},
		{usdtype.FromAmount(0), usdtype.Unknown(), false},
		{usdtype.Unknown(), usdtype.FromAmount(0), false},
		{usdtype.Unknown(), usdtype.Value{}, false},
	} {
		if got, diags := c.a.NumberSemanticEquals(context.Background(), c.b); got != c.want || diags.HasError() {
			t.Errorf("%s ~ %s = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if usdtype.FromAmount(741).Equal(noisy) || !usdtype.FromAmount(741).Equal(usdtype.FromAmount(741)) {
		t.Error("Equal must compare the noise, as Terraform does")
	}
}

func TestWithAmount(t *testing.T) {
	t.Parallel()
	noisy := fromText(t, "7.4100000000000001")
	got := noisy.WithAmount(741)
	if !got.Equal(noisy) || got.Amount() != 741 || *got.Pointer() != 741 {
		t.Errorf("WithAmount with the same cents returns %s, want %s", got, noisy)
	}
	if pointer := usdtype.Unknown().Pointer(); pointer != nil {
		t.Errorf("Pointer of an unknown value returns %v, want nil", *pointer)
	}
	for _, v := range []usdtype.Value{noisy, {}, usdtype.Unknown(), fromText(t, "0.001")} {
		if got := v.WithAmount(0); !got.Equal(usdtype.FromAmount(0)) || got.Err() != nil {
			t.Errorf("%s becomes %s, %v, want 0", v, got, got.Err())
		}
	}
}
