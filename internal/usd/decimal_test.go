package usd_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func exact(t *testing.T, text string) (d usd.Decimal) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, text, floor, withoutNoise string }{
		{"50", "50.00", "50.00", "50.00"},
		{`"12.5"`, "12.50", "12.50", "12.50"},
		{"9949.001234", "9949.001234", "9949.00", "9949.001234"},
		{"9949.999999", "9949.999999", "9949.99", "9949.999999"},
		{"60.300000000000004", "60.300000000000004", "60.30", "60.30"},
		{"60.299999999999997", "60.299999999999997", "60.30", "60.30"},
		{"-0.001", "-0.001", "-0.01", "-0.001"},
		{"1e3", "1000.00", "1000.00", "1000.00"},
		{"0.003", "0.003", "0.00", "0.003"},
	} {
		d := exact(t, c.in)
		floor, err := d.Floor()
		if d.String() != c.text || err != nil || floor.String() != c.floor || d.WithoutNoise().String() != c.withoutNoise {
			t.Errorf("%s is %s, at least %s (%v), without noise %s", c.in, d, floor, err, d.WithoutNoise())
		}
		if got := d.BigFloat(); got.Cmp(terraformNumber(t, d.String())) != 0 {
			t.Errorf("%s becomes %v", c.in, got)
		}
	}
	if _, err := exact(t, "1e20").Floor(); !errors.Is(err, usd.ErrRange) {
		t.Errorf("1e20: %v", err)
	}
	if _, err := exact(t, "0.003").Amount(); !errors.Is(err, usd.ErrFraction) {
		t.Errorf("0.003: %v", err)
	}
	kept := exact(t, "1.5")
	if err := json.Unmarshal([]byte("null"), &kept); err != nil || kept.String() != "1.50" {
		t.Errorf("null makes it %s, %v", kept, err)
	}
	var zero usd.Decimal
	if sum := zero.Add(exact(t, "-1.001")).Abs().Sub(exact(t, "0.501")); sum.String() != "0.50" {
		t.Errorf("the sum is %s", sum)
	}
	for _, text := range []string{`"x"`, "true", "{}", `"1e999999"`, "1e300"} {
		if err := json.Unmarshal([]byte(text), &zero); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// A service may compute in binary.
func TestAmountsComeWithNoise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]usd.Amount{"60.300000000000004": 60_30, `"60.299999999999997"`: 60_30, "-0.0000000001": 0, "60.3000000011": -1, "60.305": -1} {
		var got usd.Amount
		if err := json.Unmarshal([]byte(text), &got); (err != nil) != (want < 0) || want >= 0 && got != want {
			t.Errorf("%s is read as %s, %v", text, got, err)
		}
	}
}

func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"50", `"0.01"`, "-1e-9", "1e400", "9949.001234", `"abc"`, "null"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d, back usd.Decimal
		if d.UnmarshalJSON([]byte(text)) != nil {
			return
		}
		if err := back.UnmarshalJSON([]byte(d.String())); err == nil && back.String() != d.String() {
			t.Errorf("%q → %s → %s", text, d, back)
		}
		if cents, err := d.Floor(); err == nil && cents.BigFloat().Cmp(d.WithoutNoise().BigFloat()) > 0 {
			t.Errorf("%s is at least %s", d, cents)
		}
	})
}
