package statement

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

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

// maxSize bounds what is read, in bytes.
const maxSize = 1 << 30

var errLarge = errors.New("is larger than 1 GB")

const want = `want what "terraform show -json PLANFILE" or "tofu show -json PLANFILE" prints`

// ReadPlan reads the JSON of a plan, in UTF-8 or, with a byte-order mark, in
// UTF-16. Its errors complete "PLAN.json …", each in one line.
func ReadPlan(r io.Reader) (*Plan, error) {
	limited := &io.LimitedReader{R: r, N: maxSize + 1}
	plan := &Plan{}
	has, err := plan.decode(json.NewDecoder(transform.NewReader(limited, unicode.BOMOverride(transform.Nop))))
	var what string
	unreadable, isUnreadable := errors.AsType[*fs.PathError](err)
	switch {
	case isUnreadable:
		return nil, fmt.Errorf("cannot be read: %w", unreadable.Err)
	case limited.N == 0:
		return nil, errLarge
	case errors.Is(err, io.EOF):
		what = "is empty"
	case err != nil:
		what = fmt.Sprintf("is no JSON of a plan (%v)", err)
	case has["planned_values"]:
		if err := plan.Validate(); err != nil {
			return nil, fmt.Errorf("cannot be read by this version of the provider: %w", err)
		}
		return plan, nil
	case has["values"] || has["serial"]:
		what = "is a state, and no plan"
	default:
		what = "is no plan"
	}
	return nil, errors.New(what + ": " + want)
}

// decode reads the members of one object, each once, and returns which there are.
// As a whole, terraform-json would read them several times, and the numbers of the
// prior state as float64.
func (p *Plan) decode(decoder *json.Decoder) (has map[string]bool, err error) {
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
	decoder.UseNumber()
	start, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if start != json.Delim('{') {
		return nil, errors.New("it is no object") // what it is, may be a secret
	}
	has = map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		name, _ := token.(string)
		has[name] = true
		into := members[name]
		if into == nil {
			into = &json.RawMessage{}
		}
		if err := decoder.Decode(into); err != nil {
			return nil, fmt.Errorf("%s: %w", name, unexpected(err))
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, unexpected(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
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
	_ = json.Unmarshal(r.SensitiveValues, &sensitive) // is absent, or valid
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
