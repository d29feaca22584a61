// Package seed begins a sandbox with a world that a file tells of.
package seed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// world is the document. What is for a call alone goes to it as it is, and is checked there.
type world struct {
	RandomSeed uint64        `yaml:"random_seed"`
	Clock      instant       `yaml:"clock"`
	Limits     value         `yaml:"limits"`
	Quirks     value         `yaml:"quirks"`
	Faults     []value       `yaml:"faults"`
	Accounts   []accountSpec `yaml:"accounts"`

	root yaml.Node
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

// movementSpec is money that the owner moved: above 0 onto the card, below 0 from it.
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

// followUpSpec is a settlement or a refund. A number stands for that of an amount.
type followUpSpec struct {
	At            instant          `json:"-"                yaml:"at"`
	TransactionID string           `json:"transaction_id"   yaml:"-"`
	Amount        value            `json:"amount,omitempty" yaml:"amount"`
	Fee           value            `json:"fee,omitempty"    yaml:"fee"`
	Unknown       map[string]value `json:"-"                yaml:",inline"` // KnownFields does not reach below UnmarshalYAML
}

type challengeSpec struct {
	At       instant `json:"-"                  yaml:"at"`
	CardID   string  `json:"card_id"            yaml:"-"`
	Merchant value   `json:"merchant,omitempty" yaml:"merchant"`
	Amount   value   `json:"amount,omitempty"   yaml:"amount"`
	Status   string  `json:"-"                  yaml:"status"`
}

// UnmarshalYAML reads both forms.
func (f *followUpSpec) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return f.Amount.UnmarshalYAML(node)
	}
	type plain followUpSpec
	if err := node.Decode((*plain)(f)); err != nil {
		return err
	}
	for name := range f.Unknown {
		return wire.Invalid("line %d: unknown field %.64q", node.Line, name)
	}
	return nil
}

// value is what a call takes, as JSON. Numbers are written as they are in the document.
type value json.RawMessage

// UnmarshalYAML reads what has a form in JSON.
func (v *value) UnmarshalYAML(node *yaml.Node) error {
	var plain any
	switch tag := node.ShortTag(); {
	case node.Kind != yaml.ScalarNode:
		if err := node.Decode(&plain); err != nil {
			return err
		}
	case tag == "!!str" || tag == "!!timestamp":
		plain = node.Value
	case tag == "!!bool" || tag == "!!int" || tag == "!!float":
		plain = json.RawMessage(strings.ToLower(node.Value))
	default:
		plain = json.RawMessage("") // which is not JSON
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return wire.Invalid("line %d: it is neither a text in quotes, a plain number nor true or false", node.Line) // and may be a secret
	}
	*v = text
	return nil
}

// MarshalJSON writes it.
func (v value) MarshalJSON() ([]byte, error) { return json.RawMessage(v).MarshalJSON() }

// instant is a time of the world, zero where there is none.
type instant struct{ time.Time }

// UnmarshalYAML reads the form of RFC 3339.
func (i *instant) UnmarshalYAML(node *yaml.Node) (err error) {
	i.Time, err = time.Parse(time.RFC3339, node.Value)
	if err != nil || i.Year() <= 1970 || i.Year() > control.LatestYear {
		return wire.Invalid("line %d: want a time, such as 2026-11-22T09:30:00Z", node.Line)
	}
	return nil
}

// read reads a document, which is one mapping in YAML. JSON is YAML, too.
func read(text []byte) (*world, error) {
	w := new(world)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(w); err != nil {
		return nil, explain(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, wire.Invalid("a world is one document")
	}
	return w, yaml.Unmarshal(text, &w.root)
}

var (
	// quoted matches what the decoder repeats of a document, which may be a secret.
	quoted  = regexp.MustCompile("(?s)['`].*['`]")
	unfit   = regexp.MustCompile(`(?s)^(line \d+): cannot unmarshal .* into (\S+)$`)
	unknown = regexp.MustCompile(`^(line \d+): field (.*) not found in type \S+$`)
)

func explain(err error) error {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		return refused
	}
	if errors.Is(err, io.EOF) {
		return wire.Invalid("line 1: a world is a mapping with accounts")
	}
	several, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		what := quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "…")
		return wire.Invalid("it is not YAML: %s", strings.Join(strings.Fields(what), " "))
	}
	first := several.Errors[0]
	if found := unknown.FindStringSubmatch(first); found != nil {
		return wire.Invalid("%s: unknown field %.64q", found[1], found[2])
	}
	found := unfit.FindStringSubmatch(first)
	if found == nil {
		return wire.Invalid("%s", quoted.ReplaceAllString(first, "…"))
	}
	wanted := "a mapping"
	switch goType := found[2]; {
	case strings.HasPrefix(goType, "[]"):
		wanted = "a list"
	case goType == "uint64":
		wanted = "an integer from 0"
	case goType == "string":
		wanted = "a text"
	}
	return wire.Invalid("%s: %s belongs here", found[1], wanted)
}

func (w *world) refused(place, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if place != "" {
		what = place + ": " + what
	}
	return wire.Invalid("line %d: %s", w.line(place), what)
}

// line is that of a place, or of what is nearest above it.
func (w *world) line(place string) int {
	node := w.root.Content[0]
	for step := range strings.FieldsFuncSeq(place, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		i, err := strconv.Atoi(step)
		if err != nil {
			i = 1 + slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Value == step })
		}
		if i >= len(node.Content) {
			break
		}
		node = node.Content[i]
	}
	return node.Line
}
