package card_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

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
	keys, variables := []cty.Value{cty.NilVal}, map[string]cty.Value{}
	for _, name := range []string{"count", "for_each"} {
		if attribute := body.Attributes[name]; attribute != nil {
			delete(body.Attributes, name)
			keys = instanceKeys(c.value(attribute.Expr, nil))
		}
	}
	for _, key := range keys {
		of := address
		if key != cty.NilVal {
			variables["each"] = cty.ObjectVal(map[string]cty.Value{"key": key})
			variables["count"] = cty.ObjectVal(map[string]cty.Value{"index": key})
			of = fmt.Sprintf("%s[%s]", address, coreValue(plainValue(key)))
		}
		cards[of] = coreConfig{c.evaluate(body, variables), ignored}
	}
}

// instanceKeys are those of a number of cards, or of a set of them.
func instanceKeys(of cty.Value) (keys []cty.Value) {
	if of.Type() != cty.Number {
		return of.AsValueSlice()
	}
	for i := cty.Zero; i.LessThan(of).True(); i = i.Add(cty.NumberIntVal(1)) {
		keys = append(keys, i)
	}
	return keys
}

func (c *core) evaluate(body *hclsyntax.Body, variables map[string]cty.Value) object {
	c.t.Helper()
	values := object{}
	for name, attribute := range body.Attributes {
		values[name] = plainValue(c.value(attribute.Expr, variables))
	}
	return values
}

func (c *core) value(expression hcl.Expression, variables map[string]cty.Value) cty.Value {
	c.t.Helper()
	value, diags := expression.Value(&hcl.EvalContext{
		Variables: variables, Functions: map[string]function.Function{"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType))},
	})
	if diags.HasErrors() {
		c.t.Fatal(diags)
	}
	return value
}

// plainValue is what tests of the protocol have in place of a value.
func plainValue(value cty.Value) (plain any) {
	text, err := json.Marshal(ctyjson.SimpleJSONValue{Value: value})
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err = errors.Join(err, decoder.Decode(&plain)); err != nil {
		panic(err)
	}
	return plain
}
