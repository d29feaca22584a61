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
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	randomSteps = flag.Int("card.steps", 400, "steps of the randomized test of vcard_card")
	randomSeed  = flag.Uint64("card.seed", 0, "its seed; 0 takes the time")
)

// TestRandomLives changes configurations and the world outside Terraform at
// random. After each step it refreshes, plans and applies, and checks that the
// wallet moved by exactly what the plan said and that the next plan is empty.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -card.seed=%d", seed)
	w := &randomWorld{t: t, s: acctest.Start(t), r: rand.New(rand.NewPCG(seed, 1))}
	w.s.Unlimited()
	for range 3 {
		w.lives = append(w.lives, &randomLife{card: acctest.Instance{Type: "vcard_card"}, config: w.newConfig()})
	}
	for step := range *randomSteps {
		l := w.lives[w.r.IntN(len(w.lives))]
		before := maps.Clone(l.config)
		w.deposit()
		what := w.change(l)
		w.where = fmt.Sprintf("step %d, seed %d, %s, from %v to %v", step, seed, what, before, l.config)
		if !w.apply(l) {
			l.config = before // the plan was refused: the user takes the change back
			if !w.apply(l) {
				l.config = w.newConfig()
				l.config["amount"] = l.card.Values["amount"]
			}
		}
		w.audit()
		if t.Failed() {
			t.Fatal(w.where)
		}
	}
	t.Logf("%d plans applied, %d refused, %d replaced, %d top-ups", w.applied, w.refused, w.replaced, w.toppedUp)
	if w.applied < *randomSteps/2 || w.toppedUp == 0 || w.replaced == 0 || w.refused == 0 {
		t.Error("the steps did not reach what they should test")
	}
}

type randomWorld struct {
	t                                    *testing.T
	s                                    *acctest.Service
	r                                    *rand.Rand
	lives                                []*randomLife
	where                                string
	applied, refused, replaced, toppedUp int
}

type randomLife struct {
	card   acctest.Instance
	config object
}

func (l *randomLife) id() string {
	id, _ := l.card.Values["id"].(string)
	return id
}

// deposit fills the wallet up before it runs dry.
func (w *randomWorld) deposit() {
	if w.s.Wallet() >= 2000*usd.Dollar {
		return
	}
	var deposit struct {
		ID string `json:"id"`
	}
	w.s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 10000}).Into(&deposit)
	w.s.Post("/_sandbox/deposits/"+deposit.ID+"/confirm", nil).Must()
}

func (w *randomWorld) cents(from, to int) string {
	return usd.Cents(int64(from + w.r.IntN(to-from))).String()
}

func (w *randomWorld) newConfig() object {
	return object{"bin_id": bin, "amount": w.cents(5000, 30000)}
}

// change makes one change to the configuration or to the world.
func (w *randomWorld) change(l *randomLife) string {
	c := l.config
	switch w.r.IntN(15) {
	case 0, 1, 2:
		c["amount"] = w.cents(0, 40000)
		return "amount"
	case 3:
		c["frozen"] = []any{true, false, nil}[w.r.IntN(3)]
		return "frozen"
	case 4:
		below := 100 + w.r.IntN(15000)
		c["top_up"] = []any{nil, object{"below": usd.Cents(int64(below)).String(), "to": w.cents(below, below+10000)}}[w.r.IntN(2)]
		return "top_up"
	case 5:
		c["auto_freeze_at"] = []any{nil, w.cents(100, 10000)}[w.r.IntN(2)]
		return "auto_freeze_at"
	case 6:
		c["label"] = []any{nil, "a", "b"}[w.r.IntN(3)]
		return "label"
	case 7:
		c["metadata"] = []any{nil, object{}, object{"k": fmt.Sprint(w.r.IntN(3))}}[w.r.IntN(3)]
		return "metadata"
	case 8:
		return w.outside(l, "freeze")
	case 9:
		return w.outside(l, "unfreeze")
	case 10:
		if l.id() != "" && w.r.IntN(3) == 0 {
			w.s.Terminate(l.id())
			return "terminated outside"
		}
	case 11:
		w.s.Advance(fmt.Sprintf("%dh", 1+w.r.IntN(400)))
		return "time passes"
	}
	return w.spend(l)
}

func (w *randomWorld) outside(l *randomLife, verb string) string {
	if l.id() != "" {
		w.s.Post("/cards/"+l.id()+"/"+verb, nil).Must()
	}
	return verb + " outside"
}

// spend authorizes a purchase, which the service may decline.
func (w *randomWorld) spend(l *randomLife) string {
	if l.id() == "" {
		return "nothing"
	}
	amount := w.cents(1, 20000)
	w.s.Authorize(l.id(), amount, "7311").OK(http.StatusCreated)
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
func (w *randomWorld) apply(l *randomLife) bool {
	w.t.Helper()
	p := w.s.Protocol(nil)
	if l.card.Values != nil {
		now, diags := p.Refresh(l.card)
		w.succeed(diags)
		l.card = now
	}
	wallet := w.s.Wallet()
	change, diags := p.Plan(l.card, l.config)
	if diags.Errors() != "" {
		w.refused++
		if w.s.Wallet() != wallet {
			w.t.Errorf("money moved in a refused plan: %s", w.where)
		}
		return false
	}
	takes := w.takes(change)
	if len(change.Replaces) > 0 {
		w.replaced++
		if !strings.Contains(diags.Warnings(), "This plan replaces") {
			w.t.Errorf("no warning of a replacement: %s", w.where)
		}
		created, diags := p.Plan(change.After(), l.config)
		if diags.Errors() != "" {
			w.refused++
			return false
		}
		takes = w.takes(created) - cents(l.card.Values["balance"])
		_, diags = p.Apply(acctest.Change{Prior: l.card, Planned: nil}, nil)
		w.succeed(diags)
		change, diags = p.Plan(acctest.Instance{Type: "vcard_card"}, l.config)
		w.succeed(diags)
	}
	now, diags := p.Apply(change, nil)
	w.succeed(diags)
	l.card = now
	w.applied++
	if spent := wallet - w.s.Wallet(); spent != takes {
		w.t.Errorf("the plan takes %s USD, apply took %s", takes, spent)
	}
	w.checkState(l, change)
	return true
}

// takes is what a person reads in the plan: what leaves the wallet.
func (w *randomWorld) takes(change acctest.Change) usd.Amount {
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
		w.toppedUp++
	}
	if moves := takes+topUp != 0; moves != (change.Planned["balance"] == acctest.Unknown) {
		w.t.Errorf("moves money: %v, but balance is planned as %v", moves, change.Planned["balance"])
	}
	return takes + topUp
}

func cents(value any) usd.Amount { return usdNumber(plain(value)) }

// checkState compares the state with the service, and plans once more.
func (w *randomWorld) checkState(l *randomLife, change acctest.Change) {
	w.t.Helper()
	for name, value := range change.Planned {
		if value != acctest.Unknown && plain(value) != plain(l.card.Values[name]) {
			w.t.Errorf("%s was planned as %s and came as %s", name, plain(value), plain(l.card.Values[name]))
		}
	}
	p := w.s.Protocol(nil)
	now, diags := p.Refresh(l.card)
	w.succeed(diags)
	l.card = now
	var there service
	w.s.Get("/cards/" + l.id()).Into(&there)
	if there.Status != plain(now.Values["status"]) || there.Balance != cents(now.Values["balance"]) {
		w.t.Errorf("the state says %s with %s USD, the service %s with %s", plain(now.Values["status"]), plain(now.Values["balance"]), there.Status, there.Balance)
	}
	again, diags := p.Plan(l.card, l.config)
	w.succeed(diags)
	if len(again.Replaces) > 0 {
		w.t.Errorf("the next plan replaces for %v", again.Replaces)
	}
	for _, name := range slices.Sorted(maps.Keys(again.Planned)) {
		if a, b := plain(l.card.Values[name]), plain(again.Planned[name]); a != b {
			w.t.Errorf("the next plan changes %s from %s to %s", name, a, b)
		}
	}
}

func (w *randomWorld) audit() {
	w.t.Helper()
	w.s.Balanced()
}

func (w *randomWorld) succeed(diags acctest.Diagnostics) {
	w.t.Helper()
	if text := diags.Errors(); text != "" {
		w.t.Fatalf("%s: %s", w.where, text)
	}
}
