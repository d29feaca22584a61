package statement

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// hidden replaces a sensitive string.
const hidden = "(sensitive)"

// values are the attributes of an object in the plan, such as a card after a change.
type values struct {
	known map[string]any
	// unknown and sensitive mark attributes: true marks all of them, and an object marks those for which it contains true.
	unknown, sensitive any
}

// attributesOf returns the attributes of an object, or nil for any other value.
func attributesOf(object any) map[string]any {
	attributes, _ := object.(map[string]any)
	return attributes
}

// markOf returns the mark of an attribute, which is true if the whole attribute is unknown or sensitive.
func markOf(marks any, name string) any {
	if members, ok := marks.(map[string]any); ok {
		return members[name]
	}
	return marks
}

func (v values) isUnknown(name string) bool { return markOf(v.unknown, name) == true }

// amount returns an attribute in USD, or nil if it is missing, null or unknown. It refuses values that are not amounts of
// 0 or more.
func (v values) amount(name string) (*usd.Amount, error) {
	if v.known[name] == nil || v.isUnknown(name) {
		return nil, nil //nolint:nilnil // null is a value
	}
	number, ok := v.known[name].(json.Number)
	if !ok {
		return nil, fmt.Errorf("%s is not a number", name)
	}
	var amount usd.Amount
	err := amount.UnmarshalJSON([]byte(number))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if amount < 0 {
		return nil, fmt.Errorf("%s is negative", name)
	}
	return &amount, nil
}

// text returns a string attribute, or hidden instead of a sensitive one. It returns "" for anything else.
func (v values) text(name string) string {
	text, _ := v.known[name].(string)
	if text != "" && markOf(v.sensitive, name) == true {
		return hidden
	}
	return text
}

// isTrue reports whether a boolean attribute is known and true.
func (v values) isTrue(name string) bool { return v.known[name] == true }

// The checks below refuse plans that this package does not understand, because a statement about one would be a guess.

var errIncomplete = errors.New("the address or type is missing, or the mode is unknown")

// checkComplete returns errIncomplete if the address or type is empty, or if the mode is unknown.
func checkComplete(address, kind string, mode tfjson.ResourceMode) error {
	if address == "" || kind == "" {
		return errIncomplete
	}
	hasKnownMode := mode == tfjson.ManagedResourceMode || mode == tfjson.DataResourceMode
	if !hasKnownMode {
		return errIncomplete
	}
	return nil
}

// checkChange refuses a change without actions, and a change of a card whose actions are unknown or do not match its
// values.
func checkChange(change *change) error {
	c := change.Change
	if c == nil || len(c.Actions) == 0 {
		return errors.New("the plan has no actions for this address")
	}
	if !change.isCard() {
		return nil
	}
	_, hasBefore := c.Before.(map[string]any)
	_, hasAfter := c.After.(map[string]any)
	actionNames := joinWords(c.Actions, ",")
	var matches bool
	switch actionNames {
	case "no-op":
		// Both may be null, for example for a deposed card that no longer exists.
		matches = isNullOr[map[string]any](c.Before) && reflect.DeepEqual(c.Before, c.After)
	case "create":
		matches = c.Before == nil && hasAfter
	case "delete", "forget":
		matches = hasBefore && c.After == nil
	case "update", "delete,create", "create,delete", "create,forget", "forget,create":
		matches = hasBefore && hasAfter
	default:
		return fmt.Errorf("this version of vcard does not know the actions %q", actionNames)
	}
	if !matches {
		return fmt.Errorf("the values do not match the actions %q", actionNames)
	}
	return nil
}

// check returns an error if a needed attribute is missing. It also checks the types of some attributes and marks.
func (v values) check(needed ...string) error {
	for _, name := range needed {
		_, isKnown := v.known[name]
		isPresent := isKnown || v.isUnknown(name)
		if !isPresent {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"id", "card_id", "label", "last4"} {
		if !isNullOr[string](v.known[name]) {
			return fmt.Errorf("%s is not a string", name)
		}
		if !isMark(markOf(v.sensitive, name)) {
			return fmt.Errorf("the plan does not mark %s as either sensitive or not sensitive", name)
		}
	}
	if !isNullOr[bool](v.known["frozen"]) {
		return errors.New("frozen is not a boolean")
	}
	for _, name := range []string{"amount", "issuance_fee", "topped_up", "frozen", "top_up", "max_top_up_per_month", "deletion_protection", "card_id"} {
		if !isMark(markOf(v.unknown, name)) {
			return fmt.Errorf("the plan does not mark %s as either known or unknown", name)
		}
	}
	return nil
}

// isNullOr reports whether a value is null or has the given type.
func isNullOr[Type any](value any) bool {
	_, hasType := value.(Type)
	return hasType || value == nil
}

// isMark reports whether a value is a valid mark, or nil for no mark. Nested attributes have objects or lists of marks.
func isMark(mark any) bool {
	switch mark.(type) {
	case nil, bool, map[string]any, []any:
		return true
	}
	return false
}
