package tfkit

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// rule checks a value. If the value is invalid, the rule returns the title of the error and the problem, as in
// `must not be empty.`. Otherwise the problem is empty.
type rule[Value any] func(Value) (title, problem string)

// Description is empty, because the attribute's own description should say what a value must be.
func (rule[Value]) Description(context.Context) string { return "" }

// MarkdownDescription is empty for the same reason.
func (rule[Value]) MarkdownDescription(context.Context) string { return "" }

// validate adds an error if a value is invalid.
func (r rule[Value]) validate(at path.Path, value Value, diags *diag.Diagnostics) {
	title, problem := r(value)
	if problem != "" {
		diags.AddAttributeError(at, title, at.String()+" "+problem)
	}
}

type textRule struct{ rule[string] }

func (r textRule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	r.validate(req.Path, req.ConfigValue.ValueString(), &resp.Diagnostics)
}

type numberRule struct{ rule[*big.Float] }

func (r numberRule) ValidateNumber(_ context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	r.validate(req.Path, req.ConfigValue.ValueBigFloat(), &resp.Diagnostics)
}

// Rule requires a text that passes a check. The check returns the problem, as in `must not be empty.`, or "".
// The error has the given title.
func Rule(title string, check func(text string) string) validator.String {
	return RuleWithTitles(func(text string) (string, string) { return title, check(text) })
}

// RuleWithTitles is a Rule whose check also returns the title of the error.
func RuleWithTitles(check func(text string) (title, problem string)) validator.String {
	return textRule{check}
}

// NotEmpty requires at least one character.
func NotEmpty() validator.String { return stringvalidator.LengthAtLeast(1) }

// OneLine requires a text without control characters or line breaks. The error does not repeat the
// text, which may be a secret.
func OneLine() validator.String {
	return Rule("Value has control characters", func(text string) string {
		if IsOneLine(text) {
			return ""
		}
		return "must be one line without control characters. " +
			"Text from a file usually ends in a line break: remove it with trimspace()."
	})
}

// IsOneLine reports whether a text has no control characters and no line breaks.
func IsOneLine(text string) bool {
	return !strings.ContainsFunc(text, isControlOrSeparator)
}

// isControlOrSeparator reports whether a character is a control character, or Unicode's separator of lines or
// paragraphs.
func isControlOrSeparator(r rune) bool {
	isSeparator := r == '\u2028' || r == '\u2029'
	return isSeparator || unicode.IsControl(r)
}

// OneOf requires one of these words.
func OneOf[Word ~string](words ...Word) validator.String {
	values := make([]string, len(words))
	for i, word := range words {
		values[i] = string(word)
	}
	return stringvalidator.OneOf(values...)
}

// WholeNumberBetween requires a whole number between two bounds, inclusive. It is for number attributes: for an
// Int64 attribute, Terraform would report 1000 / 3 as a bug in the provider.
func WholeNumberBetween(least, most int64) validator.Number {
	// rangeText is for a whole number out of range, wholeText for a number that is not whole. They differ only without
	// bounds.
	rangeText := fmt.Sprintf("a whole number between %d and %d", least, most)
	wholeText := rangeText
	if least == math.MinInt64 && most == math.MaxInt64 { // 19 digits look like a card number, which may be redacted
		rangeText = "a whole number between -2^63 and 2^63 - 1"
		wholeText = "a whole number"
	}
	return numberRule{func(number *big.Float) (title, problem string) {
		n, accuracy := number.Int64()
		inRange := n >= least && n <= most
		if accuracy == big.Exact && inRange {
			return "", ""
		}
		const maxDigits = 10 // enough to recognize the value
		got := number.Text('g', maxDigits)
		if number.IsInt() {
			return "Number out of range", fmt.Sprintf("must be %s, got %s.", rangeText, got)
		}
		return "Not a whole number", fmt.Sprintf("must be %s, got %s. Round a computed value, for example with floor().",
			wholeText, got)
	}}
}

// AtLeast requires a minimum amount in USD. It accepts a number that is not an amount, which the attribute's type refuses.
func AtLeast(minimum usd.Amount) validator.Number {
	return numberRule{func(number *big.Float) (title, problem string) {
		amount, err := usd.FromBigFloat(number)
		if err == nil && amount < minimum {
			return "Amount too small", fmt.Sprintf("must be at least %s USD, got %s.", minimum, amount)
		}
		return "", ""
	}}
}
