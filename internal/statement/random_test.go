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
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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
			r, did := rand.New(rand.NewPCG(*randomSeed, 5)), map[string]int{}
			for n := 0; did["applied"] < test.plans; {
				w := newWorld(t, r, test.foreign, did)
				for ; did["applied"] < test.plans && w.inARow < 3; n++ {
					w.step(n)
					if t.Failed() || did["refused"] > 2*test.plans+10 {
						t.Fatalf("plan %d of seed %d: %s\n%s", n, *randomSeed, w.what, w.written)
					}
				}
				w.s.Balanced()
			}
			t.Logf("%v", did)
			kinds := test.kinds
			if test.plans >= 1500 { // some are rare
				kinds += " issue replace terminate fund withdraw top_up freeze unfreeze import forget configure moved"
			}
			for kind := range strings.FieldsSeq(kinds) {
				if test.plans >= 150 && did[kind] == 0 {
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

// world is a workspace and its service, which ends when nothing but refused plans is left of it.
type world struct {
	*acctest.Workspace
	t       *testing.T
	s       *acctest.Service
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

func newWorld(t *testing.T, r *rand.Rand, foreign bool, did map[string]int) *world {
	t.Helper()
	w := &world{Workspace: acctest.NewWorkspace(t), t: t, s: acctest.Start(t), foreign: foreign, r: r, cards: map[string]config{}, did: did}
	w.s.Unlimited()
	deposit := w.s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 1_000_000}).Must()
	w.s.Post("/_sandbox/deposits/"+deposit.Text("id")+"/confirm", nil).Must()
	w.Write("provider.tf", acctest.Required+w.s.ProviderConfig())
	return w
}

// json is what a command prints. Before it stands what the CLI has to say of the provider under test.
func (w *world) json(args ...string) string {
	w.t.Helper()
	_, text, _ := strings.Cut(w.Must(args...), "{")
	return "{" + text
}

func (w *world) note(format string, args ...any) {
	w.what = append(w.what, fmt.Sprintf(format, args...))
}

func (w *world) usd(from, to int) usd.Amount { return usd.Amount(from + w.r.IntN(to-from)) }

// step makes one plan, and applies it unless it is refused.
func (w *world) step(n int) {
	w.t.Helper()
	w.what = nil
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
		w.inARow++
		return
	}
	w.inARow = 0
	text := w.json("show", "-json", "plan")
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
		w.s.Fault(map[string]any{
			"method": "DELETE", "path": "/cards/*", "times": 1, "when": "before",
			"then": map[string]any{"status": 400, "body": map[string]string{"error": "invalid_request", "message": "Not now."}},
		}).Must()
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
	w.states = append(w.states, savedState{w.json("state", "pull"), e.cards})
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

func (w *world) balance(id string) usd.Amount {
	var card struct{ Balance usd.Amount }
	w.s.Get("/cards/" + id).Into(&card)
	return card.Balance
}

// spend buys something on a card, which may be declined.
func (w *world) spend(id string) usd.Amount {
	amount := w.usd(1, int(w.balance(id))+10_00)
	declined := w.s.Authorize(id, amount.String(), "7311").Must().Body["decline_reason"] != nil
	if w.note("spend %s on %s: declined %t", amount, id, declined); declined {
		return 0
	}
	return amount
}

// spendBetween spends on cards that the plan terminates, and returns how much the plan
// has not seen: of one that did not look, all that is not there.
func (w *world) spendBetween(stated *statement.Statement, looked bool) map[string]usd.Amount {
	spent := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if card.Sums.Returns > 0 && w.r.IntN(4) == 0 {
			spent[card.ID] = w.spend(card.ID)
			w.did["spent"]++
		}
		if card.Sums.Returns > 0 && !looked {
			spent[card.ID] = card.Sums.Returns - w.balance(card.ID)
		}
	}
	return spent
}

func (w *world) outside() {
	live := w.s.LiveCards()
	if len(live) == 0 {
		return
	}
	id, _ := live[w.r.IntN(len(live))]["id"].(string)
	if w.foreign && w.r.IntN(2) == 0 {
		w.moveByHand(id)
		return
	}
	switch w.r.IntN(8) {
	default:
		w.spend(id)
	case 0:
		w.s.Post("/cards/"+id+"/freeze", nil) // which a frozen card may refuse
		w.note("freeze %s", id)
	case 1:
		w.s.Terminate(id)
		w.note("terminate %s", id)
	}
}

// moveByHand funds a card or withdraws from it, often by a sum that a plan may have as well.
func (w *world) moveByHand(id string) {
	way, amount := "fund", w.usd(1, 120_00)
	if balance := w.balance(id); balance > 0 && w.r.IntN(3) == 0 {
		way, amount = "withdraw", w.usd(1, int(balance)+1)
	}
	w.s.Post("/cards/"+id+"/"+way, map[string]any{"amount": amount}).Must()
	w.note("%s %s by hand with %s", way, id, amount)
	w.did["by-hand"]++
}

// restore puts back an older state, with its configuration.
func (w *world) restore() {
	if !w.foreign || len(w.states) == 0 || w.r.IntN(6) > 0 {
		return
	}
	saved := w.states[max(0, len(w.states)-1-w.r.IntN(3))]
	w.Write("terraform.tfstate", saved.text)
	w.cards = saved.cards
	w.note("restored a state")
	w.did["restored"]++
}

// edit is the configuration of the next plan.
type edit struct {
	cards  map[string]config
	blocks map[string][]any // moved, removed, import
}

func (w *world) name() string {
	w.next++
	return fmt.Sprint("c", w.next)
}

// change edits the configuration, and returns the flags of its plan.
func (w *world) change(e *edit) []string {
	mode := w.r.IntN(60)
	if mode < 2 {
		return []string{[]string{"-destroy", "-refresh-only"}[mode]}
	}
	for range 1 + w.r.IntN(4) {
		w.edit(e)
	}
	names := slices.Sorted(maps.Keys(e.cards))
	if len(names) == 0 {
		return nil
	}
	name := names[w.r.IntN(len(names))]
	switch n := w.r.IntN(12); {
	case n < 2:
		w.note("replace %s", name)
		return []string{"-replace=vcard_card." + name}
	case n == 2 && len(e.blocks) == 0:
		w.note("target %s", name)
		return []string{"-target=vcard_card." + name}
	case n == 3:
		w.did["unrefreshed"]++
		return []string{unrefreshed}
	case n < 6: // fails for what is not in the state
		code, _ := w.Run("taint", "vcard_card."+name)
		w.note("taint %s: %d", name, code)
	}
	return nil
}

func (w *world) edit(e *edit) {
	names := slices.Sorted(maps.Keys(e.cards))
	if len(names) < 3 || len(names) < 7 && w.r.IntN(6) == 0 {
		w.issue(e)
		return
	}
	name := names[w.r.IntN(len(names))]
	card := e.cards[name]
	w.note("edit %s", name)
	kind := w.r.IntN(16)
	if w.foreign && w.r.IntN(2) == 0 {
		kind = w.r.IntN(6) // money
	}
	switch kind {
	case 0, 1, 2:
		card["amount"] = w.usd(0, 400_00)
		if w.cards[name] == nil {
			card["amount"] = w.usd(50_00, 400_00)
		}
	case 3:
		card["frozen"] = []any{true, false, nil}[w.r.IntN(3)]
	case 4, 5:
		below := 1_00 + w.r.IntN(99_00)
		card["top_up"] = map[string]any{"below": usd.Amount(below), "to": w.usd(below, below+100_00)}
		if w.r.IntN(2) == 0 {
			card["max_top_up_per_month"] = w.usd(1, 120_00)
			w.did["capped"]++
		}
	case 6:
		delete(card, "top_up")
		delete(card, "max_top_up_per_month")
	case 7:
		card["label"] = fmt.Sprint("label-", w.r.IntN(1000))
	case 8:
		card["auto_freeze_at"] = w.usd(1_00, 50_00)
	case 9:
		card["lifecycle"] = []any{map[string]any{"create_before_destroy": w.r.IntN(4) > 0}}
	case 10:
		delete(e.cards, name)
	case 11:
		w.move(e, name)
	case 12:
		w.forget(e, name)
	case 13:
		w.adopt(e)
	case 14:
		card["metadata"] = map[string]any{"team": fmt.Sprint("team ", w.r.IntN(3))}
	case 15:
		card["deletion_protection"] = w.r.IntN(3) == 0
	}
}

func (w *world) issue(e *edit) {
	name := w.name()
	e.cards[name] = config{"bin_id": sandboxtest.BIN, "amount": w.usd(50_00, 300_00)}
	w.note("new %s", name)
}

// move gives a card of the state another address.
func (w *world) move(e *edit, name string) {
	if w.cards[name] == nil {
		return
	}
	to := w.name()
	e.cards[to] = e.cards[name]
	delete(e.cards, name)
	w.did["moved"]++
	e.blocks["moved"] = append(e.blocks["moved"], map[string]string{"from": "vcard_card." + name, "to": "vcard_card." + to})
}

func (w *world) forget(e *edit, name string) {
	if w.cards[name] == nil {
		return
	}
	delete(e.cards, name)
	e.blocks["removed"] = append(e.blocks["removed"], map[string]any{"from": "vcard_card." + name, "lifecycle": map[string]bool{"destroy": false}})
}

// adopt imports a card that no state has.
func (w *world) adopt(e *edit) {
	state := w.Must("state", "pull")
	for _, card := range w.s.LiveCards() {
		id, _ := card["id"].(string)
		written, _ := json.Marshal(e.blocks)
		if strings.Contains(state, id) || strings.Contains(string(written), id) {
			continue
		}
		name := w.name()
		e.cards[name] = config{"bin_id": sandboxtest.BIN}
		if w.r.IntN(2) == 0 {
			e.cards[name]["amount"] = w.usd(50_00, 300_00)
		}
		e.blocks["import"] = append(e.blocks["import"], map[string]string{"to": "vcard_card." + name, "id": id})
		return
	}
}

func (w *world) write(e edit) {
	document := map[string]any{}
	if len(e.cards) > 0 {
		document["resource"] = map[string]any{"vcard_card": e.cards}
	}
	for kind, blocks := range e.blocks {
		document[kind] = blocks
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	w.written = string(text)
	w.Write("main.tf.json", w.written)
}
