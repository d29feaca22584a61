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
	randomPlans = flag.Int("statement.plans", 12, "number of plans in TestRandomPlans")
	randomSeed  = flag.Uint64("statement.seed", 1, "seed of TestRandomPlans")
)

// TestRandomPlans makes random plans and applies them. Before a plan, it changes the configuration, and cards outside
// Terraform. Between plan and apply, it spends money on cards that the plan terminates.
//
// The wallet must change by exactly the net of the statement, except for such purchases, for refused terminations, and
// for movements that apply does not make. If the plan refreshed the state, it must warn about each of these movements,
// and the statement must report those that the card's balance and record show. In a quarter of the plans, money is also
// moved by hand, and older states are restored.
func TestRandomPlans(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0")
	for _, test := range []struct {
		plans   int
		foreign bool
		kinds   string // what must happen at least once in 150 plans or more
	}{
		{*randomPlans - *randomPlans/4, false, "capped refused spent unknown unrefreshed"},
		{*randomPlans / 4, true, "by-hand not-moved restored unknown"},
	} {
		t.Run(fmt.Sprintf("foreign=%t", test.foreign), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(*randomSeed, 5))
			counts := map[string]int{}
			n := 0
			for counts["applied"] < test.plans {
				w := newWorld(t, r, test.foreign, counts)
				for counts["applied"] < test.plans && w.refusedInARow < 3 {
					w.step(n)
					tooManyRefused := counts["refused"] > 2*test.plans+10
					if t.Failed() || tooManyRefused {
						t.Fatalf("plan %d of seed %d: %s\n%s", n, *randomSeed, w.notes, w.written)
					}
					n++
				}
				w.s.Balanced()
			}
			t.Logf("%v", counts)
			kinds := test.kinds
			if test.plans >= 1500 { // some are rare
				kinds += " issue replace terminate fund withdraw top_up freeze unfreeze import forget configure moved"
			}
			for kind := range strings.FieldsSeq(kinds) {
				if test.plans >= 150 && counts[kind] == 0 {
					t.Errorf("no plan had %q", kind)
				}
			}
		})
	}
}

// unrefreshed is the flag for a plan that does not refresh the state.
const unrefreshed = "-refresh=false"

// config has the attributes of a card's block.
type config = map[string]any

// world is a workspace and its service. The test starts a new one after three refused plans in a row.
type world struct {
	*acctest.Workspace
	t       *testing.T
	s       *acctest.Service
	foreign bool // whether money is moved by hand, and states are restored
	r       *rand.Rand
	cards   map[string]config // the applied configuration, by resource name
	states  []savedState      // oldest first
	next    int               // the number in the last new resource name
	notes   []string          // what has happened in this step
	written string            // the configuration of this step

	refusedInARow int            // the number of plans that were refused since the last successful one
	counts        map[string]int // how often each kind of thing has happened, in all worlds of a test
}

// savedState is the state after an apply, with the configuration.
type savedState struct {
	text  string
	cards map[string]config
}

func newWorld(t *testing.T, r *rand.Rand, foreign bool, counts map[string]int) *world {
	t.Helper()
	w := &world{Workspace: acctest.NewWorkspace(t), t: t, s: acctest.Start(t), foreign: foreign, r: r, cards: map[string]config{}, counts: counts}
	w.s.Unlimited()
	deposit := w.s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 1_000_000}).Must()
	w.s.Post("/_sandbox/deposits/"+deposit.Text("id")+"/confirm", nil).Must()
	w.Write("provider.tf", acctest.Required+w.s.ProviderConfig())
	return w
}

// json returns the JSON that a command prints, without the CLI's warning about the provider under test.
func (w *world) json(args ...string) string {
	w.t.Helper()
	_, text, _ := strings.Cut(w.Must(args...), "{")
	return "{" + text
}

func (w *world) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// usd returns a random amount, in cents, that is at least from and less than to.
func (w *world) usd(from, to int) usd.Amount { return usd.Amount(from + w.r.IntN(to-from)) }

// step makes one plan, and applies it unless it is refused.
func (w *world) step(n int) {
	w.t.Helper()
	w.notes = nil
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
		w.counts["refused"]++
		w.note("refused: %s", planned)
		w.refusedInARow++
		return
	}
	w.refusedInARow = 0
	text := w.json("show", "-json", "plan")
	stated := read(w.t, text)
	w.note("plan %d: %s", n, summary(stated))
	for _, card := range stated.Cards {
		for _, action := range card.Actions {
			w.counts[string(action)]++
		}
	}
	if len(stated.Unknown) > 0 {
		w.counts["unknown"]++
	}
	spent := w.spendBetween(stated, !slices.Contains(flags, unrefreshed))
	if w.r.IntN(8) == 0 {
		w.s.Fault(map[string]any{
			"method": "DELETE", "path": "/cards/*", "times": 1, "when": "before",
			"then": map[string]any{"status": 400, "body": map[string]string{"error": "invalid_request", "message": "Not now."}},
		}).Must()
	}
	before := w.s.Wallet()
	balances := w.balances(stated)
	code, output := w.Run("apply", "-no-color", "-input=false", "plan")
	w.s.Delete("/_sandbox/faults").Must()
	undone, stops := w.undone(stated, spent, output)
	for id, amount := range w.notMoved(stated, balances) {
		undone += amount
		stops++
		w.counts["not-moved"]++
		if !slices.Contains(flags, unrefreshed) {
			w.checkIsReported(id, planned, text, stated, balances[id])
		}
	}
	var totalSpent usd.Amount
	for _, amount := range spent {
		totalSpent += amount
	}
	w.counts["applied"]++
	gained := w.s.Wallet() - before
	if gained != stated.Wallet.Net-totalSpent-undone {
		w.t.Errorf("the wallet gained %s; the statement has %s, of which %s was spent and %s was not done:\n%s", gained, stated.Wallet.Net, totalSpent, undone, output)
	}
	leftForgotten := strings.Contains(output, "left behind forgotten instances") // tofu -destroy fails with this message
	if code != 0 && stops == 0 && !leftForgotten {
		w.t.Errorf("apply: exit status %d:\n%s", code, output)
	}
	if code == 0 && stops == 0 && len(flags) == 0 && w.r.IntN(4) == 0 {
		if code, output := w.Run("plan", "-no-color", "-input=false", "-detailed-exitcode"); code != 0 {
			w.t.Errorf("a plan after apply: exit status %d:\n%s", code, output)
		}
	}
	w.cards = e.cards
	w.states = append(w.states, savedState{w.json("state", "pull"), e.cards})
}

// checkIsReported checks that the plan warned that apply may not make the movement on a card, and that the statement
// reported it if the card's balance and record show it.
func (w *world) checkIsReported(id, planned, text string, stated *statement.Statement, balance usd.Amount) {
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
		isReported := slices.ContainsFunc(stated.Unknown, func(u statement.Unknown) bool { return u.Address == resource.Address })
		mustBeReported := record.Anchor == nil || record.Pending != nil || balance > record.Anchor.Balance
		if mustBeReported && !isReported {
			w.t.Errorf("the statement does not report %s, which had %s", resource.Address, balance)
		}
	}
}

// movement returns what the plan adds to the balance of a card. It is 0 for a card that the plan replaces or terminates.
func movement(card statement.Card) usd.Amount {
	if slices.Contains(card.Actions, statement.Replace) || slices.Contains(card.Actions, statement.Terminate) {
		return 0
	}
	return card.Sums.Funds + card.Sums.TopUps - card.Sums.Withdrawals
}

// balances returns the current balances of the cards on which the plan moves money, by card id.
func (w *world) balances(stated *statement.Statement) map[string]usd.Amount {
	balances := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if movement(card) != 0 {
			balances[card.ID] = w.balance(card.ID)
		}
	}
	return balances
}

// notMoved returns the actual minus the planned movement of each card where they differ, by card id. It is negative if
// the card got less than planned.
func (w *world) notMoved(stated *statement.Statement, before map[string]usd.Amount) map[string]usd.Amount {
	differences := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		planned := movement(card)
		if planned == 0 {
			continue
		}
		moved := w.balance(card.ID) - before[card.ID]
		if moved != planned {
			differences[card.ID] = moved - planned
		}
	}
	return differences
}

// failed matches the title of an error about a card. Its group is the card's id.
var failed = regexp.MustCompile(`(?m)^Error: .*(card_\w+)`)

// undone returns the planned wallet changes of the cards whose replacement or termination failed, and the number of
// errors. It removes these cards from spent. If the new card of a failed replacement exists, undone terminates the old
// card instead of counting it.
func (w *world) undone(stated *statement.Statement, spent map[string]usd.Amount, output string) (sum usd.Amount, stops int) {
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		for _, card := range stated.Cards {
			if card.ID != found[1] || movement(card) != 0 {
				continue
			}
			stops++
			if strings.Contains(output, card.Address+": Creation complete") {
				w.s.Terminate(card.ID) // the old card is deposed now
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

// spend makes a purchase on a card. It returns the amount, or 0 if the purchase was declined.
func (w *world) spend(id string) usd.Amount {
	amount := w.usd(1, int(w.balance(id))+10_00)
	declined := w.s.Authorize(id, amount.String(), "7311").Must().Body["decline_reason"] != nil
	w.note("spend %s on %s: declined %t", amount, id, declined)
	if declined {
		return 0
	}
	return amount
}

// spendBetween spends money on some cards that the plan terminates. It returns by how much less than stated each card
// will return. If the plan did not refresh the state, that includes all earlier changes.
func (w *world) spendBetween(stated *statement.Statement, refreshed bool) map[string]usd.Amount {
	spent := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if card.Sums.Returns > 0 && w.r.IntN(4) == 0 {
			spent[card.ID] = w.spend(card.ID)
			w.counts["spent"]++
		}
		if card.Sums.Returns > 0 && !refreshed {
			spent[card.ID] = card.Sums.Returns - w.balance(card.ID)
		}
	}
	return spent
}

// outside changes a live card outside Terraform.
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
		w.s.Post("/cards/"+id+"/freeze", nil) // may fail, because the card may be frozen already
		w.note("freeze %s", id)
	case 1:
		w.s.Terminate(id)
		w.note("terminate %s", id)
	}
}

// moveByHand funds a card or withdraws from it.
func (w *world) moveByHand(id string) {
	operation := "fund"
	amount := w.usd(1, 120_00)
	balance := w.balance(id)
	if balance > 0 && w.r.IntN(3) == 0 {
		operation = "withdraw"
		amount = w.usd(1, int(balance)+1)
	}
	w.s.Post("/cards/"+id+"/"+operation, map[string]any{"amount": amount}).Must()
	w.note("%s %s by hand with %s", operation, id, amount)
	w.counts["by-hand"]++
}

// restore sometimes restores an older state and its configuration.
func (w *world) restore() {
	if !w.foreign || len(w.states) == 0 || w.r.IntN(6) > 0 {
		return
	}
	saved := w.states[max(0, len(w.states)-1-w.r.IntN(3))]
	w.Write("terraform.tfstate", saved.text)
	w.cards = saved.cards
	w.note("restored a state")
	w.counts["restored"]++
}

// edit is the configuration of the next plan.
type edit struct {
	cards  map[string]config
	blocks map[string][]any // by type: moved, removed or import
}

// name returns a new resource name.
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
	choice := w.r.IntN(12)
	switch {
	case choice < 2:
		w.note("replace %s", name)
		return []string{"-replace=vcard_card." + name}
	case choice == 2 && len(e.blocks) == 0:
		w.note("target %s", name)
		return []string{"-target=vcard_card." + name}
	case choice == 3:
		w.counts["unrefreshed"]++
		return []string{unrefreshed}
	case choice < 6: // taint fails for a card that is not in the state
		code, _ := w.Run("taint", "vcard_card."+name)
		w.note("taint %s: %d", name, code)
	}
	return nil
}

// edit changes, adds or removes one card.
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
		kind = w.r.IntN(6) // amount, frozen or top_up
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
			w.counts["capped"]++
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

// move changes the address of a card in the state.
func (w *world) move(e *edit, name string) {
	if w.cards[name] == nil {
		return
	}
	to := w.name()
	e.cards[to] = e.cards[name]
	delete(e.cards, name)
	w.counts["moved"]++
	e.blocks["moved"] = append(e.blocks["moved"], map[string]string{"from": "vcard_card." + name, "to": "vcard_card." + to})
}

// forget removes a card from the state without terminating it.
func (w *world) forget(e *edit, name string) {
	if w.cards[name] == nil {
		return
	}
	delete(e.cards, name)
	e.blocks["removed"] = append(e.blocks["removed"], map[string]any{"from": "vcard_card." + name, "lifecycle": map[string]bool{"destroy": false}})
}

// adopt imports a live card that is not in the state, if there is one.
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

// write writes the configuration.
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
