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

// Plan contains the members of a plan's JSON that a statement needs. The numbers among the values of cards, actions and
// data sources are of type json.Number.
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

	HasPlannedValues present `json:"planned_values"` // a plan has it
	HasValues        present `json:"values"`         // the output of "terraform show -json" for a state has it
	HasSerial        present `json:"serial"`         // a state file has it
}

// present is true if a member exists, whatever its value.
type present bool

// resource has the members that a change and a resource of a state have in common.
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

func (r stateResource) values() values {
	return values{known: r.AttributeValues, sensitive: r.Sensitive}
}

const (
	maxSize   = 1 << 30   // bytes
	maxValues = 4_000_000 // JSON values; several times as many as in a plan of 10,000 cards
)

var (
	errLarge = errors.New("is larger than 1 GiB")
	errNull  = errors.New("must not be null")
	errMany  = fmt.Errorf("has more than %d values", maxValues)
)

const expected = `expected the output of "terraform show -json PLANFILE" or "tofu show -json PLANFILE"`

// ReadPlan reads the JSON of a plan, in UTF-8 or, with a byte-order mark, in UTF-16. Its errors complete a sentence that
// starts with the name of the file.
func ReadPlan(r io.Reader) (*Plan, error) {
	limited := &io.LimitedReader{R: r, N: maxSize + 1}
	text := bufio.NewReader(limited)
	start, _ := text.Peek(2) // the error can be ignored, because the decoder below reads the same text
	isZip := string(start) == "PK"
	plan := &Plan{}
	utf8 := transform.NewReader(text, unicode.BOMOverride(transform.Nop))
	err := plan.decode(&valueLimiter{r: utf8})
	pathErr, ok := errors.AsType[*fs.PathError](err)
	if ok {
		return nil, fmt.Errorf("cannot be read: %w", pathErr.Err) // without the file's name
	}
	if limited.N == 0 { // more than maxSize bytes were read
		return nil, errLarge
	}
	if errors.Is(err, errMany) {
		return nil, errMany
	}
	if errors.Is(err, io.EOF) {
		return nil, errors.New("is empty: " + expected)
	}
	if isZip { // plan -out writes a zip archive
		return nil, errors.New("is a saved plan, not its JSON: " + expected)
	}
	if err != nil {
		return nil, fmt.Errorf("is not the JSON of a plan (%s): %s", withoutValues(err), expected)
	}
	if plan.HasPlannedValues {
		versioned := tfjson.Plan{FormatVersion: plan.FormatVersion}
		err = versioned.Validate()
		if err != nil {
			return nil, fmt.Errorf("cannot be read by this version of vcard: %w", err)
		}
		return plan, nil
	}
	if plan.HasValues || plan.HasSerial {
		return nil, errors.New("is a state, not a plan: " + expected)
	}
	return nil, errors.New("is not a plan: " + expected)
}

// valueLimiter fails after about maxValues values of JSON. It counts the commas, opening brackets and opening braces
// outside of strings, because each element of an array and each member of an object follows one of them.
type valueLimiter struct {
	r        io.Reader
	values   int
	inString bool // whether the next character is inside a string
	escaped  bool // whether the next character follows a backslash in a string
}

func (l *valueLimiter) Read(text []byte) (int, error) {
	n, err := l.r.Read(text)
	for _, char := range text[:n] {
		switch {
		case l.escaped:
			l.escaped = false
		case char == '"':
			l.inString = !l.inString
		case l.inString:
			l.escaped = char == '\\'
		case char == ',' || char == '[' || char == '{':
			l.values++
		}
	}
	if l.values > maxValues {
		return 0, errMany
	}
	return n, err
}

// decode reads one object. It refuses duplicate names, and null for a member of the plan that is not of type present. It
// ignores unknown names, which include names in the wrong case.
func (p *Plan) decode(r io.Reader) error {
	decoder := jsontext.NewDecoder(r)
	kind := decoder.PeekKind() // KindInvalid if reading failed; UnmarshalDecode returns the error
	if kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		// The error does not quote the value, which may be a secret.
		return errors.New("it is not an object")
	}
	err := json.UnmarshalDecode(decoder, p, unmarshalers())
	if err != nil {
		return err
	}
	_, err = decoder.ReadToken()
	if !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the plan")
	}
	return nil
}

// withoutValues describes an error, with its location if it has one. It leaves out values that the error's text may
// quote, because they may be secrets.
func withoutValues(err error) string {
	syntaxErr, ok := errors.AsType[*jsontext.SyntacticError](err)
	if ok {
		return fmt.Sprintf("%s: %v", cmp.Or(syntaxErr.JSONPointer, "/"), syntaxErr.Err)
	}
	typeErr, ok := errors.AsType[*json.SemanticError](err)
	if ok {
		reason := "the value has the wrong type"
		if errors.Is(err, errIncomplete) || errors.Is(err, errNull) {
			reason = typeErr.Err.Error()
		}
		return fmt.Sprintf("%s: %s", cmp.Or(typeErr.JSONPointer, "/"), reason)
	}
	return err.Error()
}

// unmarshalers keep numbers as they are written, and refuse null for members of the plan that are not of type present.
// They refuse changes and resources without an address, a type or a known mode, and actions without address or type. With
// errors.ErrUnsupported they leave a value to the package json. A type named plain has the fields of another type but no
// unmarshaler, so that decoding it does not recurse.
func unmarshalers() json.Options {
	return json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *present) error {
			*into = true
			return decoder.SkipValue()
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, _ any) error { // called for values of every type
			isMember := decoder.StackDepth() == 1 // of the plan's object
			if isMember && decoder.PeekKind() == jsontext.KindNull {
				return errNull
			}
			return errors.ErrUnsupported
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *any) error { // called for values of the type any
			if decoder.PeekKind() != jsontext.KindNumber {
				return errors.ErrUnsupported
			}
			number, err := decoder.ReadValue()
			if err != nil {
				return err
			}
			*into = stdjson.Number(number)
			return nil
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *change) error {
			type plain change
			err := json.UnmarshalDecode(decoder, (*plain)(into))
			if err != nil {
				return err
			}
			return checkComplete(into.Address, into.Type, into.Mode)
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *stateResource) error {
			type plain stateResource
			err := json.UnmarshalDecode(decoder, (*plain)(into))
			if err != nil {
				return err
			}
			return checkComplete(into.Address, into.Type, into.Mode)
		}),
		json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *invocation) error {
			type plain invocation
			err := json.UnmarshalDecode(decoder, (*plain)(into))
			if err != nil {
				return err
			}
			// An invocation has no mode, so this passes a valid one.
			return checkComplete(into.Address, into.Type, tfjson.ManagedResourceMode)
		}),
	))
}

// prior is the refreshed state that the plan starts from. A change may have older values: for example, some versions of
// Terraform delete a card with the balance from before the refresh.
type prior struct {
	cards   map[object]*stateResource
	byID    map[string]stateResource // by the card's id; not pointers, so that an absent card has no values
	lists   []*stateResource         // data sources of the type vcard_cards
	wallets []*stateResource         // data sources of the type vcard_wallet_balance
}

// object identifies a resource instance in a state, or one of its deposed objects if deposed is set.
type object struct{ address, deposed string }

func (p *Plan) prior() prior {
	refreshed := prior{cards: map[object]*stateResource{}, byID: map[string]stateResource{}}
	refreshed.add(p.Prior.Values.RootModule)
	return refreshed
}

// add adds the cards and data sources of a module and of its child modules.
func (p *prior) add(module module) {
	for _, r := range module.Resources {
		if r == nil {
			continue
		}
		switch {
		case r.isCard():
			p.cards[object{r.Address, r.Deposed}] = r
			id, ok := r.AttributeValues["id"].(string)
			if ok {
				p.byID[id] = *r
			}
		case isCardList(r):
			p.lists = append(p.lists, r)
		case isWallet(r):
			p.wallets = append(p.wallets, r)
		}
	}
	for _, child := range module.Children {
		p.add(child)
	}
}
