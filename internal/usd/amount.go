// Package usd holds exact amounts of US dollars.
package usd

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Amount is a sum of US dollars in whole cents. Add, subtract and compare it like any integer.
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

// maxLength limits the work that an untrusted text can cause, and the exponent that it may have.
// Exact decimal texts of computed Terraform numbers have up to about 160 characters.
const maxLength = 400

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

// FromBigFloat reads a number that Terraform computed. It returns the nearest amount if that
// lies within 1e-9 USD, and ErrFraction or ErrRange otherwise.
func FromBigFloat(f *big.Float) (Amount, error) {
	// Most amounts are whole dollars, and their text takes long to write and read.
	const most = int64(Max / Dollar)
	dollars, accuracy := f.Int64()
	if accuracy == big.Exact && -most <= dollars && dollars <= most {
		return Amount(dollars) * Dollar, nil
	}
	d, err := parseDecimal(f.Text('g', 60))
	if err != nil {
		return 0, err
	}
	return nearest(d)
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
		sign = "-"
		u = -u
	}
	return fmt.Sprintf("%s%d.%02d", sign, u/100, u%100)
}

// Signed returns the amount with its sign, as in "+12.50".
func (a Amount) Signed() string {
	if a > 0 {
		return "+" + a.String()
	}
	return a.String()
}

// MarshalJSON writes a JSON number with two decimals.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON reads a JSON number in any notation, or a string that contains one, and takes
// the nearest amount within 1e-9 USD, since services may compute in binary. Null leaves the
// amount unchanged.
func (a *Amount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	d, err := parseDecimal(strings.Trim(string(data), `"`))
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

// number is the syntax of JSON numbers, with a leading plus and leading zeros allowed.
var number = regexp.MustCompile(`^[-+]?\d+(\.\d+)?([eE][-+]?\d+)?$`)

// parseDecimal parses a number, and refuses what shopspring/decimal would expand at great cost.
func parseDecimal(text string) (decimal.Decimal, error) {
	const maxDigits = 30
	if len(text) > maxLength || !number.MatchString(text) {
		return decimal.Decimal{}, fmt.Errorf("%.20q: %w", text, ErrSyntax)
	}
	d, err := decimal.NewFromString(text)
	if err != nil { // the exponent is beyond 32 bits
		if strings.Contains(text, "-") {
			return decimal.Decimal{}, fmt.Errorf("%q: %w", text, ErrFraction)
		}
		return decimal.Decimal{}, fmt.Errorf("%.40q: %w", text, ErrRange)
	}
	exponent := int(d.Exponent())
	if exponent < -maxLength {
		return decimal.Decimal{}, fmt.Errorf("%q: %w", text, ErrFraction)
	}
	if exponent > maxLength || !d.IsZero() && d.NumDigits()+exponent > maxDigits {
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

// nearest returns the amount that d is, apart from noise.
func nearest(d decimal.Decimal) (Amount, error) {
	a, rest, err := split(d)
	if err != nil {
		return 0, err
	}
	if rest.Abs().GreaterThan(noise) {
		return a, ErrFraction
	}
	return a, nil
}

// Sum adds amounts and reports ErrRange instead of wrapping around.
func Sum(amounts ...Amount) (Amount, error) {
	var total Amount
	for _, a := range amounts {
		sum := total + a
		if (sum > total) != (a > 0) {
			return 0, ErrRange
		}
		total = sum
	}
	return total, nil
}

// Decimal is an exact amount of any currency, with any number of decimals. The
// zero value is 0.
type Decimal struct{ d decimal.Decimal }

// UnmarshalJSON reads the same texts as Amount.UnmarshalJSON, at full precision.
func (x *Decimal) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	d, err := parseDecimal(strings.Trim(string(data), `"`))
	if err != nil {
		return err
	}
	x.d = d
	return nil
}

// Add returns the sum.
func (x Decimal) Add(y Decimal) Decimal { return Decimal{x.d.Add(y.d)} }

// Sub returns the difference.
func (x Decimal) Sub(y Decimal) Decimal { return Decimal{x.d.Sub(y.d)} }

// Abs returns the amount without its sign.
func (x Decimal) Abs() Decimal { return Decimal{x.d.Abs()} }

// String returns the exact number in plain notation, with at least two decimals.
func (x Decimal) String() string {
	cents := x.d.Round(2)
	if cents.Equal(x.d) {
		return cents.StringFixed(2)
	}
	return x.d.String()
}

// Amount returns the number as whole cents. It ignores noise of less than 1e-9, and returns
// ErrFraction or ErrRange if the number is no amount.
func (x Decimal) Amount() (Amount, error) { return nearest(x.d) }

// WithoutNoise returns the number as whole cents where it differs from them by noise alone, and
// the number itself where it is finer.
func (x Decimal) WithoutNoise() Decimal {
	a, err := x.Amount()
	if err != nil {
		return x
	}
	return Decimal{decimal.New(int64(a), -2)}
}

// Floor returns the number rounded down to whole cents, or ErrRange.
func (x Decimal) Floor() (Amount, error) {
	a, rest, err := split(x.d)
	if err == nil && rest.LessThan(noise.Neg()) {
		a--
	}
	return a, err
}

// BigFloat returns the number at the precision of Terraform's numbers.
func (x Decimal) BigFloat() *big.Float {
	f, _, err := big.ParseFloat(x.d.String(), 10, precision, big.ToNearestEven)
	if err != nil {
		panic("usd: " + err.Error()) // it is the text of a decimal
	}
	return f
}
