package statement_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// deposit fills the wallet up before it runs dry.
func (w *world) deposit() {
	if w.s.Wallet() < 5000*usd.Dollar {
		deposit := w.s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 10000}).Must()
		w.s.Post("/_sandbox/deposits/"+deposit.Text("id")+"/confirm", nil).Must()
	}
}

func (w *world) balance(id string) usd.Amount {
	var card struct{ Balance usd.Amount }
	w.s.Get("/cards/" + id).Into(&card)
	return card.Balance
}

// spend buys something on a card, which may be declined.
func (w *world) spend(id string) usd.Amount {
	amount := w.usd(1, int(w.balance(id))+10_00)
	declined := w.s.Authorize(id, string(amount), "7311").Must().Body["decline_reason"] != nil
	if w.note("spend %s on %s: declined %t", amount, id, declined); declined {
		return 0
	}
	return w.parse(amount)
}

// spendBetween spends on cards that the plan terminates, and returns how much the plan
// has not seen: of one that did not look, all that is not there.
func (w *world) spendBetween(stated *statement.Statement, looked bool) map[string]usd.Amount {
	spent := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if card.Sums.Returns > 0 && w.r.IntN(4) == 0 {
			spent[card.ID] = w.spend(card.ID)
			w.did["spent"]++
		}
		if card.Sums.Returns > 0 && !looked {
			spent[card.ID] = card.Sums.Returns - w.balance(card.ID)
		}
	}
	return spent
}

func (w *world) outside() {
	live := w.s.LiveCards()
	if len(live) == 0 {
		return
	}
	id, _ := live[w.r.IntN(len(live))]["id"].(string)
	if w.foreign && w.r.IntN(2) == 0 {
		w.moveByHand(id)
		return
	}
	switch w.r.IntN(8) {
	default:
		w.spend(id)
	case 0:
		w.s.Post("/cards/"+id+"/freeze", nil) // which a frozen card may refuse
		w.note("freeze %s", id)
	case 1:
		w.s.Terminate(id)
		w.note("terminate %s", id)
	}
}

// moveByHand funds a card or withdraws from it, often by a sum that a plan may have as well.
func (w *world) moveByHand(id string) {
	way, amount := "fund", w.usd(1, 120_00)
	if balance := w.balance(id); balance > 0 && w.r.IntN(3) == 0 {
		way, amount = "withdraw", w.usd(1, int(balance)+1)
	}
	w.s.Post("/cards/"+id+"/"+way, map[string]any{"amount": amount}).Must()
	w.note("%s %s by hand with %s", way, id, amount)
	w.did["by-hand"]++
}

// restore puts back an older state, with its configuration.
func (w *world) restore() {
	if !w.foreign || len(w.states) == 0 || w.r.IntN(6) > 0 {
		return
	}
	saved := w.states[max(0, len(w.states)-1-w.r.IntN(3))]
	w.Write("terraform.tfstate", saved.text)
	w.cards = saved.cards
	w.note("restored a state")
	w.did["restored"]++
}

// edit is the configuration of the next plan.
type edit struct {
	cards  map[string]config
	blocks map[string][]any // moved, removed, import
}

func (w *world) name() string {
	w.next++
	return fmt.Sprint("c", w.next)
}

// change edits the configuration, and returns the flags of its plan.
func (w *world) change(e *edit) []string {
	mode := w.r.IntN(60)
	if mode < 2 {
		return []string{[]string{"-destroy", "-refresh-only"}[mode]}
	}
	for range 1 + w.r.IntN(4) {
		w.edit(e)
	}
	names := slices.Sorted(maps.Keys(e.cards))
	if len(names) == 0 {
		return nil
	}
	name := names[w.r.IntN(len(names))]
	switch n := w.r.IntN(12); {
	case n < 2:
		w.note("replace %s", name)
		return []string{"-replace=vcard_card." + name}
	case n == 2 && len(e.blocks) == 0:
		w.note("target %s", name)
		return []string{"-target=vcard_card." + name}
	case n == 3:
		w.did["unrefreshed"]++
		return []string{unrefreshed}
	case n < 6: // fails for what is not in the state
		code, _ := w.Run("taint", "vcard_card."+name)
		w.note("taint %s: %d", name, code)
	}
	return nil
}

func (w *world) edit(e *edit) {
	names := slices.Sorted(maps.Keys(e.cards))
	if len(names) < 3 || len(names) < 7 && w.r.IntN(6) == 0 {
		w.issue(e)
		return
	}
	name := names[w.r.IntN(len(names))]
	card := e.cards[name]
	w.note("edit %s", name)
	kind := w.r.IntN(16)
	if w.foreign && w.r.IntN(2) == 0 {
		kind = w.r.IntN(6) // money
	}
	switch kind {
	case 0, 1, 2:
		card["amount"] = w.usd(0, 400_00)
		if w.cards[name] == nil {
			card["amount"] = w.usd(50_00, 400_00)
		}
	case 3:
		card["frozen"] = []any{true, false, nil}[w.r.IntN(3)]
	case 4, 5:
		below := 1_00 + w.r.IntN(99_00)
		card["top_up"] = map[string]any{"below": json.Number(usd.Amount(below).String()), "to": w.usd(below, below+100_00)}
		if w.r.IntN(2) == 0 {
			card["max_top_up_per_month"] = w.usd(1, 120_00)
			w.did["capped"]++
		}
	case 6:
		delete(card, "top_up")
		delete(card, "max_top_up_per_month")
	case 7:
		card["label"] = fmt.Sprint("label-", w.r.IntN(1000))
	case 8:
		card["auto_freeze_at"] = w.usd(1_00, 50_00)
	case 9:
		lifecycle := map[string]any{"create_before_destroy": w.r.IntN(4) > 0}
		if acctest.Has("1.17.0", "1.12.0") && w.r.IntN(3) == 0 {
			// With create_before_destroy, Terraform 1.17-dev plans to destroy such a card, and fails.
			lifecycle = map[string]any{"destroy": false}
		}
		card["lifecycle"] = []any{lifecycle}
	case 10:
		delete(e.cards, name)
	case 11:
		w.move(e, name)
	case 12:
		w.forget(e, name)
	case 13:
		w.adopt(e)
	case 14:
		card["metadata"] = map[string]any{"team": fmt.Sprint("team ", w.r.IntN(3))}
	case 15:
		card["deletion_protection"] = w.r.IntN(3) == 0
	}
}

const hardKeys = `${toset(["a\"b\n[0].c"])}`

// issue makes a new card, which may have a key that is hard to write.
func (w *world) issue(e *edit) {
	name := w.name()
	e.cards[name] = config{"bin_id": sandboxtest.BIN, "amount": w.usd(50_00, 300_00)}
	if w.r.IntN(6) == 0 {
		e.cards[name]["for_each"] = hardKeys
	}
	w.note("new %s", name)
}

// move gives a card of the state another address.
func (w *world) move(e *edit, name string) {
	if w.cards[name] == nil {
		return
	}
	to := w.name()
	e.cards[to] = e.cards[name]
	delete(e.cards, name)
	w.did["moved"]++
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
			e.cards[name]["amount"] = w.usd(50_00, 300_00)
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
