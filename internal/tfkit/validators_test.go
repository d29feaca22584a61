package tfkit_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// The error does not repeat the text, which may be a secret.
func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{"hush": true, "hush\n": false, "a\u2028hush": false} {
		var resp validator.StringResponse
		tfkit.OneLine().ValidateString(t.Context(), validator.StringRequest{Path: path.Root("secret"), ConfigValue: types.StringValue(text)}, &resp)
		if resp.Diagnostics.HasError() == valid {
			t.Errorf("%q: got %v, want valid %t", text, resp.Diagnostics, valid)
		}
		for _, problem := range resp.Diagnostics {
			if strings.Contains(problem.Detail(), "hush") || !strings.Contains(problem.Detail(), "trimspace()") {
				t.Errorf("%q: the detail is %q", text, problem.Detail())
			}
		}
	}
}
