package card

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// What is fixed when a card is issued stays in the state as it was asked for: a
// replacement kills the card's number, so that only the configuration causes one.

// keepAsked gives a card that was read the values that the state has of what was
// asked for, and returns what the service shows in their place, as text.
func (m *model) keepAsked(state model, defaultLimit bool) (shown map[string]string) {
	shown = map[string]string{}
	keep := func(name string, read *types.String, asked types.String) {
		if !read.Equal(asked) {
			shown[name] = read.ValueString()
			*read = asked
		}
	}
	keep("bin_id", &m.BinID, state.BinID)
	keep("label", &m.Label, state.Label)
	if asked := state.SpendingLimit; !defaultLimit && asked.IsKnown() && !m.SpendingLimit.SameCents(asked) {
		shown["spending_limit"] = m.SpendingLimit.Amount().String()
		m.SpendingLimit = asked
	}
	return shown
}

// isShown reports whether the service shows a configured value in place of what
// was asked for.
func (s privateState) isShown(name string, configured attr.Value) bool {
	shown, differs := s.Shown[name]
	switch value := configured.(type) {
	case types.String:
		return differs && !value.IsUnknown() && value.ValueString() == shown
	case usdtype.Value:
		return differs && value.IsKnown() && value.Amount().String() == shown
	}
	return false
}

// differences completes "The service shows …".
func differences(shown map[string]string, asked model) []string {
	values := map[string]attr.Value{"bin_id": asked.BinID, "label": asked.Label, "spending_limit": asked.SpendingLimit}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		format := "%s %q in place of %s"
		if name == "spending_limit" {
			format = "%s %s USD in place of %s"
		}
		was, _ := shownAs(values[name])
		all = append(all, fmt.Sprintf(format, name, shown[name], was))
	}
	return all
}
