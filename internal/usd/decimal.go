package usd

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// Decimal is an exact amount of any currency, with any number of decimals. The
// zero value is 0. Compare by [Decimal.Equal].
type Decimal struct{ d decimal.Decimal }

// UnmarshalJSON reads what Amount's reads, at full precision.
func (x *Decimal) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	d, err := parseJSON(data)
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
	if cents := x.d.Round(2); cents.Equal(x.d) {
		return cents.StringFixed(2)
	}
	return x.d.String()
}

// Amount returns the whole cents that the number is, but for noise of less than
// 1e-9, or ErrFraction or ErrRange.
func (x Decimal) Amount() (Amount, error) { return nearest(x.d) }

// WithoutNoise returns whole cents where the number is that but for noise, and
// the number itself where it is finer.
func (x Decimal) WithoutNoise() Decimal {
	if a, err := x.Amount(); err == nil {
		return Decimal{decimal.New(int64(a), -2)}
	}
	return x
}

// Floor returns the whole cents in it, or ErrRange.
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
		panic("usd: " + err.Error()) // a decimal's own text
	}
	return f
}
