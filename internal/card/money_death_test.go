package card_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Core saves a card as it was, and nothing beside it, when the provider dies or
// when it is cancelled for good. What had moved by then moves no second time.
func TestDeathWhileMoneyMoves(t *testing.T) {
	t.Parallel()
	for how, mode := range map[string]string{"the provider dies": "honoured, and said so", "cancelled for good": "ignored"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			m := newMoney(t, keyModes[mode].quirk, keyModes[mode].settings).onCLI()
			config := func(funded, withdrawn int) string {
				card := func(name, lines string) string {
					return strings.Replace(strings.TrimPrefix(oneCard("label = \""+name+"\"\n  "+lines), required), `"test"`, `"`+name+`"`, 1)
				}
				return required + card("funded", fmt.Sprintf("count = 4\n  amount = %d", funded)) +
					card("withdrawn", fmt.Sprintf("count = 4\n  amount = %d", withdrawn)) +
					card("topped_up", "count = 2\n  amount = 100\n  top_up = { below = 40, to = 100 }")
			}
			apply(m.w, config(100, 100))
			for _, card := range liveCards(m.s) {
				if card.Label == "topped_up" {
					bought(m.s, card.ID, "70")
				}
			}
			slow, due := stalled(m.s, 10, "", func(i int64) bool { return i%3 != 0 })
			m.through(slow)
			m.dies(how, due, config(150, 70))
			m.through(m.s)
			apply(m.w, config(150, 70))
			want := map[string]usd.Amount{"funded": 150 * usd.Dollar, "withdrawn": 70 * usd.Dollar, "topped_up": 100 * usd.Dollar}
			for _, card := range liveCards(m.s) {
				if card.Balance != want[card.Label] {
					m.t.Errorf("a card that was %s holds %s USD, want %s", card.Label, card.Balance, want[card.Label])
				}
			}
			if now := m.s.Wallet(); now != (10000-10*101-4*50+4*30-2*70)*usd.Dollar {
				m.t.Errorf("the wallet holds %s USD", now)
			}
			plansNothing(m.t, m.w)
		})
	}
}

// A withdrawal of more than half leaves less than it takes, which a plan that does
// not look at the anchor cannot make any more.
func TestKilledWhileWithdrawingMoreThanHalf(t *testing.T) {
	t.Parallel()
	for _, losesPrivate := range []bool{false, true} {
		t.Run(fmt.Sprintf("loses private state %t", losesPrivate), func(t *testing.T) {
			t.Parallel()
			withMoneyInEachKeyMode(t, func(m *money) {
				m.apply("amount = 100")
				m.killed("amount = 30", 1)
				if losesPrivate {
					m.losePrivate()
				}
				prints(m.t, m.w.Must("plan", "-no-color"), "The withdrawal of 70.00 USD may have been made already", "holds 30.00 USD")
				prints(m.t, m.apply("amount = 30"), "It was made before: withdraw 70.00 USD")
				serviceHolds(m.t, m.s, "active", 30*usd.Dollar, 9969*usd.Dollar)
				plansNothing(m.t, m.w)
			})
		})
	}
}

// A run whose state is lost as well as what is kept beside it: the card is as an
// earlier run left it, and the movement is another one each time.
func TestMovementsAfterADeathAreOthers(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.apply("amount = 100")
		m.killed("amount = 150", 1)
		m.losePrivate()
		m.apply("amount = 150")
		m.holds(150 * usd.Dollar)
		for _, amount := range []int{200, 150, 200} {
			m.losePrivate()
			printsNot(m.t, m.apply(fmt.Sprintf("amount = %d", amount)), alarms...)
			m.holds(usd.Amount(amount) * usd.Dollar)
		}
	})
}

// What was imported, and what the service made of what was asked, is no reason to
// replace a card when only the state is left.
func TestDeathReplacesNoCard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		quirks       object
		imports      bool
		before, then string
		words        []string
	}{
		"imported":        {nil, true, "amount = 60", "amount = 60\n  metadata = { team = \"ads\" }\n  auto_freeze_at = 5", []string{"Taken over without proof"}},
		"issued as asked": {object{"card_values": "tidied"}, false, "amount = 60\n  label = \" ads \"\n  spending_limit = 60000", "amount = 70\n  label = \" ads \"\n  spending_limit = 60000", nil},
	} {
		for _, settings := range []string{"", honoured} {
			t.Run(name+", "+settings, func(t *testing.T) {
				t.Parallel()
				m := newMoney(t, "honoured", settings, contract.RequestsOnly())
				m.s.AddQuirks(c.quirks)
				if c.imports {
					m.w.Write("main.tf", oneCard(c.before))
					m.w.Must("import", "-no-color", "vcard_card.test", issue(m.s, map[string]any{"amount": 60}).ID)
				}
				m.apply(c.before)
				id := onlyCard(m.s).ID
				m.losePrivate()
				plansNothing(m.t, m.w)
				output := m.apply(c.then)
				prints(m.t, output, c.words...)
				printsNot(m.t, output, "must be replaced")
				if live := liveCards(m.s); len(live) != 1 || live[0].ID != id {
					t.Errorf("%v are live, want %s", live, id)
				}
				plansNothing(m.t, m.w)
			})
		}
	}
}

// What moves money, replaces cards or tells whose they are lies in the state's
// values, where it survives, and stays as it is until money moves.
func TestPrivateStateGuardsNoMoney(t *testing.T) {
	t.Parallel()
	topUp := object{"below": 40, "to": 60}
	config := object{"amount": 120, "top_up": topUp}
	f := issued(t, object{"amount": 100, "top_up": topUp})
	f.apply(config)
	before := plain(f.card.Values["money_record"])
	if before == "null" || len(before) > 240 {
		t.Errorf("money_record is %q", before)
	}
	for what, quiet := range map[string]func(){
		"a refresh":           func() { f.refresh() },
		"a purchase":          func() { f.buy(30 * usd.Dollar); f.s.Advance("1h"); f.refresh() },
		"an apply":            func() { f.apply(config) },
		"an apply of a guard": func() { f.apply(object{"amount": 120, "top_up": topUp, "deletion_protection": true}) },
	} {
		if quiet(); plain(f.card.Values["money_record"]) != before {
			t.Errorf("%s makes money_record %q of %q", what, f.card.Values["money_record"], before)
		}
	}
	private := f.private()
	if len(private) > 9 {
		t.Errorf("private state has %d fields, want 9 at most: %v", len(private), private)
	}
	for _, guard := range []string{"anchor", "token", "unanswered", "pending", "imported", "history_lost"} {
		if private[guard] != nil {
			t.Errorf("%s lies in private state", guard)
		}
	}
}
