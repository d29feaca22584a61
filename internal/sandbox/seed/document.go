// Package seed begins a sandbox with a world that a file tells of, and writes the
// present world as such a file.
package seed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// mapping is a mapping of a document. What reads a member takes it out, so that what
// is left is nobody's. The first mistake is kept, and later reads return zero values.
type mapping struct {
	line    int
	path    string // as in accounts[0].cards[2]
	members map[string]any
	mistake *error // of the whole document
}

// MarshalJSON writes the members.
func (m *mapping) MarshalJSON() ([]byte, error) { return json.Marshal(m.members) }

// refused says what is wrong at the mapping.
func (m *mapping) refused(format string, args ...any) error {
	return refuseAt(m.line, m.path, fmt.Sprintf(format, args...))
}

// refuse keeps it as the mistake, unless there was one before.
func (m *mapping) refuse(format string, args ...any) {
	if *m.mistake == nil {
		*m.mistake = m.refused(format, args...)
	}
}

func refuseAt(line int, path, what string) error {
	if path != "" {
		what = path + ": " + what
	}
	return wire.Invalid("line %d: %s", line, what)
}

// read reads a document, which is one mapping in YAML. JSON is YAML, too.
func read(text []byte) (*mapping, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	err := decoder.Decode(&root)
	switch {
	case errors.Is(err, io.EOF):
		return nil, wire.Invalid("line 1: a world is a mapping; this is empty")
	case err == nil && !errors.Is(decoder.Decode(&more), io.EOF):
		return nil, wire.Invalid("line %d: a world is one document", max(more.Line, 1))
	case err != nil:
		return nil, wire.Invalid("it is not YAML: %s", strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}
	value, err := (&converter{}).convert(root.Content[0], "")
	if err != nil {
		return nil, err
	}
	world, ok := value.(*mapping)
	if !ok {
		return nil, refuseAt(root.Line, "", "a world is a mapping with accounts")
	}
	return world, nil
}

// converter makes the mappings of one document.
type converter struct{ mistake error }

// convert returns a node as a *mapping, a []any, or what JSON has in its place.
func (c *converter) convert(node *yaml.Node, path string) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		return c.convertMapping(node, path)
	case yaml.SequenceNode:
		all := make([]any, len(node.Content))
		for i, element := range node.Content {
			var err error
			if all[i], err = c.convert(element, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return nil, err
			}
		}
		return all, nil
	case yaml.ScalarNode:
		switch node.ShortTag() {
		case "!!str", "!!timestamp":
			return node.Value, nil
		case "!!null":
			return nil, nil
		case "!!bool":
			return strings.EqualFold(node.Value, "true"), nil
		case "!!int", "!!float":
			if json.Valid([]byte(node.Value)) {
				return json.Number(node.Value), nil
			}
		}
		return nil, refuseAt(node.Line, path, fmt.Sprintf("%.64q is neither a text, a plain number nor true or false", node.Value))
	}
	return nil, refuseAt(node.Line, path, "anchors and aliases have no place in a world")
}

func (c *converter) convertMapping(node *yaml.Node, path string) (*mapping, error) {
	m := &mapping{node.Line, path, map[string]any{}, &c.mistake}
	for i := 0; i < len(node.Content); i += 2 {
		name := node.Content[i]
		if _, twice := m.members[name.Value]; twice || name.Kind != yaml.ScalarNode {
			return nil, refuseAt(name.Line, path, fmt.Sprintf("%.64q is there twice, or is no name", name.Value))
		}
		value, err := c.convert(node.Content[i+1], strings.TrimPrefix(path+"."+name.Value, "."))
		if err != nil {
			return nil, err
		}
		m.members[name.Value] = value
	}
	return m, nil
}

func (m *mapping) take(name string) any {
	value := m.members[name]
	delete(m.members, name)
	return value
}

// list takes a list of mappings.
func (m *mapping) list(name string) (all []*mapping) {
	elements, ok := m.members[name].([]any)
	if !ok && m.members[name] != nil {
		m.refuse("%s is a list", name)
	}
	delete(m.members, name)
	for i, element := range elements {
		all = append(all, m.mapped(fmt.Sprintf("%s[%d]", name, i), element))
	}
	return all
}

// mapped is a value as a mapping; a number stands for that of an amount.
func (m *mapping) mapped(name string, value any) *mapping {
	members := map[string]any{}
	switch value := value.(type) {
	case *mapping:
		return value
	case json.Number:
		members["amount"] = value
	default:
		m.refuse("%s is a mapping", name)
	}
	return &mapping{m.line, strings.TrimPrefix(m.path+"."+name, "."), members, m.mistake}
}

// word takes a text, otherwise where there is none, that is one of a few words.
func (m *mapping) word(name, otherwise string, words ...string) string {
	switch value := m.take(name).(type) {
	case nil:
		return otherwise
	case string:
		if slices.Contains(words, value) {
			return value
		}
	}
	m.refuse("%s must be one of %s", name, strings.Join(words, ", "))
	return otherwise
}

// time takes a moment, otherwise where there is none.
func (m *mapping) time(name string, otherwise time.Time) time.Time {
	switch value := m.take(name).(type) {
	case nil:
		return otherwise
	case string:
		if at, err := time.Parse(time.RFC3339, value); err == nil && at.Year() > 1970 && at.Year() <= latest {
			return at
		}
	}
	m.refuse("%s must be a time, such as 2026-11-22T09:30:00Z", name)
	return otherwise
}

// latest keeps every date that is worked out from the clock in four digits.
const latest = 9000

// done refuses what nobody has read.
func (m *mapping) done() {
	for name := range m.members {
		m.refuse("unknown field %.64q", name)
	}
}
