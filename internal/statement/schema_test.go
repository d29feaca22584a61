package statement_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// The guide's schema is that of what is printed.
func TestSchemaInTheGuide(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(sandboxtest.File(t, "../../templates/guides/statement.md.tmpl"), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("statement.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("statement.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []string{
		planWith(""),
		planWith(strings.Join([]string{
			change("vcard_card.old", `"create","delete"`, held, created, "", ""),
			change("vcard_card.deposed", `"delete"`, held, "", "", `,"deposed":"abc"`),
			update(with("amount", "null"), held, ""),
			update(held, with("frozen", "true"), `"amount":true`),
		}, ",")),
		invoke("vcard_card_withdraw", `"card_id":"card_1"`, ""),
	} {
		_, stdout, _ := state(t, plan, "-format", "json", "-by", "module", "-max-card", "0", "-no-unknown")
		printed, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(printed); err != nil {
			t.Errorf("%v:\n%s", err, stdout)
		}
	}
}
