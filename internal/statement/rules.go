package statement

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Rules are what a plan must keep to. The zero value allows everything.
type Rules struct {
	MaxNet       *usd.Amount // that the wallet pays, in USD
	MaxCard      *usd.Amount // that one card gets, in USD
	Only         []Action    // nil allows all
	NoUnknown    bool
	NoDuplicates bool
}

// ErrNoList says that nothing in a plan tells which cards there are.
var ErrNoList = errors.New("-no-duplicates needs to know all live cards of the account, which this plan has not read")

const (
	readAll = `add this to the configuration, where its provider is the one of the new cards:

data "vcard_cards" "all" {
}
`
	importAll = `where this state should have the live cards, add this to the configuration and plan again; nothing is issued for them then:
`
)

// Apply fills in Violations and Remedy. ErrNoList is its error.
func (r Rules) Apply(s *Statement, plan *Plan) error {
	s.Violations, s.Remedy = nil, ""
	violated := func(format string, args ...any) {
		s.Violations = append(s.Violations, inline(fmt.Sprintf(format, args...)))
	}
	for _, unknown := range s.Unknown {
		switch {
		case unknown.isMissing && r.isAny():
			violated("a rule needs the whole plan: %s", unknown)
		case r.NoUnknown:
			violated("-no-unknown: %s", unknown)
		}
	}
	if r.MaxNet != nil {
		r.checkNet(s, violated)
	}
	if r.MaxCard != nil {
		r.checkCards(s, violated)
	}
	if r.Only != nil {
		r.checkOnly(s, violated)
	}
	if r.NoDuplicates {
		return checkDuplicates(s, plan, violated)
	}
	return nil
}

func (r Rules) isAny() bool {
	return r.MaxNet != nil || r.MaxCard != nil || r.Only != nil || r.NoUnknown || r.NoDuplicates
}

func (r Rules) checkNet(s *Statement, violated func(string, ...any)) {
	if -s.Wallet.Net > *r.MaxNet {
		violated("-max-net %s: the wallet pays %s", *r.MaxNet, -s.Wallet.Net)
		return
	}
	for _, card := range s.Cards {
		if card.mayTake {
			violated("-max-net %s: the wallet may pay more for %s, which is known only during apply", *r.MaxNet, card.Address)
			return
		}
	}
}

// checkCards adds up what actions give to a card with what the plan of its resource
// does. An action whose card is known only during apply may give to any.
func (r Rules) checkCards(s *Statement, violated func(string, ...any)) {
	sums := map[string]usd.Amount{}
	for _, card := range s.Cards {
		sums[card.key] += card.paid()
	}
	toAny := sums[""]
	for _, card := range s.Cards {
		sum, isNext := sums[card.key]
		delete(sums, card.key)
		switch {
		case card.mayTake:
			violated("-max-card %s: %s may get more, which is known only during apply", *r.MaxCard, card.Address)
		case isNext && sum > *r.MaxCard && card.key == "":
			violated("-max-card %s: one card may get %s by actions on cards that are known only during apply", *r.MaxCard, sum)
		case isNext && sum > *r.MaxCard:
			violated("-max-card %s: %s gets %s", *r.MaxCard, card.holder, sum)
		case isNext && card.key != "" && sum > 0 && sum+toAny > *r.MaxCard:
			violated("-max-card %s: %s gets %s, and may get %s by actions on cards that are known only during apply", *r.MaxCard, card.holder, sum, toAny)
		}
	}
}

func (r Rules) checkOnly(s *Statement, violated func(string, ...any)) {
	only := join(r.Only)
	for _, card := range s.Cards {
		for _, action := range card.Actions {
			if !slices.Contains(r.Only, action) {
				violated("-only %s: the plan would %s %s", only, action, card.Address)
			}
		}
	}
	for _, address := range s.Others {
		violated("-only %s: the plan would change %s", only, address)
	}
}

func join[Word ~string](words []Word) string {
	var texts []string
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return strings.Join(texts, ",")
}

// checkDuplicates finds new cards whose label a live card bears that is in no
// state: one of another workspace, of a lost state, or of a run that was killed.
func checkDuplicates(s *Statement, plan *Plan, violated func(string, ...any)) error {
	before := priorOf(plan.Prior.Values)
	config := configured{plan.Config}
	live := map[string]map[string][]string{} // ids by label, by provider configuration
	var twins []twin
	for _, list := range before.lists {
		if cards, isRead := list.AttributeValues["cards"].([]any); isRead && isWhole(list) && !isReadLater(list, plan) {
			provider := config.resource(list.Address).ProviderConfigKey
			live[provider] = strangers(live[provider], cards, before)
		}
	}
	for _, card := range s.Cards {
		if !card.isNew {
			continue
		}
		resource := config.resource(card.Address)
		label, isKnown := card.after.known["label"].(string)
		if !isKnown { // a generated one is like no other
			if isOfObjects(resource.Expressions["label"]) {
				violated("-no-duplicates: %s: its label is known only during apply", card.Address)
			}
			continue
		}
		ids, isRead := live[resource.ProviderConfigKey]
		if !isRead {
			s.Remedy = readAll
			return ErrNoList
		}
		same := ids[canonical(label)]
		if len(same) == 1 {
			twins = append(twins, twin{card.Address, same[0]})
		}
		if len(same) > 0 {
			violated("-no-duplicates: %s: the live card %s has its label, %q, and is not in this state", card.Address, strings.Join(same, ", "), card.Label)
		}
	}
	if len(twins) > 0 {
		s.Remedy = importAll + importBlocks(twins)
	}
	return nil
}

// twin is a new card, and the live one that has its label.
type twin struct{ address, id string }

// importBlocks is the configuration that imports the live cards in place of new ones:
// one block for each resource, since of several for one resource Terraform 1.16 and
// 1.17 carry out one.
func importBlocks(twins []twin) string {
	var order []string
	ids := map[string]map[string]string{} // by key as it is written, by resource
	for _, card := range twins {
		resource, key := card.address, ""
		if keys := instanceKey.FindAllStringIndex(card.address, -1); len(keys) > 0 && keys[len(keys)-1][1] == len(card.address) {
			at := keys[len(keys)-1][0]
			resource, key = card.address[:at], card.address[at+1:len(card.address)-1]
		}
		if ids[resource] == nil {
			order, ids[resource] = append(order, resource), map[string]string{}
		}
		ids[resource][key] = card.id
	}
	var text strings.Builder
	for _, resource := range order {
		if id, isOne := ids[resource][""]; isOne {
			fmt.Fprintf(&text, "\nimport {\n  to = %s\n  id = %q\n}\n", resource, id)
			continue
		}
		// The key of a for_each is a text, and that of a count is not.
		text.WriteString("\nimport {\n  for_each = {\n")
		for _, key := range slices.Sorted(maps.Keys(ids[resource])) {
			id := ids[resource][key]
			fmt.Fprintf(&text, "    %q = { key = %s, id = %q }\n", id, key, id)
		}
		fmt.Fprintf(&text, "  }\n  to = %s[each.value.key]\n  id = each.value.id\n}\n", resource)
	}
	return text.String()
}

// isOfObjects reports whether an attribute has what another resource, data source or
// module says. A variable may as well be null.
func isOfObjects(e *tfjson.Expression) bool {
	return e != nil && e.ExpressionData != nil && slices.ContainsFunc(e.References, func(reference string) bool {
		kind, _, _ := strings.Cut(reference, ".")
		return !slices.Contains([]string{"var", "local", "each", "count", "path", "terraform"}, kind)
	})
}

// isWhole reports whether a data source vcard_cards has no filter.
func isWhole(list *tfjson.StateResource) bool {
	for _, filter := range []string{"status", "bin_id", "label", "label_prefix"} {
		if list.AttributeValues[filter] != nil {
			return false
		}
	}
	return true
}

// isReadLater reports whether what there is of a data source is from an earlier run.
func isReadLater(list *tfjson.StateResource, plan *Plan) bool {
	return slices.ContainsFunc(plan.ResourceChanges, func(c *tfjson.ResourceChange) bool {
		return c != nil && c.Address == list.Address && c.Change != nil && !c.Change.Actions.NoOp()
	})
}

// strangers adds the ids of cards that the state does not have, by their labels. One
// provider configuration may have several lists, and for_each even several accounts.
func strangers(byLabel map[string][]string, cards []any, before prior) map[string][]string {
	if byLabel == nil {
		byLabel = map[string][]string{}
	}
	for _, card := range cards {
		v := valuesOf(card, nil, nil)
		label, id := canonical(v.text("label")), v.text("id")
		if before.byID[id] == nil && !slices.Contains(byLabel[label], id) {
			byLabel[label] = append(byLabel[label], id)
		}
	}
	return byLabel
}

// canonical is the same for labels of which the service may have made one another.
func canonical(label string) string { return strings.Join(strings.Fields(label), " ") }

// configured finds resources of the configuration.
type configured struct{ config *tfjson.Config }

var instanceKey = regexp.MustCompile(`\[(?:\d+|"(?:\\.|[^"\\])*")\]`)

// resource returns an empty one where there is none.
func (c configured) resource(address string) tfjson.ConfigResource {
	if c.config == nil {
		return tfjson.ConfigResource{}
	}
	module := c.config.RootModule
	rest := instanceKey.ReplaceAllString(address, "")
	for module != nil && strings.HasPrefix(rest, "module.") {
		var name string
		name, rest, _ = strings.Cut(strings.TrimPrefix(rest, "module."), ".")
		call := module.ModuleCalls[name]
		if call == nil {
			return tfjson.ConfigResource{}
		}
		module = call.Module
	}
	if module != nil {
		for _, resource := range module.Resources {
			if resource != nil && resource.Address == rest {
				return *resource
			}
		}
	}
	return tfjson.ConfigResource{}
}
