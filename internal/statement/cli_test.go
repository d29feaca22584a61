package statement_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// folder is a workspace whose plans are stated.
type folder struct {
	*acctest.Workspace
	s *acctest.Service
	t *testing.T
}

func newFolder(t *testing.T, s *acctest.Service) *folder {
	t.Helper()
	f := &folder{acctest.NewWorkspace(t), s, t}
	f.Write("provider.tf", acctest.Required+s.Provider())
	return f
}

// plan saves a plan and returns its JSON.
func (f *folder) plan(flags ...string) string {
	f.t.Helper()
	f.Must(append([]string{"plan", "-no-color", "-input=false", "-out=plan"}, flags...)...)
	return f.show()
}

// show is the JSON of the saved plan. Before it stands what the CLI has to say of
// the provider under test.
func (f *folder) show() string {
	f.t.Helper()
	_, text, _ := strings.Cut(f.Must("show", "-json", "plan"), "{")
	return "{" + text
}

// apply applies the saved plan and returns what the wallet gained.
func (f *folder) apply() usd.Amount {
	f.t.Helper()
	before := f.s.Wallet()
	f.Must("apply", "-no-color", "-input=false", "plan")
	return f.s.Wallet() - before
}

func (f *folder) state(name string) string {
	f.t.Helper()
	found := regexp.MustCompile(`(?m)^\s*id\s+= "(card_.*)"`).FindStringSubmatch(f.Must("state", "show", "-no-color", name))
	return found[1]
}

func block(name string, lines ...string) string {
	return fmt.Sprintf("resource \"vcard_card\" %q {\n  bin_id = %q\n  %s\n}\n", name, sandboxtest.BIN, strings.Join(lines, "\n  "))
}

const createFirst = "lifecycle {\n    create_before_destroy = true\n  }"

// refused is a fault: the service refuses a termination.
var refused = map[string]any{
	"method": "DELETE", "path": "/cards/*", "times": 1, "when": "before",
	"then": map[string]any{"status": 400, "body": map[string]string{"error": "invalid_request", "message": "Not now."}},
}

// TestEveryKindOfPlan lives through what a plan can do with cards. What the
// statement says is what the wallet does.
func TestEveryKindOfPlan(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0")
	s := acctest.Start(t)
	f := newFolder(t, s)
	frozen, d, e := block("b", "amount = 60.5", "frozen = true"), block("d", "amount = 60.51"), block("e", "amount = 75")
	for _, step := range []struct {
		name    string
		outside func()
		config  string
		want    string
		less    usd.Amount // than that reaches the wallet: of what is refused, or not known
	}{
		{"create", nil, block("a", "amount = 100") + frozen, "a issue -101.00\nb issue+freeze -61.50", 0},
		{"fund and unfreeze", nil, block("a", "amount = 123.5 * 1.2") + block("b", "amount = 60.5", "frozen = false"), "a fund -48.20\nb unfreeze 0.00", 0},
		{"withdraw and freeze", nil, block("a", "amount = 100") + frozen, "b freeze 0.00\na withdraw 48.20", 0},
		{
			"top up", func() { s.Authorize(f.state("vcard_card.a"), "70", "7311").OK(201) },
			block("a", "amount = 100", "top_up = {\n    below = 50\n    to = 90\n  }") + frozen, "a top_up+configure -60.00", 0,
		},
		{"replace, the old one first", nil, block("a", "amount = 110", "label = \"new\"") + frozen, "a replace -21.00", 0},
		{
			"replace, the new one first", func() { s.Authorize(f.state("vcard_card.a"), "25.25", "7311").OK(201) },
			block("a", "amount = 120", "label = \"newer\"", createFirst) + frozen, "a replace -36.25", 0,
		},
		{
			"replace, and the old one is not terminated", func() { s.Fault(refused).Must() },
			block("a", "amount = 70", "label = \"newest\"", createFirst) + frozen, "a replace 49.00", 120_00,
		},
		{ // it is a deposed object, with a balance of its own
			"terminate what was left", func() { s.Authorize(fmt.Sprint(s.LiveCards()[1]["id"]), "30", "7311").OK(201) },
			block("a", "amount = 70", "label = \"newest\"", createFirst) + frozen, "a terminate 90.00", 0,
		},
		{
			"move, fund and terminate", func() { s.Authorize(f.state("vcard_card.a"), "20", "7311").OK(201) },
			block("c", "amount = 60.51", "frozen = true") + "moved {\n  from = vcard_card.b\n  to   = vcard_card.c\n}\n", "c fund -0.01\na terminate 50.00", 0,
		},
		{"forget", nil, "removed {\n  from = vcard_card.c\n  lifecycle {\n    destroy = false\n  }\n}\n", "c forget 0.00", 0},
		{
			"import with a baseline", nil,
			d + e + "import {\n  to = vcard_card.d\n  id = \"ID\"\n}\n", "e issue -76.00\nd import 0.00 from 60.51", 0,
		},
		{
			"a load that apply makes", nil, d + e + block("f", "amount = terraform_data.load.output") +
				"resource \"terraform_data\" \"load\" {\n  input = 80\n}\n",
			"f issue -1.00\n? f: amount is known only during apply\nother terraform_data.load", 80_00,
		},
		{"terminate it", nil, d + e, "f terminate 80.00\nother terraform_data.load", 0},
		{"nothing", nil, d + e, "", 0},
		{"terminate what is gone", func() { s.Terminate(f.state("vcard_card.e")) }, d, "", 0},
		{"terminate all", nil, "", "d terminate 60.51", 0},
	} {
		if step.outside != nil {
			step.outside()
		}
		if live := s.LiveCards(); len(live) > 0 {
			step.config = strings.Replace(step.config, `"ID"`, fmt.Sprintf("%q", live[0]["id"]), 1)
		}
		f.Write("main.tf", step.config)
		stated := read(t, f.plan())
		if got := summary(stated); got != step.want {
			t.Errorf("%s: stated is\n%s\nwant\n%s", step.name, got, step.want)
		}
		before := s.Wallet()
		code, output := f.Run("apply", "-no-color", "-input=false", "plan")
		if fails := step.less > 0 && stated.Complete; fails != (code != 0) {
			t.Errorf("%s: the apply ended with %d:\n%s", step.name, code, output)
		}
		if gained := s.Wallet() - before; gained != stated.Wallet.Net-step.less {
			t.Errorf("%s: the wallet gained %s, stated is %s", step.name, gained, stated.Wallet.Net)
		}
	}
	s.Balanced()
}

// Money that actions move stands in the plan too.
func TestActionsOfAPlan(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.14.0", "")
	s := acctest.Start(t)
	f := newFolder(t, s)
	f.Write("main.tf", block("a", "amount = 100")+block("b", "amount = 60"))
	f.plan()
	f.apply()
	f.Write("main.tf", block("a", "amount = 100")+block("b", "amount = 70", `lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.vcard_card_fund.boost]
    }
  }`)+`
action "vcard_card_fund" "boost" {
  config {
    card_id = vcard_card.a.id
    amount  = 12.34
  }
}
`)
	for flag, want := range map[string]string{
		"-input=false":                         "action.vcard_card_fund.boost fund -12.34\nb fund -10.00",
		"-invoke=action.vcard_card_fund.boost": "action.vcard_card_fund.boost fund -12.34",
	} {
		stated := read(t, f.plan(flag))
		if got := summary(stated); got != want {
			t.Errorf("%s: stated is\n%s", flag, got)
		}
		if gained := f.apply(); gained != stated.Wallet.Net {
			t.Errorf("%s: the wallet gained %s", flag, gained)
		}
	}
}

// What the rules are for, as a person would meet it.
func TestGuards(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0") // import blocks with for_each
	s := acctest.Start(t)
	f := newFolder(t, s)
	const list = "data \"vcard_cards\" \"all\" {\n}\n"
	fleet := func(amount, to string) string {
		return list + fmt.Sprintf("resource \"vcard_card\" \"fleet\" {\n  count  = 5\n  bin_id = %q\n  label  = \"ads-${count.index}\"\n  amount = %s\n  top_up = {\n    below = 50\n    to    = %s\n  }\n}\n",
			sandboxtest.BIN, amount, to)
	}
	check := func(text, flags string, code int, words ...string) {
		t.Helper()
		got, _, stderr := state(t, text, strings.Fields(flags)...)
		if got != code {
			t.Errorf("%s ended with %d: %s", flags, got, stderr)
		}
		sandboxtest.Says(t, flags, stderr, words...)
	}
	f.Write("main.tf", fleet("60", "100"))
	check(f.plan(), "-no-duplicates -max-card 60 -max-net 305 -no-unknown -only issue", 0)
	f.apply()

	s.Authorize(f.state("vcard_card.fleet[2]"), "40", "7311").OK(201)
	check(f.plan(), "-only top_up -no-duplicates -max-card 100", 0)

	another := newFolder(t, s)
	another.Write("main.tf", fleet("60", "100"))
	duplicated := another.plan()
	check(duplicated, "-no-duplicates", 3, "vcard_card.fleet[0]: the live card card_", `has its label, "ads-0", and is not in this state`)
	warned := another.Must("plan", "-no-color", "-input=false")
	if n := strings.Count(warned, "Warning: Live cards have labels of cards that this plan issues"); n == 0 { // one, unless the plan is slow
		t.Errorf("%d warnings stand for the fleet:\n%s", n, warned)
	}
	_, _, stderr := state(t, duplicated, "-no-duplicates")
	_, imports, _ := strings.Cut(stderr, "nothing is issued for them then:\n")
	another.Write("main.tf", strings.TrimPrefix(fleet("60", "100"), list))
	check(another.plan(), "-no-duplicates", 1, list)
	another.Write("main.tf", fleet("60", "100"))
	another.Write("imports.tf", imports)
	check(another.plan(), "-no-duplicates -max-net 80 -only import,top_up", 0)
}
