package statement_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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

func (w *world) balance(id string) usd.Amount {
	var card struct {
		Balance usd.Amount `json:"balance"`
	}
	w.s.Get("/cards/" + id).Into(&card)
	return card.Balance
}

// spend buys something on a card, which may be declined.
func (w *world) spend(id string) usd.Amount {
	amount := w.usd(1, int(w.balance(id))+1000)
	var answer struct {
		DeclineReason *string `json:"decline_reason"`
	}
	w.s.Authorize(id, string(amount), "7311").Into(&answer)
	w.note("spend %s on %s: %v", amount, id, answer.DeclineReason != nil)
	if answer.DeclineReason != nil {
		return 0
	}
	return w.parse(amount)
}

// spendBetween spends on cards that the plan terminates, and returns how much.
func (w *world) spendBetween(stated *statement.Statement) map[string]usd.Amount {
	spent := map[string]usd.Amount{}
	for _, card := range stated.Cards {
		if card.Sums.Returns > 0 && w.r.IntN(4) == 0 {
			spent[card.ID] = w.spend(card.ID)
			w.did["spent between"]++
		}
	}
	return spent
}

// refuse makes the service refuse a termination now and then.
func (w *world) refuse() {
	if w.r.IntN(4) == 0 {
		w.s.Fault(map[string]any{"method": "DELETE", "path": "/cards/*", "times": 1, "when": "before", "then": map[string]any{
			"status": 400, "body": map[string]string{"error": "invalid_request", "message": "Not now."},
		}}).Must()
	}
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
	action config           // by type, what the plan invokes
}

func (w *world) name() string {
	w.next++
	return fmt.Sprint("c", w.next)
}

// mode edits the configuration, and returns the flags of its plan.
func (w *world) mode(e *edit) []string {
	mode := func(flag string) []string {
		w.note("%s", flag)
		return []string{flag}
	}
	switch w.r.IntN(60) {
	case 0:
		return mode("-destroy")
	case 1:
		return mode("-refresh-only")
	}
	for range 1 + w.r.IntN(4) {
		w.edit(e)
	}
	names := slices.Sorted(maps.Keys(e.cards))
	if len(names) == 0 {
		return nil
	}
	name := names[w.r.IntN(len(names))]
	switch n := w.r.IntN(24); {
	case n < 3:
		return mode("-replace=vcard_card." + name)
	case n == 3:
		return mode("-refresh=false")
	case n == 4 && len(e.blocks) == 0:
		return mode("-target=vcard_card." + name)
	case n < 12 && acctest.Has("1.14.0", ""):
		w.act(e, name)
	case n < 15: // fails for what is not in the state
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
	switch w.r.IntN(16) {
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
		if w.r.IntN(2) == 0 {
			card["max_top_up_per_month"] = w.usd(1, 12000)
		}
	case 6:
		delete(card, "top_up")
		delete(card, "max_top_up_per_month")
	case 7:
		card["label"] = fmt.Sprint("label-", w.r.IntN(1000))
	case 8:
		card["auto_freeze_at"] = w.usd(100, 5000)
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

// issue makes a new card, which may have a key that is hard to write, or a load
// that only apply knows.
func (w *world) issue(e *edit) {
	name := w.name()
	card := config{"bin_id": sandboxtest.BIN, "amount": w.usd(5000, 30000)}
	switch w.r.IntN(6) {
	case 0:
		card["for_each"] = `${toset(["a\"b\n[0].c"])}`
	case 1:
		amount := fmt.Sprintf("${terraform_data.%s.output}", name)
		card["amount"], w.late[amount] = amount, w.usd(10000, 30000) // in no top-up's range
	}
	e.cards[name] = card
	w.note("new %s", name)
}

// act invokes an action on a card that the plan leaves alone.
func (w *world) act(e *edit, name string) {
	card := e.cards[name]
	if card["for_each"] != nil || !reflect.DeepEqual(card, w.cards[name]) {
		return
	}
	kind := []string{"fund", "fund", "withdraw", "freeze", "unfreeze"}[w.r.IntN(5)]
	what := map[string]any{"card_id": "${vcard_card." + name + ".id}"}
	if kind == "fund" || kind == "withdraw" {
		what["amount"] = w.usd(1, 100)
	}
	e.action = config{"vcard_card_" + kind: map[string]any{"x": map[string]any{"config": what}}}
	w.note("%s %s by an action", kind, name)
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
	resources := map[string]map[string]any{"vcard_card": {}, "terraform_data": {}}
	document := map[string]any{"resource": resources}
	for name, card := range e.cards {
		resources["vcard_card"][name] = card
		if card["max_top_up_per_month"] != nil {
			w.did["capped"]++
		}
		if late, isLate := card["amount"].(string); isLate {
			resources["terraform_data"][strings.Split(late, ".")[1]] = map[string]any{"input": w.late[late]}
		}
	}
	if e.action != nil {
		document["action"] = e.action
		for kind := range e.action {
			resources["terraform_data"][w.name()] = map[string]any{"lifecycle": map[string]any{
				"action_trigger": []any{map[string]any{"events": []string{"after_create"}, "actions": []string{"action." + kind + ".x"}}},
			}}
		}
	}
	for kind, blocks := range e.blocks {
		document[kind] = blocks
	}
	maps.DeleteFunc(resources, func(_ string, blocks map[string]any) bool { return len(blocks) == 0 })
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	w.written = string(text)
	w.Write("main.tf.json", w.written)
}
