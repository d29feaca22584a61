package card_test

import (
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// coreConfig is what a block says of a card, and of what it ignores changes.
type coreConfig struct {
	values  object
	ignored []string
}

// without is the configuration that is planned, of a card that is there.
func (one coreConfig) without(card acctest.Instance) object {
	if card.Values == nil || one.ignored == nil {
		return one.values
	}
	values := maps.Clone(one.values)
	for _, name := range one.ignored {
		values[name] = card.Values[name]
	}
	return values
}

// configuration is the provider block and the cards that the files configure.
func (c *core) configuration() (settings object, cards map[string]coreConfig) {
	c.t.Helper()
	cards = map[string]coreConfig{}
	for name, content := range c.files {
		file, diags := hclsyntax.ParseConfig([]byte(content), name, hcl.InitialPos)
		if diags.HasErrors() {
			c.t.Fatal(diags)
		}
		for _, block := range file.Body.(*hclsyntax.Body).Blocks {
			switch {
			case block.Type == "terraform":
			case block.Type == "provider":
				settings = c.evaluate(block.Body, nil)
			case block.Type == "resource" && block.Labels[0] == "vcard_card":
				c.expand(cards, "vcard_card."+block.Labels[1], block.Body)
			default:
				c.t.Fatalf("a %s block needs the CLI", block.Type)
			}
		}
	}
	return settings, cards
}

// expand adds the cards of a block with count or for_each, or the one of another.
func (c *core) expand(cards map[string]coreConfig, address string, body *hclsyntax.Body) {
	c.t.Helper()
	var ignored []string
	for _, block := range body.Blocks {
		if block.Type != "lifecycle" || len(block.Body.Blocks) > 0 {
			c.t.Fatalf("this %s block needs the CLI", block.Type)
		}
		if attribute := block.Body.Attributes["ignore_changes"]; attribute != nil {
			names, _ := hcl.ExprList(attribute.Expr)
			for _, name := range names {
				ignored = append(ignored, hcl.ExprAsKeyword(name))
			}
		}
	}
	meta := object{}
	for _, name := range []string{"count", "for_each"} {
		if attribute := body.Attributes[name]; attribute != nil {
			delete(body.Attributes, name)
			meta[name] = c.value(attribute.Expr, nil)
		}
	}
	keys, _ := meta["for_each"].([]any)
	for _, key := range keys {
		variable := cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key.(string))})
		cards[fmt.Sprintf("%s[%q]", address, key)] = coreConfig{c.evaluate(body, map[string]cty.Value{"each": variable}), ignored}
	}
	if count, counted := meta["count"]; counted {
		for i := range usdNumber(plain(count)) / 100 {
			variable := cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(i))})
			cards[fmt.Sprintf("%s[%d]", address, i)] = coreConfig{c.evaluate(body, map[string]cty.Value{"count": variable}), ignored}
		}
	} else if keys == nil {
		cards[address] = coreConfig{c.evaluate(body, nil), ignored}
	}
}

func (c *core) evaluate(body *hclsyntax.Body, variables map[string]cty.Value) object {
	c.t.Helper()
	values := object{}
	for name, attribute := range body.Attributes {
		values[name] = c.value(attribute.Expr, variables)
	}
	return values
}

var toSet = function.New(&function.Spec{
	Params: []function.Parameter{{Type: cty.DynamicPseudoType}},
	Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return args[0], nil },
})

func (c *core) value(expression hcl.Expression, variables map[string]cty.Value) any {
	c.t.Helper()
	value, diags := expression.Value(&hcl.EvalContext{Variables: variables, Functions: map[string]function.Function{"toset": toSet}})
	if diags.HasErrors() {
		c.t.Fatal(diags)
	}
	return fromCty(value)
}

func fromCty(value cty.Value) any {
	switch kind := value.Type(); {
	case value.IsNull():
		return nil
	case kind == cty.Bool:
		return value.True()
	case kind == cty.String:
		return value.AsString()
	case kind == cty.Number:
		return acctest.Number(value.AsBigFloat().Text('f', -1))
	case kind.IsObjectType(), kind.IsMapType():
		members := object{}
		for name, member := range value.AsValueMap() {
			members[name] = fromCty(member)
		}
		return members
	default:
		elements := []any{}
		for _, element := range value.AsValueSlice() {
			elements = append(elements, fromCty(element))
		}
		return elements
	}
}
