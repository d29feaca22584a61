package acctest

import (
	"encoding/json"
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

// encode makes a wire value, null of an Object that is nil; what does not fit the type
// fails the test. Only attributes and elements of lists may be unknown.
func (p *Protocol) encode(shape tftypes.Type, value any) *tfprotov6.DynamicValue {
	p.t.Helper()
	later := map[string]bool{}
	text, err := json.Marshal(known(value, "", later))
	p.check(err)
	encoded, err := (&tfprotov6.DynamicValue{JSON: text}).Unmarshal(shape)
	p.check(err)
	encoded, err = tftypes.Transform(encoded, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if later[place(at)] {
			v = tftypes.NewValue(v.Type(), tftypes.UnknownValue)
		}
		return v, nil
	})
	p.check(err)
	dynamic, err := tfprotov6.NewDynamicValue(shape, encoded)
	p.check(err)
	return &dynamic
}

// known is a value with null in place of what is Unknown, whose places it notes.
func known(value any, at string, later map[string]bool) any {
	switch value := value.(type) {
	case Object:
		if value == nil {
			return nil
		}
		members := Object{}
		for name, one := range value {
			members[name] = known(one, at+"."+name, later)
		}
		return members
	case []any:
		elements := make([]any, len(value))
		for i, one := range value {
			elements[i] = known(one, fmt.Sprintf("%s.%d", at, i), later)
		}
		return elements
	case unknown:
		later[at] = true
		return nil
	}
	return value
}

// place is where a value is, as known notes it.
func place(at *tftypes.AttributePath) (place string) {
	for _, step := range at.Steps() {
		place += fmt.Sprintf(".%v", step)
	}
	return place
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
