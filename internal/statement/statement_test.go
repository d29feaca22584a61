package statement_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// held is a card in the state: the members of its JSON object. It was loaded with 100 USD, of which 80 are left.
var held = with()

// with returns held with different attributes. The arguments are names and values in turn.
func with(attributes ...string) string {
	card := `"id":"card_1","label":"ads","last4":"1234","amount":100,"balance":80,"topped_up":0,"frozen":false,` +
		`"issuance_fee":1,"top_up":null,"metadata":{"team":"eu"},"deletion_protection":false,"money_record":` + record("card_1", reconcile.Record{})
	for i := 0; i < len(attributes); i += 2 {
		card = replaceMember(card, attributes[i], attributes[i+1])
	}
	return card
}

// record returns the money_record of a card as a JSON string. If r has no anchor, the record gets one of 100 USD.
func record(id string, r reconcile.Record) string {
	if r.Anchor == nil {
		r.Anchor = &reconcile.Anchor{Balance: 100_00, At: time.Unix(1_800_000_000, 0), Known: make([]reconcile.ShortID, 24)}
	}
	return `"` + r.Text(id) + `"`
}

// pending returns the money_record of card_1 with a pending movement.
func pending(delta usd.Amount) string {
	return record("card_1", reconcile.Record{Pending: &reconcile.Pending{Delta: delta}})
}

// replaceMember replaces the value of a member, or adds the member if there is none.
func replaceMember(card, name, value string) string {
	before, after, found := strings.Cut(card, `"`+name+`":`)
	if !found {
		return card + `,"` + name + `":` + value
	}
	end := strings.Index(after, `,"`)
	if strings.HasPrefix(after, "{") {
		end = strings.Index(after, "}") + 1
	}
	if end < 0 {
		end = len(after)
	}
	return before + `"` + name + `":` + value + after[end:]
}

// created has the planned attributes of a new card.
const created = `"label":"new","amount":150.5,"issuance_fee":1,"topped_up":0,"metadata":{"team":"us"}`

// change returns a resource change of a card. actions are JSON strings; before, after and unknown are the members of
// objects; more are members to add to the change.
func change(address, actions, before, after, unknown, more string) string {
	object := func(members string) string {
		if members == "" {
			return "null"
		}
		return "{" + members + "}"
	}
	return fmt.Sprintf(`{"address":%q,"mode":"managed","type":"vcard_card","name":"x","change":{"actions":[%s],"before":%s,"after":%s,"after_unknown":{%s}}%s}`,
		address, actions, object(before), object(after), unknown, more)
}

func update(before, after, unknown string) string {
	return change("vcard_card.a", `"update"`, before, after, unknown, "")
}

func updates(before, after, unknown string, more ...string) string {
	return planWith(update(before, after, unknown), more...)
}

// was returns a prior state that contains the card with these values.
func was(values string) string { return priorState(stateCard("vcard_card.a", values, "")) }

// does returns a plan with these actions on one card. more are members to add to the plan.
func does(actions, before, after string, more ...string) string {
	return planWith(change("vcard_card.a", actions, before, after, "", ""), more...)
}

func creates(after, unknown string) string {
	return planWith(change("vcard_card.a", `"create"`, "", after, unknown, ""))
}

// planWith returns the JSON of a plan with these changes. more are members to add to the plan.
func planWith(changes string, more ...string) string {
	return `{"format_version":"1.2","terraform_version":"1.11.4","planned_values":{"root_module":{}},"resource_changes":[` + changes + "]" + strings.Join(more, "") + "}"
}

// configuredWith returns a configuration that sets an attribute of the card to a value that is known only during apply.
func configuredWith(name string) string {
	return `,"configuration":{"root_module":{"resources":[{"address":"vcard_card.a","mode":"managed","expressions":{"` + name + `":{"references":["terraform_data.x"]}}}]}}`
}

func priorState(resources string) string {
	return `,"prior_state":{"format_version":"1.0","values":{"root_module":{"resources":[` + resources + `]}}}`
}

func stateCard(address, values, more string) string {
	return fmt.Sprintf(`{"address":%q,"mode":"managed","type":"vcard_card","name":"x","values":{%s}%s}`, address, values, more)
}

// invoke returns a plan that invokes an action. Its prior state contains held.
func invoke(kind, config, unknown string) string {
	return planWith("", fmt.Sprintf(`,"action_invocations":[{"address":"module.m.action.%s.x","type":%q,"name":"x","config_values":{%s},"config_unknown":{%s}}]`, kind, kind, config, unknown),
		was(held))
}

// summary describes a statement in one line for each card, unknown, note and other address. It shortens the addresses of
// cards and of the actions of invoke to their names.
func summary(s *statement.Statement) string {
	var lines []string
	for _, c := range s.Cards {
		words := make([]string, len(c.Actions))
		for i, action := range c.Actions {
			words[i] = string(action)
		}
		line := fmt.Sprintf("%s %s %s", c.Address, strings.Join(words, "+"), c.Wallet)
		if c.Baseline != nil {
			line += " from " + c.Baseline.String()
		}
		lines = append(lines, line)
	}
	for _, unknown := range s.Unknown {
		lines = append(lines, "? "+unknown.String())
	}
	for _, note := range s.Notes {
		lines = append(lines, "note "+note.String())
	}
	for _, other := range s.Others {
		lines = append(lines, "other "+other)
	}
	return strings.NewReplacer("module.m.action.vcard_card_", "", "vcard_card.", "").Replace(strings.Join(lines, "\n"))
}

func read(t *testing.T, text string) *statement.Statement {
	t.Helper()
	plan, err := statement.ReadPlan(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	s, err := statement.New(plan)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return s
}

func TestNew(t *testing.T) {
	t.Parallel()
	refreshed := priorState(stateCard("vcard_card.a", with("balance", "60.25"), "") + "," + stateCard("vcard_card.a", with("balance", "7"), `,"deposed_key":"abc"`))
	for name, test := range map[string]struct{ plan, want string }{
		"nothing":              {does(`"no-op"`, held, held), ""},
		"removed deposed card": {planWith(change("vcard_card.a", `"no-op"`, "", "", "", `,"deposed":"abc"`)), ""},
		"issue":                {creates(created, `"id":true`), "a issue -151.50"},
		"issue frozen":         {creates(created+`,"frozen":true`, ""), "a issue+freeze -151.50"},

		"amount with noise": {
			creates(`"amount":74.10000000000000000000000000000000000000000000000003,"issuance_fee":1`, ""),
			"a issue -75.10",
		},
		"fund":                         {updates(held, with("amount", "150"), `"balance":true`), "a fund -50.00"},
		"withdraw":                     {updates(held, with("amount", "70.01"), `"balance":true,"frozen":true,"status":true`), "a withdraw 29.99"},
		"top up":                       {updates(held, with("topped_up", "20.5"), `"balance":true`), "a top_up -20.50"},
		"fund and top up":              {updates(held, with("amount", "110", "topped_up", "20"), ""), "a fund+top_up -30.00"},
		"freeze":                       {updates(held, with("frozen", "true"), ""), "a freeze 0.00"},
		"unfreeze":                     {updates(with("frozen", "true"), held, ""), "a unfreeze 0.00"},
		"protect":                      {updates(held, with("deletion_protection", "true"), ""), "a configure 0.00"},
		"unknown deletion_protection":  {updates(held, held, `"deletion_protection":true`), "a configure 0.00"},
		"unknown max_top_up_per_month": {updates(held, held, `"max_top_up_per_month":true`), "a configure 0.00"},
		"different top_up":             {updates(held, with("top_up", `{"below":10}`), ""), "a configure 0.00"},
		"baseline":                     {updates(with("amount", "null"), held, ""), "a configure 0.00 from 100.00"},
		"amount removed":               {updates(held, with("amount", "null"), ""), "a configure 0.00"},
		"unknown money_record":         {updates(held, strings.Replace(with("topped_up", "20"), `,"money_record":`+record("card_1", reconcile.Record{}), "", 1), `"balance":true,"money_record":true`), "a top_up -20.00"},
		"has more, and is funded": {
			updates(with("balance", "133"), with("amount", "150"), ""),
			"a fund -50.00\n? a: holds 33.00 USD more than Terraform knows of: apply may stop",
		},
		"has more after the refresh, and is topped up": {
			updates(held, with("topped_up", "20"), "", was(with("balance", "100.01"))),
			"a top_up -20.00\n? a: holds 0.01 USD more than Terraform knows of: apply may stop",
		},
		"has the same balance":            {updates(with("balance", "100"), with("amount", "150"), ""), "a fund -50.00"},
		"has more, and is withdrawn from": {updates(with("balance", "133"), with("amount", "90"), ""), "a withdraw 10.00"},
		"has more, and is both withdrawn from and topped up": {
			updates(with("balance", "133"), with("amount", "90", "topped_up", "20"), ""),
			"a withdraw+top_up -10.00\n? a: holds 33.00 USD more than Terraform knows of: apply may stop",
		},
		"has less by exactly the withdrawal": {
			updates(held, with("amount", "80"), ""),
			"a withdraw 20.00\n? a: holds exactly 20.00 USD less than Terraform knows of: apply may find that the withdrawal was made, or stop",
		},
		"has another card's record": {
			updates(held, with("amount", "150"), "", was(with("money_record", record("card_2", reconcile.Record{})))),
			"a fund -50.00\n? a: has lost its money_record, so earlier movements are unknown: apply will stop once",
		},
		"has a pending movement": {
			updates(held, with("amount", "150"), "", was(with("money_record", pending(-12_00)))),
			"a fund -50.00\n? a: the outcome of an earlier movement of -12.00 USD is unknown: apply may find that the movement was made, or stop",
		},
		"has more, and does not change": {
			planWith(change("vcard_card.a", `"no-op"`, held, held, "", ""), priorState(strings.Join([]string{
				stateCard("vcard_card.b", with("balance", "101"), `,"deposed_key":"abc"`), stateCard("vcard_card.a", with("balance", "133"), ""),
				stateCard("vcard_card.c", with("money_record", pending(12_00)), ""), stateCard("vcard_card.d", with("money_record", "null"), ""),
			}, ","))),
			"note a: holds 33.00 USD more than Terraform knows of\nnote b: holds 1.00 USD more than Terraform knows of\nnote c: the outcome of an earlier movement of +12.00 USD is unknown",
		},
		"has more, and is terminated": {does(`"delete"`, with("balance", "133"), "", was(with("balance", "133"))), "a terminate 133.00"},
		"unknown amount": {
			updates(held, replaceMember(held, "amount", "null"), `"amount":true,"balance":true`),
			"a fund+withdraw 0.00\n? a: amount is known only during apply",
		},
		"unknown top_up": {
			updates(held, held, `"top_up":true,"topped_up":true`),
			"a top_up+configure 0.00\n? a: topped_up is known only during apply",
		},
		"everything is unknown": {
			planWith(strings.Replace(update(held, held, ""), `"after_unknown":{}`, `"after_unknown":true`, 1)),
			"a fund+withdraw+top_up+configure 0.00\n? a: amount is known only during apply\n? a: topped_up is known only during apply",
		},
		"amount with a value but marked unknown": {creates(created, `"amount":true`), "a issue -1.00\n? a: amount is known only during apply"},
		"neither fee nor load is known": {
			creates(`"label":"a"`, ""),
			"a issue 0.00\n? a: amount is known only during apply\n? a: issuance_fee is known only during apply",
		},
		"a second top-up": {updates(with("topped_up", "30"), with("topped_up", "45"), ""), "a top_up -15.00"},
		"a first top-up":  {updates(with("topped_up", "null"), with("topped_up", "20"), ""), "a top_up -20.00"},
		"partly unknown top_up": {
			updates(held, with("top_up", `{"to":9}`), `"top_up":{"below":true},"topped_up":true`),
			"a top_up+configure 0.00\n? a: topped_up is known only during apply",
		},
		"may freeze, and withdraws": {
			updates(held, with("amount", "70"), `"frozen":true,"status":true`, configuredWith("frozen")),
			"a withdraw+freeze+unfreeze 30.00\n? a: frozen is known only during apply",
		},
		"may freeze":                      {updates(held, held, `"frozen":true`), "a freeze+unfreeze 0.00\n? a: frozen is known only during apply"},
		"terminate":                       {does(`"delete"`, held, "", refreshed), "a terminate 60.25"},
		"terminate without a prior state": {does(`"delete"`, held, ""), "a terminate 80.00"},
		"terminate a deposed card": {
			planWith(change("vcard_card.a", `"delete"`, held, "", "", `,"deposed":"abc"`), refreshed), "a terminate 7.00",
		},
		"terminate with an unknown balance": {
			does(`"delete"`, with("balance", "null"), ""),
			"a terminate 0.00\n? a: the plan does not contain the balance that returns to the wallet",
		},
		"replace":                            {does(`"delete","create"`, held, created, refreshed), "a replace -91.25"},
		"replace, create first":              {does(`"create","delete"`, held, created), "a replace -71.50"},
		"replace and forget":                 {does(`"create","forget"`, held, created), "a replace+forget -151.50"},
		"replace and forget, as in OpenTofu": {does(`"forget","create"`, held, created), "a replace+forget -151.50"},
		"forget":                             {does(`"forget"`, held, ""), "a forget 0.00"},
		"import": {
			planWith(strings.Replace(change("vcard_card.a", `"no-op"`, held, held, "", ""), `"actions"`, `"importing":{"id":"card_1"},"actions"`, 1)),
			"a import 0.00",
		},

		"other resources": {
			planWith(`{"address":"vcard_webhook.a","mode":"managed","type":"vcard_webhook","change":{"actions":["delete","create"]}},
				{"address":"data.vcard_card.a","mode":"data","type":"vcard_card","change":{"actions":["read"]}},
				{"address":"vcard_webhook.b","mode":"managed","type":"vcard_webhook","change":{"importing":{"id":"wh_1"},"actions":["no-op"]}},
				{"address":"x.b","mode":"managed","type":"x","change":{"actions":["no-op"]}}`),
			"other vcard_webhook.a\nother vcard_webhook.b",
		},
		"fund by an action":     {invoke("vcard_card_fund", `"card_id":"card_1","amount":12.5`, ""), "fund.x fund -12.50"},
		"withdraw by an action": {invoke("vcard_card_withdraw", `"card_id":"card_1","amount":12.5`, ""), "withdraw.x withdraw 12.50"},
		"withdraw everything": {
			invoke("vcard_card_withdraw", `"card_id":"card_1","amount":null`, ""),
			"withdraw.x withdraw 0.00\n? withdraw.x: withdraws the whole balance of the card, which is known only during apply",
		},

		"withdraw an unknown amount": {
			invoke("vcard_card_withdraw", `"card_id":"card_1"`, `"amount":true`),
			"withdraw.x withdraw 0.00\n? withdraw.x: amount is known only during apply",
		},
		"freeze by an action":       {invoke("vcard_card_freeze", `"card_id":"card_1"`, ""), "freeze.x freeze 0.00"},
		"unfreeze by an action":     {invoke("vcard_card_unfreeze", `"card_id":"card_1"`, ""), "unfreeze.x unfreeze 0.00"},
		"another provider's action": {invoke("x_y", `"amount":1`, ""), "other module.m.action.x_y.x"},
		"a failed plan":             {planWith("", `,"errored":true,"complete":false`), "? planning failed, so the plan is partial"},
		"a partial plan":            {planWith("", `,"complete":false`), "? the plan is partial, for example because of -target"},
		"deferred changes without an address": {
			planWith("", `,"complete":false,"deferred_changes":[{"reason":"unknown"},null]`),
			"? a change is deferred to a later plan\n? a change is deferred to a later plan",
		},
		"a deferred action": {
			planWith("", `,"complete":false,"deferred_action_invocations":[{"reason":"instance_count_unknown","action_invocation":{"address":"action.vcard_card_fund.x","type":"vcard_card_fund"}}]`),
			"? action.vcard_card_fund.x: is deferred to a later plan",
		},
		"a deferred change": {
			planWith("", `,"complete":false,"deferred_changes":[{"reason":"instance_count_unknown","resource_change":`+change("vcard_card.a", `"create"`, "", created, "", "")+"}]"),
			"? a: is deferred to a later plan",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := read(t, test.plan)
			if got := summary(s); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if s.Complete != !strings.Contains(test.want, "?") {
				t.Errorf("complete is %t", s.Complete)
			}
		})
	}
}

func TestSums(t *testing.T) {
	t.Parallel()
	changes := strings.Join([]string{
		change("vcard_card.c", `"create","delete"`, with("id", `"card_2"`), created, "", ""),
		change("vcard_card.b", `"create"`, "", created, "", ""),
		change("vcard_card.a", `"update"`, held, with("amount", "130", "topped_up", "15"), "", ""),
		change("vcard_card.d", `"update"`, with("id", `"card_3"`), with("amount", "90", "metadata", "null"), `"metadata":true`, ""),
		change("vcard_card.e", `"delete"`, with("id", `"card_4"`, "label", "null", "metadata", "null"), "", "", ""),
	}, ",")
	s := read(t, strings.Replace(invoke("vcard_card_fund", `"card_id":"card_1","amount":5`, ""), `"resource_changes":[`, `"resource_changes":[`+changes, 1))
	want := statement.Sums{Loads: 30100, Fees: 200, Funds: 3500, TopUps: 1500, Withdrawals: 1000, Returns: 16000, Net: -18300}
	if diff := cmp.Diff(want, s.Wallet); diff != "" {
		t.Error(diff)
	}
	const counts = "Cards: 1 new, 1 replaced, 1 terminated, 1 funded, 1 withdrawn from, 1 topped up, 1 with changed settings.\n"
	var text strings.Builder
	if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), counts) { // vcard_card.a counts once, although an action funds it too
		t.Errorf("%v: says %s, want %s", err, text.String(), counts)
	}
}

// The balance of the wallet is shown if the plan has read it and has only one account.
func TestBalance(t *testing.T) {
	t.Parallel()
	wallet := func(balance string) string {
		return `{"address":"data.vcard_wallet_balance.now","mode":"data","type":"vcard_wallet_balance","name":"now","values":{"balance":` + balance + `}}`
	}
	configured := func(providers string) string { return `,"configuration":{"provider_config":{` + providers + `}}` }
	const one, other = `"vcard":{"name":"vcard"}`, `"vcard.eu":{"name":"vcard","alias":"eu"}`
	issues := change("vcard_card.a", `"create"`, "", created, "", "")
	readLater := `{"address":"data.vcard_wallet_balance.now","mode":"data","type":"vcard_wallet_balance","name":"now","change":{"actions":["read"],"before":null,"after":{},"after_unknown":{"balance":true}}}`
	for _, test := range []struct{ name, plan, want string }{
		{"before and after", planWith(issues, priorState(wallet("1000"))), "  net                         -151.50\n  wallet holds                1000.00\n  wallet will hold             848.50\n\n"},
		{"one account", planWith(issues, priorState(wallet("1000")), configured(one)), "  wallet will hold             848.50\n"},
		{"too little", planWith(issues, priorState(wallet("100.25")), configured(one)), "  wallet holds                 100.25\n  wallet will hold             -51.25\n"},
		{"about", does(`"delete"`, held, "", priorState(wallet("1000")+","+stateCard("vcard_card.a", held, ""))), "  wallet will hold, about     1080.00\n"},
		{"something unknown", planWith(change("vcard_card.a", `"create"`, "", `"label":"new","issuance_fee":1,"topped_up":0`, `"amount":true`, ""), priorState(wallet("1000"))), "  wallet holds                1000.00\n\n"},
		{"two accounts", planWith(issues, priorState(wallet("1000")), configured(one+","+other)), ""},
		{"two wallets", planWith(issues, priorState(wallet("1000")+","+wallet("2000"))), ""},
		{"read during apply", planWith(issues+","+readLater, priorState(wallet("1000"))), ""},
		{"not read", planWith(issues), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := read(t, test.plan)
			var text, comment strings.Builder
			if err := errors.Join(s.WriteText(&text), s.WriteMarkdown(&comment)); err != nil {
				t.Fatal(err)
			}
			for _, written := range []string{text.String(), comment.String()} {
				if shown := strings.Contains(written, "wallet holds"); shown != (test.want != "") {
					t.Errorf("shows what the wallet holds: %t\n%s", shown, written)
				}
			}
			if !strings.Contains(text.String(), test.want) {
				t.Errorf("got\n%s\nwant\n%s", text.String(), test.want)
			}
		})
	}
}

// A sensitive label is not in the statement.
func TestSensitive(t *testing.T) {
	t.Parallel()
	text := strings.Replace(does(`"create"`, "", created), `"after_unknown"`, `"after_sensitive":{"label":true,"metadata":true},"after_unknown"`, 1)
	s := read(t, text)
	acts := read(t, strings.Replace(invoke("vcard_card_fund", `"card_id":"card_1","amount":1`, ""), held, held+`},"sensitive_values":{"label":true`, 1))
	for _, label := range []string{s.Cards[0].Label, acts.Cards[0].Label} {
		if label != "(sensitive)" {
			t.Errorf("the label is %q", label)
		}
	}
}

// The samples are plans as several versions of the CLIs have printed them. One contains every kind of action. The tests
// of examples/policy read the statements too.
func TestSamples(t *testing.T) {
	t.Parallel()
	plans, err := filepath.Glob("testdata/*.plan.json")
	if err != nil || len(plans) == 0 {
		t.Fatal("no samples", err)
	}
	for _, plan := range plans {
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			text := regexp.MustCompile(`"record of (card_\w+)"`).ReplaceAllStringFunc(sandboxtest.File(t, plan), func(known string) string {
				return record(strings.Trim(strings.TrimPrefix(known, `"record of `), `"`), reconcile.Record{})
			})
			for flag, form := range map[string]string{"text": ".txt", "markdown": ".comment.txt", "json": ".statement.json"} {
				want := sandboxtest.File(t, strings.TrimSuffix(plan, ".plan.json")+form)
				_, got, _ := runStatement(t, text, "--format", flag)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// The printed JSON matches the published schema.
func TestPublishedSchema(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(sandboxtest.File(t, "../../examples/policy/statement.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("https://example.com/statement.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("https://example.com/statement.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []string{
		planWith(""),
		planWith(strings.Join([]string{
			change("vcard_card.old", `"create","delete"`, held, created, "", ""),
			change("vcard_card.deposed", `"delete"`, held, "", "", `,"deposed":"abc"`),
			update(with("amount", "null"), held, ""),
			change("vcard_card.b", `"update"`, held, with("frozen", "true"), `"amount":true`, ""),
		}, ",")),
		invoke("vcard_card_withdraw", `"card_id":"card_1"`, ""),
		planWith("", priorState(`{"address":"data.vcard_wallet_balance.now","mode":"data","type":"vcard_wallet_balance","name":"now","values":{"balance":10}}`)),
	} {
		_, stdout, _ := runStatement(t, plan, "--format", "json", "--max-card", "0", "--no-unknown")
		printed, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(printed); err != nil {
			t.Errorf("%v:\n%s", err, stdout)
		}
	}
}
