package statement

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// hidden stands for a text that is not for everybody.
const hidden = "(sensitive)"

// values are the attributes of a card on one side of a change, or of an action.
type values struct {
	known              map[string]any
	unknown, sensitive any // what is known only during apply, and not to be shown: true, or an object with true
}

func valuesOf(known, unknown, sensitive any) values {
	members, _ := known.(map[string]any)
	return values{members, unknown, sensitive}
}

func mark(marks any, name string) any {
	if members, ok := marks.(map[string]any); ok {
		return members[name]
	}
	return marks
}

func (v values) isUnknown(name string) bool { return mark(v.unknown, name) == true }

// amount returns nil for what is null or unknown.
func (v values) amount(name string) (*usd.Amount, error) {
	if v.known[name] == nil || v.isUnknown(name) {
		return nil, nil //nolint:nilnil // null is a value
	}
	number, ok := v.known[name].(json.Number)
	if !ok {
		return nil, fmt.Errorf("%s is not a number", name)
	}
	var amount usd.Amount
	if err := amount.UnmarshalJSON([]byte(number)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if amount < 0 {
		return nil, fmt.Errorf("%s is below zero", name)
	}
	return &amount, nil
}

func (v values) text(name string) string {
	text, _ := v.known[name].(string)
	if text != "" && mark(v.sensitive, name) == true {
		return hidden
	}
	return text
}

func (v values) flag(name string) bool { return v.known[name] == true }

// What Terraform and OpenTofu never write, they do not mean: a statement of it would be a
// guess. So there is none.

var errNameless = errors.New("the plan does not say what it is, or in which mode")

func named(address, kind string, mode tfjson.ResourceMode) error {
	if address == "" || kind == "" || mode != tfjson.ManagedResourceMode && mode != tfjson.DataResourceMode {
		return errNameless
	}
	return nil
}

// checkChange refuses what is not a change of a resource, and a change of a card that is not known.
func checkChange(change *change) error {
	c := change.Change
	switch {
	case c == nil || len(c.Actions) == 0:
		return errors.New("the plan does not say what becomes of it")
	case change.Mode == tfjson.DataResourceMode || change.Type != cardType:
		return nil
	}
	_, isBefore := c.Before.(map[string]any)
	_, isAfter := c.After.(map[string]any)
	var isRight bool
	switch actions := join(c.Actions); actions {
	case "no-op":
		isRight = reflect.DeepEqual(c.Before, c.After) && isBefore == (c.Before != nil) // a deposed card may be gone
	case "create":
		isRight = c.Before == nil && isAfter
	case "delete", "forget":
		isRight = isBefore && c.After == nil
	case "update", "delete,create", "create,delete", "create,forget", "forget,create":
		isRight = isBefore && isAfter
	default:
		return fmt.Errorf("this version of the provider does not know what %q does", actions)
	}
	if !isRight {
		return fmt.Errorf("its values do not go with %s", join(c.Actions))
	}
	return nil
}

// check refuses values that no card and no action has, and a lack of those that are needed.
func (v values) check(needed ...string) error {
	for _, name := range needed {
		if _, isThere := v.known[name]; !isThere && !v.isUnknown(name) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"id", "card_id", "label", "last4"} {
		if _, isText := v.known[name].(string); v.known[name] != nil && !isText {
			return fmt.Errorf("%s is not a text", name)
		}
		if !isMark(mark(v.sensitive, name)) {
			return fmt.Errorf("%s is neither sensitive nor not", name)
		}
	}
	if _, isFlag := v.known["frozen"].(bool); v.known["frozen"] != nil && !isFlag {
		return errors.New("frozen is neither true nor false")
	}
	for _, name := range []string{"amount", "issuance_fee", "topped_up", "frozen", "top_up", "card_id"} {
		if !isMark(mark(v.unknown, name)) {
			return fmt.Errorf("%s is neither known nor unknown", name)
		}
	}
	return nil
}

func isMark(mark any) bool {
	switch mark.(type) {
	case nil, bool, map[string]any, []any:
		return true
	}
	return false
}
