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
// statement says to the cent, less what was spent meanwhile from cards whose
// balance returns.
func TestRandomPlans(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0")
	s := acctest.Start(t)
	s.Unlimited()
	w := &world{folder: newFolder(t, s), r: rand.New(rand.NewPCG(*randomSeed, 5)), cards: map[string]config{}, did: map[statement.Action]int{}}
	for n := range *randomPlans {
		w.step(n)
		if t.Failed() {
			t.Fatalf("plan %d of seed %d: %s\n%s", n, *randomSeed, w.what, w.written)
		}
	}
	s.Balanced()
	t.Logf("%d plans applied, %d refused, %d with spending between, %d cards stopped; %v", w.applied, w.refused, w.between, w.stopped, w.did)
	if w.refused > *randomPlans/2 {
		t.Error("the steps did not reach what they should test")
	}
}

// config is a card's block.
type config = map[string]any

type world struct {
	*folder
	r       *rand.Rand
	cards   map[string]config // by resource name, as applied
	next    int
	what    []string // since the last plan
	written string

	applied, refused, inARow, between, stopped int
	did                                        map[statement.Action]int
}

func (w *world) note(format string, args ...any) {
	w.what = append(w.what, fmt.Sprintf(format, args...))
}

func (w *world) usd(from, to int) json.Number {
	return json.Number(usd.Cents(int64(from + w.r.IntN(to-from))).String())
}

func (w *world) name() string {
	w.next++
	return fmt.Sprint("c", w.next)
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
	for range 1 + w.r.IntN(4) {
		w.edit(&e)
	}
	w.write(e)
	var flags []string
	if names := slices.Sorted(maps.Keys(e.cards)); len(names) > 0 && w.r.IntN(8) == 0 {
		flags = append(flags, "-replace=vcard_card."+names[w.r.IntN(len(names))])
		w.note("%s", flags[0])
	}
	if code, output := w.Run(append([]string{"plan", "-no-color", "-input=false", "-out=plan"}, flags...)...); code != 0 {
		w.refused++
		w.note("refused: %s", output)
		if w.inARow++; w.inARow > 2 {
			w.mend()
		}
		return
	}
	w.inARow = 0
	text := w.show()
	_, stated := read(w.t, text)
	for _, card := range stated.Cards {
		for _, action := range card.Actions {
			w.did[action]++
		}
	}
	w.note("plan %d: %s", n, summary(stated))
	spent := w.spendBetween(stated)
	before := w.s.Wallet()
	code, output := w.Run("apply", "-no-color", "-input=false", "plan")
	w.applied++
	undone := w.undone(stated, output)
	if gained := w.s.Wallet() - before; gained != stated.Wallet.Net-spent-undone {
		w.t.Errorf("the wallet gained %s; stated is %s, of which %s was spent meanwhile and %s is in errors:\n%s", gained, stated.Wallet.Net, spent, undone, output)
	}
	if code != 0 && undone == 0 {
		w.t.Errorf("the apply ended with %d:\n%s", code, output)
	}
	if !stated.Complete {
		w.t.Errorf("not known: %v", stated.Unknown)
	}
	w.cards = e.cards
}

// mend takes out what keeps every plan from being made: top-ups, where an apply has
// stopped before a withdrawal that they forbid now, and loads with which a card that
// was terminated outside cannot be issued again.
func (w *world) mend() {
	for _, card := range w.cards {
		delete(card, "top_up")
		load, _ := card["amount"].(json.Number)
		if amount, err := usd.Parse(string(load)); err != nil || amount < 50*usd.Dollar {
			card["amount"] = w.usd(5000, 30000)
		}
	}
}

var failed = regexp.MustCompile(`(?m)^Error: .*(card_\w+)`)

// undone is what apply did not do, and names in an error, as where it cannot tell
// a purchase from a withdrawal of its own.
func (w *world) undone(stated *statement.Statement, output string) (sum usd.Amount) {
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		for _, card := range stated.Cards {
			if card.ID == found[1] {
				sum += card.Wallet
				w.stopped++
			}
		}
	}
	return sum
}

// deposit fills the wallet up before it runs dry.
func (w *world) deposit() {
	if w.s.Wallet() >= 5000*usd.Dollar {
		return
	}
	var deposit struct {
		ID string `json:"id"`
	}
	w.s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 10000}).Into(&deposit)
	w.s.Post("/_sandbox/deposits/"+deposit.ID+"/confirm", nil).Must()
}

// spend buys something on a card, which may be declined.
func (w *world) spend(id string) usd.Amount {
	var card struct {
		Balance usd.Amount `json:"balance"`
	}
	w.s.Get("/cards/" + id).Into(&card)
	amount := w.usd(1, int(card.Balance)+1000)
	var answer struct {
		DeclineReason *string `json:"decline_reason"`
	}
	w.s.Authorize(id, string(amount), "7311").Into(&answer)
	w.note("spend %s on %s: %v", amount, id, answer.DeclineReason != nil)
	if answer.DeclineReason != nil {
		return 0
	}
	spent, err := usd.Parse(string(amount))
	if err != nil {
		w.t.Error(err)
	}
	return spent
}

// spendBetween spends on cards that the plan terminates, and returns how much.
func (w *world) spendBetween(stated *statement.Statement) (spent usd.Amount) {
	for _, card := range stated.Cards {
		if card.Sums.Returns > 0 && w.r.IntN(4) == 0 {
			spent += w.spend(card.ID)
		}
	}
	if spent > 0 {
		w.between++
	}
	return spent
}

func (w *world) outside() {
	live := w.s.LiveCards()
	if len(live) == 0 {
		return
	}
	id, _ := live[w.r.IntN(len(live))]["id"].(string)
	switch w.r.IntN(8) {
	default:
		w.spend(id)
	case 0:
		w.s.Freeze(id)
		w.note("freeze %s", id)
	case 1:
		w.s.Terminate(id)
		w.note("terminate %s", id)
	}
}

// edit is the configuration of the next plan.
type edit struct {
	cards  map[string]config
	blocks map[string][]any // moved, removed, import
}

func (w *world) edit(e *edit) {
	names := slices.Sorted(maps.Keys(e.cards))
	if len(names) < 3 || len(names) < 7 && w.r.IntN(6) == 0 {
		name := w.name()
		e.cards[name] = config{"bin_id": sandboxtest.BIN, "amount": w.usd(5000, 30000)}
		w.note("new %s", name)
		return
	}
	name := names[w.r.IntN(len(names))]
	card := e.cards[name]
	w.note("edit %s", name)
	switch w.r.IntN(14) {
	case 0, 1, 2:
		card["amount"] = w.usd(0, 40000)
		if w.cards[name] == nil {
			card["amount"] = w.usd(5000, 40000)
		}
	case 3:
		card["frozen"] = []any{true, false, nil}[w.r.IntN(3)]
	case 4, 5:
		below := 100 + w.r.IntN(9900)
		card["top_up"] = map[string]any{"below": json.Number(usd.Cents(int64(below)).String()), "to": w.usd(below, below+10000)}
	case 6:
		delete(card, "top_up")
	case 7:
		card["label"] = fmt.Sprint("label-", w.r.IntN(1000))
	case 8:
		card["auto_freeze_at"] = w.usd(100, 5000)
	case 9:
		card["lifecycle"] = []any{map[string]any{"create_before_destroy": w.r.IntN(2) == 0}}
	case 10:
		delete(e.cards, name)
	case 11:
		w.move(e, name)
	case 12:
		w.forget(e, name)
	case 13:
		w.adopt(e)
	}
}

// move gives a card of the state another address.
func (w *world) move(e *edit, name string) {
	if w.cards[name] == nil {
		return
	}
	to := w.name()
	e.cards[to] = e.cards[name]
	delete(e.cards, name)
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
			e.cards[name]["amount"] = w.usd(5000, 30000)
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
