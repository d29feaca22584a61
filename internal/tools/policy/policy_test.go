// Package policy tests examples/policy, in a module of its own, since what
// evaluates it brings twenty others.
package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/util"
)

const (
	policy   = "../../../examples/policy/cards.rego"
	testdata = "../../statement/testdata/"
)

// statement is one that the tests of the statement hold to.
func statement(t *testing.T, name string, replace ...string) any {
	t.Helper()
	text, err := os.ReadFile(testdata + name)
	if err != nil {
		t.Fatal(err)
	}
	var input any
	if err := util.UnmarshalJSON([]byte(strings.NewReplacer(replace...).Replace(string(text))), &input); err != nil {
		t.Fatal(err)
	}
	return input
}

func TestExamplePolicy(t *testing.T) {
	t.Parallel()
	query, err := rego.New(rego.Query("data.main.deny"), rego.Load([]string{policy}, nil)).PrepareForEval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const keeps, acts = "opentofu-1.12-keeps.statement.json", "terraform-1.17-keeps-and-acts.statement.json"
	for name, test := range map[string]struct {
		input any
		want  []string
	}{
		"a number ends":    {statement(t, keeps), []string{"vcard_card.a: replace takes its number"}},
		"a number may end": {statement(t, keeps, `"vcard_card.a"`, `"module.trials.vcard_card.a"`), nil},
		"too much for one": {
			statement(t, keeps, `"vcard_card.a"`, `"module.trials.vcard_card.a"`, `"loads": 100.00`, `"loads": 200.01`),
			[]string{"module.trials.vcard_card.a gets 200.01 USD, and at most 200 are allowed"},
		},
		"too much": {
			statement(t, keeps, `"vcard_card.a"`, `"module.trials.vcard_card.a"`, `"net": -131.00`, `"net": -500.01`),
			[]string{"the wallet pays 500.01 USD, and at most 500 are allowed"},
		},
		"nobody knows": {statement(t, acts), []string{
			"nobody can tell before apply: action.vcard_card_withdraw.all withdraws all that the card holds at that moment",
			"vcard_card.a: replace takes its number",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, err := query.Eval(t.Context(), rego.EvalInput(test.input))
			if err != nil || len(results) != 1 {
				t.Fatal(results, err)
			}
			reasons, _ := results[0].Expressions[0].Value.([]any)
			if len(reasons) != len(test.want) {
				t.Fatalf("refused for %v, want %v", reasons, test.want)
			}
			for i, reason := range reasons { // in the order of the text
				if reason != test.want[i] {
					t.Errorf("refused for %v, want %v", reason, test.want[i])
				}
			}
		})
	}
}
