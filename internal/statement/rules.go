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
var ErrNoList = errors.New(`-no-duplicates needs to know all live cards of the account, which this plan has not read. Add to the configuration, where its provider is the one of the new cards:

data "vcard_cards" "all" {
}`)

// Apply fills in Violations. ErrNoList is its error.
func (r Rules) Apply(s *Statement, plan *Plan) error {
	s.Violations, s.Imports = nil, ""
	violated := func(format string, args ...any) { s.Violations = append(s.Violations, fmt.Sprintf(format, args...)) }
	if r.MaxNet != nil {
		r.checkNet(s, violated)
	}
	for _, card := range s.Cards {
		if r.MaxCard != nil {
			r.checkCard(card, violated)
		}
		for _, action := range card.Actions {
			if r.Only != nil && !slices.Contains(r.Only, action) {
				violated("-only %s: the plan would %s %s", join(r.Only), action, card.Address)
			}
		}
	}
	for _, address := range s.Others {
		if r.Only != nil {
			violated("-only %s: the plan would change %s", join(r.Only), address)
		}
	}
	for _, unknown := range s.Unknown {
		if r.NoUnknown {
			violated("-no-unknown: %s", unknown)
		}
	}
	if r.NoDuplicates {
		return checkDuplicates(s, plan, violated)
	}
	return nil
}

func (r Rules) checkNet(s *Statement, violated func(string, ...any)) {
	if -s.Wallet.Net > *r.MaxNet {
		violated("-max-net %s: the wallet pays %s", *r.MaxNet, -s.Wallet.Net)
		return
	}
	for _, unknown := range s.Unknown {
		if unknown.mayTake {
			violated("-max-net %s: the wallet may pay more: %s", *r.MaxNet, unknown)
			return
		}
	}
}

func (r Rules) checkCard(card Card, violated func(string, ...any)) {
	switch {
	case card.paid() > *r.MaxCard:
		violated("-max-card %s: %s gets %s", *r.MaxCard, card.Address, card.paid())
	case card.mayTake:
		violated("-max-card %s: %s may get more, which is known only during apply", *r.MaxCard, card.Address)
	}
}

func join(actions []Action) string {
	var words []string
	for _, action := range actions {
		words = append(words, string(action))
	}
	return strings.Join(words, ",")
}

// checkDuplicates finds new cards whose label a live card bears that is in no
// state: one of another workspace, of a lost state, or of a run that was killed.
func checkDuplicates(s *Statement, plan *Plan, violated func(string, ...any)) error {
	before := priorOf(plan.Prior.Values)
	config := configured{plan.Config}
	live := map[string]map[string][]string{} // ids by label, by provider configuration
	var twins []twin
	for _, list := range before.lists {
		if provider := config.resource(list.Address).ProviderConfigKey; isWhole(list) && !isReadLater(list, plan) {
			live[provider] = strangers(list, before)
		}
	}
	for _, card := range s.Cards {
		label, isKnown := card.after.known["label"].(string)
		if !card.isNew || !isKnown { // a generated one is like no other
			continue
		}
		ids, isRead := live[config.resource(card.Address).ProviderConfigKey]
		if !isRead || plan.Complete != nil && !*plan.Complete {
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
	s.Imports = importBlocks(twins)
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

// strangers are the ids of live cards, by their labels, that the state does not have.
func strangers(list *tfjson.StateResource, before prior) map[string][]string {
	byLabel := map[string][]string{}
	cards, _ := list.AttributeValues["cards"].([]any)
	for _, card := range cards {
		v := valuesOf(card, nil, nil)
		if id := v.text("id"); before.byID[id] == nil {
			label := canonical(v.text("label"))
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
