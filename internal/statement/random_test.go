package statement_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	randomPlans = flag.Int("statement.plans", 12, "plans of the randomized test of the statement")
	randomSeed  = flag.Uint64("statement.seed", 1, "its seed")
)

// TestRandomPlans edits configurations at random, and cards outside Terraform,
// before a plan and between plan and apply. The wallet changes by what the
// statement says to the cent, less what has a name: purchases that the plan cannot
// have seen on cards whose balance returns, and movements that apply does not make. Each of
// these the plan has named by its card, and the statement too where the card held more than its
// record knows of. In a quarter of the plans money moves by hand, and older states are restored.
func TestRandomPlans(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0")
	for _, test := range []struct {
		plans   int
		foreign bool
		kinds   string
	}{
		{*randomPlans - *randomPlans/4, false, "capped refused spent unknown unrefreshed"},
		{*randomPlans / 4, true, "by-hand not-moved restored unknown"},
	} {
		t.Run(fmt.Sprintf("foreign=%t", test.foreign), func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			s.Unlimited()
			w := &world{folder: newFolder(t, s), foreign: test.foreign, r: rand.New(rand.NewPCG(*randomSeed, 5)), cards: map[string]config{}, did: map[string]int{}}
			for n := 0; w.did["applied"] < test.plans; n++ {
				w.step(n)
				if t.Failed() || w.did["refused"] > 2*test.plans+10 || w.inARow > 15 {
					t.Fatalf("plan %d of seed %d: %s\n%s", n, *randomSeed, w.what, w.written)
				}
			}
			s.Balanced()
			t.Logf("%v", w.did)
			kinds := test.kinds
			if test.plans >= 1500 { // some are rare
				kinds += " issue replace terminate fund withdraw top_up freeze unfreeze import forget configure moved"
			}
			for kind := range strings.FieldsSeq(kinds) {
				if test.plans >= 150 && w.did[kind] == 0 {
					t.Errorf("no plan had %q", kind)
				}
			}
		})
	}
}

// unrefreshed has a plan be made of what the state holds.
const unrefreshed = "-refresh=false"

// config is a card's block.
type config = map[string]any

type world struct {
	*folder
	foreign bool // money moves by hand, and states are restored
	r       *rand.Rand
	cards   map[string]config // by resource name, as applied
	states  []savedState
	next    int
	what    []string // since the last plan
	written string
	inARow  int            // refused plans
	did     map[string]int // how often
}

// savedState is the state after an apply, with the configuration.
type savedState struct {
	text  string
	cards map[string]config
}

func (w *world) note(format string, args ...any) {
	w.what = append(w.what, fmt.Sprintf(format, args...))
}

func (w *world) usd(from, to int) json.Number {
	return json.Number(usd.Amount(from + w.r.IntN(to-from)).String())
}

func (w *world) parse(amount json.Number) usd.Amount {
	w.t.Helper()
	parsed, err := usd.Parse(string(amount))
	if err != nil {
		w.t.Fatal(err)
	}
	return parsed
}

// step makes one plan, and applies it unless it is refused.
func (w *world) step(n int) {
	w.t.Helper()
	w.what = nil
	w.deposit()
	w.restore()
	for range w.r.IntN(3) {
		w.outside()
	}
	e := edit{cards: map[string]config{}, blocks: map[string][]any{}}
	for name, card := range w.cards {
		e.cards[name] = maps.Clone(card)
	}
	flags := w.change(&e)
	w.write(e)
	code, planned := w.Run(append([]string{"plan", "-no-color", "-input=false", "-out=plan"}, flags...)...)
	if code != 0 {
		w.did["refused"]++
		w.note("refused: %s", planned)
		if w.inARow++; w.inARow > 2 {
			w.mend()
		}
		return
	}
	w.inARow = 0
	text := w.show()
	stated := read(w.t, text)
	w.note("plan %d: %s", n, summary(stated))
	for _, card := range stated.Cards {
		for _, action := range card.Actions {
			w.did[string(action)]++
		}
	}
	if len(stated.Unknown) > 0 {
		w.did["unknown"]++
	}
	spent := w.spendBetween(stated, !slices.Contains(flags, unrefreshed))
	if w.r.IntN(8) == 0 {
		w.s.Fault(refused).Must()
	}
	before, held := w.s.Wallet(), w.balances(stated)
	code, output := w.Run("apply", "-no-color", "-input=false", "plan")
	w.s.Delete("/_sandbox/faults").Must()
	undone, stops := w.undone(stated, spent, output)
	for id, amount := range w.notMoved(stated, held) {
		undone += amount
		stops++
		w.did["not-moved"]++
		if !slices.Contains(flags, unrefreshed) {
			w.isNamed(id, planned, text, stated, held[id])
		}
	}
	var named usd.Amount
	for _, amount := range spent {
		named += amount
	}
	w.did["applied"]++
	w.did["stopped"] += stops
	if gained := w.s.Wallet() - before; gained != stated.Wallet.Net-named-undone {
		w.t.Errorf("the wallet gained %s; stated is %s, of which %s has a name and %s is in errors:\n%s", gained, stated.Wallet.Net, named, undone, output)
	}
	if code != 0 && stops == 0 && !strings.Contains(output, "left behind forgotten instances") { // as OpenTofu -destroy ends
		w.t.Errorf("the apply ended with %d:\n%s", code, output)
	}
	if code == 0 && stops == 0 && len(flags) == 0 && w.r.IntN(4) == 0 {
		if code, output := w.Run("plan", "-no-color", "-input=false", "-detailed-exitcode"); code != 0 {
			w.t.Errorf("a plan of what was applied ended with %d:\n%s", code, output)
		}
	}
	w.cards = e.cards
	w.states = append(w.states, savedState{w.pulled(), e.cards})
}

// isNamed holds that a plan and its statement said that apply may not make the movement on a
// card, the second as far as balance and record show it.
func (w *world) isNamed(id, planned, text string, stated *statement.Statement, balance usd.Amount) {
	w.t.Helper()
	if !regexp.MustCompile(`(?m)^Warning: .*` + id).MatchString(planned) {
		w.t.Errorf("no warning of the plan has %s in its title:\n%s", id, planned)
	}
	plan, err := statement.ReadPlan(strings.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, resource := range plan.Prior.Values.RootModule.Resources {
		if resource.AttributeValues["id"] != id {
			continue
		}
		written, _ := resource.AttributeValues["money_record"].(string)
		record := reconcile.ParseRecord(id, written)
		isNamed := slices.ContainsFunc(stated.Unknown, func(u statement.Unknown) bool { return u.Address == resource.Address })
		if !isNamed && (record.Anchor == nil || record.Pending != nil || balance > record.Anchor.Balance) {
			w.t.Errorf("the statement does not name %s, which held %s", resource.Address, balance)
		}
	}
}

// movement is what a plan moves on a card that stays, funded above zero.
func movement(card statement.Card) usd.Amount {
	if slices.Contains(card.Actions, statement.Replace) || slices.Contains(card.Actions, statement.Terminate) {
		return 0
	}
	return card.Sums.Funds + card.Sums.TopUps - card.Sums.Withdrawals
}

func (w *world) balances(stated *statement.Statement) map[string]usd.Amount {
	held := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if movement(card) != 0 {
			held[card.ID] = w.balance(card.ID)
		}
	}
	return held
}

// notMoved is what the wallet has less, or more below zero, than by the statement, by card.
func (w *world) notMoved(stated *statement.Statement, held map[string]usd.Amount) map[string]usd.Amount {
	not := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if moves := movement(card); moves != 0 {
			if moved := w.balance(card.ID) - held[card.ID]; moved != moves {
				not[card.ID] = moved - moves
			}
		}
	}
	return not
}

// pulled is the state's text. Before it stands what the CLI has to say.
func (w *world) pulled() string {
	w.t.Helper()
	_, text, _ := strings.Cut(w.Must("state", "pull"), "{")
	return "{" + text
}

// mend takes the ways out that the refusals name. The configuration goes back to what
// the state holds: a plan with -target leaves it ahead, and cards outside it, and so does
// an apply that stopped. It has neither protection nor top-ups, and loads with which
// what was terminated outside can be issued again. Tainted cards are not updated, and no
// configuration reaches a protected card that is deposed.
func (w *world) mend() {
	var state struct {
		Resources []struct {
			Name      string `json:"name"`
			Instances []struct {
				Status     string `json:"status"`
				Deposed    string `json:"deposed"`
				Key        string `json:"index_key"`
				Attributes config `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	decoder := json.NewDecoder(strings.NewReader(w.pulled()))
	decoder.UseNumber()
	if err := decoder.Decode(&state); err != nil {
		w.t.Fatal(err)
	}
	cards := map[string]config{}
	for _, resource := range state.Resources {
		for _, instance := range resource.Instances {
			has := instance.Attributes
			if instance.Deposed != "" {
				id, _ := has["id"].(string)
				if has["deletion_protection"] == true && w.s.Get("/cards/"+id).Text("status") != "terminated" { // as an unrefreshed state does not know
					w.s.Terminate(id)
				}
				continue
			}
			card := config{"lifecycle": w.cards[resource.Name]["lifecycle"]}
			for _, name := range []string{"bin_id", "amount", "label", "metadata", "auto_freeze_at"} {
				card[name] = has[name]
			}
			if load, isNumber := card["amount"].(json.Number); !isNumber || w.parse(load) < 50*usd.Dollar {
				card["amount"] = w.usd(50_00, 300_00)
			}
			if instance.Key != "" {
				card["for_each"] = hardKeys
			}
			if instance.Status == "tainted" {
				w.Must("untaint", "vcard_card."+resource.Name)
			}
			cards[resource.Name] = card
		}
	}
	w.cards = cards
}

var failed = regexp.MustCompile(`(?m)^Error: .*(card_\w+)`)

// undone is what apply did not do of terminations, and names in an error, as where one is
// refused. What was spent of that does not count any more.
func (w *world) undone(stated *statement.Statement, spent map[string]usd.Amount, output string) (sum usd.Amount, stops int) {
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		for _, card := range stated.Cards {
			if card.ID != found[1] || movement(card) != 0 {
				continue
			}
			if stops++; strings.Contains(output, card.Address+": Creation complete") {
				w.s.Terminate(card.ID) // it is deposed now, and nobody needs it
				continue
			}
			sum += card.Wallet
			delete(spent, card.ID)
		}
	}
	return sum, stops
}
