// Package seed begins a sandbox with a world that a file tells of, and writes the
// present world as such a file.
package seed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
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
	what := fmt.Sprintf(format, args...)
	if m.path != "" {
		what = m.path + ": " + what
	}
	return wire.Invalid("line %d: %s", m.line, what)
}

// refuse keeps it as the mistake, unless there was one before.
func (m *mapping) refuse(format string, args ...any) {
	if *m.mistake == nil {
		*m.mistake = m.refused(format, args...)
	}
}

// explained is refused for what a call does not accept.
func (m *mapping) explained(err error) error {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		return m.refused("%s", refused.Message)
	}
	return err
}

// quoted matches what the decoder repeats of a document, which may be a secret.
var quoted = regexp.MustCompile(`(?s)'.*'`)

// read reads a document, which is one mapping in YAML. JSON is YAML, too.
func read(text []byte) (*mapping, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	err := decoder.Decode(&root)
	if err != nil && !errors.Is(err, io.EOF) {
		what := quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "…")
		return nil, wire.Invalid("it is not YAML: %s", strings.Join(strings.Fields(what), " "))
	}
	if err == nil && !errors.Is(decoder.Decode(&more), io.EOF) {
		return nil, wire.Invalid("line %d: a world is one document", max(more.Line, 1))
	}
	in := &mapping{line: 1, mistake: new(error)}
	world, ok := convert(&root, in).(*mapping)
	if !ok {
		in.refuse("a world is a mapping with accounts")
	}
	return world, *in.mistake
}

// convert returns a node at a place as a *mapping, a []any, or what JSON has in its place.
func convert(node *yaml.Node, in *mapping) any {
	m := &mapping{max(node.Line, 1), in.path, map[string]any{}, in.mistake}
	switch node.Kind {
	case yaml.DocumentNode:
		return convert(node.Content[0], m)
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			name := node.Content[i]
			place := &mapping{name.Line, in.path, nil, in.mistake}
			if _, twice := m.members[name.Value]; twice || name.Kind != yaml.ScalarNode {
				place.refuse("%.64q is there twice, or is no name", name.Value)
			}
			place.path = strings.TrimPrefix(in.path+"."+name.Value, ".")
			m.members[name.Value] = convert(node.Content[i+1], place)
		}
		return m
	case yaml.SequenceNode:
		all := make([]any, len(node.Content))
		for i, element := range node.Content {
			all[i] = convert(element, &mapping{path: fmt.Sprintf("%s[%d]", in.path, i), mistake: in.mistake})
		}
		return all
	case yaml.ScalarNode:
		switch tag := node.ShortTag(); {
		case tag == "!!str" || tag == "!!timestamp":
			return node.Value
		case tag == "!!bool":
			return strings.EqualFold(node.Value, "true")
		case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(node.Value)):
			return json.Number(node.Value)
		case tag != "!!null":
			m.refuse("it is neither a text in quotes, a plain number nor true or false") // and may be a secret
		}
	case yaml.AliasNode:
		m.refuse("anchors and aliases have no place in a world")
	}
	return nil
}

func (m *mapping) take(name string) any {
	value := m.members[name]
	delete(m.members, name)
	return value
}

// list takes a list of mappings.
func (m *mapping) list(name string) (all []*mapping) {
	value := m.take(name)
	elements, ok := value.([]any)
	if !ok && value != nil {
		m.refuse("%s is a list", name)
	}
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
		if at, err := time.Parse(time.RFC3339, value); err == nil && at.Year() > 1970 && at.Year() <= control.LatestYear {
			return at
		}
	}
	m.refuse("%s must be a time, such as 2026-11-22T09:30:00Z", name)
	return otherwise
}

// done refuses what nobody has read.
func (m *mapping) done() {
	for name := range m.members {
		m.refuse("unknown field %.64q", name)
	}
}
