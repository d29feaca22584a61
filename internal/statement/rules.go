package statement

import (
	"cmp"
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
	MaxNet      *usd.Amount // that the wallet pays, in USD
	MaxCard     *usd.Amount // that one card gets, in USD
	Only        []Action    // nil allows all
	NoUnknown   bool
	NoUnmanaged bool
}

const (
	readAll = `add this to the configuration, where its provider is the one of the cards:

data "vcard_cards" "all" {
}
`
	importAll = `where this state should have the live cards, add this to the configuration and plan again; nothing is issued for them then:
`
	isDefault = `label_prefix is the default, so that a card with a generated label may be another workspace's. Give each its own, in the provider block.
`
)

// Apply fills in Violations and Remedy.
func (r Rules) Apply(s *Statement, plan *Plan) {
	s.Violations, s.Remedy = nil, ""
	violated := func(format string, args ...any) {
		s.Violations = append(s.Violations, inline(fmt.Sprintf(format, args...)))
	}
	isAny := r.MaxNet != nil || r.MaxCard != nil || r.Only != nil || r.NoUnknown || r.NoUnmanaged
	for _, unknown := range s.Unknown {
		switch {
		case unknown.isMissing && isAny:
			violated("a rule needs the whole plan: %s", unknown)
		case r.NoUnknown:
			violated("--no-unknown: %s", unknown)
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
	if r.NoUnmanaged {
		checkUnmanaged(s, plan, violated)
	}
}

func (r Rules) checkNet(s *Statement, violated func(string, ...any)) {
	mayTake := slices.IndexFunc(s.Cards, func(card Card) bool { return card.mayTake })
	switch {
	case -s.Wallet.Net > *r.MaxNet:
		violated("--max-net %s: the wallet pays %s", *r.MaxNet, -s.Wallet.Net)
	case mayTake >= 0:
		violated("--max-net %s: the wallet may pay more for %s, which is known only during apply", *r.MaxNet, s.Cards[mayTake].Address)
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
			violated("--max-card %s: %s may get more, which is known only during apply", *r.MaxCard, card.Address)
		case isNext && sum > *r.MaxCard && card.key == "":
			violated("--max-card %s: one card may get %s by actions on cards that are known only during apply", *r.MaxCard, sum)
		case isNext && sum > *r.MaxCard:
			violated("--max-card %s: %s gets %s", *r.MaxCard, card.holder, sum)
		case isNext && card.key != "" && sum > 0 && sum+toAny > *r.MaxCard:
			violated("--max-card %s: %s gets %s, and may get %s by actions on cards that are known only during apply", *r.MaxCard, card.holder, sum, toAny)
		}
	}
}

func (r Rules) checkOnly(s *Statement, violated func(string, ...any)) {
	only := join(r.Only)
	for _, card := range s.Cards {
		for _, action := range card.Actions {
			if !slices.Contains(r.Only, action) {
				violated("--only %s: the plan would %s %s", only, action, card.Address)
			}
		}
	}
	for _, address := range s.Others {
		violated("--only %s: the plan would change %s", only, address)
	}
}

func join[Word ~string](words []Word) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ",")
}

// account is what a plan tells of the cards of one provider configuration.
type account struct {
	isRead     bool
	live       map[string]values         // in no state, by id
	labelled   map[string][]*plannedCard // by label
	unlabelled []*plannedCard            // new ones
}

type plannedCard struct {
	address string
	values  values
	isFree  bool // it is new, and no live card is to be imported in its place
}

// checkUnmanaged finds live cards that are in no state and that this one should have, as
// those are that a run which was killed leaves: with the label of a card of the plan, or a
// generated one of the provider's prefix.
func checkUnmanaged(s *Statement, plan *Plan, violated func(string, ...any)) {
	accounts := map[string]*account{}
	before := plan.prior()
	managed := maps.Clone(before.byID)
	for _, c := range plan.Changes {
		if !c.isCard() || c.Change.After == nil {
			continue
		}
		if c.Change.Importing != nil {
			managed[c.Change.Importing.ID] = stateResource{}
		}
		configured := plan.resource(c.Address)
		mine := accounts[configured.ProviderConfigKey]
		if mine == nil {
			mine = &account{live: map[string]values{}, labelled: map[string][]*plannedCard{}}
			accounts[configured.ProviderConfigKey] = mine
		}
		after := valuesOf(c.Change.After, c.Change.AfterUnknown, c.Change.AfterSensitive)
		card := &plannedCard{c.Address, after, slices.Contains(c.Change.Actions, tfjson.ActionCreate)}
		switch label, isKnown := after.known["label"].(string); {
		case isKnown:
			label = canonical(label)
			mine.labelled[label] = append(mine.labelled[label], card)
		case card.isFree && isOfObjects(configured.Expressions["label"]):
			violated("--no-unmanaged: %s: its label is known only during apply", c.Address)
		case card.isFree:
			mine.unlabelled = append(mine.unlabelled, card)
		}
	}
	for _, list := range before.lists {
		cards, isRead := list.AttributeValues["cards"].([]any)
		mine := accounts[plan.resource(list.Address).ProviderConfigKey]
		if mine == nil || !isRead || !isWhole(list) || isReadLater(list, plan) {
			continue
		}
		mine.isRead = true
		for _, card := range cards {
			v := valuesOf(card, nil, nil)
			id := v.text("id")
			if _, isManaged := managed[id]; !isManaged {
				mine.live[id] = v
			}
		}
	}
	var twins []twin
	byDefault := false
	for _, key := range slices.Sorted(maps.Keys(accounts)) {
		mine := accounts[key]
		prefix, isKnown := plan.labelPrefix(key)
		switch {
		case !mine.isRead:
			violated("--no-unmanaged: the plan has not read all live cards of the account")
			s.Remedy = readAll
			continue
		case !isKnown:
			violated("--no-unmanaged: the plan does not tell label_prefix of the provider; write it as a text, without variables")
			continue
		}
		form := regexp.MustCompile("^" + regexp.QuoteMeta(prefix) + `\d{8}-[a-z2-7]{20}$`)
		for _, id := range slices.Sorted(maps.Keys(mine.live)) {
			label := mine.live[id].text("label")
			alike := mine.labelled[canonical(label)]
			switch {
			case label != "" && len(alike) > 0:
				violated("--no-unmanaged: %s: the live card %s has its label, %q, and is not in this state", alike[0].address, id, alike[0].values.text("label"))
			case form.MatchString(label):
				violated("--no-unmanaged: the live card %s has a label that was generated, %q, and is not in this state", id, label)
				byDefault = byDefault || prefix == defaultLabelPrefix
			default:
				continue
			}
			twins = append(twins, twin{mine.addressFor(mine.live[id], alike), id})
		}
	}
	if byDefault {
		s.Remedy += isDefault
	}
	if len(twins) > 0 {
		s.Remedy += importAll + importBlocks(twins)
	}
}

// addressFor takes the address of a new card that a live one may be.
func (a *account) addressFor(live values, alike []*plannedCard) string {
	holds, _ := live.amount("balance")
	for i, card := range slices.Concat(alike, a.unlabelled) {
		amount, _ := card.values.amount("amount")
		isLike := amount != nil && holds != nil && *amount == *holds && card.values.known["bin_id"] == live.known["bin_id"]
		if card.isFree && (isLike || i < len(alike)) {
			card.isFree = false
			return card.address
		}
	}
	return "vcard_card.NAME"
}

type twin struct{ address, id string }

// importBlocks imports the live cards in place of new ones: one block for each resource,
// since of several for one resource Terraform 1.16 and 1.17 carry out one.
func importBlocks(twins []twin) string {
	var order []string
	ids := map[string]map[string]string{} // by key as it is written, by resource
	for _, card := range twins {
		resource, key := card.address, ""
		if parts := keyedAddress.FindStringSubmatch(card.address); parts != nil {
			resource, key = parts[1], parts[2]
		}
		if ids[resource] == nil {
			order, ids[resource] = append(order, resource), map[string]string{}
		} else if key == "" {
			resource = fmt.Sprintf("%s_%d", resource, len(order)+1)
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

// isOfObjects reports whether an attribute has what a resource, data source or module says.
func isOfObjects(e *tfjson.Expression) bool {
	return e != nil && e.ExpressionData != nil && slices.ContainsFunc(e.References, func(reference string) bool {
		kind, _, _ := strings.Cut(reference, ".")
		return !slices.Contains([]string{"var", "local", "each", "count", "path", "terraform"}, kind)
	})
}

func isWhole(list *stateResource) bool {
	return !slices.ContainsFunc([]string{"status", "bin_id", "label", "label_prefix"}, func(filter string) bool {
		return list.AttributeValues[filter] != nil
	})
}

// isReadLater reports whether what there is of a data source is from an earlier run.
func isReadLater(list *stateResource, plan *Plan) bool {
	return slices.ContainsFunc(plan.Changes, func(c *change) bool {
		return c != nil && c.Address == list.Address && c.Change != nil && !c.Change.Actions.NoOp()
	})
}

// canonical is the same for labels of which the service may have made one another.
func canonical(label string) string { return strings.Join(strings.Fields(label), " ") }

// defaultLabelPrefix is that of a provider that names none.
const defaultLabelPrefix = "tf-"

// labelPrefix is that of a provider configuration. Of an expression, a plan does not tell
// what comes of it, and of a module's provider not always whose configuration it is.
func (p *Plan) labelPrefix(provider string) (prefix string, isKnown bool) {
	if p.Config == nil {
		return "", false
	}
	its := p.Config.ProviderConfigs[provider]
	if its == nil {
		for _, other := range p.Config.ProviderConfigs {
			if other.Expressions["label_prefix"] != nil {
				return "", false
			}
		}
		return defaultLabelPrefix, true
	}
	e := its.Expressions["label_prefix"]
	if e == nil || e.ExpressionData == nil {
		return defaultLabelPrefix, true
	}
	prefix, isKnown = e.ConstantValue.(string)
	return prefix, isKnown
}

var (
	instanceKey  = regexp.MustCompile(`\[(?:\d+|"(?:\\.|[^"\\])*")\]`)
	keyedAddress = regexp.MustCompile(`^(.*)\[(\d+|"(?:\\.|[^"\\])*")\]$`)
)

// resource returns an empty one where there is none.
func (p *Plan) resource(address string) tfjson.ConfigResource {
	module := cmp.Or(p.Config, &tfjson.Config{}).RootModule
	rest := instanceKey.ReplaceAllString(address, "")
	for module != nil && strings.HasPrefix(rest, "module.") {
		var name string
		name, rest, _ = strings.Cut(strings.TrimPrefix(rest, "module."), ".")
		module = cmp.Or(module.ModuleCalls[name], &tfjson.ModuleCall{}).Module
	}
	for _, resource := range cmp.Or(module, &tfjson.ConfigModule{}).Resources {
		if resource != nil && resource.Address == rest {
			return *resource
		}
	}
	return tfjson.ConfigResource{}
}
