package card

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
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

// issuedDifferences is the same for what only the issuance shows.
func issuedDifferences(plan model, card api.Card) []string {
	var all []string
	if shown := card.AutoFreezeAt; shown != nil && *shown != plan.AutoFreezeAt.Amount() {
		was, _ := shownAs(plan.AutoFreezeAt)
		all = append(all, fmt.Sprintf("auto_freeze_at %s USD in place of %s", shown, was))
	}
	var asked []string
	for _, category := range plan.AllowedCategories.Elements() {
		if text, ok := category.(types.String); ok {
			asked = append(asked, text.ValueString())
		}
	}
	var has []string
	for _, category := range card.AllowedCategories {
		has = append(has, category.Raw())
	}
	if card.AllowedCategories != nil && !sameCategories(asked, has) {
		all = append(all, fmt.Sprintf("allowed_categories %q in place of %q", card.AllowedCategories, asked))
	}
	if card.Metadata != nil {
		all = append(all, metadataDifferences(plan.Metadata.Elements(), card.Metadata)...)
	}
	return all
}

// metadataDifferences compares as text, which is all that can be asked for.
func metadataDifferences(asked map[string]attr.Value, shown api.Metadata) (all []string) {
	was := api.Metadata{}
	for key, value := range asked {
		if text, ok := value.(types.String); ok && !text.IsNull() {
			of := api.Line{}.Of(text.ValueString())
			was[api.Line{}.Of(key)] = &of
		}
	}
	as := func(value *api.Line) string {
		if value == nil {
			return "not set"
		}
		return fmt.Sprintf("%q", *value)
	}
	keys := maps.Clone(shown)
	maps.Copy(keys, was)
	for key := range keys {
		if is, was := shown[key], was[key]; (is == nil) != (was == nil) || is != nil && *is != *was {
			all = append(all, fmt.Sprintf("metadata[%q] %s in place of %s", key, as(is), as(was)))
		}
	}
	slices.Sort(all)
	return all
}

// sameCategories compares as sets, in any case.
func sameCategories(a, b []string) bool {
	canonical := func(categories []string) []string {
		lower := make([]string, len(categories))
		for i, category := range categories {
			lower[i] = strings.ToLower(strings.TrimSpace(category))
		}
		slices.Sort(lower)
		return slices.Compact(lower)
	}
	return slices.Equal(canonical(a), canonical(b))
}
