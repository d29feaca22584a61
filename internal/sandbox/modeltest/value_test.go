package modeltest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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

// in returns the amount as a JSON decoder finds it in a notation.
func (c cents) in(notation string) any {
	switch notation {
	case "strings":
		return c.String()
	case "plain":
		return json.Number(strings.TrimSuffix(strings.TrimRight(c.String(), "0"), "."))
	}
	return json.Number(c.String())
}

// object and list are JSON that a response is expected to be. Beside decoded
// values they hold cents, ints, and the wildcards below.
type (
	object = map[string]any
	list   = []any
)

type (
	// anything is a value that the model cannot know.
	anything struct{}
	// like is a text of which only the beginning is known.
	like string
)

// compare returns what is different between an expectation and a decoded value.
func compare(path string, want, got any, notation string) []string {
	differs := func() []string { return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)} }
	switch want := want.(type) {
	case anything:
		return nil
	case like:
		if text, ok := got.(string); ok && strings.HasPrefix(text, string(want)) && len(text) > len(want) {
			return nil
		}
		return differs()
	case cents:
		if got == want.in(notation) {
			return nil
		}
		return differs()
	case int:
		if got == json.Number(fmt.Sprint(want)) {
			return nil
		}
		return differs()
	case list:
		return compareLists(path, want, got, notation)
	case object:
		return compareObjects(path, want, got, notation)
	}
	if got == want {
		return nil
	}
	return differs()
}

func compareLists(path string, want list, got any, notation string) (differences []string) {
	have, ok := got.(list)
	if !ok || len(have) != len(want) {
		return []string{fmt.Sprintf("%s has %d elements, want %d: %v, want %v", path, len(have), len(want), got, want)}
	}
	for i := range want {
		differences = append(differences, compare(fmt.Sprintf("%s[%d]", path, i), want[i], have[i], notation)...)
	}
	return differences
}

func compareObjects(path string, want object, got any, notation string) (differences []string) {
	have, ok := got.(object)
	if !ok {
		return []string{fmt.Sprintf("%s is %v, want an object", path, got)}
	}
	names := slices.Sorted(maps.Keys(want))
	if fields := slices.Sorted(maps.Keys(have)); !slices.Equal(names, fields) {
		return []string{fmt.Sprintf("%s has the fields %v, want %v", path, fields, names)}
	}
	for _, name := range names {
		differences = append(differences, compare(path+"."+name, want[name], have[name], notation)...)
	}
	return differences
}

// judge returns what is different between a response and an outcome.
func judge(r sandboxtest.Response, o outcome, notation string) []string {
	switch {
	case r.Err != nil:
		return []string{r.Err.Error()}
	case r.Body == nil:
		return []string{fmt.Sprintf("answered %d with something that is not a JSON object: %q", r.Status, r.Raw)}
	case r.Status != o.status:
		return []string{fmt.Sprintf("answered %d %s, want %d %s", r.Status, r.Raw, o.status, o.code)}
	case o.code != "":
		return compare("body", object{"error": o.code, "message": like("")}, r.Body, notation)
	}
	return compare("body", o.body, r.Body, notation)
}

// objects makes a list of what is expected of each element.
func objects[T any](all []T, view func(T) object) list {
	views := make(list, len(all))
	for i, one := range all {
		views[i] = view(one)
	}
	return views
}

// page cuts a page out of a list.
func page[T any](all []T, number, size int) []T {
	begin := min((number-1)*size, len(all))
	return all[begin:min(begin+size, len(all))]
}
