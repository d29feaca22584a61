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
	FormatVersion   string    `json:"format_version"`
	Changes         []*change `json:"resource_changes"`
	DeferredChanges []*struct {
		Change *change `json:"resource_change"`
	} `json:"deferred_changes"`
	Invocations         []*invocation `json:"action_invocations"`
	DeferredInvocations []struct {
		Invocation invocation `json:"action_invocation"`
	} `json:"deferred_action_invocations"`
	Complete *bool          `json:"complete"`
	Errored  bool           `json:"errored"`
	Config   *tfjson.Config `json:"configuration"`
	Prior    struct {
		Values struct {
			RootModule module `json:"root_module"`
		} `json:"values"`
	} `json:"prior_state"`

	HasPlanned there `json:"planned_values"`
	HasValues  there `json:"values"` // as a state that is shown
	HasSerial  there `json:"serial"` // as the file of a state
}

// there says of a member only that there is one.
type there bool

// resource is what a change and a state have in common.
type resource struct {
	Address string              `json:"address"`
	Mode    tfjson.ResourceMode `json:"mode"`
	Type    string              `json:"type"`
}

func (r resource) isCard() bool { return r.Mode == tfjson.ManagedResourceMode && r.Type == cardType }

type change struct {
	resource
	Deposed string `json:"deposed"`
	Change  *struct {
		Actions         tfjson.Actions    `json:"actions"`
		Before          any               `json:"before"`
		After           any               `json:"after"`
		AfterUnknown    any               `json:"after_unknown"`
		BeforeSensitive any               `json:"before_sensitive"`
		AfterSensitive  any               `json:"after_sensitive"`
		Importing       *tfjson.Importing `json:"importing"`
	} `json:"change"`
}

type invocation struct {
	Address   string `json:"address"`
	Type      string `json:"type"`
	Values    any    `json:"config_values"`
	Unknown   any    `json:"config_unknown"`
	Sensitive any    `json:"config_sensitive"`
}

type module struct {
	Resources []*stateResource `json:"resources"`
	Children  []module         `json:"child_modules"`
}

type stateResource struct {
	resource
	Deposed         string         `json:"deposed_key"`
	AttributeValues map[string]any `json:"values"`
	Sensitive       any            `json:"sensitive_values"`
}

func (r stateResource) values() values { return valuesOf(r.AttributeValues, nil, r.Sensitive) }

// What is read, at most: bytes, and values of JSON, of which 10,000 cards have 1.3 million.
const (
	maxSize   = 1 << 30
	maxValues = 4_000_000
)

var (
	errLarge = errors.New("is larger than 1 GB")
	errNull  = errors.New("null")
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
	err := plan.decode(&bounded{r: transform.NewReader(text, unicode.BOMOverride(transform.Nop))})
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
	case bool(plan.HasPlanned):
		if err := (&tfjson.Plan{FormatVersion: plan.FormatVersion}).Validate(); err != nil {
			return nil, fmt.Errorf("cannot be read by this version of the provider: %w", err)
		}
		return plan, nil
	case bool(plan.HasValues || plan.HasSerial):
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

// decode reads one object. A name that an object has twice is an error, as is null for a
// member, or a name of which only the case is right.
func (p *Plan) decode(r io.Reader) error {
	decoder := jsontext.NewDecoder(r)
	if kind := decoder.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return errors.New("it is not an object") // what it is, may be a secret
	}
	if err := json.UnmarshalDecode(decoder, p, unmarshalers()); err != nil {
		return err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// plain says what is wrong and where, without the values that an error quotes.
func plain(err error) string {
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("%s: %v", cmp.Or(broken.JSONPointer, "/"), broken.Err)
	}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		what := "a value of another kind"
		if errors.Is(err, errNameless) || errors.Is(err, errNull) {
			what = wrong.Err.Error()
		}
		return fmt.Sprintf("%s: %s", cmp.Or(wrong.JSONPointer, "/"), what)
	}
	return err.Error()
}

// unmarshalers keep numbers as they are written, and refuse what has no name.
func unmarshalers() json.Options {
	return json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *there) error {
			*into = true
			return decoder.SkipValue()
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, _ any) error {
			if decoder.StackDepth() == 1 && decoder.PeekKind() == 'n' {
				return errNull
			}
			return errors.ErrUnsupported
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *any) error {
			if decoder.PeekKind() != '0' {
				return errors.ErrUnsupported
			}
			number, err := decoder.ReadValue()
			*into = stdjson.Number(number)
			return err
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *change) error {
			type bare change
			err := json.UnmarshalDecode(decoder, (*bare)(into))
			return cmp.Or(err, named(into.Address, into.Type, into.Mode))
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *stateResource) error {
			type bare stateResource
			err := json.UnmarshalDecode(decoder, (*bare)(into))
			return cmp.Or(err, named(into.Address, into.Type, into.Mode))
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *invocation) error {
			type bare invocation
			err := json.UnmarshalDecode(decoder, (*bare)(into))
			return cmp.Or(err, named(into.Address, into.Type, tfjson.ManagedResourceMode))
		}),
	))
}

// prior is what the plan began with, refreshed. Of an orphan's deletion,
// Terraform 1.11 has the refreshed balance nowhere else.
type prior struct {
	cards map[object]*stateResource
	byID  map[string]stateResource
	lists []*stateResource // the data sources vcard_cards
	// wallets are the data sources vcard_wallet_balance.
	wallets []*stateResource
}

// object is one object of a state: a resource instance, or with a key a deposed one.
type object struct{ address, deposed string }

func (p *Plan) prior() prior {
	all := prior{cards: map[object]*stateResource{}, byID: map[string]stateResource{}}
	all.add(p.Prior.Values.RootModule)
	return all
}

func (p *prior) add(module module) {
	for _, r := range module.Resources {
		switch {
		case r == nil:
		case r.isCard():
			p.cards[object{r.Address, r.Deposed}] = r
			if id, ok := r.AttributeValues["id"].(string); ok {
				p.byID[id] = *r
			}
		case r.Mode == tfjson.DataResourceMode && r.Type == "vcard_cards":
			p.lists = append(p.lists, r)
		case isWallet(r):
			p.wallets = append(p.wallets, r)
		}
	}
	for _, child := range module.Children {
		p.add(child)
	}
}
