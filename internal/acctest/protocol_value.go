package acctest

import (
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Object holds attributes by name. A value is nil for null, Unknown, a bool, a
// string, a Number, a []any for lists and sets, or an Object for maps and
// objects. To send, an attribute that is absent is null, a number may also be
// an int, an int64 or a numeric string.
type Object = map[string]any

// Number is a number in plain decimal notation, exact and with no zeros behind
// its last decimal: 50.10 is "50.1".
type Number string

// Unknown stands for a value that is known only after apply.
const Unknown = unknown("(known after apply)")

type unknown string

// numberPrecision is what Terraform itself parses numbers with.
const numberPrecision = 512

// encode makes a wire value; what does not fit the type fails the test.
func (p *Protocol) encode(shape tftypes.Type, value any) *tfprotov6.DynamicValue {
	p.t.Helper()
	encoded, err := toWire(shape, value)
	p.check(err)
	dynamic, err := tfprotov6.NewDynamicValue(shape, encoded)
	p.check(err)
	return &dynamic
}

// decode returns the attributes of a wire value, nil for null.
func (p *Protocol) decode(shape tftypes.Type, dynamic *tfprotov6.DynamicValue) Object {
	p.t.Helper()
	if dynamic == nil {
		return nil
	}
	value, err := dynamic.Unmarshal(shape)
	p.check(err)
	decoded, err := fromWire(value)
	p.check(err)
	attributes, _ := decoded.(Object)
	return attributes
}

func toWire(shape tftypes.Type, value any) (tftypes.Value, error) {
	switch value {
	case nil:
		return tftypes.NewValue(shape, nil), nil
	case Unknown:
		return tftypes.NewValue(shape, tftypes.UnknownValue), nil
	}
	plain, err := plainFor(shape, value)
	if err != nil {
		return tftypes.Value{}, err
	}
	if err := tftypes.ValidateValue(shape, plain); err != nil {
		return tftypes.Value{}, err
	}
	return tftypes.NewValue(shape, plain), nil
}

func plainFor(shape tftypes.Type, value any) (any, error) {
	switch t := shape.(type) {
	case tftypes.Object, tftypes.Map:
		return membersFor(shape, value)
	case tftypes.List:
		return elementsFor(t.ElementType, value)
	case tftypes.Set:
		return elementsFor(t.ElementType, value)
	}
	if !shape.Is(tftypes.Number) {
		return value, nil
	}
	number, _, err := big.ParseFloat(fmt.Sprint(value), 10, numberPrecision, big.ToNearestEven)
	return number, err
}

func membersFor(shape tftypes.Type, value any) (map[string]tftypes.Value, error) {
	given, ok := value.(Object)
	if !ok {
		return nil, fmt.Errorf("an object or a map cannot be made of %T", value)
	}
	types := map[string]tftypes.Type{}
	switch shape := shape.(type) {
	case tftypes.Object:
		types = shape.AttributeTypes
	case tftypes.Map:
		for key := range given {
			types[key] = shape.ElementType
		}
	}
	for name := range given {
		if types[name] == nil {
			return nil, fmt.Errorf("there is no attribute %s", name)
		}
	}
	members := map[string]tftypes.Value{}
	for name, inner := range types {
		member, err := toWire(inner, given[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		members[name] = member
	}
	return members, nil
}

func elementsFor(shape tftypes.Type, value any) ([]tftypes.Value, error) {
	given, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("a list or set cannot be made of %T", value)
	}
	elements := make([]tftypes.Value, len(given))
	for i, one := range given {
		element, err := toWire(shape, one)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		elements[i] = element
	}
	return elements, nil
}

func fromWire(value tftypes.Value) (any, error) {
	switch {
	case !value.IsKnown():
		return Unknown, nil
	case value.IsNull():
		return nil, nil
	}
	switch shape := value.Type(); {
	case shape.Is(tftypes.String):
		var text string
		err := value.As(&text)
		return text, err
	case shape.Is(tftypes.Bool):
		var yes bool
		err := value.As(&yes)
		return yes, err
	case shape.Is(tftypes.Number):
		number := new(big.Float)
		err := value.As(&number)
		return Number(number.Text('f', -1)), err
	case shape.Is(tftypes.List{}), shape.Is(tftypes.Set{}):
		var elements []tftypes.Value
		if err := value.As(&elements); err != nil {
			return nil, err
		}
		list := make([]any, len(elements))
		for i, element := range elements {
			one, err := fromWire(element)
			if err != nil {
				return nil, err
			}
			list[i] = one
		}
		return list, nil
	default:
		var fields map[string]tftypes.Value
		if err := value.As(&fields); err != nil {
			return nil, err
		}
		object := Object{}
		for name, field := range fields {
			one, err := fromWire(field)
			if err != nil {
				return nil, err
			}
			object[name] = one
		}
		return object, nil
	}
}
