package card

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// A setting is kept, compared, adopted or a reason to replace the card: here one that the service
// reports, and one that it does not.
func TestSettings(t *testing.T) {
	t.Parallel()
	card := func(bin string, freezeAt usdtype.Value) model {
		return model{
			BinID: types.StringValue(bin), AutoFreezeAt: freezeAt, IssuanceFee: usdtype.FromAmount(0),
			AllowedCategories: types.SetNull(types.StringType), Metadata: types.MapNull(types.StringType),
		}
	}
	null, ten, twenty := usdtype.FromNumber(types.NumberNull()), usdtype.FromAmount(1000), usdtype.FromAmount(2000)

	read, state := card("bin_other", null), card("bin_1", ten)
	shown := keepConfigured(&read, &state, true)
	texts := differences(shown, &read)
	if read.BinID != state.BinID || !slices.Equal(texts, []string{`bin_id "bin_other" instead of "bin_1"`}) {
		t.Errorf("kept is %s, shown is %q", read.BinID, texts)
	}
	for name, test := range map[string]struct {
		state, config model
		imported      bool
		shown         map[string]string
		replaces      []string
		warns         bool
	}{
		"the same":               {state: card("bin_1", ten), config: card("bin_1", ten)},
		"both":                   {state: card("bin_1", ten), config: card("bin_2", twenty), replaces: []string{"bin_id", "auto_freeze_at"}},
		"what is shown":          {state: card("bin_1", ten), config: card("bin_other", ten), shown: shown},
		"imported, first set":    {state: card("bin_1", null), config: card("bin_1", ten), imported: true, warns: true},
		"imported, changed":      {state: card("bin_1", ten), config: card("bin_1", twenty), imported: true, replaces: []string{"auto_freeze_at"}},
		"imported, and replaced": {state: card("bin_1", null), config: card("bin_2", ten), imported: true, replaces: []string{"bin_id"}},
	} {
		if test.imported {
			test.state.IssuanceFee = null
		}
		p := planner{state: test.state, config: test.config, private: privateState{Shown: test.shown}, diags: new(diag.Diagnostics)}
		p.planFixed(t.Context())
		var paths path.Paths
		for _, name := range test.replaces {
			paths = append(paths, path.Root(name))
		}
		if warns := p.diags.WarningsCount() > 0; warns != test.warns || !slices.EqualFunc(p.replacement.Paths, paths, path.Path.Equal) {
			t.Errorf("%s: replaced for %s, %s", name, p.replacement.Paths, *p.diags)
		}
	}
	bare := card("bin_1", null)
	if names := unreportedNames(&bare); !slices.Equal(names, []string{"allowed_categories", "metadata", "auto_freeze_at"}) {
		t.Errorf("unreported are %s", names)
	}
}
