// Package usd holds exact amounts of US dollars.
package usd

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Amount is a sum of US dollars in whole cents. Add, subtract and compare it
// like any integer.
type Amount int64

// Cent and Dollar are the units to build constants from, as in 50*Dollar.
const (
	Cent   Amount = 1
	Dollar Amount = 100
)

// Max is the largest amount that Parse and FromBigFloat accept:
// 999,999,999,999.99 USD. It leaves room to add up millions of them.
const Max Amount = 99_999_999_999_999

var (
	// ErrFraction says that a number is finer than a cent.
	ErrFraction = errors.New("an amount in USD has at most two decimals")
	// ErrRange says that a number is outside ±Max.
	ErrRange = errors.New("the amount is out of range")
	// ErrSyntax says that a text is not a decimal number.
	ErrSyntax = errors.New("not a decimal number")
)

// maxTextLength bounds the work that a foreign text can cause. Exact decimal
// texts of computed Terraform numbers have up to about 160 characters.
const maxTextLength = 400

// Parse reads an exact decimal text such as "12.5", "-3" or "5e1". It returns
// ErrSyntax, ErrFraction or ErrRange, wrapped with the text.
func Parse(text string) (Amount, error) {
	d, err := parseDecimal(text)
	if err != nil {
		return 0, err
	}
	a, rest, err := split(d)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, err)
	}
	if !rest.IsZero() {
		return 0, fmt.Errorf("%q: %w", text, ErrFraction)
	}
	return a, nil
}

// noise is how far a computed number may lie from two decimals: arithmetic in
// binary, as Terraform does it, cannot hold most decimal fractions exactly.
var noise = decimal.New(1, -9)

// FromBigFloat reads a number that Terraform computed: the nearest amount when
// it lies within 1e-9 USD, else ErrFraction or ErrRange.
func FromBigFloat(f *big.Float) (Amount, error) {
	// Most amounts are whole dollars, and their text takes long to write and read.
	if dollars, exact := f.Int64(); exact == big.Exact && -int64(Max/Dollar) <= dollars && dollars <= int64(Max/Dollar) {
		return Amount(dollars) * Dollar, nil
	}
	text := f.Text('g', 60)
	d, err := parseDecimal(text)
	if err != nil {
		return 0, err
	}
	a, err := nearest(d)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.Text('g', 20), err)
	}
	return a, nil
}

// precision is that of Terraform's numbers, in bits.
const precision = 512

// BigFloat returns the amount in dollars at the precision of Terraform's numbers.
func (a Amount) BigFloat() *big.Float {
	cents := new(big.Float).SetPrec(precision).SetInt64(int64(a))
	return cents.Quo(cents, big.NewFloat(100))
}

// Abs returns the amount without its sign.
func (a Amount) Abs() Amount { return max(a, -a) }

// String returns dollars with exactly two decimals, as in "-0.05".
func (a Amount) String() string {
	sign := ""
	u := uint64(a) //nolint:gosec // two's complement: negated below
	if a < 0 {
		sign, u = "-", -u
	}
	return fmt.Sprintf("%s%d.%02d", sign, u/100, u%100)
}

// MarshalJSON writes a JSON number with two decimals.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON reads a JSON number in any notation, or a string that holds one: the nearest
// amount within 1e-9 USD, since services may compute in binary. Null leaves it as it is.
func (a *Amount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	d, err := parseJSON(data)
	if err != nil {
		return err
	}
	v, err := nearest(d)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	*a = v
	return nil
}

func parseJSON(data []byte) (decimal.Decimal, error) {
	return parseDecimal(strings.Trim(string(data), `"`))
}

// number is the syntax of JSON numbers, with a leading plus and leading zeros allowed.
var number = regexp.MustCompile(`^[-+]?\d+(\.\d+)?([eE][-+]?\d+)?$`)

// parseDecimal refuses what shopspring/decimal would accept or expand at great cost.
func parseDecimal(text string) (decimal.Decimal, error) {
	const maxExponent, maxDigits = 400, 30
	if len(text) > maxTextLength || !number.MatchString(text) {
		return decimal.Decimal{}, fmt.Errorf("%.20q: %w", text, ErrSyntax)
	}
	d, err := decimal.NewFromString(text)
	switch e := d.Exponent(); {
	case err != nil && strings.Contains(text, "-"), e < -maxExponent:
		return decimal.Decimal{}, fmt.Errorf("%q: %w", text, ErrFraction)
	case err != nil, e > maxExponent, !d.IsZero() && d.NumDigits()+int(e) > maxDigits:
		return decimal.Decimal{}, fmt.Errorf("%.40q: %w", text, ErrRange)
	}
	return d, nil
}

// split returns the nearest amount and what remains of d, in dollars.
func split(d decimal.Decimal) (Amount, decimal.Decimal, error) {
	cents := d.Shift(2).Round(0)
	if cents.Abs().GreaterThan(decimal.NewFromInt(int64(Max))) {
		return 0, decimal.Zero, ErrRange
	}
	return Amount(cents.IntPart()), d.Sub(cents.Shift(-2)), nil
}

// nearest returns the amount that d is, but for noise.
func nearest(d decimal.Decimal) (Amount, error) {
	a, rest, err := split(d)
	if err == nil && rest.Abs().GreaterThan(noise) {
		err = ErrFraction
	}
	return a, err
}

// Sum adds amounts and reports ErrRange instead of wrapping around.
func Sum(amounts ...Amount) (Amount, error) {
	var total Amount
	for _, a := range amounts {
		if (a > 0 && total > math.MaxInt64-a) || (a < 0 && total < math.MinInt64-a) {
			return 0, ErrRange
		}
		total += a
	}
	return total, nil
}
