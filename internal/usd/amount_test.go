package usd_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]usd.Amount{
		"0": 0, "-0": 0, "0.00": 0, "0e300": 0, "0e400": 0, "0e-400": 0, strings.Repeat("0", 400): 0,
		"50": 50_00, "50.0": 50_00, "50.00": 50_00, "50.000": 50_00, "5e1": 50_00, "5E+1": 50_00,
		"0.01": 1, "-0.05": -5, "1e-2": 1, "12.34": 12_34, "999999999999.99": usd.Max, "-999999999999.99": -usd.Max,
	} {
		got, err := usd.Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"": usd.ErrSyntax, "abc": usd.ErrSyntax, "NaN": usd.ErrSyntax, "Inf": usd.ErrSyntax, "1 ": usd.ErrSyntax,
		"1_000": usd.ErrSyntax, "0x10": usd.ErrSyntax, "\u22125": usd.ErrSyntax, ".5": usd.ErrSyntax, "--1": usd.ErrSyntax, strings.Repeat("0", 401): usd.ErrSyntax,
		"0.001": usd.ErrFraction, "50.001": usd.ErrFraction, "1e-3": usd.ErrFraction, "1e-999999": usd.ErrFraction, "0e-401": usd.ErrFraction,
		"1e400": usd.ErrRange, "0e401": usd.ErrRange, "1e2000000000": usd.ErrRange, "-1e99999999999": usd.ErrRange, "-1e-99999999999": usd.ErrFraction, "1000000000000": usd.ErrRange, "-1000000000000": usd.ErrRange,
	} {
		if got, err := usd.Parse(text); got != 0 || !errors.Is(err, want) {
			t.Errorf("Parse(%.30q) = %d, %v; want %v", text, got, err, want)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for a, want := range map[usd.Amount]string{
		0: "0.00", 5: "0.05", -5: "-0.05", 12_34: "12.34", -1_20: "-1.20", math.MinInt64: "-92233720368547758.08",
	} {
		if got := a.String(); got != want {
			t.Errorf("String(%d) = %q, want %q", int64(a), got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	type body struct {
		A usd.Amount  `json:"a"`
		B *usd.Amount `json:"b"`
	}
	out, err := json.Marshal(body{A: 50_00})
	if err != nil || string(out) != `{"a":50.00,"b":null}` {
		t.Errorf("Marshal = %s, %v", out, err)
	}
	const none usd.Amount = -1 // stands for an error
	for in, want := range map[string]usd.Amount{
		`50`: 50_00, `50.5`: 50_50, `"50.50"`: 50_50, `5e1`: 50_00, `null`: 0,
		`0.001`: none, `"x"`: none, `true`: none, `[1]`: none, `"\""`: none,
		// A service may compute in binary.
		`60.300000000000004`: 60_30, `"60.299999999999997"`: 60_30, `-0.0000000001`: 0,
		`60.300000001`: 60_30, `60.3000000011`: none, `60.305`: none,
	} {
		var b body
		err := json.Unmarshal([]byte(`{"a":`+in+`,"b":null}`), &b)
		if want == none {
			if err == nil {
				t.Errorf("Unmarshal(%s) = %+v, want an error", in, b)
			}
		} else if err != nil || b != (body{A: want}) {
			t.Errorf("Unmarshal(%s) = %+v, %v; want %d", in, b, err, want)
		}
	}
}

func terraformNumber(t *testing.T, text string) *big.Float {
	t.Helper()
	f, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFromBigFloat(t *testing.T) {
	t.Parallel()
	product := new(big.Float).Mul(terraformNumber(t, "12.35"), terraformNumber(t, "0.6"))
	for name, number := range map[string]*big.Float{"12.35 * 0.6": product, "float64 7.41": big.NewFloat(7.41)} {
		if got, err := usd.FromBigFloat(number); err != nil || got != 7_41 {
			t.Errorf("%s = %v, %v; want 7.41", name, got, err)
		}
	}
	for text, want := range map[string]usd.Amount{
		"0": 0, "-0": 0, "60": 60_00, "-60": -60_00, "999999999999": usd.Max - 99, "-999999999999": 99 - usd.Max,
		// Noise can be above or below the amount.
		"7.4100000000000000000000001": 7_41, "7.4099999999999999999999999": 7_41,
		"-7.4100000000000000000000001": -7_41, "-7.4099999999999999999999999": -7_41,
		"-0.0000000000000000000000001": 0, "999999999999.9899999999999999": usd.Max,
	} {
		if got, err := usd.FromBigFloat(terraformNumber(t, text)); err != nil || got != want {
			t.Errorf("FromBigFloat(%s) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"50.001": usd.ErrFraction, "50.00000001": usd.ErrFraction, strings.Repeat("3", 10) + "." + strings.Repeat("3", 150): usd.ErrFraction,
		"1e12": usd.ErrRange, "-1e12": usd.ErrRange, "1e17": usd.ErrRange, "1e300": usd.ErrRange, "-1e300": usd.ErrRange,
		"1e500": usd.ErrRange, "-1e500": usd.ErrRange, "-9223372036854775808": usd.ErrRange, "9223372036854775807": usd.ErrRange,
	} {
		got, err := usd.FromBigFloat(terraformNumber(t, text))
		if !errors.Is(err, want) {
			t.Errorf("FromBigFloat(%s) = %v, %v; want %v", text, got, err, want)
		}
		if errors.Is(want, usd.ErrRange) && got != 0 {
			t.Errorf("FromBigFloat(%s) = %v with an error, want 0", text, got)
		}
	}
	for _, a := range []usd.Amount{0, 1, -1, 7_41, 50_00, usd.Max, -usd.Max} {
		if got, err := usd.FromBigFloat(a.BigFloat()); err != nil || got != a {
			t.Errorf("round trip of %v = %v, %v", a, got, err)
		}
		if want := terraformNumber(t, a.String()); a.BigFloat().Cmp(want) != 0 {
			t.Errorf("BigFloat(%v) = %v", a, a.BigFloat())
		}
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amounts []usd.Amount
		want    usd.Amount
		err     error
	}{
		{nil, 0, nil},
		{[]usd.Amount{1, 2, 0, -5}, -2, nil},
		{[]usd.Amount{math.MaxInt64 - 1, 1}, math.MaxInt64, nil},
		{[]usd.Amount{math.MinInt64 + 1, -1}, math.MinInt64, nil},
		{[]usd.Amount{math.MaxInt64, 1}, 0, usd.ErrRange},
		{[]usd.Amount{math.MinInt64, -1}, 0, usd.ErrRange},
		{[]usd.Amount{-1, math.MinInt64}, 0, usd.ErrRange},
	} {
		if got, err := usd.Sum(c.amounts...); !errors.Is(err, c.err) || got != c.want {
			t.Errorf("Sum(%v) = %v, %v; want %v, %v", c.amounts, got, err, c.want, c.err)
		}
	}
}

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
			t.Errorf("%s: String is %s, Floor is %s (%v), WithoutNoise is %s; want %s, %s, %s", c.in, d, floor, err, d.WithoutNoise(), c.text, c.floor, c.withoutNoise)
		}
		if got := d.BigFloat(); got.Cmp(terraformNumber(t, d.String())) != 0 {
			t.Errorf("%s becomes %v", c.in, got)
		}
	}
	if got, err := exact(t, "1e29").Floor(); got != 0 || !errors.Is(err, usd.ErrRange) {
		t.Errorf("1e29: %v, %v", got, err)
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
	for _, text := range []string{`"x"`, "true", "{}", `"1e999999"`, "1e30"} {
		if err := json.Unmarshal([]byte(text), &zero); err == nil {
			t.Errorf("Unmarshal(%s) returns no error", text)
		}
	}
}

func FuzzAmounts(f *testing.F) {
	for _, seed := range []string{"50", `"0.01"`, "-1e-9", "1e400", "9949.001234", `"abc"`, "null", "5e1", "-0", "50.001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := usd.Parse(text); err == nil {
			if back, err := usd.Parse(a.String()); err != nil || back != a {
				t.Errorf("%q → %v → %v, %v", text, a, back, err)
			}
		}
		var d, back usd.Decimal
		if d.UnmarshalJSON([]byte(text)) != nil {
			return
		}
		if err := back.UnmarshalJSON([]byte(d.String())); err == nil && back.String() != d.String() {
			t.Errorf("%q → %s → %s", text, d, back)
		}
		if cents, err := d.Floor(); err == nil && cents.BigFloat().Cmp(d.WithoutNoise().BigFloat()) > 0 {
			t.Errorf("Floor(%s) = %s, which is larger", d, cents)
		}
	})
}
