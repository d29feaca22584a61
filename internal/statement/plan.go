package statement

import (
	"bufio"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	tfjson "github.com/hashicorp/terraform-json"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Plan is what a statement needs of a plan's JSON. Its numbers are json.Number.
type Plan struct {
	tfjson.Plan
	Errored         bool
	DeferredActions []struct {
		ActionInvocation tfjson.ActionInvocation `json:"action_invocation"`
	}
	Prior struct { // in place of PriorState
		Values *tfjson.StateValues `json:"values"`
	}
}

// What is read, at most: bytes, and values of JSON, of which 10,000 cards have 1.3 million.
const (
	maxSize   = 1 << 30
	maxValues = 4_000_000
)

var (
	errLarge = errors.New("is larger than 1 GB")
	errMany  = fmt.Errorf("holds more than %d values", maxValues)
)

const want = `want what "terraform show -json PLANFILE" or "tofu show -json PLANFILE" prints`

// ReadPlan reads the JSON of a plan, in UTF-8 or, with a byte-order mark, in
// UTF-16. Its errors complete "PLAN.json …", each in one line.
func ReadPlan(r io.Reader) (*Plan, error) {
	limited := &io.LimitedReader{R: r, N: maxSize + 1}
	text := bufio.NewReader(limited)
	begins, _ := text.Peek(2) // what fails, fails again below
	plan := &Plan{}
	has, err := plan.decode(&bounded{r: transform.NewReader(text, unicode.BOMOverride(transform.Nop))})
	var what string
	unreadable, isUnreadable := errors.AsType[*fs.PathError](err)
	switch {
	case isUnreadable:
		return nil, fmt.Errorf("cannot be read: %w", unreadable.Err)
	case limited.N == 0:
		return nil, errLarge
	case errors.Is(err, errMany):
		return nil, errMany
	case errors.Is(err, io.EOF):
		what = "is empty"
	case string(begins) == "PK": // a zip archive, as plan -out writes
		what = "is a saved plan, not its JSON"
	case err != nil:
		what = fmt.Sprintf("is not the JSON of a plan (%s)", plain(err))
	case has["planned_values"]:
		if err := plan.Validate(); err != nil {
			return nil, fmt.Errorf("cannot be read by this version of the provider: %w", err)
		}
		return plan, nil
	case has["values"] || has["serial"]:
		what = "is a state, not a plan"
	default:
		what = "is not a plan"
	}
	return nil, errors.New(what + ": " + want)
}

// bounded reads at most maxValues values of JSON. Each but the first follows one of three signs.
type bounded struct {
	r               io.Reader
	values          int
	inText, escaped bool
}

func (b *bounded) Read(text []byte) (int, error) {
	n, err := b.r.Read(text)
	for _, sign := range text[:n] {
		switch {
		case b.escaped:
			b.escaped = false
		case sign == '"':
			b.inText = !b.inText
		case b.inText:
			b.escaped = sign == '\\'
		case sign == ',' || sign == '[' || sign == '{':
			b.values++
		}
	}
	if b.values > maxValues {
		return 0, errMany
	}
	return n, err
}

// decode reads the members of one object, and returns which there are. A name that an
// object has twice is an error, as is one of which only the case is right.
func (p *Plan) decode(r io.Reader) (has map[string]bool, err error) {
	members := map[string]any{
		"format_version":              &p.FormatVersion,
		"resource_changes":            &p.ResourceChanges,
		"deferred_changes":            &p.DeferredChanges,
		"action_invocations":          &p.ActionInvocations,
		"deferred_action_invocations": &p.DeferredActions,
		"complete":                    &p.Complete,
		"errored":                     &p.Errored,
		"configuration":               &p.Config,
		"prior_state":                 &p.Prior,
	}
	decoder := jsontext.NewDecoder(r)
	start, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	if start.Kind() != '{' {
		return nil, errors.New("it is not an object") // what it is, may be a secret
	}
	has = map[string]bool{}
	for decoder.PeekKind() == '"' {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil, unexpected(err)
		}
		name := token.String()
		has[name] = true
		into := members[name]
		switch {
		case into == nil:
			err = decoder.SkipValue()
		case decoder.PeekKind() == 'n':
			err = fmt.Errorf("/%s: null", name)
		default:
			err = json.UnmarshalDecode(decoder, into, unmarshalers())
		}
		if err != nil {
			return nil, unexpected(err)
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, unexpected(err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return has, nil
}

// unexpected keeps the end of a truncated text apart from that of an empty one.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// plain says what is wrong and where, without the values that an error quotes.
func plain(err error) string {
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("%s: %v", cmp.Or(broken.JSONPointer, "/"), broken.Err)
	}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, errNameless) {
		return fmt.Sprintf("%s: %v", wrong.JSONPointer, errNameless)
	} else if ok {
		return fmt.Sprintf("%s: a value of another kind", cmp.Or(wrong.JSONPointer, "/"))
	}
	return err.Error()
}

// unmarshalers keep numbers as they are written, and read two types whose tags are malformed.
func unmarshalers() json.Options {
	return json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *any) error {
			if decoder.PeekKind() != '0' {
				return errors.ErrUnsupported
			}
			number, err := decoder.ReadValue()
			*into = stdjson.Number(number)
			return err
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *tfjson.Change) error {
			var c struct {
				Actions         tfjson.Actions    `json:"actions"`
				Before          any               `json:"before"`
				After           any               `json:"after"`
				AfterUnknown    any               `json:"after_unknown"`
				BeforeSensitive any               `json:"before_sensitive"`
				AfterSensitive  any               `json:"after_sensitive"`
				Importing       *tfjson.Importing `json:"importing"`
			}
			err := json.UnmarshalDecode(decoder, &c)
			*into = tfjson.Change{
				Actions: c.Actions, Before: c.Before, After: c.After, AfterUnknown: c.AfterUnknown,
				BeforeSensitive: c.BeforeSensitive, AfterSensitive: c.AfterSensitive, Importing: c.Importing,
			}
			return err
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *tfjson.StateResource) error {
			var r struct {
				Address         string              `json:"address"`
				Mode            tfjson.ResourceMode `json:"mode"`
				Type            string              `json:"type"`
				DeposedKey      string              `json:"deposed_key"`
				AttributeValues map[string]any      `json:"values"`
				SensitiveValues jsontext.Value      `json:"sensitive_values"`
			}
			err := json.UnmarshalDecode(decoder, &r)
			*into = tfjson.StateResource{
				Address: r.Address, Mode: r.Mode, Type: r.Type, DeposedKey: r.DeposedKey,
				AttributeValues: r.AttributeValues, SensitiveValues: stdjson.RawMessage(r.SensitiveValues),
			}
			return cmp.Or(err, named(r.Address, r.Type, r.Mode))
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *tfjson.ResourceChange) error {
			type bare tfjson.ResourceChange
			err := json.UnmarshalDecode(decoder, (*bare)(into))
			return cmp.Or(err, named(into.Address, into.Type, into.Mode))
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *tfjson.ActionInvocation) error {
			type bare tfjson.ActionInvocation
			err := json.UnmarshalDecode(decoder, (*bare)(into))
			return cmp.Or(err, named(into.Address, into.Type, tfjson.ManagedResourceMode))
		}),
	))
}

// prior is what the plan began with, refreshed. Of an orphan's deletion,
// Terraform 1.11 has the refreshed balance nowhere else.
type prior struct {
	cards map[object]map[string]any
	byID  map[string]*tfjson.StateResource
	lists []*tfjson.StateResource // the data sources vcard_cards
}

// object is one object of a state: a resource instance, or with a key a deposed one.
type object struct{ address, deposed string }

func priorOf(values *tfjson.StateValues) prior {
	p := prior{cards: map[object]map[string]any{}, byID: map[string]*tfjson.StateResource{}}
	if values != nil {
		p.add(values.RootModule)
	}
	return p
}

// card has the values of the card with this id, if any.
func (p *prior) card(id string) values {
	r := p.byID[id]
	if r == nil {
		return values{}
	}
	var sensitive any
	_ = stdjson.Unmarshal(r.SensitiveValues, &sensitive) // is absent, or valid
	return valuesOf(r.AttributeValues, nil, sensitive)
}

func (p *prior) add(module *tfjson.StateModule) {
	if module == nil {
		return
	}
	for _, r := range module.Resources {
		switch {
		case r == nil:
		case r.Mode == tfjson.ManagedResourceMode && r.Type == cardType:
			p.cards[object{r.Address, r.DeposedKey}] = r.AttributeValues
			if id, ok := r.AttributeValues["id"].(string); ok {
				p.byID[id] = r
			}
		case r.Mode == tfjson.DataResourceMode && r.Type == "vcard_cards":
			p.lists = append(p.lists, r)
		}
	}
	for _, child := range module.ChildModules {
		p.add(child)
	}
}
