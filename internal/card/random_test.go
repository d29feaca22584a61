package card_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	randomSteps = flag.Int("card.steps", 150, "steps of the randomized test of vcard_card")
	randomSeed  = flag.Uint64("card.seed", 1, "its seed")
)

// TestRandomChanges changes configurations, and cards outside Terraform, at
// random. After each step it plans and applies, and checks that the wallet moved by
// exactly what the plan said and that the next plan is empty.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	test := &randomTest{t: t, s: acctest.Start(t), r: rand.New(rand.NewPCG(*randomSeed, 1))}
	test.s.Unlimited()
	for range 3 {
		one := &randomCard{core: newCore(t, nil), config: test.newConfig()}
		through(one, test.s, "")
		test.cards = append(test.cards, one)
	}
	for step := range *randomSteps {
		one := test.cards[test.r.IntN(len(test.cards))]
		before := maps.Clone(one.config)
		test.deposit()
		what := test.change(one)
		if !test.apply(one) {
			one.config = before // the plan was refused: the user takes the change back
			if !test.apply(one) {
				one.config = test.newConfig()
				one.config["amount"] = coreValue(one.state[theCard].Values["amount"])
			}
		}
		test.s.Balanced()
		if t.Failed() {
			t.Fatalf("step %d, seed %d, %s, from %v to %v", step, *randomSeed, what, before, one.config)
		}
	}
	t.Logf("%d plans applied, %d refused, %d replaced, %d top-ups", test.applied, test.refused, test.replaced, test.toppedUp)
	if test.applied < *randomSteps/2 || test.toppedUp == 0 || test.replaced == 0 || test.refused == 0 {
		t.Error("the steps did not reach what they should test")
	}
}

type randomTest struct {
	t                                    *testing.T
	s                                    *acctest.Service
	r                                    *rand.Rand
	cards                                []*randomCard
	applied, refused, replaced, toppedUp int
}

// randomCard is a card in a state of its own, and the lines that configure it.
type randomCard struct {
	*core
	config map[string]string
}

const theCard = "vcard_card.test"

func (one *randomCard) id() string {
	id, _ := one.state[theCard].Values["id"].(string)
	return id
}

// deposit fills the wallet up before it runs dry.
func (test *randomTest) deposit() {
	if test.s.Wallet() < 2000*usd.Dollar {
		deposit := test.s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 10000}).Must().Text("id")
		test.s.Post("/_sandbox/deposits/"+deposit+"/confirm", nil).Must()
	}
}

func (test *randomTest) cents(from, to int) string {
	return usd.Amount(from + test.r.IntN(to-from)).String()
}

func (test *randomTest) newConfig() map[string]string {
	return map[string]string{"amount": test.cents(5000, 30000)}
}

// change makes one change to the configuration, or to the card outside Terraform.
func (test *randomTest) change(one *randomCard) string {
	below := 100 + test.r.IntN(15000)
	topUp := fmt.Sprintf("{ below = %s, to = %s }", usd.Amount(below), test.cents(below, below+10000))
	metadata := fmt.Sprintf("{ k = \"%d\" }", test.r.IntN(3))
	choices := [][]string{
		{"amount", test.cents(0, 40000)},
		{"amount", test.cents(0, 40000)},
		{"amount", test.cents(0, 40000)},
		{"frozen", "true", "false", "null"},
		{"top_up", topUp, topUp, "null"},
		{"auto_freeze_at", test.cents(100, 10000), "null"},
		{"label", `"a"`, `"b"`, "null"},
		{"metadata", metadata, "{}", "null"},
	}
	n := test.r.IntN(15)
	if n < len(choices) {
		one.config[choices[n][0]] = choices[n][1+test.r.IntN(len(choices[n])-1)]
		return choices[n][0]
	}
	id := one.id()
	switch {
	case n == 8:
		test.s.Advance(fmt.Sprintf("%dh", 1+test.r.IntN(400)))
		return "time passes"
	case id == "":
		return "nothing"
	case n == 9 && test.r.IntN(3) == 0:
		test.s.Terminate(id)
		return "terminated outside"
	case n == 10 || n == 11:
		verb := []string{"/freeze", "/unfreeze"}[n-10]
		if answer := test.s.Post("/cards/"+id+verb, nil); answer.Status != http.StatusConflict { // it was so before
			answer.Must()
		}
		return verb + " outside"
	}
	amount := test.cents(1, 20000)
	test.s.Authorize(id, amount, advertising).OK(http.StatusCreated) // which the service may decline
	return "spend " + amount
}

// apply does what terraform apply does, and reports whether the plan was accepted.
func (test *randomTest) apply(one *randomCard) bool {
	test.t.Helper()
	lines := ""
	for name, value := range one.config {
		lines += name + " = " + value + "\n  "
	}
	one.Write("main.tf", oneCard(lines))
	wallet := test.s.Wallet()
	code, planned := one.Run("plan", "-out=saved")
	if code != 0 {
		return test.refuse(one, wallet)
	}
	takes := test.takes(one.plans["saved"], planned)
	code, output := one.Run("apply", "saved")
	tooLittle := strings.Contains(output, "insufficient_card_balance") || strings.Contains(output, "under top_up.below")
	if tooLittle && strings.Contains(planned, "may have been made already") {
		// The balance alone did not tell the plan that purchases, and no run that was
		// cut off, took the money that was to be withdrawn.
		return test.refuse(one, wallet)
	}
	if code != 0 {
		test.t.Errorf("the apply ended with %d:\n%s", code, output)
	}
	test.applied++
	if spent := wallet - test.s.Wallet(); spent != takes {
		test.t.Errorf("the plan takes %s USD, apply took %s:\n%s", takes, spent, output)
	}
	there := read(test.s, one.id())
	if state := one.state[theCard].Values; there.Status != plain(state["status"]) || there.Balance != cents(state["balance"]) {
		test.t.Errorf("the state says %s, the service %v", plain(state), there)
	}
	plansNothing(test.t, one)
	return true
}

// refuse notes that nothing was done, and that nothing was paid for it.
func (test *randomTest) refuse(one *randomCard, wallet usd.Amount) bool {
	test.t.Helper()
	test.refused++
	if now := test.s.Wallet(); now != wallet {
		test.t.Errorf("the wallet went from %s to %s USD", wallet, now)
	}
	one.Must("refresh")
	return false
}

// takes is what a person reads in the plan: what leaves the wallet.
func (test *randomTest) takes(plan *corePlan, said string) usd.Amount {
	test.t.Helper()
	change, creation := plan.changes[theCard], plan.creations[theCard]
	was, is := change.Prior.Values, change.Planned
	switch {
	case was == nil:
		return cents(is["amount"]) + usd.Dollar
	case len(change.Replaces) > 0:
		test.replaced++
		prints(test.t, said, "A card is replaced for ")
		return cents(creation.Planned["amount"]) + usd.Dollar - cents(was["balance"])
	}
	takes := cents(is["topped_up"]) - cents(was["topped_up"])
	if takes > 0 {
		test.toppedUp++
	}
	if was["amount"] != nil && is["amount"] != nil {
		takes += cents(is["amount"]) - cents(was["amount"])
	}
	if moves := takes != 0; moves != (is["balance"] == acctest.Unknown) {
		test.t.Errorf("moves money: %v, but balance is planned as %v", moves, is["balance"])
	}
	return takes
}

func cents(value any) usd.Amount { return mustParse(usd.Parse, plain(value)) }
