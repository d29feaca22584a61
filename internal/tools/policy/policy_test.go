// Package policy tests examples/policy, in a module of its own, since what
// evaluates it brings twenty others.
package policy_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/util"
)

const (
	policy   = "../../../examples/policy/cards.rego"
	testdata = "../../statement/testdata/"
	// Of plans and their statements, as the tests of the statement hold to them.
	keeps, acts = "opentofu-1.12-keeps", "terraform-1.17-keeps-and-acts"

	incomplete = `this is not a complete statement of a plan, as "vcard statement --format json" prints it`
)

// read is a file of the statement's tests, with replacements.
func read(t *testing.T, name string, replace ...string) any {
	t.Helper()
	text, err := os.ReadFile(testdata + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var input any
	if err := util.UnmarshalJSON([]byte(strings.NewReplacer(replace...).Replace(string(text))), &input); err != nil {
		t.Fatal(err)
	}
	return input
}

// statement is one whose numbers may all end.
func statement(t *testing.T, name string, replace ...string) any {
	t.Helper()
	return read(t, name+".statement", append(replace, `"vcard_card.a"`, `"module.trials.vcard_card.a"`)...)
}

// refusals returns a function that evaluates the policy.
func refusals(t *testing.T) func(input any) []string {
	t.Helper()
	query, err := rego.New(rego.Query("data.main.deny"), rego.Load([]string{policy}, nil)).PrepareForEval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func(input any) (reasons []string) {
		t.Helper()
		results, err := query.Eval(t.Context(), rego.EvalInput(input))
		if err != nil || len(results) != 1 {
			t.Fatal(results, err)
		}
		set, _ := results[0].Expressions[0].Value.([]any)
		for _, reason := range set { // in the order of the text
			text, _ := reason.(string)
			reasons = append(reasons, text)
		}
		return reasons
	}
}

func TestExamplePolicy(t *testing.T) {
	t.Parallel()
	refuses := refusals(t)
	for name, test := range map[string]struct {
		input any
		want  []string
	}{
		"a number ends":    {read(t, keeps+".statement"), []string{"vcard_card.a: replace takes its number"}},
		"a number may end": {statement(t, keeps), nil},
		"too much for one": {
			statement(t, keeps, `"loads": 100.00`, `"loads": 200.01`),
			[]string{"module.trials.vcard_card.a gets 200.01 USD, and at most 200 are allowed"},
		},
		"too much": {
			statement(t, keeps, `"net": -131.00`, `"net": -530.01`, `"wallet": -101.00`, `"wallet": -500.01`),
			[]string{"the wallet pays 530.01 USD, and at most 500 are allowed"},
		},
		"by an action besides": {
			statement(t, keeps, `"loads": 100.00`, `"loads": 150.00`, `"vcard_card.b"`, `"action.vcard_card_fund.x"`, `"card_7m6fdwgvuvfn6r8e6a566yg8"`, `"card_68zjf8ankeci2a3dsb4rdntt"`, `"funds": 30.00`, `"funds": 50.01`),
			[]string{"module.trials.vcard_card.a gets 200.01 USD, and at most 200 are allowed"},
		},
		"by an action on any card": {
			statement(t, keeps, `"loads": 100.00`, `"loads": 170.01`, `"vcard_card.b"`, `"module.m.action.vcard_card_fund.x"`, `"card_7m6fdwgvuvfn6r8e6a566yg8"`, `""`),
			[]string{"module.trials.vcard_card.a gets 200.01 USD, and at most 200 are allowed"},
		},
		"nobody knows": {
			statement(t, acts),
			[]string{"nobody can tell before apply: action.vcard_card_withdraw.all withdraws the whole balance of the card, which is known only during apply", incomplete},
		},
		"said to be complete": {
			statement(t, acts, `"complete": false`, `"complete": true`, "withdraws the whole balance of the card, which is known only during apply", "is unknown"),
			[]string{"nobody can tell before apply: action.vcard_card_withdraw.all is unknown", incomplete},
		},
		"a later format": {statement(t, keeps, `"format_version": "1.0"`, `"format_version": "2.0"`), []string{incomplete}},
		"a plan":         {read(t, keeps+".plan"), []string{incomplete}},
		"an empty one":   {map[string]any{}, []string{incomplete}},
		"a list":         {[]any{statement(t, keeps)}, []string{incomplete}},
		"null":           {nil, []string{incomplete}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if reasons := refuses(test.input); !slices.Equal(reasons, test.want) {
				t.Errorf("refused for %q, want %q", reasons, test.want)
			}
		})
	}
}

// What no rule reads.
var notRead = regexp.MustCompile(`^\.(others|notes)|^\.wallet\.[^n]|^\.cards\.(label|last4|sums\.(fees|withdrawals|returns|net))`)

// Of a statement that breaks none of the rules, each part that they read may be cut off,
// and the policy refuses what is left.
func TestTruncatedStatement(t *testing.T) {
	t.Parallel()
	refuses := refusals(t)
	whole := statement(t, keeps)
	if reasons := refuses(whole); reasons != nil {
		t.Fatal(reasons)
	}
	tried := 0
	cut(whole, "", func(path string) {
		tried++
		if slices.Contains(refuses(whole), incomplete) == notRead.MatchString(path) {
			t.Errorf("without %s: refused for %q", path, refuses(whole))
		}
	})
	if tried < 40 {
		t.Errorf("tried to cut off %d parts", tried)
	}
}

// cut calls try with each member of each object and each item of each list left out in turn, and puts it back.
func cut(part any, path string, try func(path string)) {
	switch part := part.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(part)) {
			member := part[name]
			cut(member, path+"."+name, try)
			delete(part, name)
			try(path + "." + name)
			part[name] = nil
			try(path + "." + name)
			part[name] = member
			if items, isList := member.([]any); isList && len(items) > 0 {
				part[name] = items[:0]
				try(path + "." + name)
				part[name] = member
			}
		}
	case []any:
		for _, item := range part {
			cut(item, path, try)
		}
	}
}
