package card_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// changeState changes each instance in the state file of the real CLI.
func changeState(t *testing.T, w cli, change func(instance map[string]any)) {
	t.Helper()
	path := filepath.Join(w.(*acctest.Workspace).Dir, "terraform.tfstate")
	text, err := os.ReadFile(path)
	var state map[string]any
	if err = errors.Join(err, json.Unmarshal(text, &state)); err != nil {
		t.Fatal(err)
	}
	for _, r := range state["resources"].([]any) {
		for _, instance := range r.(map[string]any)["instances"].([]any) {
			change(instance.(map[string]any))
		}
	}
	text, err = json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	w.Write("terraform.tfstate", string(text))
}

// stateOf returns what brings the present state back, as a backup does or a run that
// was killed before it wrote any.
func stateOf(t *testing.T, w cli) (restore func()) {
	t.Helper()
	if c, ok := w.(*core); ok {
		state := maps.Clone(c.state)
		return func() { c.state = state }
	}
	text, err := os.ReadFile(filepath.Join(w.(*acctest.Workspace).Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	return func() { w.Write("terraform.tfstate", string(text)) }
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
