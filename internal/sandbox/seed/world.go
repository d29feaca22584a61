// Package seed fills a new sandbox with the accounts, cards and events that a document describes.
package seed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// world is the document.
type world struct {
	RandomSeed uint64        `yaml:"random_seed"`
	Clock      instant       `yaml:"clock"`
	Limits     value         `yaml:"limits"`
	Quirks     value         `yaml:"quirks"`
	Faults     []value       `yaml:"faults"`
	Accounts   []accountSpec `yaml:"accounts"`

	root yaml.Node // the whole document, for the lines of errors
}

type accountSpec struct {
	State    string         `yaml:"state"`
	Wallet   value          `yaml:"wallet"`
	Deposits []depositSpec  `yaml:"deposits"`
	Cards    []cardSpec     `yaml:"cards"`
	Webhooks []endpointSpec `yaml:"webhooks"`
}

type depositSpec struct {
	At       instant `json:"-"                  yaml:"at"`
	Status   string  `json:"-"                  yaml:"status"`
	Currency value   `json:"currency,omitempty" yaml:"currency"`
	Amount   value   `json:"amount,omitempty"   yaml:"amount"`
}

type endpointSpec struct {
	At     instant `json:"-"                yaml:"at"`
	URL    value   `json:"url,omitempty"    yaml:"url"`
	Events value   `json:"events,omitempty" yaml:"events"`
	Secret value   `json:"secret,omitempty" yaml:"secret"`
}

type cardSpec struct {
	At                instant          `json:"-"                            yaml:"at"`
	Label             value            `json:"label,omitempty"              yaml:"label"`
	BINID             value            `json:"bin_id,omitempty"             yaml:"bin_id"`
	Amount            value            `json:"amount,omitempty"             yaml:"amount"`
	SpendingLimit     value            `json:"spending_limit,omitempty"     yaml:"spending_limit"`
	AllowedCategories value            `json:"allowed_categories,omitempty" yaml:"allowed_categories"`
	AutoFreezeAt      value            `json:"auto_freeze_at,omitempty"     yaml:"auto_freeze_at"`
	Metadata          map[string]value `json:"metadata,omitempty"           yaml:"metadata"`
	Movements         []movementSpec   `json:"-"                            yaml:"movements"`
	Purchases         []purchaseSpec   `json:"-"                            yaml:"purchases"`
	Challenges        []challengeSpec  `json:"-"                            yaml:"challenges"`
	Status            string           `json:"-"                            yaml:"status"`
	StatusAt          instant          `json:"-"                            yaml:"status_at"`
}

// movementSpec is a movement of money: to the card if the amount is positive, back to the wallet if it is negative.
type movementSpec struct {
	At     instant `json:"-"                yaml:"at"`
	Amount value   `json:"amount,omitempty" yaml:"amount"`
}

type purchaseSpec struct {
	At       instant        `json:"-"                  yaml:"at"`
	CardID   string         `json:"card_id"            yaml:"-"`
	Merchant value          `json:"merchant,omitempty" yaml:"merchant"`
	Amount   value          `json:"amount,omitempty"   yaml:"amount"`
	Fee      value          `json:"fee,omitempty"      yaml:"fee"`
	Declined string         `json:"-"                  yaml:"declined"`
	Settled  *followUpSpec  `json:"-"                  yaml:"settled"`
	Refunds  []followUpSpec `json:"-"                  yaml:"refunds"`
}

// followUpSpec is a settlement or a refund: a mapping, or just the amount.
type followUpSpec struct {
	At            instant          `json:"-"                yaml:"at"`
	TransactionID string           `json:"transaction_id"   yaml:"-"`
	Amount        value            `json:"amount,omitempty" yaml:"amount"`
	Fee           value            `json:"fee,omitempty"    yaml:"fee"`
	Unknown       map[string]value `json:"-"                yaml:",inline"` // KnownFields has no effect below UnmarshalYAML
}

type challengeSpec struct {
	At       instant `json:"-"                  yaml:"at"`
	CardID   string  `json:"card_id"            yaml:"-"`
	Merchant value   `json:"merchant,omitempty" yaml:"merchant"`
	Amount   value   `json:"amount,omitempty"   yaml:"amount"`
	Status   string  `json:"-"                  yaml:"status"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *followUpSpec) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return f.Amount.UnmarshalYAML(node)
	}
	type plain followUpSpec // without this method
	err := node.Decode((*plain)(f))
	if err != nil {
		return err
	}
	unknown := slices.Sorted(maps.Keys(f.Unknown))
	if len(unknown) > 0 {
		return wire.Invalid("line %d: unknown field %.64q", node.Line, unknown[0])
	}
	return nil
}

// value is JSON for the body of a call, which checks it. A value that is a number keeps the digits of the document. Numbers
// inside a value that is a list or a mapping may be written differently, such as 2.5 for 2.50.
type value json.RawMessage

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *value) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		var decoded any // a list or a mapping
		err := node.Decode(&decoded)
		if err != nil {
			return err
		}
		return v.encode(node, decoded)
	}
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		return v.encode(node, node.Value)
	case "!!bool", "!!int", "!!float":
		literal := strings.ToLower(node.Value) // YAML also accepts True and TRUE
		return v.encode(node, json.RawMessage(literal))
	default:
		return invalidValue(node)
	}
}

func (v *value) encode(node *yaml.Node, decoded any) error {
	text, err := json.Marshal(decoded)
	if err != nil { // for example, because YAML accepts 0x10 as a number and JSON does not
		return invalidValue(node)
	}
	*v = text
	return nil
}

// invalidValue returns an error that does not repeat the value, which may be a secret.
func invalidValue(node *yaml.Node) error {
	return wire.Invalid("line %d: the value must be a string in quotes, a decimal number, true or false", node.Line)
}

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) { return json.RawMessage(v).MarshalJSON() }

// instant is a time in the document. It is the zero time if the document lacks it.
type instant struct{ time.Time }

// UnmarshalYAML implements yaml.Unmarshaler.
func (i *instant) UnmarshalYAML(node *yaml.Node) error {
	at, err := time.Parse(time.RFC3339, node.Value)
	valid := err == nil && isInRange(at)
	if !valid {
		return wire.Invalid("line %d: the value must be a time from %d to %d, such as 2026-11-22T09:30:00Z",
			node.Line, earliestYear, control.LatestYear)
	}
	i.Time = at
	return nil
}

// earliestYear is the first year that a time in the document may have.
const earliestYear = 1971

// isInRange reports whether a time in the document may have the year of t.
func isInRange(t time.Time) bool { return earliestYear <= t.Year() && t.Year() <= control.LatestYear }

// read decodes a document, which must be one mapping in YAML or JSON.
func read(text []byte) (*world, error) {
	w := new(world)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(w)
	if err != nil {
		return nil, explain(err)
	}
	// After the document, the decoder must be at the end. Anything else there must be removed, even if it is not valid YAML.
	err = decoder.Decode(new(yaml.Node))
	if !errors.Is(err, io.EOF) {
		return nil, wire.Invalid("a world must be a single YAML document; remove all documents after the first")
	}
	// The text is decoded twice, because decoding the root into w would accept unknown fields.
	err = yaml.Unmarshal(text, &w.root)
	if err != nil { // a bug, because the decoder has accepted the text
		return nil, err
	}
	if w.root.Content[0].Kind != yaml.MappingNode { // the decoder takes null for an empty mapping
		return nil, wire.Invalid("line 1: a world must be a mapping with accounts")
	}
	return w, nil
}

var (
	// quoted matches the part of a message of the decoder from the first to the last single quote or backtick. Between
	// them, the decoder quotes parts of the document, which may be secrets.
	quoted = regexp.MustCompile("(?s)['`].*['`]")
	// wrongType matches the decoder's message about a value that does not fit the type of its field. The groups are the
	// line and the Go type.
	wrongType = regexp.MustCompile(`(?s)^(line \d+): cannot unmarshal .* into (\S+)$`)
	// unknownField matches the decoder's message about an unknown field. The groups are the line and the field.
	unknownField = regexp.MustCompile(`^(line \d+): field (.*) not found in type \S+$`)
)

// explain rewords the decoder's errors, which name Go types and repeat parts of the document. An error that an
// UnmarshalYAML method has made with wire.Invalid stays as it is.
func explain(err error) error {
	refused, ok := errors.AsType[*wire.Error](err)
	if ok {
		return refused
	}
	if errors.Is(err, io.EOF) {
		return wire.Invalid("line 1: the document is empty; a world must be a mapping with accounts")
	}
	typeError, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		message = quoted.ReplaceAllString(message, "…")
		message = strings.Join(strings.Fields(message), " ") // one line
		return wire.Invalid("the document is not valid YAML: %s", message)
	}
	first := typeError.Errors[0]
	unknown := unknownField.FindStringSubmatch(first)
	if unknown != nil {
		line, field := unknown[1], unknown[2]
		return wire.Invalid("%s: unknown field %.64q", line, field)
	}
	mismatch := wrongType.FindStringSubmatch(first)
	if mismatch == nil { // for example, because a mapping has the same name twice
		return wire.Invalid("%s", quoted.ReplaceAllString(first, "…"))
	}
	line, goType := mismatch[1], mismatch[2]
	return wire.Invalid("%s: the value must be %s", line, describeType(goType))
}

// describeType returns what a document must contain for a field of a Go type.
func describeType(goType string) string {
	if strings.HasPrefix(goType, "[]") {
		return "a list"
	}
	switch goType {
	case "uint64":
		return "an integer of at least 0"
	case "string":
		return "a string"
	default:
		return "a mapping"
	}
}

// invalid returns an error that names the line of a place in the document. It also names the place, such as
// accounts[0].cards[1], unless that is wholeDocument.
func (w *world) invalid(place, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if place != wholeDocument {
		message = place + ": " + message
	}
	return wire.Invalid("line %d: %s", w.line(place), message)
}

// line returns the line of a place, or of the nearest place around it if the document lacks the place.
func (w *world) line(place string) int {
	node := w.root.Content[0]
	separator := func(r rune) bool { return strings.ContainsRune(".[]", r) }
	for part := range strings.FieldsFuncSeq(place, separator) {
		next := child(node, part)
		if next == nil {
			break
		}
		node = next
	}
	return node.Line
}

// child returns the node with the value of a name in a mapping, or the element of a list with an index. It returns nil if
// there is none.
func child(node *yaml.Node, nameOrIndex string) *yaml.Node {
	index, err := strconv.Atoi(nameOrIndex)
	if err == nil {
		if index < len(node.Content) {
			return node.Content[index]
		}
		return nil
	}
	// The content of a mapping alternates between names and values.
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == nameOrIndex {
			return node.Content[i+1]
		}
	}
	return nil
}
