package card_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// stateFile is Terraform's state, as far as a test changes it.
type stateFile map[string]any

func readState(t *testing.T, path string) stateFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var state stateFile
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func (s stateFile) write(t *testing.T, w *acctest.Workspace) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	w.Write("terraform.tfstate", string(text))
}

// cards calls change with each card's attributes.
func (s stateFile) cards(t *testing.T, change func(attributes map[string]any)) {
	t.Helper()
	for _, r := range s["resources"].([]any) {
		instance := r.(map[string]any)["instances"].([]any)[0].(map[string]any)
		change(instance["attributes"].(map[string]any))
	}
}

// A money_record that is lost, damaged or another card's stops the next movement
// once, which both the plan and the error say; the apply after it moves the money.
func TestLostMoneyRecordStopsOnce(t *testing.T) {
	t.Parallel()
	other := reconcile.ImportedRecord(60*usd.Dollar, time.Now()).Text("card_other")
	for name, record := range map[string]any{"lost": nil, "damaged": "a_not-a-record", "another card's": other, "of a later version": "z" + other[1:]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := applied(t, s, "", oneCard("amount = 60"))
			state := readState(t, filepath.Join(w.Dir, "terraform.tfstate"))
			state.cards(t, func(attributes map[string]any) { attributes["money_record"] = record })
			state.write(t, w)
			plansNothing(t, w)
			output := applyFails(t, w, oneCard("amount = 100"))
			prints(t, output, "Apply stops once before a fund of 40.00 USD", "nothing tells what was moved before", "Nothing was sent", "apply again")
			serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
			apply(w, oneCard("amount = 100"))
			serviceHolds(t, s, "active", 100*usd.Dollar, 9899*usd.Dollar)
			plansNothing(t, w)
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
	f.holds("active", 100*d, acctest.InitialBalance-101*d)
}

func TestIdempotencyKeysOfAnotherWord(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	through(w, s, `idempotency_keys = "ignored"`)
	prints(t, applyFails(t, w, oneCard("amount = 60")), `idempotency_keys must be "unknown" or "honoured", got "ignored"`)
	if live := liveCards(s); len(live) != 0 {
		t.Errorf("%v were issued", live)
	}
}
