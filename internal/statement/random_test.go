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
// have seen on cards whose balance returns, loads that it calls unknown, and what
// apply says that it has not done.
func TestRandomPlans(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0")
	s := acctest.Start(t)
	s.Unlimited()
	w := &world{folder: newFolder(t, s), r: rand.New(rand.NewPCG(*randomSeed, 5)), cards: map[string]config{}, late: map[string]json.Number{}, did: map[string]int{}}
	for n := 0; w.did["applied"] < *randomPlans; n++ {
		w.step(n)
		if t.Failed() || w.did["refused"] > *randomPlans {
			t.Fatalf("plan %d of seed %d: %s\n%s", n, *randomSeed, w.what, w.written)
		}
	}
	s.Balanced()
	t.Logf("%v", w.did)
	for _, kind := range w.kinds() {
		if *randomPlans >= 2000 && w.did[kind] == 0 {
			t.Errorf("no plan had %q", kind)
		}
	}
}

// config is a card's block.
type config = map[string]any

type world struct {
	*folder
	r       *rand.Rand
	cards   map[string]config      // by resource name, as applied
	late    map[string]json.Number // loads that are known only during apply, by the card's amount
	next    int
	what    []string // since the last plan
	written string
	inARow  int            // refused plans
	did     map[string]int // how often
}

func (w *world) note(format string, args ...any) {
	w.what = append(w.what, fmt.Sprintf(format, args...))
}

func (w *world) usd(from, to int) json.Number {
	return json.Number(usd.Cents(int64(from + w.r.IntN(to-from))).String())
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
	for range w.r.IntN(3) {
		w.outside()
	}
	e := edit{cards: map[string]config{}, blocks: map[string][]any{}}
	for name, card := range w.cards {
		e.cards[name] = maps.Clone(card)
	}
	mode := w.mode(&e)
	w.write(e)
	if code, output := w.Run(append([]string{"plan", "-no-color", "-input=false", "-out=plan"}, mode...)...); code != 0 {
		w.did["refused"]++
		w.note("refused: %s", output)
		if w.inARow++; w.inARow > 2 {
			w.mend()
		}
		return
	}
	w.inARow = 0
	plan, stated := read(w.t, w.show())
	w.count(plan, stated)
	w.note("plan %d: %s", n, summary(stated))
	spent := w.spendBetween(stated)
	if slices.Contains(mode, "-refresh=false") {
		spent = w.unseen(stated)
	}
	w.refuse()
	before := w.s.Wallet()
	code, output := w.Run("apply", "-no-color", "-input=false", "plan")
	w.s.Delete("/_sandbox/faults").Must()
	undone, stops := w.undone(stated, spent, output)
	named := w.unknown(stated, e, mode)
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
	w.cards = e.cards
}

// unknown is what new cards get and the plan does not know. Nothing else is unknown
// to a whole plan.
func (w *world) unknown(stated *statement.Statement, e edit, mode []string) (sum usd.Amount) {
	for _, unknown := range stated.Unknown {
		amount, isLate := e.cards[strings.TrimPrefix(unknown.Address, "vcard_card.")]["amount"].(string)
		switch {
		case isLate:
			sum += w.parse(w.late[amount])
		case unknown.Address != "" || len(mode) == 0 || !strings.HasPrefix(mode[0], "-target"):
			w.t.Errorf("not known: %s", unknown)
		}
	}
	return sum
}

// unseen is what was spent before a plan that did not look.
func (w *world) unseen(stated *statement.Statement) map[string]usd.Amount {
	spent := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if card.Sums.Returns > 0 {
			spent[card.ID] = card.Sums.Returns - w.balance(card.ID)
		}
	}
	return spent
}

// mend takes out what keeps every plan from being made: top-ups, where an apply has
// stopped before a withdrawal that they forbid now, protection, which of a deposed
// object no configuration can, and loads with which a card that was terminated outside
// cannot be issued again.
func (w *world) mend() {
	for _, id := range regexp.MustCompile(`card_\w{24}`).FindAllString(w.deposed(), -1) {
		w.s.Delete("/cards/" + id) // unless it is done
	}
	for _, card := range w.cards {
		delete(card, "top_up")
		delete(card, "max_top_up_per_month")
		delete(card, "deletion_protection")
		load, isNumber := card["amount"].(json.Number)
		if _, isLate := card["amount"].(string); !isLate && (!isNumber || w.parse(load) < 50*usd.Dollar) {
			card["amount"] = w.usd(5000, 30000)
		}
	}
}

var failed = regexp.MustCompile(`(?m)^Error: .*(card_\w+)`)

// undone is what apply did not do, and names in an error, as where it cannot tell
// a purchase from a withdrawal of its own, or where a termination is refused. What
// was spent of that does not count any more.
func (w *world) undone(stated *statement.Statement, spent map[string]usd.Amount, output string) (sum usd.Amount, stops int) {
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		isDeposed := strings.Contains(w.deposed(), found[1]) // the new card is there
		for _, card := range stated.Cards {
			switch {
			case card.ID != found[1]:
				continue
			case isAction(card):
			case isDeposed:
				sum += card.Sums.Returns
			default:
				sum += card.Wallet
			}
			stops++
			delete(spent, card.ID)
		}
	}
	for _, card := range stated.Cards { // its card has stopped
		if isAction(card) && stops > 0 && !strings.Contains(output, "Action complete: "+card.Address) {
			sum += card.Wallet
		}
	}
	return sum, stops
}

func isAction(card statement.Card) bool { return strings.HasPrefix(card.Address, "action.") }

// deposed are the deposed objects of the state.
func (w *world) deposed() string {
	w.t.Helper()
	_, text, _ := strings.Cut(w.Must("state", "pull"), "{")
	var state struct {
		Resources []struct {
			Instances []struct {
				Deposed    string          `json:"deposed"`
				Attributes json.RawMessage `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal([]byte("{"+text), &state); err != nil {
		w.t.Fatal(err)
	}
	var all string
	for _, resource := range state.Resources {
		for _, instance := range resource.Instances {
			if instance.Deposed != "" {
				all += string(instance.Attributes)
			}
		}
	}
	return all
}

// count counts what the generator is to reach.
func (w *world) count(plan *statement.Plan, stated *statement.Statement) {
	for _, card := range stated.Cards {
		for _, action := range card.Actions {
			w.did[string(action)]++
		}
		if card.Baseline != nil {
			w.did["baseline"]++
		}
		if card.Deposed != "" {
			w.did["deposed"]++
		}
		if kind, isAction := strings.CutPrefix(card.Address, "action.vcard_card_"); isAction {
			w.did["action "+strings.TrimSuffix(kind, ".x")]++
		}
	}
	for _, change := range plan.ResourceChanges {
		if change.Type == "vcard_card" && len(change.Change.Actions) > 1 {
			w.did[fmt.Sprint(change.Change.Actions)]++
		}
		if change.PreviousAddress != "" {
			w.did["moved"]++
		}
	}
	if len(stated.Unknown) > 0 {
		w.did["unknown"]++
	}
}

// kinds are what thousands of plans have to have had.
func (w *world) kinds() []string {
	kinds := []string{
		"issue", "replace", "terminate", "fund", "withdraw", "top_up", "freeze", "unfreeze", "import", "forget", "configure",
		"baseline", "deposed", "moved", "unknown", "stopped", "spent between", "capped", "[create delete]", "[delete create]",
	}
	if acctest.Has("1.14.0", "") {
		kinds = append(kinds, "action fund", "action withdraw", "action freeze", "action unfreeze")
	}
	switch {
	case acctest.OpenTofu() && acctest.Has("", "1.12.0"):
		kinds = append(kinds, "[forget create]")
	case acctest.Has("1.17.0", ""):
		kinds = append(kinds, "[create forget]")
	}
	return kinds
}
