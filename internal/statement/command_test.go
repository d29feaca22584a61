package statement_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
)

// runStatement runs the command with the plan on standard input. It returns the exit status and the output.
func runStatement(t *testing.T, text string, flags ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = statement.Main(append(flags, "-"), strings.NewReader(text), &out, &errs)
	return code, out.String(), errs.String()
}

func TestInputIsNotAPlan(t *testing.T) {
	t.Parallel()
	plan := planWith("")
	fund := updates(held, with("amount", "150"), "")
	for name, test := range map[string]struct{ text, want string }{
		"empty":                  {"", "is empty: expected the output of"},
		"blank":                  {" \n", "is empty"},
		"truncated":              {plan[:len(plan)-3], "is not the JSON of a plan (/resource_changes: unexpected EOF)"},
		"saved plan":             {"PK\x03\x04", "is a saved plan, not its JSON: expected the output of"},
		"text":                   {"Terraform will perform", "is not the JSON of a plan"},
		"null":                   {"null", "is not the JSON of a plan (it is not an object)"},
		"string":                 {`"whsec_planted"`, "is not the JSON of a plan (it is not an object)"},
		"number":                 {`4111111111111111`, "is not the JSON of a plan (it is not an object)"},
		"list":                   {"[]", "is not the JSON of a plan"},
		"two documents":          {plan + plan, "unexpected data after the plan"},
		"shown state":            {`{"format_version":"1.0","terraform_version":"1.11.4","values":{"root_module":{}}}`, "is a state, not a plan"},
		"an empty state":         {`{"format_version":"1.0"}`, "is not a plan"},
		"state file":             {`{"version":4,"serial":3,"resources":[]}`, "is a state, not a plan"},
		"later format version":   {strings.Replace(plan, `"1.2"`, `"2.0"`, 1), "unsupported plan format version"},
		"no format version":      {strings.Replace(plan, `"1.2"`, `""`, 1), "format version is missing"},
		"changes are not a list": {strings.Replace(plan, "[]", `"x"`, 1), "is not the JSON of a plan (/resource_changes: "},
		"amount is not a number": {updates(held, with("amount", `"1"`), ""), "vcard_card.a: amount is not a number"},
		"amount is too large":    {updates(held, with("amount", "1e30"), ""), "vcard_card.a: amount: "},
		"amount is negative":     {updates(held, with("amount", "-1"), ""), "vcard_card.a: amount is negative"},
		"unknown actions": {
			does(`"update","renew"`, held, held),
			`vcard_card.a: this version of vcard does not know the actions "update,renew"`,
		},
		"change is null": {
			strings.Replace(updates(held, held, ""), `"change":{`, `"change":null,"x":{`, 1),
			"vcard_card.a: the plan has no actions for this address",
		},
		"no actions":                     {does("", held, held), "vcard_card.a: the plan has no actions for this address"},
		"amount has fractions of a cent": {updates(held, with("topped_up", "0.001"), ""), "vcard_card.a: topped_up: "},
		"duplicate name": {
			updates(held, held+`,"amount":5000`, ""), `(/resource_changes/0/change/after/amount: duplicate object member name)`,
		},
		"name in the wrong case":    {strings.Replace(fund, `"mode"`, `"Mode"`, 1), "(/resource_changes/0: the address or type is missing, or the mode is unknown)"},
		"no mode":                   {strings.Replace(fund, `"mode":"managed",`, "", 1), "(/resource_changes/0: the address or type is missing, or the mode is unknown)"},
		"no type":                   {strings.Replace(fund, `"type":"vcard_card",`, "", 1), "(/resource_changes/0: the address or type is missing, or the mode is unknown"},
		"no address":                {strings.Replace(fund, `"vcard_card.a"`, `""`, 1), "the address or type is missing, or the mode is unknown"},
		"null as a resource change": {planWith("null"), "the address or type is missing, or the mode is unknown"},
		"invocation without type":   {strings.Replace(invoke("vcard_card_fund", "", ""), `"type":"vcard_card_fund",`, "", 1), "the address or type is missing, or the mode is unknown"},
		"null as an invocation":     {planWith("", `,"action_invocations":[null]`), "the address or type is missing, or the mode is unknown"},
		"null as all changes":       {strings.Replace(planWith(""), "[]", "null", 1), "(/resource_changes: must not be null)"},
		"card appears twice": {
			planWith(update(held, held, "") + "," + update(held, held, "")), "vcard_card.a: appears twice in the plan",
		},
		"actions in another order": {does(`"update","delete"`, held, held), `does not know the actions "update,delete"`},
		"update without before":    {updates("", held, ""), "vcard_card.a: the values do not match the actions \"update\""},
		"creation with before":     {does(`"create"`, held, created), "vcard_card.a: the values do not match the actions \"create\""},
		"deletion with after":      {does(`"delete"`, held, held), "vcard_card.a: the values do not match the actions \"delete\""},
		"no-op with changes":       {does(`"no-op"`, held, with("amount", "5000")), "vcard_card.a: the values do not match the actions \"no-op\""},
		"after is not an object": {
			strings.Replace(fund, `"after":{`, `"after":"x","y":{`, 1), "vcard_card.a: the values do not match the actions \"update\"",
		},
		"amount is missing": {
			updates(held, strings.Replace(held, `"amount":100,`, "", 1), ""), "vcard_card.a: amount is missing",
		},
		"frozen is not a boolean":                  {updates(held, with("frozen", `"true"`), ""), "vcard_card.a: frozen is not a boolean"},
		"id is not a string":                       {updates(with("id", "1"), held, ""), "vcard_card.a: id is not a string"},
		"invalid mark of an attribute":             {updates(held, held, `"amount":"true"`), "vcard_card.a: the plan does not mark amount as either known or unknown"},
		"invalid mark of a setting":                {updates(held, held, `"deletion_protection":"true"`), "vcard_card.a: the plan does not mark deletion_protection as either known or unknown"},
		"invalid marks":                            {strings.Replace(fund, `"after_unknown":{}`, `"after_unknown":"true"`, 1), "vcard_card.a: the plan does not mark amount as either known or unknown"},
		"card_id of an invocation is not a string": {invoke("vcard_card_fund", `"card_id":1`, ""), "module.m.action.vcard_card_fund.x: card_id is not a string"},
		"amount of an invocation is not a number":  {invoke("vcard_card_fund", `"amount":"1"`, ""), "module.m.action.vcard_card_fund.x: amount is not a number"},
		"balance is not a number":                  {planWith("", was(with("balance", `"1"`))), "balance is not a number"},
		"invalid UTF-8 in a label":                 {updates(held, with("label", "\"\xff\""), ""), "invalid UTF-8"},
		"too many values":                          {planWith("", `,"x":[`+strings.Repeat("{},", 4_000_000)+"{}]"), "has more than 4000000 values"},
		"invalid sensitive mark": {
			strings.Replace(fund, `"after_unknown"`, `"after_sensitive":"x","after_unknown"`, 1), "vcard_card.a: the plan does not mark id as either sensitive or not sensitive",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runStatement(t, test.text, "--max-net", "0")
			if code != 1 || stdout != "" || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "planted") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, stdout %q, stderr %q; want %q", code, stdout, stderr, test.want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run := func(name string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := statement.Main([]string{name}, nil, &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	large := filepath.Join(folder, "large") // a sparse file, which is refused before it is read
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<30+1)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(folder, "missing"): "cannot be opened: ", folder: "cannot be read: ", large: "is larger than 1 GiB\n",
	} {
		if code, _, stderr := run(name); code != 1 || !strings.HasPrefix(stderr, "statement: "+name+" "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit status %d, stderr %q", name, code, stderr)
		}
	}
	plan := updates(held, with("amount", "150"), "")
	utf16Plan := []byte{0xff, 0xfe} // the byte-order mark that Windows PowerShell writes
	for _, unit := range utf16.Encode([]rune(plan)) {
		utf16Plan = binary.LittleEndian.AppendUint16(utf16Plan, unit)
	}
	for name, text := range map[string]string{"plain": plan, "utf-8": "\ufeff" + plan, "utf-16": string(utf16Plan)} {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stdout, stderr := run(file); code != 0 || !strings.HasPrefix(stdout, "The wallet pays 50.00 USD.") {
			t.Errorf("%s: exit status %d, stdout %q, stderr %q", name, code, stdout, stderr)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--help"}, 0, ""},
		{[]string{"-h"}, 0, ""},
		{nil, 2, "expected one PLAN.json, got 0"},
		{[]string{"a", "b"}, 2, "got 2"},
		{[]string{"--format", "xml", "-"}, 2, `--format "xml"`},
		{[]string{"--max-net", "1.001", "-"}, 2, "must be an amount in USD, 0 or more, with at most two decimals"},
		{[]string{"--max-card", "-1", "-"}, 2, "must be an amount in USD"},
		{[]string{"--only", "top-up", "-"}, 2, "must be one or more of issue,replace,"},
		{[]string{"--fast", "-"}, 2, "unknown flag: --fast"},
		{[]string{"-format", "json", "-"}, 2, "flags start with two dashes"},
	} {
		var stdout, stderr bytes.Buffer
		code := statement.Main(test.args, strings.NewReader(""), &stdout, &stderr)
		if code != test.code || !strings.Contains(stderr.String(), test.want) || (code == 0) != strings.Contains(stdout.String(), "--no-unmanaged") {
			t.Errorf("%v: exit status %d, stderr %q", test.args, code, stderr.String())
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	spends := updates(held, with("amount", "150", "topped_up", "20"), "")
	unknown := updates(held, replaceMember(held, "amount", "null"), `"amount":true`)
	everything := invoke("vcard_card_withdraw", `"card_id":"card_1"`, "")
	issue := change("vcard_card.new", `"create"`, "", created, "", "")
	issues := planWith(issue)
	unloaded := planWith(change("vcard_card.new", `"create"`, "", `"issuance_fee":1`, `"amount":true`, ""))
	acts := func(changes, config, unknown string) string { // a plan with changes, and an action that funds a card with 50
		return strings.Replace(invoke("vcard_card_fund", `"amount":50`+config, unknown), `"resource_changes":[`, `"resource_changes":[`+changes, 1)
	}
	for _, test := range []struct {
		plan  string
		flags string
		want  string // "" for a plan that keeps all rules
	}{
		{spends, "--max-net 70", ""},
		{spends, "--max-net 69.99", "--max-net 69.99: the wallet pays 70.00"},
		{unknown, "--max-net 1000", "--max-net 1000.00: the wallet may pay more for vcard_card.a, because the exact amount is known only during apply"},
		{everything, "--max-net 0", ""},
		{unloaded, "--max-net 1000", "may pay more for vcard_card.new"},
		{unloaded, "--max-card 1000", "vcard_card.new may get more"},
		{updates(held, held, `"topped_up":true`), "--max-net 1000", "may pay more for vcard_card.a"},
		{planWith("", `,"complete":false`), "", ""},
		{planWith("", `,"complete":false`), "--max-net 0", "a rule needs the whole plan: the plan is partial"},
		{planWith("", `,"complete":false`), "--max-card 0", "a rule needs the whole plan: the plan is partial"},
		{planWith("", `,"complete":false`), "--only top_up", "a rule needs the whole plan: the plan is partial"},
		{planWith("", `,"complete":false`), "--no-unmanaged", "a rule needs the whole plan: the plan is partial"},
		{
			planWith("", `,"deferred_changes":[{"resource_change":`+issue+"}]"), "--max-net 0",
			"a rule needs the whole plan: vcard_card.new: is deferred to a later plan",
		},
		{planWith("", `,"errored":true`), "--no-unknown", "a rule needs the whole plan: planning failed"},
		{does(`"delete"`, held, ""), "--max-net 0", ""},
		{spends, "--max-card 70", ""},
		{spends, "--max-card 69.99", "--max-card 69.99: vcard_card.a gets 70.00"},
		{issues, "--max-card 150.50", ""},
		{issues, "--max-card 150.49", "--max-card 150.49: vcard_card.new gets 150.50"},
		{unknown, "--max-card 1000", "vcard_card.a may get more"},
		{invoke("vcard_card_fund", "", `"amount":true`), "--max-card 5", "may get more"},
		{everything, "--max-card 5", ""},
		{spends, "--only fund,top_up", ""},
		{spends, "--only top_up", "--only top_up: the action fund is not allowed for vcard_card.a"},
		{unknown, "--only fund", "the action withdraw is not allowed for vcard_card.a"},
		{issues, "--only top_up,withdraw", "--only top_up,withdraw: the action issue is not allowed for vcard_card.new"},
		{updates(held, with("top_up", `{"below":90}`, "topped_up", "9"), ""), "--only top_up", "the action configure is not allowed for vcard_card.a"},
		{
			planWith(`{"address":"vcard_webhook.a","mode":"managed","type":"vcard_webhook","change":{"actions":["create"]}}`),
			"--only top_up", "changes to vcard_webhook.a are not allowed",
		},
		{spends, "--no-unknown", ""},
		{unknown, "--no-unknown", "--no-unknown: vcard_card.a: amount is known only during apply"},
		{everything, "--no-unknown", "withdraws the whole balance"},
		{acts(update(held, with("amount", "120"), ""), `,"card_id":"card_1"`, ""), "--max-card 70", ""},
		{
			acts(update(held, with("amount", "120"), ""), `,"card_id":"card_1"`, `},"config_sensitive":{"card_id":true`),
			"--max-card 69.99", ": vcard_card.a gets 70.00",
		},
		{acts(update(held, with("amount", "120"), ""), `,"card_id":"card_2"`, ""), "--max-card 49.99", ": card_2 gets 50.00"},
		{acts(issue, "", `"card_id":true`), "--max-card 200.50", ""},
		{
			acts(issue, "", `"card_id":true`), "--max-card 200.49",
			"vcard_card.new gets 150.50, and may get 50.00 more from actions whose cards are known only during apply",
		},
		{acts("", "", `"card_id":true`), "--max-card 49.99", "one card may get 50.00 from actions"},
		{acts(update(held, with("amount", "100.01"), ""), "", `"card_id":true`), "--max-card 50", "vcard_card.a gets 0.01, and may get 50.00 more from"},
		{invoke("x_y", "", ""), "--only top_up", "changes to module.m.action.x_y.x are not allowed"},
		{
			planWith(strings.Replace(update(held, held, ""), `"after_unknown":{}`, `"after_unknown":true`, 1)),
			"--max-net 1000", "may pay more for vcard_card.a",
		},
		{unknown, "--max-net 500 --max-card 500 --only fund,withdraw", "vcard_card.a may get more"},
	} {
		code, _, stderr := runStatement(t, test.plan, strings.Fields(test.flags)...)
		lines := strings.SplitAfter(stderr, "\n")
		hasRepeatedLines := len(slices.Compact(slices.Clone(lines))) < len(lines)
		var matches bool
		if test.want == "" {
			matches = code == 0 && stderr == ""
		} else {
			isRefusal := code == 3 && strings.HasPrefix(stderr, "statement: refused: ")
			matches = isRefusal && !hasRepeatedLines && strings.Contains(stderr, test.want)
		}
		if !matches {
			t.Errorf("%s of %s: exit status %d, stderr %q; want %q", test.flags, test.plan, code, stderr, test.want)
		}
	}
}

// list returns a data source vcard_cards. filters are members to add to its values; cards are ids and labels in turn.
func list(address, filters string, cards ...string) string {
	var items []string
	for i := 0; i < len(cards); i += 2 {
		items = append(items, fmt.Sprintf(`{"id":%q,"label":%q}`, cards[i], cards[i+1]))
	}
	return fmt.Sprintf(`{"address":%q,"mode":"data","type":"vcard_cards","name":"all","values":{"status":null%s,"cards":[%s]}}`, address, filters, strings.Join(items, ","))
}

func TestUnmanaged(t *testing.T) {
	t.Parallel()
	issues := change("vcard_card.new", `"create"`, "", created, "", "")
	unchanged := change("vcard_card.a", `"no-op"`, held, held, "", "")
	mine := stateCard("vcard_card.a", held, "")
	read := func(resources ...string) string { return priorState(strings.Join(resources, ",")) }
	const (
		all       = "data.vcard_cards.all"
		generated = "tf-20260301-abcdefghij234567klmn"
		refused   = "live card card_9 has the same label"
		noList    = "data \"vcard_cards\" \"all\" {\n}\n"
		unread    = "has not read all live cards"
		left      = "live card card_9 has the generated label"
	)
	of := func(providers, modules string) string {
		return `,"configuration":{"provider_config":{` + providers + `},"root_module":{
		"resources":[{"address":"data.vcard_cards.all","mode":"data","provider_config_key":"vcard"},{"address":"data.vcard_cards.more","mode":"data","provider_config_key":"vcard"},
			{"address":"vcard_card.new","mode":"managed","provider_config_key":"vcard"},{"address":"vcard_card.a","mode":"managed","provider_config_key":"vcard"},{"address":"vcard_card.b","mode":"managed","provider_config_key":"vcard"}]` + modules + `}}`
	}
	const module = `,"module_calls":{"m":{"module":{"resources":[
			{"address":"vcard_card.new","mode":"managed","provider_config_key":"vcard.other"},{"address":"data.vcard_cards.other","mode":"data","provider_config_key":"vcard.other"}]}}}`
	prefix := func(expression string) string {
		return of(`"vcard":{"name":"vcard","expressions":{"label_prefix":`+expression+`}}`, "")
	}
	one := of("", "")
	late := change("vcard_card.new", `"create"`, "", `"amount":50,"issuance_fee":1`, `"label":true`, "")
	ofLabel := func(references ...string) string {
		return fmt.Sprintf(`,"configuration":{"root_module":{"resources":[{"address":"vcard_card.new","mode":"managed","expressions":{"label":{"references":["%s"]}}}]}}`, strings.Join(references, `","`))
	}
	inModule := strings.Replace(issues, "vcard_card.new", `module.m[\"a.b\"].vcard_card.new`, 1)
	imported := strings.Replace(change("vcard_card.b", `"no-op"`, strings.Replace(held, "card_1", "card_9", 1), strings.Replace(held, "card_1", "card_9", 1), "", ""), `"actions"`, `"importing":{"id":"card_9"},"actions"`, 1)
	for name, test := range map[string]struct {
		plan string
		code int
		want string
	}{
		"unmanaged card with the label":              {planWith(issues, read(list(all, "", "card_9", "new"), mine), one), 3, refused},
		"label with extra spaces":                    {planWith(issues, read(list(all, "", "card_9", " new "), mine), one), 3, refused},
		"different label":                            {planWith(issues, read(list(all, "", "card_9", "newer"), mine), one), 0, ""},
		"unmanaged card without label":               {planWith(issues, read(list(all, "", "card_9", ""), mine), one), 0, ""},
		"card of the state with the label":           {planWith(issues, read(list(all, "", "card_1", "new"), mine), one), 0, ""},
		"deposed card with the label":                {planWith(issues, read(list(all, "", "card_1", "new"), stateCard("vcard_card.a", held, `,"deposed_key":"abc"`)), one), 0, ""},
		"imported card":                              {planWith(imported, read(list(all, "", "card_9", "new")), one), 0, ""},
		"replacement":                                {does(`"delete","create"`, held, created, read(list(all, "", "card_1", "new", "card_9", "new"), mine), one), 3, refused},
		"left by a replacement":                      {planWith(unchanged, read(list(all, "", "card_1", "ads", "card_9", "ads"), mine), one), 3, "vcard_card.a: " + refused},
		"generated label":                            {planWith(issues, read(list(all, "", "card_9", generated), mine), one), 3, left},
		"generated label, advice on label_prefix":    {planWith(issues, read(list(all, "", "card_9", generated), mine), one), 3, "label_prefix is the default"},
		"generated label, import block":              {planWith(late, read(list(all, "", "card_9", generated), mine), one), 3, "to = vcard_card.NAME\n  id = \"card_9\""},
		"generated label, nothing new":               {planWith(unchanged, read(list(all, "", "card_9", generated), mine), one), 3, left},
		"generated label with another prefix":        {planWith(issues, read(list(all, "", "card_9", "tf-eu-20260301-abcdefghij234567klmn"), mine), one), 0, ""},
		"generated label with the configured prefix": {planWith(issues, read(list(all, "", "card_9", "eu-"+generated[3:]), mine), prefix(`{"constant_value":"eu-"}`)), 3, left},
		"generated label with the default prefix":    {planWith(issues, read(list(all, "", "card_9", generated), mine), prefix(`{"constant_value":"eu-"}`)), 0, ""},
		"label_prefix from a variable":               {planWith(issues, read(list(all, ""), mine), prefix(`{"references":["var.prefix"]}`)), 3, "cannot determine label_prefix"},
		"no configuration":                           {planWith(issues, read(list(all, ""), mine)), 3, "cannot determine label_prefix"},
		"unknown provider of a module":               {planWith(issues, read(list(all, ""), mine), strings.ReplaceAll(prefix(`{"constant_value":"eu-"}`), `_key":"vcard"`, `_key":"module.m:vcard"`)), 3, "cannot determine label_prefix"},
		"no list":                                    {planWith(issues, read(mine), one), 3, unread},
		"no state":                                   {planWith(issues, one), 3, noList},
		"a filtered list":                            {planWith(issues, read(list(all, `,"label_prefix":"x"`), mine), one), 3, unread},
		"list is read during apply":                  {planWith(issues+`,{"address":"data.vcard_cards.all","mode":"data","type":"vcard_cards","change":{"actions":["read"]}}`, read(list(all, ""), mine), one), 3, unread},
		"partial plan":                               {planWith(issues, read(list(all, ""), mine), one, `,"complete":false`), 3, "a rule needs the whole plan"},
		"list without cards":                         {planWith(issues, read(strings.Replace(list(all, ""), `"cards":[]`, `"ids":[]`, 1), mine), one), 3, unread},
		"card in two lists":                          {planWith(issues, read(list(all, "", "card_9", "new"), list("data.vcard_cards.more", "", "card_9", "new")), one), 3, "id = \"card_9\""},
		"two cards with the label":                   {planWith(issues, read(list(all, "", "card_8", "new", "card_9", "new")), one), 3, "to = vcard_card.NAME\n  id = \"card_9\""},
		"no list, nothing new":                       {updates(held, with("amount", "150"), "", one), 3, unread},
		"no list, no planned card":                   {does(`"delete"`, held, "", one), 0, ""},
		"label from another resource": {
			planWith(late, ofLabel("terraform_data.a.output", "terraform_data.a")),
			3, "the label of vcard_card.new is known only during apply",
		},
		"label from a variable":      {planWith(late, read(list(all, "")), ofLabel("var.label")), 0, ""},
		"list of the card's account": {planWith(issues, read(list(all, "", "card_9", "new")), of("", module)), 3, refused},
		"list of another account":    {planWith(inModule, read(list(all, "", "card_9", "new")), of("", module)), 3, unread},
		"list of each account":       {planWith(inModule, read(list(all, ""), list(`module.m["c"].data.vcard_cards.other`, "", "card_9", "new")), of("", module)), 3, refused},
		"provider without label_prefix": {
			planWith(issues, read(list(all, "", "card_9", generated), mine), of(`"vcard":{"name":"vcard"}`, "")), 3, left,
		},
		"null as a provider": {planWith(issues, read(list(all, "", "card_9", generated), mine), of(`"x":null`, "")), 3, left},
		"bin_id is not a string": {
			planWith(
				change("vcard_card.new", `"create"`, "", `"bin_id":[],"amount":50,"issuance_fee":1`, `"label":true`, ""),
				read(strings.Replace(list(all, "", "card_9", generated), `"label"`, `"bin_id":[],"balance":50,"label"`, 1)),
				one,
			),
			3, left,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := runStatement(t, test.plan, "--no-unmanaged")
			if code != test.code || !strings.Contains(stderr, test.want) {
				t.Errorf("exit status %d, stderr %q; want %d and %q", code, stderr, test.code, test.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]string{
		planWith(""): "No money moves.\n\n  net                            0.00\n\nNo card changes.\n",
		updates(held, with("amount", "99.99"), ""): "The wallet gets 0.01 USD.\n\n" +
			"  withdrawals                   +0.01\n  net                           +0.01\n\n" +
			"Cards: 1 withdrawn from.\n\n         +0.01  withdraw  vcard_card.a; \"ads\", ending in 1234; withdrawal 0.01\n",
	} {
		if _, got, _ := runStatement(t, plan); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// A long list of notes is shortened, and its title has the number of all notes.
func TestManyNotes(t *testing.T) {
	t.Parallel()
	var cards []string
	for i := range 25 {
		cards = append(cards, stateCard(fmt.Sprintf("vcard_card.c%d", i), with("money_record", pending(12_00)), ""))
	}
	_, got, _ := runStatement(t, planWith("", priorState(strings.Join(cards, ","))))
	if !strings.Contains(got, "\nWorth a look (25):\n") || !strings.Contains(got, "\n  and 5 more; --format json lists all\n") {
		t.Errorf("got\n%s", got)
	}
}

// A comment on a pull request escapes the text of labels and keys, and its length is limited.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	var changes []string
	for i := range 2000 {
		changes = append(changes, change(fmt.Sprintf(`vcard_card.c["%d|@everyone <b>"]`, i), `"create"`, "", created, "", ""))
	}
	code, got, stderr := runStatement(t, planWith(strings.Join(changes, ",")), "--format", "markdown", "--max-card", "1")
	if code != 3 || strings.Count(stderr, "\n") != 21 {
		t.Errorf("exit status %d, %d lines", code, strings.Count(stderr, "\n"))
	}
	sandboxtest.ContainsAll(t, "the comment", got,
		"### Cards: The wallet pays 303000.00 USD.\n", "**Refused (2000):**", "- and 1980 more", "| loads of new cards | -301000.00 |",
		"&#124;&#64;everyone &#60;b&#62;", ": `--format text` lists them.")
	if len(got) > 60_000 || strings.Contains(got, "<b>") {
		t.Errorf("the comment has %d bytes, or contains markup", len(got))
	}
	if _, got, _ = runStatement(t, planWith(changes[0]), "--format", "markdown"); !strings.Contains(got, "\n| USD | action | card | details |\n") || !strings.Contains(got, "</code><br><code>") {
		t.Errorf("one card has no table:\n%s", got)
	}
}

// A label or key cannot add lines, links or markup to the output.
func TestForeignText(t *testing.T) {
	t.Parallel()
	const evil = "a\n\n::error::**b** [c](https://d.e) ![f](//g) `h` <i> @j | _k_ ~~l~~ $m$ www.n.o \u001b[2J\u202e\u009b2J\u200b\U000e0041"
	written, _ := json.Marshal(evil)
	text := strings.ReplaceAll(planWith(strings.Join([]string{
		change("vcard_card.EVIL", `"create"`, "", `"label":"EVIL","issuance_fee":1,"metadata":{"team":"EVIL"}`, `"amount":true`, ""),
		strings.Replace(change("x.EVIL", `"create"`, "", created, "", ""), `"vcard_card"`, `"x"`, 1),
	}, ",")), `EVIL`, strings.Trim(string(written), `"`))
	flags := []string{"--max-card", "1", "--only", "fund", "--no-unknown"}
	_, plain, stderr := runStatement(t, text, flags...)
	code, markdown, _ := runStatement(t, text, append(flags, "--format", "markdown")...)
	if code != 3 || strings.Count(stderr, "\n") != 4 {
		t.Errorf("exit status %d, stderr %q", code, stderr)
	}
	for name, output := range map[string]string{"text": plain, "standard error": stderr, "markdown": markdown} {
		for _, forbidden := range []string{"\n::", "\u001b", "\u202e"} {
			if strings.Contains(output, forbidden) {
				t.Errorf("%s has %q:\n%s", name, forbidden, output)
			}
		}
	}
	_, printed, _ := runStatement(t, text, "--format", "json")
	var parsed statement.Statement
	if err := json.Unmarshal([]byte(printed), &parsed); err != nil || parsed.Cards[0].Label != evil {
		t.Errorf("JSON has the label %q: %v", parsed.Cards[0].Label, err)
	}
	if found := regexp.MustCompile(`[^\n\pL\pM\pN\pP\pS ]`).FindString(printed); found != "" {
		t.Errorf("JSON has %q:\n%s", found, printed)
	}
	markup := regexp.MustCompile("[][*`<>@|_~$!\\\\:]|www\\.")
	for _, found := range regexp.MustCompile("<code>(.*?)</code>").FindAllStringSubmatch(markdown, -1) {
		if left := markup.FindString(found[1]); left != "" || html.UnescapeString(found[1]) == found[1] {
			t.Errorf("markdown has %q of %s", left, found[0])
		}
	}
}

// Any input gets a statement or an error.
func FuzzReadPlan(f *testing.F) {
	f.Add(planWith(change("vcard_card.a", `"create","delete"`, held, created, `"id":true`, "")))
	f.Add(invoke("vcard_card_withdraw", `"card_id":"card_1"`, ""))
	f.Add(`{"format_version":"1.2","planned_values":null,"resource_changes":[null,{"mode":"managed","type":"vcard_card","change":{"before":1}}],"prior_state":{"format_version":"1.0","values":null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []string{"text", "markdown", "json"} {
			if code, _, _ := runStatement(t, text, "--format", format, "--no-unmanaged", "--max-net", "1"); code == 2 {
				t.Error("the flags are wrong")
			}
		}
	})
}
