package card

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// One line makes an attribute one that is kept, compared, adopted and replaced for: here
// two that the card has for other purposes, of which the service shows one.
func TestAFixedAttributeIsALine(t *testing.T) {
	t.Parallel()
	shown := fixed("network", func(m *model) *types.String { return &m.Network }, types.String.Equal)
	shown.shown, shown.quote = textOf, "%q"
	all := append(whatIsFixed(), shown, fixed("last4", func(m *model) *types.String { return &m.Last4 }, types.String.Equal))
	card := func(network, last4 types.String) model {
		m := model{Network: network, Last4: last4, IssuanceFee: usdtype.Of(0)}
		m.AllowedCategories, m.Metadata = types.SetNull(types.StringType), types.MapNull(types.StringType)
		return m
	}
	visa, other := types.StringValue("visa"), types.StringValue("other")

	read, asked := card(other, visa), card(visa, visa)
	told := all.keepAsked(&read, &asked, true)
	if texts := all.differences(told, &read); !read.Network.Equal(visa) || !slices.Equal(texts, []string{`network "other" in place of "visa"`}) {
		t.Errorf("kept is %s, shown is %q", read.Network, texts)
	}
	for name, test := range map[string]struct {
		state, config model
		imported      bool
		told          map[string]string
		replaces      []string
		warns         bool
	}{
		"the same":               {state: card(visa, visa), config: card(visa, visa)},
		"both":                   {state: card(visa, visa), config: card(other, other), replaces: []string{"network", "last4"}},
		"what is shown":          {state: card(visa, visa), config: card(other, visa), told: told},
		"imported, not told":     {state: card(visa, types.StringNull()), config: card(visa, other), imported: true, warns: true},
		"imported, and told":     {state: card(visa, other), config: card(visa, visa), imported: true, replaces: []string{"last4"}},
		"imported, and replaced": {state: card(visa, types.StringNull()), config: card(other, other), imported: true, replaces: []string{"network"}},
	} {
		if test.imported {
			test.state.IssuanceFee = usdtype.FromNumber(types.NumberNull())
		}
		p := planner{state: test.state, config: test.config, private: privateState{Shown: test.told}, diags: new(diag.Diagnostics)}
		p.planFixed(t.Context(), all)
		var paths path.Paths
		for _, name := range test.replaces {
			paths = append(paths, path.Root(name))
		}
		if warns := p.diags.WarningsCount() > 0; warns != test.warns || !slices.EqualFunc(p.replacement.Paths, paths, path.Path.Equal) {
			t.Errorf("%s: replaced for %s, %s", name, p.replacement.Paths, *p.diags)
		}
	}
	if untold := strings.Join(all.notTold(&asked), " "); untold != "allowed_categories metadata auto_freeze_at" {
		t.Errorf("not told are %s", untold)
	}
}
