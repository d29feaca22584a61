package card_test

import (
	"fmt"
	"strings"
	"testing"

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
