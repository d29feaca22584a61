package statement

import (
	"encoding/json"
	"fmt"

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

// mark is that of an attribute.
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
