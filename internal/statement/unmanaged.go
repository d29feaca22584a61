package statement

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/labels"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	remedyRead = `add this to the configuration, with the provider of the cards:

data "vcard_cards" "all" {
}
`
	remedyImport = `to manage these live cards instead of issuing new ones, add this to the configuration and plan again:
`
	remedyPrefix = `label_prefix is the default, so a card with a generated label may belong to another workspace. Set a different label_prefix in the provider block of each workspace.
`
)

// account has the planned cards and the live cards of one provider configuration.
type account struct {
	isListed   bool                      // whether the plan has read all live cards
	unmanaged  map[string]values         // live cards that are neither in the state nor imported, by id
	byLabel    map[string][]*plannedCard // by canonical label
	unlabelled []*plannedCard            // new cards whose label is not in the plan, mostly because it is generated during apply
}

type plannedCard struct {
	address string
	values  values
	isFree  bool // whether a live card can be imported to the address, and none has been proposed
}

// checkUnmanaged refuses live cards that are not in the state but may belong there, for example because a run was
// killed: cards with the label of a planned card, or with a generated label of the provider's prefix.
func checkUnmanaged(s *Statement, plan *Plan) {
	prior := plan.prior()
	accounts := plannedAccounts(s, plan)
	addLiveCards(accounts, plan, prior)

	var imports []cardImport
	usesDefaultPrefix := false
	needsList := false
	for _, key := range slices.Sorted(maps.Keys(accounts)) {
		owner := accounts[key]
		if !owner.isListed {
			s.refuse("--no-unmanaged: the plan has not read all live cards of the account")
			needsList = true
			continue
		}
		prefix, ok := plan.labelPrefix(key)
		if !ok {
			s.refuse("--no-unmanaged: cannot determine label_prefix of the provider; write it as a literal, without variables")
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(owner.unmanaged)) {
			live := owner.unmanaged[id]
			label := live.text("label")
			sameLabel := owner.byLabel[labels.Canonical(label)]
			hasPlannedLabel := label != "" && len(sameLabel) > 0
			if hasPlannedLabel {
				s.refuse("--no-unmanaged: %s: live card %s has the same label, %q, and is not in this state",
					sameLabel[0].address, id, sameLabel[0].values.text("label"))
			} else if isGeneratedWith(prefix, label) {
				s.refuse("--no-unmanaged: live card %s has the generated label %q and is not in this state", id, label)
				if prefix == labels.DefaultPrefix {
					usesDefaultPrefix = true
				}
			} else {
				continue // nothing shows that this card belongs here
			}
			address := owner.claimAddress(live, sameLabel)
			imports = append(imports, cardImport{address: address, id: id})
		}
	}
	if needsList {
		s.Remedy += remedyRead
	}
	if usesDefaultPrefix {
		s.Remedy += remedyPrefix
	}
	if len(imports) > 0 {
		s.Remedy += remedyImport + importBlocks(imports)
	}
}

// plannedAccounts returns the accounts of the planned cards by provider configuration, without their live cards. A new
// card whose label is not in the plan is refused if the label refers to a resource, data source or module. Otherwise it
// counts as unlabelled: the label is not configured, or it comes, for example, from a variable, which may be null.
func plannedAccounts(s *Statement, plan *Plan) map[string]*account {
	accounts := map[string]*account{}
	for _, c := range plan.Changes {
		if !c.plansCard() {
			continue
		}
		configured := plan.configOf(c.Address)
		owner := accounts[configured.ProviderConfigKey]
		if owner == nil {
			owner = &account{unmanaged: map[string]values{}, byLabel: map[string][]*plannedCard{}}
			accounts[configured.ProviderConfigKey] = owner
		}
		card := &plannedCard{
			address: c.Address,
			values: values{
				known:     attributesOf(c.Change.After),
				unknown:   c.Change.AfterUnknown,
				sensitive: c.Change.AfterSensitive,
			},
			isFree: c.Change.Actions.Create(), // not a replacement, whose address is in the state
		}
		isNew := slices.Contains(c.Change.Actions, tfjson.ActionCreate)
		label, hasLabel := card.values.known["label"].(string)
		labelIsComputed := refersToObjects(configured.Expressions["label"])
		if hasLabel {
			canonical := labels.Canonical(label)
			owner.byLabel[canonical] = append(owner.byLabel[canonical], card)
		} else if isNew && labelIsComputed {
			s.refuse("--no-unmanaged: the label of %s is known only during apply", c.Address)
		} else if isNew {
			owner.unlabelled = append(owner.unlabelled, card)
		}
	}
	return accounts
}

// plansCard reports whether the change is one after which a card is in the state.
func (c *change) plansCard() bool { return c.isCard() && c.Change.After != nil }

// addLiveCards adds the live cards of the plan's unfiltered lists, unless they are in the state or the plan imports them.
func addLiveCards(accounts map[string]*account, plan *Plan, prior prior) {
	managed := map[string]bool{}
	for id := range prior.byID {
		managed[id] = true
	}
	for _, c := range plan.Changes {
		if c.plansCard() && c.Change.Importing != nil {
			managed[c.Change.Importing.ID] = true
		}
	}
	for _, list := range prior.lists {
		if isFiltered(list) || isReadDuringApply(list, plan) {
			continue
		}
		cards, ok := list.AttributeValues["cards"].([]any)
		if !ok {
			continue
		}
		configured := plan.configOf(list.Address)
		owner := accounts[configured.ProviderConfigKey]
		if owner == nil { // the plan has no cards of this account
			continue
		}
		owner.isListed = true
		for _, card := range cards {
			live := values{known: attributesOf(card)}
			id := live.text("id")
			if !managed[id] {
				owner.unmanaged[id] = live
			}
		}
	}
}

// isGeneratedWith reports whether a label is a generated one with this prefix.
func isGeneratedWith(prefix, label string) bool {
	actual, _, ok := labels.ParseGenerated(label)
	return ok && actual == prefix
}

// claimAddress returns the address to which a live card can be imported, or a placeholder. It looks for a free card with
// the same label, and then for a free card without a label whose BIN and load match the live card's BIN and balance. It
// marks that card as no longer free, so that the address is not proposed again.
func (a *account) claimAddress(live values, sameLabel []*plannedCard) string {
	for _, card := range sameLabel {
		if card.isFree {
			card.isFree = false
			return card.address
		}
	}
	balance, _ := live.amount("balance") // nil if invalid: no load equals it
	for _, card := range a.unlabelled {
		if !card.isFree {
			continue
		}
		load, _ := card.values.amount("amount")
		sameBIN := card.values.bin() == live.bin()
		if sameBIN && areKnownAndEqual(load, balance) {
			card.isFree = false
			return card.address
		}
	}
	return "vcard_card.NAME"
}

// bin returns the bin_id, or "" if it is not a string.
func (v values) bin() string {
	id, _ := v.known["bin_id"].(string)
	return id
}

// areKnownAndEqual reports whether neither amount is nil and both are equal.
func areKnownAndEqual(a, b *usd.Amount) bool {
	if a == nil || b == nil {
		return false
	}
	return *a == *b
}

// cardImport is a live card and the address of the resource that should manage it.
type cardImport struct{ address, id string }

// importBlock is one import block. Its cards belong to one resource; each has the key of its instance, as written in HCL,
// or "" if the resource has neither count nor for_each.
type importBlock struct {
	resource string
	ids      map[string]string // by key
}

// importBlocks returns the text of the import blocks. It writes one block for each resource, because some versions of
// Terraform do not carry out several blocks for the same resource.
func importBlocks(imports []cardImport) string {
	var blocks []*importBlock
	byResource := map[string]*importBlock{}
	for _, card := range imports {
		resource := card.address
		key := ""
		groups := keyedAddress.FindStringSubmatch(card.address)
		if groups != nil {
			resource = groups[1]
			key = groups[2]
		}
		isRepeated := key == "" && byResource[resource] != nil
		if isRepeated { // the placeholder of claimAddress gets a number
			resource = fmt.Sprintf("%s_%d", resource, len(blocks)+1)
		}
		block := byResource[resource]
		if block == nil {
			block = &importBlock{resource: resource, ids: map[string]string{}}
			byResource[resource] = block
			blocks = append(blocks, block)
		}
		block.ids[key] = card.id
	}
	var text strings.Builder
	for _, block := range blocks {
		block.write(&text)
	}
	return text.String()
}

func (b *importBlock) write(text *strings.Builder) {
	if id, ok := b.ids[""]; ok {
		fmt.Fprintf(text, "\nimport {\n  to = %s\n  id = %q\n}\n", b.resource, id)
		return
	}
	// In the HCL, for_each is keyed by card id, because its keys must be strings, and an instance of count has a number
	// as its key. The instance key is in each.value.key.
	text.WriteString("\nimport {\n  for_each = {\n")
	for _, key := range slices.Sorted(maps.Keys(b.ids)) {
		id := b.ids[key]
		fmt.Fprintf(text, "    %q = { key = %s, id = %q }\n", id, key, id)
	}
	fmt.Fprintf(text, "  }\n  to = %s[each.value.key]\n  id = each.value.id\n}\n", b.resource)
}

// refersToObjects reports whether an expression refers directly to a resource, data source or module.
func refersToObjects(e *tfjson.Expression) bool {
	if e == nil || e.ExpressionData == nil {
		return false
	}
	return slices.ContainsFunc(e.References, func(reference string) bool {
		kind, _, _ := strings.Cut(reference, ".")
		return !slices.Contains([]string{"var", "local", "each", "count", "path", "terraform"}, kind)
	})
}

func isCardList(r *stateResource) bool {
	return r.Mode == tfjson.DataResourceMode && r.Type == "vcard_cards"
}

func isFiltered(list *stateResource) bool {
	for _, filter := range []string{"status", "bin_id", "label", "label_prefix"} {
		if list.AttributeValues[filter] != nil {
			return true
		}
	}
	return false
}

// isReadDuringApply reports whether apply reads a data source again, so that its values may be out of date. New has checked
// that each change has actions.
func isReadDuringApply(source *stateResource, plan *Plan) bool {
	for _, c := range plan.Changes {
		if c.Address == source.Address && !c.Change.Actions.NoOp() {
			return true
		}
	}
	return false
}

// labelPrefix returns the label_prefix of the provider configuration with this key, and false if it cannot be
// determined. A plan contains only the values of constant expressions, and does not always say which provider
// configuration a module uses.
func (p *Plan) labelPrefix(providerKey string) (string, bool) {
	if p.Config == nil {
		return "", false
	}
	config := p.Config.ProviderConfigs[providerKey]
	if config == nil {
		// The key does not say which configuration it is. If none of them sets label_prefix, all have the default.
		for _, other := range p.Config.ProviderConfigs {
			if other != nil && other.Expressions["label_prefix"] != nil {
				return "", false
			}
		}
		return labels.DefaultPrefix, true
	}
	expression := config.Expressions["label_prefix"]
	if expression == nil || expression.ExpressionData == nil {
		return labels.DefaultPrefix, true
	}
	prefix, ok := expression.ConstantValue.(string)
	return prefix, ok
}

var (
	// instanceKey matches the key of a resource or module instance: a number or a quoted string in brackets.
	instanceKey = regexp.MustCompile(`\[(?:\d+|"(?:\\.|[^"\\])*")\]`)
	// keyedAddress matches an address that ends with such a key. Its groups are the address before the brackets, and the
	// number or quoted string in them.
	keyedAddress = regexp.MustCompile(`^(.*)\[(\d+|"(?:\\.|[^"\\])*")\]$`)
)

// configOf returns the configuration of a resource or data source, or an empty one if there is none.
func (p *Plan) configOf(address string) tfjson.ConfigResource {
	if p.Config == nil {
		return tfjson.ConfigResource{}
	}
	module := p.Config.RootModule
	rest := instanceKey.ReplaceAllString(address, "") // the part of the address inside the module
	for module != nil && strings.HasPrefix(rest, "module.") {
		name, inner, _ := strings.Cut(strings.TrimPrefix(rest, "module."), ".")
		call := module.ModuleCalls[name]
		if call == nil {
			return tfjson.ConfigResource{}
		}
		module = call.Module
		rest = inner
	}
	if module == nil {
		return tfjson.ConfigResource{}
	}
	for _, resource := range module.Resources {
		if resource != nil && resource.Address == rest {
			return *resource
		}
	}
	return tfjson.ConfigResource{}
}
