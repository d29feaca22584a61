package card

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// fixedAttribute is fixed when a card is issued. It stays in the state as it was asked for:
// a replacement kills the card's number, so that only the configuration causes one.
type fixedAttribute struct {
	name     string
	computed bool // where the configuration leaves it out, it stays as it is
	get      func(*model) attr.Value
	keep     func(m, asked *model)
	same     func(configured, asked attr.Value) bool
	// shown is a value as the service shows it; nil where it shows it to nobody, and an
	// imported card has it from the configuration.
	shown func(attr.Value) string
	quote string // the format of what is shown
}

type fixedAttributes []fixedAttribute

func whatIsFixed() fixedAttributes {
	label := fixed("label", func(m *model) *types.String { return &m.Label }, types.String.Equal)
	label.computed, label.quote = true, "%q"
	label.shown = func(v attr.Value) string { return transport.Label{}.Of(textOf(v)).String() }
	equal := label.same
	label.same = func(configured, asked attr.Value) bool {
		return equal(configured, asked) || !configured.IsUnknown() && !configured.IsNull() && label.shown(configured) == textOf(asked)
	}
	bin := fixed("bin_id", func(m *model) *types.String { return &m.BinID }, types.String.Equal)
	bin.shown, bin.quote = textOf, "%q"
	limit := fixed("spending_limit", func(m *model) *usdtype.Value { return &m.SpendingLimit }, sameCents)
	limit.computed, limit.quote = true, "%s USD"
	limit.shown = func(v attr.Value) string { return v.(usdtype.Value).Amount().String() } //nolint:forcetypeassert // its own
	return fixedAttributes{
		bin, label, limit,
		fixed("allowed_categories", func(m *model) *types.Set { return &m.AllowedCategories }, types.Set.Equal),
		fixed("metadata", func(m *model) *types.Map { return &m.Metadata }, func(configured types.Map, asked attr.Value) bool {
			none := func(m types.Map) bool { return !m.IsUnknown() && len(m.Elements()) == 0 }
			return configured.Equal(asked) || none(configured) && none(asked.(types.Map)) //nolint:forcetypeassert // its own
		}),
		fixed("auto_freeze_at", func(m *model) *usdtype.Value { return &m.AutoFreezeAt }, sameCents),
	}
}

func fixed[V attr.Value](name string, at func(*model) *V, same func(configured V, asked attr.Value) bool) fixedAttribute {
	return fixedAttribute{
		name: name,
		get:  func(m *model) attr.Value { return *at(m) },
		keep: func(m, asked *model) { *at(m) = *at(asked) },
		same: func(configured, asked attr.Value) bool { return same(configured.(V), asked) }, //nolint:forcetypeassert // its own
	}
}

func textOf(v attr.Value) string { return v.(types.String).ValueString() } //nolint:forcetypeassert // of a text

func sameCents(a usdtype.Value, b attr.Value) bool { return a.SameCents(b.(usdtype.Value)) } //nolint:forcetypeassert // of an amount

// keepAsked gives a card that was read the values that the state has of what was asked for,
// and returns what the service shows in their place, as text. The default is nobody's wish.
func (all fixedAttributes) keepAsked(read, state *model, defaultLimit bool) (shown map[string]string) {
	shown = map[string]string{}
	for _, f := range all {
		asked := f.get(state)
		if f.shown == nil || f.name == "spending_limit" && (defaultLimit || asked.IsNull() || asked.IsUnknown()) {
			continue
		}
		if is := f.get(read); !f.same(asked, is) {
			shown[f.name] = f.shown(is)
		}
		f.keep(read, state)
	}
	return shown
}

// isShown reports whether the service shows a configured value in place of what was asked.
func (f fixedAttribute) isShown(configured attr.Value, by map[string]string) bool {
	shown, differs := by[f.name]
	return differs && !configured.IsNull() && !configured.IsUnknown() && f.shown(configured) == shown
}

// differences completes "The service shows …".
func (all fixedAttributes) differences(shown map[string]string, asked *model) (texts []string) {
	for _, f := range all {
		if is, differs := shown[f.name]; differs {
			was, _ := shownAs(f.get(asked))
			texts = append(texts, fmt.Sprintf("%s "+f.quote+" in place of %s", f.name, is, was))
		}
	}
	return texts
}

// notTold names what a configuration leaves out of what the service shows to nobody.
func (all fixedAttributes) notTold(config *model) (names []string) {
	for _, f := range all {
		if f.shown == nil && f.get(config).IsNull() {
			names = append(names, f.name)
		}
	}
	return names
}

// changeOf shows both values where they are short.
func changeOf(before, after attr.Value) string {
	if text, ok := shownAs(before); ok {
		next, _ := shownAs(after)
		return " (" + text + " to " + next + ")"
	}
	return ""
}

// shownAs is a short value as a person reads it; false for a long one.
func shownAs(value attr.Value) (text string, ok bool) {
	switch v := value.(type) {
	case types.String:
		text, ok = fmt.Sprintf("%q", v.ValueString()), true
	case usdtype.Value:
		text, ok = v.Amount().String()+" USD", true
	}
	switch {
	case value.IsNull():
		text = "not set"
	case value.IsUnknown():
		text = "a value known after apply"
	}
	return text, ok
}
