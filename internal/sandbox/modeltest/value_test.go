package modeltest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// cents is the model's own idea of money.
type cents int64

func (c cents) String() string {
	sign, n := "", c
	if c < 0 {
		sign, n = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

func (c cents) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// in returns the amount as a JSON decoder finds it in a notation.
func (c cents) in(notation any) any {
	switch notation {
	case "strings":
		return c.String()
	case "plain":
		return json.Number(strings.TrimSuffix(strings.TrimRight(c.String(), "0"), "."))
	}
	return json.Number(c.String())
}

// object and list are JSON that a response is expected to be. Beside decoded
// values they hold cents, ints, and the two types below.
type (
	object = map[string]any
	list   = []any
)

type (
	// anything is a value that the model does not care for.
	anything struct{}
	// chosen is a text that the service chooses, of which only the beginning is
	// known. It is remembered when it is first seen, and stays.
	chosen struct{ prefix, text string }
)

func (c *chosen) String() string               { return c.text }
func (c *chosen) MarshalText() ([]byte, error) { return []byte(c.text), nil }

func (c *chosen) is(got any) bool {
	text, _ := got.(string)
	if c.text == "" && strings.HasPrefix(text, c.prefix) && len(text) > len(c.prefix) {
		c.text = text
	}
	return text != "" && text == c.text
}

// difference tells what differs first between an expectation and a decoded value.
func difference(at string, want, got any, notation any) string {
	same := false
	switch want := want.(type) {
	case anything:
		same = true
	case *chosen:
		same = want.is(got)
	case cents:
		same = got == want.in(notation)
	case int:
		same = got == json.Number(fmt.Sprint(want))
	case list:
		have, isList := got.(list)
		if !isList || len(have) != len(want) {
			break
		}
		for i := range want {
			if d := difference(fmt.Sprintf("%s[%d]", at, i), want[i], have[i], notation); d != "" {
				return d
			}
		}
		return ""
	case object:
		have, _ := got.(object)
		names := slices.Sorted(maps.Keys(want))
		if !slices.Equal(names, slices.Sorted(maps.Keys(have))) {
			break
		}
		for _, name := range names {
			if d := difference(at+"."+name, want[name], have[name], notation); d != "" {
				return d
			}
		}
		return ""
	default:
		same = got == want
	}
	if same {
		return ""
	}
	return fmt.Sprintf("%s is %v, want %v", at, got, want)
}

// page cuts a page out of a list, each element as it is shown.
func page[T any](all []T, number, size int, view func(T) object) list {
	begin := min((number-1)*size, len(all))
	views := list{}
	for _, one := range all[begin:min(begin+size, len(all))] {
		views = append(views, view(one))
	}
	return views
}

// backward returns those that pass, the last first.
func backward[T any](all []T, passes func(T) bool) (some []T) {
	for _, one := range slices.Backward(all) {
		if passes(one) {
			some = append(some, one)
		}
	}
	return some
}

func with(o object, name string, value any) object {
	more := maps.Clone(o)
	more[name] = value
	return more
}
