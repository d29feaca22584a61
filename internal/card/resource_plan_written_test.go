package card_test

import (
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// Only of an imported card may the service know a value that the state lacks.
func TestSettingWhatAnIssuedCardLacksReplaces(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60})
	for attribute, values := range map[string][]any{
		"auto_freeze_at":     {5, acctest.Unknown},
		"allowed_categories": {[]any{"travel"}, acctest.Unknown},
		"metadata":           {object{"team": "ads"}, object{"team": acctest.Unknown}, acctest.Unknown},
	} {
		for _, value := range values {
			change, diags := f.plan(object{"amount": 60, attribute: value})
			f.succeed(diags)
			if !slices.Equal(change.Replaces, []string{attribute}) {
				t.Errorf("%s = %v replaces for %v", attribute, value, change.Replaces)
			}
		}
	}
}

func TestEmptyMetadataIsNone(t *testing.T) {
	t.Parallel()
	for _, byOthers := range []bool{false, true} {
		f := issued(t, object{"label": "ads", "amount": 60})
		if byOthers {
			f = imported(t, map[string]any{"label": "ads", "amount": 60})
		}
		for _, metadata := range []any{object{}, nil, object{}} {
			config := object{"label": "ads", "amount": f.card.Values["amount"], "metadata": metadata}
			change, diags := f.plan(config)
			f.succeed(diags)
			if len(change.Replaces) > 0 || diags.Warnings() != "" {
				t.Errorf("imported: %t, metadata = %v: replaces for %v: %s", byOthers, metadata, change.Replaces, diags.Warnings())
			}
			f.apply(config)
		}
	}
}
