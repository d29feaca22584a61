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

// encode makes a wire value, null of an Object that is nil; what does not fit the type fails the test.
func (p *Protocol) encode(shape tftypes.Type, value any) *tfprotov6.DynamicValue {
	p.t.Helper()
	if attributes, ok := value.(Object); ok && attributes == nil {
		value = nil
	}
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
	attributes, _ := p.fromWire(value).(Object)
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

func (p *Protocol) fromWire(value tftypes.Value) any {
	p.t.Helper()
	switch shape := value.Type(); {
	case !value.IsKnown():
		return Unknown
	case value.IsNull():
		return nil
	case shape.Is(tftypes.String):
		return as[string](p, value)
	case shape.Is(tftypes.Bool):
		return as[bool](p, value)
	case shape.Is(tftypes.Number):
		number := as[big.Float](p, value)
		return Number(number.Text('f', -1))
	case shape.Is(tftypes.List{}), shape.Is(tftypes.Set{}):
		list := []any{}
		for _, element := range as[[]tftypes.Value](p, value) {
			list = append(list, p.fromWire(element))
		}
		return list
	default:
		object := Object{}
		for name, field := range as[map[string]tftypes.Value](p, value) {
			object[name] = p.fromWire(field)
		}
		return object
	}
}

// as is a known value in Go.
func as[T any](p *Protocol, value tftypes.Value) (plain T) {
	p.t.Helper()
	p.check(value.As(&plain))
	return plain
}
