package tfkit

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// rule says what is wrong with a value, as in `must not be empty.`, or "", and the
// title of that error.
type rule[Value any] func(Value) (title, wrong string)

// Description is empty: what a value must be stands in the description of its attribute.
func (rule[Value]) Description(context.Context) string { return "" }

// MarkdownDescription is empty too.
func (rule[Value]) MarkdownDescription(context.Context) string { return "" }

func (r rule[Value]) validate(at path.Path, configured attr.Value, value Value, diags *diag.Diagnostics) {
	if configured.IsNull() || configured.IsUnknown() {
		return
	}
	if title, wrong := r(value); wrong != "" {
		name, _, isElement := strings.Cut(at.String(), "[Value(") // of a set
		if isElement {
			name = "each text of " + name
		}
		diags.AddAttributeError(at, title, name+" "+wrong)
	}
}

type textRule struct{ rule[string] }

func (r textRule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	r.validate(req.Path, req.ConfigValue, req.ConfigValue.ValueString(), &resp.Diagnostics)
}

type numberRule struct{ rule[*big.Float] }

func (r numberRule) ValidateNumber(_ context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	r.validate(req.Path, req.ConfigValue, req.ConfigValue.ValueBigFloat(), &resp.Diagnostics)
}

// Rule wants a text that passes a check, which returns what is wrong with it, as
// in `must not be empty.`, or "". The title is that of the error.
func Rule(title string, check func(text string) string) validator.String {
	return TextRule(func(text string) (string, string) { return title, check(text) })
}

// TextRule is a Rule whose check returns the title too.
func TextRule(check func(text string) (title, wrong string)) validator.String {
	return textRule{check}
}

// NotEmpty wants at least one character.
func NotEmpty() validator.String {
	return Rule("Empty text", func(text string) string {
		if text != "" {
			return ""
		}
		return "must not be empty."
	})
}

// IsOneLine reports whether a text has nothing that shows as nothing or as a line break.
func IsOneLine(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
}

// OneOf wants one of some words.
func OneOf[Word ~string](words ...Word) validator.String {
	return Rule("Not one of the words", func(text string) string {
		var quoted []string
		for _, word := range words {
			if text == string(word) {
				return ""
			}
			quoted = append(quoted, fmt.Sprintf("%q", word))
		}
		last := len(quoted) - 1
		return fmt.Sprintf("must be %s or %s, got %q.", strings.Join(quoted[:last], ", "), quoted[last], text)
	})
}

// WholeNumberBetween wants a number without a fraction within bounds, both included. An Int64
// attribute would call 1000 / 3 a bug in the provider.
func WholeNumberBetween(least, most int64) validator.Number {
	want := "a whole number"
	if most != math.MaxInt64 {
		want = fmt.Sprintf("a whole number between %d and %d", least, most)
	}
	return numberRule{func(number *big.Float) (title, wrong string) {
		if n, accuracy := number.Int64(); accuracy == big.Exact && n >= least && n <= most {
			return "", ""
		}
		wrong = fmt.Sprintf("must be %s, got %s.", want, number.Text('g', 10))
		if number.IsInt() {
			return "Number out of range", wrong
		}
		return "Not a whole number", wrong + " Round what you compute, as with floor()."
	}}
}

// AtLeast wants an amount in USD of a minimum. What is no amount at all is for its
// type to refuse, once.
func AtLeast(minimum usd.Amount) validator.Number {
	return numberRule{func(number *big.Float) (title, wrong string) {
		if amount, err := usd.FromBigFloat(number); err == nil && amount < minimum {
			return "Amount too small", fmt.Sprintf("must be at least %s USD, got %s.", minimum, amount)
		}
		return "", ""
	}}
}
