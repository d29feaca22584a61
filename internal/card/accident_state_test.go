package card_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// losePrivate takes away what the provider keeps beside the state, as Terraform does
// when a provider dies.
func losePrivate(t *testing.T, w cli) {
	t.Helper()
	if c, ok := w.(*core); ok {
		for address, card := range c.state {
			card.Private = nil
			c.state[address] = card
		}
		return
	}
	w.Write("terraform.tfstate", regexp.MustCompile(`"private": "[^"]*"`).ReplaceAllString(string(stateFile(t, w)), `"private": ""`))
}

// stateOf returns what brings the present state back, as a backup does or a run that
// was killed before it wrote any.
func stateOf(t *testing.T, w cli) (restore func()) {
	t.Helper()
	if c, ok := w.(*core); ok {
		state := maps.Clone(c.state)
		return func() { c.state = state }
	}
	text := string(stateFile(t, w))
	return func() { w.Write("terraform.tfstate", text) }
}

func stateFile(t *testing.T, w cli) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.(*acctest.Workspace).Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A money_record that is lost, damaged or another card's stops the next movement
// once, which both the plan and the error say; the apply after it moves the money.
func TestLostMoneyRecordStopsOnce(t *testing.T) {
	t.Parallel()
	other := reconcile.ImportedRecord(60*usd.Dollar, time.Now()).Text("card_other")
	for name, record := range map[string]any{"lost": nil, "damaged": "a_not-a-record", "another card's": other, "of a later version": "z" + other[1:]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := issued(t, object{"amount": 60})
			f.card.Values["money_record"] = record
			f.refresh()
			f.unchanged(object{"amount": 60})
			f.says("the error", f.tryApply(object{"amount": 100}).Errors(), "nothing tells what was moved before", "Nothing was sent", "apply again")
			f.holds("active", 60*usd.Dollar, 9939*usd.Dollar)
			f.apply(object{"amount": 100})
			f.holds("active", 100*usd.Dollar, 9899*usd.Dollar)
		})
	}
}

// Core drops private state when a provider dies: a card lives on without it.
func TestCardWithoutPrivateState(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60, "spending_limit": 500, "top_up": object{"below": 40, "to": 60}, "deletion_protection": true})
	f.card.Private = nil
	config := object{"amount": 100, "spending_limit": 500, "top_up": object{"below": 40, "to": 60}, "deletion_protection": true}
	f.refresh()
	f.apply(config)
	f.unchanged(config)
	f.card.Private = []byte(`{"card":"WzFd"}`) // a list
	f.failsToPlan(nil, "Deletion protection keeps card")
	f.unchanged(config)
	f.holds("active", 100*usd.Dollar, acctest.InitialBalance-101*usd.Dollar)
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
		"a purchase":          func() { f.s.Authorize(f.id(), "30", advertising).Must(); f.s.Advance("1h"); f.refresh() },
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
