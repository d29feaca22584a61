package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// Rule wants a text that passes a check, which returns what is wrong with it, as
// in `must not be empty.`, or "". The title is that of the error.
func Rule(title string, check func(text string) string) validator.String { return rule{title, check} }

type rule struct {
	title string
	check func(string) string
}

func (r rule) Description(context.Context) string { return r.title }

func (r rule) MarkdownDescription(ctx context.Context) string { return r.Description(ctx) }

func (r rule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if wrong := r.check(req.ConfigValue.ValueString()); wrong != "" {
		resp.Diagnostics.AddAttributeError(req.Path, r.title, fmt.Sprintf("%s %s", req.Path, wrong))
	}
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
