// Package usd calculates with exact amounts of US dollars.
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

// Cent and Dollar are units for constants, as in 50*Dollar.
const (
	Cent   Amount = 1
	Dollar Amount = 100
)

// Max is the largest accepted amount: 999,999,999,999.99 USD. An Amount has room for the sum of thousands of them.
const Max Amount = 99_999_999_999_999

var (
	// ErrFraction reports that a number has fractions of a cent, or an exponent below -maxExponent.
	ErrFraction = errors.New("an amount in USD has at most two decimals")
	// ErrRange reports that a number is outside ±Max or has an exponent above maxExponent, or that an addition overflows.
	ErrRange = errors.New("the amount is out of range")
	// ErrSyntax reports that a text is not a decimal number.
	ErrSyntax = errors.New("not a decimal number")
)

// These limits bound the work that an untrusted text can cause.
const (
	maxLength   = 400 // of a text, in bytes
	maxExponent = 400 // the largest absolute value of a parsed number's exponent, even if the number is 0
)

// Parse reads an exact decimal text such as "12.5", "-3" or "5e1". It returns
// ErrSyntax, ErrFraction or ErrRange, wrapped with the text or its start.
func Parse(text string) (Amount, error) {
	d, err := parseDecimal(text)
	if err != nil {
		return 0, err
	}
	a, difference, err := split(d)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, err)
	}
	if !difference.IsZero() {
		return 0, fmt.Errorf("%q: %w", text, ErrFraction)
	}
	return a, nil
}

// noise is 1e-9, the most by which a computed number may differ from the amount that it stands for. Terraform computes
// in binary, which cannot represent most decimal fractions exactly.
var noise = decimal.New(1, -9)

// FromBigFloat reads a number that Terraform computed. It returns the nearest amount, with ErrFraction if the number
// differs from that amount by more than 1e-9 USD. With any other error, such as ErrRange, the amount is zero.
func FromBigFloat(f *big.Float) (Amount, error) {
	// Many amounts are whole dollars. Converting them directly is faster than formatting and parsing a text.
	const maxDollars = int64(Max / Dollar)
	dollars, accuracy := f.Int64()
	inRange := -maxDollars <= dollars && dollars <= maxDollars
	if accuracy == big.Exact && inRange {
		return Amount(dollars) * Dollar, nil
	}
	const digits = 60 // enough to recognize any accepted amount and its noise
	d, err := parseDecimal(f.Text('g', digits))
	if err != nil {
		return 0, err
	}
	return nearest(d)
}

// precision is the precision of Terraform's numbers in bits.
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
	if a < 0 {
		sign = "-"
	}
	// Abs comes after the division, because the smallest amount has no positive counterpart.
	dollars := (a / Dollar).Abs()
	cents := (a % Dollar).Abs()
	return fmt.Sprintf("%s%d.%02d", sign, int64(dollars), int64(cents))
}

// Signed returns the amount with its sign, as in "+12.50". Zero has none.
func (a Amount) Signed() string {
	if a > 0 {
		return "+" + a.String()
	}
	return a.String()
}

// MarshalJSON writes a JSON number with two decimals.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON reads a JSON number in any notation, or a string that contains one. It takes the nearest amount
// within 1e-9 USD, because services may compute in binary. Null leaves the amount unchanged.
func (a *Amount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	d, err := parseDecimal(strings.Trim(string(data), `"`))
	if err != nil {
		return err
	}
	amount, err := nearest(d)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	*a = amount
	return nil
}

// numberPattern is the syntax of JSON numbers, with a leading plus and leading zeros allowed.
var numberPattern = regexp.MustCompile(`^[-+]?\d+(\.\d+)?([eE][-+]?\d+)?$`)

// parseDecimal parses a number. It refuses large exponents, which shopspring/decimal would expand at great cost. Its
// errors quote the start of the text.
func parseDecimal(text string) (decimal.Decimal, error) {
	const maxDigits = 30 // before the decimal point, in any currency
	if len(text) > maxLength || !numberPattern.MatchString(text) {
		return decimal.Decimal{}, fmt.Errorf("%.20q: %w", text, ErrSyntax)
	}
	d, err := decimal.NewFromString(text)
	if err != nil { // the exponent is beyond decimal.MaxDecodeExponent
		_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
		if strings.HasPrefix(exponent, "-") {
			return decimal.Decimal{}, fmt.Errorf("%.40q: %w", text, ErrFraction)
		}
		return decimal.Decimal{}, fmt.Errorf("%.40q: %w", text, ErrRange)
	}
	exponent := int(d.Exponent())
	if exponent < -maxExponent {
		return decimal.Decimal{}, fmt.Errorf("%.40q: %w", text, ErrFraction)
	}
	digits := d.NumDigits() + exponent // before the decimal point
	tooManyDigits := !d.IsZero() && digits > maxDigits
	if exponent > maxExponent || tooManyDigits {
		return decimal.Decimal{}, fmt.Errorf("%.40q: %w", text, ErrRange)
	}
	return d, nil
}

// split returns the amount that is nearest to d, and the difference in dollars: d minus the amount. The difference is
// negative if the amount was rounded up. Out of range, split returns ErrRange.
func split(d decimal.Decimal) (Amount, decimal.Decimal, error) {
	cents := d.Shift(2).Round(0)
	if cents.Abs().GreaterThan(decimal.NewFromInt(int64(Max))) {
		return 0, decimal.Zero, ErrRange
	}
	difference := d.Sub(cents.Shift(-2))
	return Amount(cents.IntPart()), difference, nil
}

// nearest returns the nearest amount, with ErrFraction if d differs from that amount by more than noise. Out of range,
// it returns zero and ErrRange.
func nearest(d decimal.Decimal) (Amount, error) {
	a, difference, err := split(d)
	if err != nil {
		return 0, err
	}
	if difference.Abs().GreaterThan(noise) {
		return a, ErrFraction
	}
	return a, nil
}

// Sum adds amounts. It returns ErrRange if an addition overflows.
func Sum(amounts ...Amount) (Amount, error) {
	var total Amount
	for _, a := range amounts {
		sum := total + a // wraps around if it is out of range
		tooLarge := a > 0 && sum < total
		tooSmall := a < 0 && sum > total
		if tooLarge || tooSmall {
			return 0, ErrRange
		}
		total = sum
	}
	return total, nil
}

// Decimal is an exact amount of any currency, with any number of decimals. The zero value is 0.
type Decimal struct{ d decimal.Decimal }

// UnmarshalJSON reads the same notations as Amount.UnmarshalJSON, at full precision.
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
	rounded := x.d.Round(2)
	if rounded.Equal(x.d) {
		return rounded.StringFixed(2)
	}
	return x.d.String()
}

// Amount returns the number as whole cents. It ignores noise of up to 1e-9, and returns ErrFraction or ErrRange
// if the number is not an amount.
func (x Decimal) Amount() (Amount, error) { return nearest(x.d) }

// WithoutNoise returns the number as whole cents if Amount accepts it. Otherwise, it returns the number unchanged.
func (x Decimal) WithoutNoise() Decimal {
	a, err := x.Amount()
	if err != nil {
		return x
	}
	return Decimal{decimal.New(int64(a), -2)}
}

// Floor returns the number rounded down to whole cents, or ErrRange. A number that is below a whole cent
// only by noise is rounded up to it.
func (x Decimal) Floor() (Amount, error) {
	a, difference, err := split(x.d)
	if err != nil {
		return 0, err
	}
	roundedUpByMoreThanNoise := difference.LessThan(noise.Neg())
	if roundedUpByMoreThanNoise {
		a--
	}
	return a, nil
}

// BigFloat returns the number at the precision of Terraform's numbers.
func (x Decimal) BigFloat() *big.Float {
	f, _, err := big.ParseFloat(x.d.String(), 10, precision, big.ToNearestEven)
	if err != nil {
		panic("usd: " + err.Error()) // impossible, because the text of a decimal is a number
	}
	return f
}
