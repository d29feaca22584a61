package card

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// issuedOtherwise is what the service made of attributes of a new card, by name,
// where that is not what was asked: a trimmed label, a clamped limit. Only a
// departure from it is drift.
type issuedOtherwise map[string]otherwise

type otherwise struct {
	Asked    string `json:"asked"`
	Answered string `json:"answered"`
}

// keepRequested keeps what the plan asked a new card to be, and returns what it is
// instead, but for what is known of that: Terraform takes any other value for a bug
// of the provider, and taints the card.
func (m *model) keepRequested(plan model, known issuedOtherwise) issuedOtherwise {
	answers := m.fixedValues()
	made := issuedOtherwise{}
	for name, asked := range plan.fixedValues() {
		if _, told := known[name]; !told && answers[name] != asked {
			made[name] = otherwise{asked, answers[name]}
		}
	}
	if _, differs := made["bin_id"]; differs {
		m.BinID = plan.BinID
	}
	if _, differs := made["label"]; differs {
		m.Label = plan.Label
	}
	if _, differs := made["spending_limit"]; differs {
		m.SpendingLimit = plan.SpendingLimit
	}
	return made
}

// keepFirstReading takes what the first reading of a new card shows otherwise for
// what the service made of it: a response to its issuance may repeat what was asked.
func (s *privateState) keepFirstReading(read *model, issued model) diag.Diagnostics {
	s.Unread = false
	known := issuedOtherwise{}
	maps.Copy(known, s.IssuedOtherwise)
	if s.DefaultLimit != nil { // nobody asked for one
		known["spending_limit"] = otherwise{}
		s.DefaultLimit = read.SpendingLimit.Pointer()
	}
	made := read.keepRequested(issued, known)
	if len(made) == 0 {
		return nil
	}
	if s.IssuedOtherwise == nil {
		s.IssuedOtherwise = issuedOtherwise{}
	}
	maps.Copy(s.IssuedOtherwise, made)
	return diag.Diagnostics{issuedDifferently(*read, made.differences(issued, api.Card{}))}
}

// fixedValues are the known values that are fixed at issuing and that the
// service shows, as text.
func (m *model) fixedValues() map[string]string {
	values := map[string]string{"bin_id": m.BinID.ValueString()}
	if !m.Label.IsUnknown() {
		values["label"] = m.Label.ValueString()
	}
	if !m.SpendingLimit.IsUnknown() {
		values["spending_limit"] = m.SpendingLimit.Amount().String()
	}
	return values
}

// asAsked gives a card as the service shows it the values that were asked for
// where it shows what it made of them at issuing.
func (made issuedOtherwise) asAsked(c api.CardListItem) api.CardListItem {
	if o, ok := made["bin_id"]; ok && c.BinID == o.Answered {
		c.BinID = o.Asked
	}
	if o, ok := made["label"]; ok && c.Label == o.Answered {
		c.Label = o.Asked
	}
	if o, ok := made["spending_limit"]; ok && c.SpendingLimit.String() == o.Answered {
		if asked, err := usd.Parse(o.Asked); err == nil {
			c.SpendingLimit = asked
		}
	}
	return c
}

// isAnswer reports whether the configuration now says what the service made of
// what the state says.
func (made issuedOtherwise) isAnswer(name string, state, config model) bool {
	o, ok := made[name]
	return ok && o == otherwise{state.fixedValues()[name], config.fixedValues()[name]}
}

// adopt forgets what the plan takes over from the service.
func (made issuedOtherwise) adopt(plan model) {
	for name, value := range plan.fixedValues() {
		if made[name].Answered == value {
			delete(made, name)
		}
	}
}

// differences completes "The card has …".
func (made issuedOtherwise) differences(plan model, card api.Card) []string {
	var has []string
	for name, o := range made {
		format := "%s %s in place of %s"
		if name != "spending_limit" {
			format = "%s %q in place of %q"
		}
		has = append(has, fmt.Sprintf(format, name, o.Answered, o.Asked))
	}
	slices.Sort(has)
	if asked := plan.AutoFreezeAt; asked.IsKnown() && card.AutoFreezeAt != nil && *card.AutoFreezeAt != asked.Amount() {
		has = append(has, fmt.Sprintf("auto_freeze_at %s in place of %s", card.AutoFreezeAt, asked.Amount()))
	}
	if card.AllowedCategories == nil {
		return has
	}
	var asked []string
	for _, category := range plan.AllowedCategories.Elements() {
		if text, ok := category.(types.String); ok {
			asked = append(asked, text.ValueString())
		}
	}
	if !sameCategories(asked, card.AllowedCategories) {
		has = append(has, fmt.Sprintf("allowed_categories %q in place of %q", card.AllowedCategories, asked))
	}
	return has
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
