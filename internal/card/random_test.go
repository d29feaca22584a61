package card_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
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
// random. After each step it refreshes, plans and applies, and checks that the
// wallet moved by exactly what the plan said and that the next plan is empty.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	test := &randomTest{t: t, s: acctest.Start(t), r: rand.New(rand.NewPCG(*randomSeed, 1))}
	test.s.Unlimited()
	for range 3 {
		test.cards = append(test.cards, &randomCard{card: acctest.Instance{Type: "vcard_card"}, config: test.newConfig()})
	}
	for step := range *randomSteps {
		one := test.cards[test.r.IntN(len(test.cards))]
		before := maps.Clone(one.config)
		test.deposit()
		what := test.change(one)
		test.where = fmt.Sprintf("step %d, seed %d, %s, from %v to %v", step, *randomSeed, what, before, one.config)
		if !test.apply(one) {
			one.config = before // the plan was refused: the user takes the change back
			if !test.apply(one) {
				one.config = test.newConfig()
				one.config["amount"] = one.card.Values["amount"]
			}
		}
		test.audit()
		if t.Failed() {
			t.Fatal(test.where)
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
	where                                string
	applied, refused, replaced, toppedUp int
}

type randomCard struct {
	card   acctest.Instance
	config object
}

func (one *randomCard) id() string {
	id, _ := one.card.Values["id"].(string)
	return id
}

// deposit fills the wallet up before it runs dry.
func (test *randomTest) deposit() {
	if test.s.Wallet() >= 2000*usd.Dollar {
		return
	}
	var deposit struct {
		ID string `json:"id"`
	}
	test.s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 10000}).Into(&deposit)
	test.s.Post("/_sandbox/deposits/"+deposit.ID+"/confirm", nil).Must()
}

func (test *randomTest) cents(from, to int) string {
	return usd.Cents(int64(from + test.r.IntN(to-from))).String()
}

func (test *randomTest) newConfig() object {
	return object{"bin_id": bin, "amount": test.cents(5000, 30000)}
}

// change makes one change to the configuration, or to the card outside Terraform.
func (test *randomTest) change(one *randomCard) string {
	c := one.config
	switch test.r.IntN(15) {
	case 0, 1, 2:
		c["amount"] = test.cents(0, 40000)
		return "amount"
	case 3:
		c["frozen"] = []any{true, false, nil}[test.r.IntN(3)]
		return "frozen"
	case 4:
		below := 100 + test.r.IntN(15000)
		c["top_up"] = []any{nil, object{"below": usd.Cents(int64(below)).String(), "to": test.cents(below, below+10000)}}[test.r.IntN(2)]
		return "top_up"
	case 5:
		c["auto_freeze_at"] = []any{nil, test.cents(100, 10000)}[test.r.IntN(2)]
		return "auto_freeze_at"
	case 6:
		c["label"] = []any{nil, "a", "b"}[test.r.IntN(3)]
		return "label"
	case 7:
		c["metadata"] = []any{nil, object{}, object{"k": fmt.Sprint(test.r.IntN(3))}}[test.r.IntN(3)]
		return "metadata"
	case 8:
		return test.outside(one, "freeze")
	case 9:
		return test.outside(one, "unfreeze")
	case 10:
		if one.id() != "" && test.r.IntN(3) == 0 {
			test.s.Terminate(one.id())
			return "terminated outside"
		}
	case 11:
		test.s.Advance(fmt.Sprintf("%dh", 1+test.r.IntN(400)))
		return "time passes"
	}
	return test.spend(one)
}

func (test *randomTest) outside(one *randomCard, verb string) string {
	if one.id() != "" {
		if answer := test.s.Post("/cards/"+one.id()+"/"+verb, nil); answer.Status != http.StatusConflict { // it was so before
			answer.Must()
		}
	}
	return verb + " outside"
}

// spend authorizes a purchase, which the service may decline.
func (test *randomTest) spend(one *randomCard) string {
	if one.id() == "" {
		return "nothing"
	}
	amount := test.cents(1, 20000)
	test.s.Authorize(one.id(), amount, "7311").OK(http.StatusCreated)
	return "spend " + amount
}

// usdNumber writes an amount as a JSON number.
func usdNumber(text string) usd.Amount {
	a, err := usd.Parse(text)
	if err != nil {
		panic(err)
	}
	return a
}

// apply does what terraform apply does for one card, and reports whether the
// plan was accepted.
func (test *randomTest) apply(one *randomCard) bool {
	test.t.Helper()
	p := test.s.Protocol(nil)
	if one.card.Values != nil {
		now, diags := p.Refresh(one.card)
		test.succeed(diags)
		one.card = now
	}
	wallet := test.s.Wallet()
	change, diags := p.Plan(one.card, one.config)
	if diags.Errors() != "" {
		test.refused++
		if test.s.Wallet() != wallet {
			test.t.Errorf("money moved in a refused plan: %s", test.where)
		}
		return false
	}
	planWarnings := diags.Warnings()
	takes := test.takes(change)
	if len(change.Replaces) > 0 {
		test.replaced++
		if !strings.Contains(diags.Warnings(), "A card is replaced for ") {
			test.t.Errorf("no warning of a replacement: %s", test.where)
		}
		created, diags := p.Plan(change.After(), one.config)
		if diags.Errors() != "" {
			test.refused++
			return false
		}
		takes = test.takes(created) - cents(one.card.Values["balance"])
		_, diags = p.Apply(acctest.Change{Prior: one.card, Planned: nil}, nil)
		test.succeed(diags)
		change, diags = p.Plan(acctest.Instance{Type: "vcard_card"}, one.config)
		test.succeed(diags)
	}
	now, diags := p.Apply(change, nil)
	tooLittle := strings.Contains(diags.Errors(), "insufficient_card_balance") || strings.Contains(diags.Errors(), "under top_up.below")
	if tooLittle && strings.Contains(planWarnings, "may have been made already") {
		// The balance alone did not tell the plan that purchases, and no run that was
		// cut off, took the money that was to be withdrawn.
		test.refused++
		if test.s.Wallet() != wallet {
			test.t.Errorf("money moved in a refused withdrawal: %s", test.where)
		}
		one.card = now
		return false
	}
	test.succeed(diags)
	one.card = now
	test.applied++
	if spent := wallet - test.s.Wallet(); spent != takes {
		test.t.Errorf("the plan takes %s USD, apply took %s", takes, spent)
	}
	test.checkState(one, change)
	return true
}

// takes is what a person reads in the plan: what leaves the wallet.
func (test *randomTest) takes(change acctest.Change) usd.Amount {
	if change.Prior.Values == nil {
		return cents(change.Planned["amount"]) + usd.Dollar
	}
	if len(change.Replaces) > 0 {
		return 0
	}
	var takes usd.Amount
	if change.Prior.Values["amount"] != nil && change.Planned["amount"] != nil {
		takes = cents(change.Planned["amount"]) - cents(change.Prior.Values["amount"])
	}
	topUp := cents(change.Planned["topped_up"]) - cents(change.Prior.Values["topped_up"])
	if topUp > 0 {
		test.toppedUp++
	}
	if moves := takes+topUp != 0; moves != (change.Planned["balance"] == acctest.Unknown) {
		test.t.Errorf("moves money: %v, but balance is planned as %v", moves, change.Planned["balance"])
	}
	return takes + topUp
}

func cents(value any) usd.Amount { return usdNumber(plain(value)) }

// checkState compares the state with the service, and plans once more.
func (test *randomTest) checkState(one *randomCard, change acctest.Change) {
	test.t.Helper()
	for name, value := range change.Planned {
		if value != acctest.Unknown && plain(value) != plain(one.card.Values[name]) {
			test.t.Errorf("%s was planned as %s and came as %s", name, plain(value), plain(one.card.Values[name]))
		}
	}
	p := test.s.Protocol(nil)
	now, diags := p.Refresh(one.card)
	test.succeed(diags)
	one.card = now
	var there service
	test.s.Get("/cards/" + one.id()).Into(&there)
	if there.Status != plain(now.Values["status"]) || there.Balance != cents(now.Values["balance"]) {
		test.t.Errorf("the state says %s with %s USD, the service %s with %s", plain(now.Values["status"]), plain(now.Values["balance"]), there.Status, there.Balance)
	}
	again, diags := p.Plan(one.card, one.config)
	test.succeed(diags)
	if len(again.Replaces) > 0 {
		test.t.Errorf("the next plan replaces for %v", again.Replaces)
	}
	for _, name := range slices.Sorted(maps.Keys(again.Planned)) {
		if a, b := plain(one.card.Values[name]), plain(again.Planned[name]); a != b {
			test.t.Errorf("the next plan changes %s from %s to %s", name, a, b)
		}
	}
}

func (test *randomTest) audit() {
	test.t.Helper()
	test.s.Balanced()
}

func (test *randomTest) succeed(diags acctest.Diagnostics) {
	test.t.Helper()
	if text := diags.Errors(); text != "" {
		test.t.Fatalf("%s: %s", test.where, text)
	}
}
