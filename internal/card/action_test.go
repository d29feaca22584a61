package card_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestActionTriggers(t *testing.T) {
	t.Parallel()
	if acctest.OpenTofu() {
		t.Skip("OpenTofu has no actions")
	}
	s := acctest.Start(t)
	config := func(frozen bool) string {
		return s.Provider() + named("test", fmt.Sprintf(`amount = 50
			frozen = %t
			lifecycle {
				action_trigger {
					events  = [after_create, after_update]
					actions = [action.vcard_card_fund.extra]
				}
			}`, frozen)) + `
			action "vcard_card_fund" "extra" {
				config {
					card_id = vcard_card.test.id
					amount  = 25.50
				}
			}`
	}
	resource.Test(t, acctest.LifeSince(t, tfversion.Version1_14_0,
		resource.TestStep{Config: config(false), Check: atService(s, "active", 75_50, 9923_50)},
		resource.TestStep{
			Config: config(false), ConfigPlanChecks: nothing(), ConfigStateChecks: []statecheck.StateCheck{is("balance", acctest.Exactly("75.50"))},
		},
		resource.TestStep{
			Config: config(true), ConfigPlanChecks: does(plancheck.ResourceActionUpdate), Check: atService(s, "frozen", 101_00, 9898_00),
		},
	))
}

func TestActions(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"wallet_decimals": 2})
	p := s.Protocol(nil)
	card := issue(s, map[string]any{"amount": 50, "label": "search"})
	wallet := s.Wallet()
	for _, step := range []struct {
		action  string
		amount  any
		says    []string // before and after
		status  string
		balance usd.Amount
		wallet  usd.Amount
	}{
		{"vcard_card_fund", "25.50", []string{`Funding card ID ("search", ending in LAST4) with 25.50 USD; it holds 50.00 USD.`, `Card ID ("search", ending in LAST4) holds 75.50 USD now, and the wallet 9923.50 USD.`}, "active", 7550, wallet - 2550},
		{"vcard_card_withdraw", "0.01", []string{"Withdrawing 0.01 USD from card ID", "holds 75.49 USD now, and the wallet 9923.51 USD."}, "active", 7549, wallet - 2549},
		{"vcard_card_fund", "7.41000000000000000001", []string{"with 7.41 USD", "holds 82.90 USD now"}, "active", 8290, wallet - 3290},
		{"vcard_card_freeze", nil, []string{"Freezing card ID (\"search\", ending in LAST4), which is active and holds 82.90 USD.", "is frozen now and holds 82.90 USD."}, "frozen", 8290, wallet - 3290},
		{"vcard_card_freeze", nil, []string{"which is frozen", "is frozen now"}, "frozen", 8290, wallet - 3290},
		{"vcard_card_fund", 1, []string{"with 1.00 USD", "holds 83.90 USD"}, "frozen", 8390, wallet - 3390},
		{"vcard_card_unfreeze", nil, []string{"Unfreezing card ID (\"search\"", "is active now and holds 83.90 USD."}, "active", 8390, wallet - 3390},
		{"vcard_card_withdraw", "83.90", []string{"Withdrawing 83.90 USD", "holds 0.00 USD now"}, "active", 0, wallet + 5000},
		{"vcard_card_fund", "0.01", []string{"with 0.01 USD", "holds 0.01 USD"}, "active", 1, wallet + 4999},
		{"vcard_card_withdraw", nil, []string{"Withdrawing 0.01 USD from card ID", "holds 0.00 USD now"}, "active", 0, wallet + 5000}, // all
		{"vcard_card_withdraw", acctest.Unknown, []string{"holds 0.00 USD: there is nothing to withdraw"}, "active", 0, wallet + 5000},
	} {
		config, resolved := object{"card_id": card.ID}, object{}
		if step.amount != nil {
			config["amount"] = step.amount
		}
		if step.amount == acctest.Unknown {
			resolved["amount"] = nil
		}
		progress, diags := p.InvokeAction(step.action, config, resolved)
		if text := diags.Errors() + diags.Warnings(); text != "" {
			t.Fatalf("%s: %s", step.action, text)
		}
		if len(progress) != len(step.says) {
			t.Fatalf("%s says %q", step.action, progress)
		}
		for i, words := range step.says {
			words = strings.NewReplacer("ID", card.ID, "LAST4", read(s, card.ID).Last4).Replace(words)
			sandboxtest.Says(t, step.action, progress[i], words)
		}
		if now := read(s, card.ID); now.Status != step.status || now.Balance != step.balance || s.Wallet() != step.wallet {
			t.Errorf("after %s of %v the card is %s with %s USD, and the wallet holds %s", step.action, step.amount, now.Status, now.Balance, s.Wallet())
		}
	}
	_, diags := p.InvokeAction("vcard_card_fund", object{"card_id": card.ID, "amount": acctest.Unknown}, object{"amount": nil})
	sandboxtest.Says(t, "a fund of null", diags.Errors(), "amount turned out to be null")
}

// An action tells what came of it where that is not what was asked for, and where it was refused.
func TestActionsThatComeToSomethingElse(t *testing.T) {
	t.Parallel()
	lost := fault("POST", "/cards/*/fund", "after", 1, "drop")
	notNow := object{"status": 400, "body": `{"error": "invalid_request", "message": "not now"}`}
	refused := fault("POST", "/cards/*/withdraw", "before", 1, notNow)
	freeze := func(s *acctest.Service, id string) { s.Freeze(id) }
	terminate := func(s *acctest.Service, id string) { s.Terminate(id) }
	const fifty, seventyFive = 50 * usd.Dollar, 75 * usd.Dollar
	for name, c := range map[string]struct {
		quirks object
		before func(s *acctest.Service, id string)
		faults []object
		action string
		card   string // the test's own when ""
		amount any
		tells  []string // in the end, nothing when nil
		warns  []string
		fails  []string
		holds  usd.Amount
	}{
		"to the threshold": {action: "withdraw", amount: 20, tells: []string{"holds 30.00 USD now"}, holds: 30 * usd.Dollar},
		"under the threshold": {
			action: "withdraw", amount: "20.01", holds: 2999, tells: []string{"holds 29.99 USD now"},
			warns: []string{"ID", "is frozen now", "29.99 USD", "auto_freeze_at", "unfreeze"},
		},
		"another amount": {
			quirks: object{"withdraw_amount": "ignored"}, action: "withdraw", amount: 20, tells: []string{"holds 0.00 USD now"},
			warns: []string{"More or less money moved than asked", "ID", "withdraw 20.00 USD", "holds 0.00 USD", "30.00 USD other than", "vcard_card_fund"},
		},
		"six decimals": {
			quirks: object{"wallet_decimals": 6}, action: "fund", amount: 25, holds: seventyFive,
			tells: []string{"holds 75.00 USD now, and the wallet 9924.001234 USD"},
		},
		"a lost response": {
			faults: []object{lost}, action: "fund", amount: 25, holds: seventyFive,
			tells: []string{"The response was lost", "ID", "holds 75.00 USD now"}, warns: []string{"A response was lost, and the outcome found out"},
		},
		"undecided": {
			faults: []object{lost, fault("GET", "/cards/*", "before", 2, "pass"), fault("GET", "/cards/*", "before", 0, down)},
			action: "fund", amount: 25, holds: seventyFive,
			fails: []string{
				"not known whether this took effect: fund card ID", "25.00 USD", "held 50.00 USD before",
				"Look before you repeat", "a second time", "transactions",
			},
		},
		"no such card": {
			action: "unfreeze", card: "card_none", holds: fifty,
			fails: []string{"unfreeze card card_none", "404 (not_found)", "the id is wrong"},
		},
		"poor wallet": {
			action: "fund", amount: 99999, holds: fifty,
			fails: []string{"fund card ID", `"search"`, "99999.00 USD", "insufficient_funds", "Deposit first"},
		},
		"poor card": {
			action: "withdraw", amount: "50.01", holds: fifty,
			fails: []string{"withdraw 50.01 USD from card ID", "insufficient_card_balance"},
		},
		"terminated": {
			before: terminate, action: "fund", amount: 1,
			fails: []string{"fund card ID", "with 1.00 USD", "is terminated, which is final"},
		},
		"freeze terminated": {before: terminate, action: "freeze", fails: []string{"freeze card ID", "is terminated, which is final"}},
		"frozen, refused": {
			before: freeze, faults: []object{refused}, action: "withdraw", amount: 1, holds: fifty,
			fails: []string{"400", "not now", "is frozen, which may be the reason"},
		},
		"active, refused": {
			faults: []object{refused}, action: "withdraw", amount: 1, holds: fifty,
			fails: []string{"400", "not now", "takes no amount", "set it back"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t, contract.RequestsOnly())
			s.Quirks(c.quirks)
			id := issue(s, map[string]any{"amount": 50, "auto_freeze_at": 30, "label": "search"}).ID
			if c.before != nil {
				c.before(s, id)
			}
			for _, one := range c.faults {
				s.Fault(one)
			}
			config := object{"card_id": cmp.Or(c.card, id)}
			if c.amount != nil {
				config["amount"] = c.amount
			}
			progress, diags := s.Protocol(object{"max_retries": 0}).InvokeAction("vcard_card_"+c.action, config, nil)
			if ends := len(progress) - 1; ends > 0 != (c.tells != nil) || ends > 1 || ends == 0 && c.holds == 0 {
				t.Fatalf("it says %q", progress)
			}
			for said, words := range map[string][]string{
				strings.Join(progress[min(1, len(progress)):], ""): c.tells,
				"warning: " + diags.Warnings():                     c.warns,
				"error: " + diags.Errors():                         c.fails,
			} {
				for _, word := range words {
					sandboxtest.Says(t, name, said, strings.ReplaceAll(word, "ID", id))
				}
			}
			if (diags.Warnings() == "") != (c.warns == nil) || (diags.Errors() == "") != (c.fails == nil) || strings.Count(diags.Errors(), "Could not ") > 1 {
				t.Errorf("it says %s%s", diags.Warnings(), diags.Errors())
			}
			s.Delete("/_sandbox/faults").Must()
			if now, wallet := read(s, id).Balance, s.Wallet(); now != c.holds || wallet+now != 9999*usd.Dollar {
				t.Errorf("the card holds %s USD, and the wallet %s", now, wallet)
			}
		})
	}
}

// Terraform validates the values of variables as unknown, so that a plan is the first
// to see them, or the apply.
func TestActionsAreChecked(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(object{"max_card_load": 500})
	for name, c := range map[string]struct {
		actions []string
		amount  any
		words   string // nothing is wrong with ""
	}{
		"nothing":        {[]string{"fund", "withdraw"}, 0, "amount must be at least 0.01 USD"},
		"half a cent":    {[]string{"fund", "withdraw"}, "0.005", "at most two decimals, got 0.005"},
		"no amount":      {[]string{"fund"}, nil, "amount"},
		"above the most": {[]string{"fund"}, 501, "amount must be at most 500.00 USD"},
		"the most":       {[]string{"fund", "withdraw"}, 500, ""},
		"a lot":          {[]string{"withdraw"}, 5000, ""},
		"everything":     {[]string{"withdraw"}, nil, ""},
		"not known yet":  {[]string{"fund", "withdraw"}, acctest.Unknown, ""},
	} {
		for _, action := range c.actions {
			config, unknown := object{"card_id": "card_1", "amount": c.amount}, object{"card_id": "card_1", "amount": acctest.Unknown}
			told := map[string]string{"plan": p.PlanAction("vcard_card_"+action, config).Errors()}
			if c.words != "" {
				_, validated := p.InvokeAction("vcard_card_"+action, config, nil)
				_, invoked := p.InvokeAction("vcard_card_"+action, unknown, config)
				told["validation"], told["apply"] = validated.Errors(), invoked.Errors()
			}
			for when, text := range told {
				if !strings.Contains(text, c.words) || c.words == "" && text != "" {
					t.Errorf("%s, %s: the %s says %q, want %q", action, name, when, text, c.words)
				}
			}
		}
	}
	for _, action := range []string{"fund", "freeze"} {
		for _, id := range []any{"wh_1", acctest.Unknown} {
			config := object{"card_id": id}
			if action == "fund" {
				config["amount"] = 1
			}
			told := p.PlanAction("vcard_card_"+action, config).Errors()
			if strings.Contains(told, `card_id must be a card id, of the form card_…, got "wh_1"`) != (id == "wh_1") {
				t.Errorf("%s, %v: the plan says %q", action, id, told)
			}
		}
	}
	if calls := s.Requests(); len(calls) > 0 {
		t.Errorf("what is refused was sent: %v", calls)
	}
}

// What needs the service says that the provider is not configured yet.
func TestActionsAndListsOfAnUnknownProvider(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"base_url", "api_key", "sandbox", "request_timeout", "max_retries", "rate_limits", "idempotency_keys", "wallet_check", "max_card_load", "max_taken_per_plan",
	} {
		config := object{"base_url": "https://cards.example.com/api/v1", "api_key": "sk_live_x"}
		config[name] = acctest.Unknown
		_, listed := acctest.Configure(t, config).List("vcard_card", object{}, 1, false)
		sandboxtest.Says(t, name, listed.Errors(), "provider's configuration is not known yet")
	}
	p := acctest.Configure(t, object{"sandbox": acctest.Unknown})
	_, freeze := p.InvokeAction("vcard_card_freeze", object{"card_id": "card_1"}, nil)
	_, fund := p.InvokeAction("vcard_card_fund", object{"card_id": "card_1", "amount": 1}, nil)
	_, list := p.List("vcard_card", object{}, 100, false)
	for words, diags := range map[string]acctest.Diagnostics{"freeze a card": freeze, "fund a card with 1.00 USD": fund, "list cards": list} {
		sandboxtest.Says(t, words, diags.Errors(), "provider's configuration is not known yet", words, "-target")
	}
}

// What an action of the same process moved just before is no other hand's, and is not
// taken for the card's own movement.
func TestActionsOfTheSameProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action  string
		amount  int
		balance usd.Amount
	}{
		"fund, then fund":         {"vcard_card_fund", 150, 210},
		"fund, then withdraw":     {"vcard_card_fund", 60, 120},
		"withdraw, then withdraw": {"vcard_card_withdraw", 70, 10},
		"withdraw, then fund":     {"vcard_card_withdraw", 160, 100},
		"fund, then just as much": {"vcard_card_fund", 160, 220},
	} {
		for _, told := range []string{"unknown", "honoured"} {
			t.Run(name+", "+told, func(t *testing.T) {
				t.Parallel()
				s := acctest.Start(t)
				apply := func(card acctest.Card, amount int, between func(p *acctest.Protocol)) acctest.Card {
					p := s.Protocol(object{"idempotency_keys": told})
					change, diags := p.Plan(card, object{"bin_id": bin, "amount": amount})
					diags.Must(t)
					between(p)
					card, diags = p.Apply(change)
					if text := diags.Errors() + diags.Warnings(); text != "" {
						t.Error(text)
					}
					return card
				}
				card := apply(acctest.Card{}, 100, func(*acctest.Protocol) {})
				card = apply(card, c.amount, func(p *acctest.Protocol) {
					_, diags := p.InvokeAction(c.action, object{"card_id": card.Values["id"], "amount": 60}, nil)
					diags.Must(t)
				})
				if got := fmt.Sprintf("%v, %v", card.Values["amount"], card.Values["balance"]); got != fmt.Sprintf("%d, %d", c.amount, c.balance) {
					t.Errorf("amount and balance are %s", got)
				}
				if wallet := s.Wallet(); wallet != (9999-c.balance)*usd.Dollar {
					t.Errorf("the wallet holds %s USD", wallet)
				}
			})
		}
	}
}

func fault(method, path, when string, times int, then any) object {
	return object{"method": method, "path": path, "when": when, "times": times, "then": then}
}

// down is an answer that says nothing about what happened.
var down = map[string]any{"status": 500, "body": map[string]string{"error": "down", "message": "down"}}

// Terraform runs after_update actions although the update failed. Money that they moved then
// would be taken for the update's by the next apply, which would stop, and so would the next.
func TestActionsAfterFailedUpdate(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	update := func(p *acctest.Protocol, card acctest.Card, amount int) (acctest.Card, acctest.Diagnostics) {
		change, diags := p.Plan(card, object{"bin_id": bin, "label": "ads", "amount": amount})
		diags.Must(t)
		return p.Apply(change)
	}
	card, diags := update(p, acctest.Card{}, 50)
	diags.Must(t)
	id := fmt.Sprint(card.Values["id"])
	invoke := func(p *acctest.Protocol, action string) string {
		config := object{"card_id": id}
		if action == "vcard_card_fund" || action == "vcard_card_withdraw" {
			config["amount"] = 10
		}
		_, diags := p.InvokeAction(action, config, nil)
		return diags.Errors()
	}

	s.Fault(fault("POST", "/cards/*/fund", "before", 1, object{"status": 400, "body": object{"error": "invalid_request", "message": "not now"}}))
	card, diags = update(p, card, 75)
	if diags.Errors() == "" {
		t.Fatal("the update succeeded")
	}
	for _, action := range []string{"vcard_card_fund", "vcard_card_withdraw"} {
		if text := invoke(p, action); !strings.HasPrefix(text, "Action refused after a failed update: ") {
			t.Errorf("%s says %q", action, text)
		}
	}
	for _, action := range []string{"vcard_card_freeze", "vcard_card_unfreeze"} {
		if text := invoke(p, action); text != "" {
			t.Errorf("%s says %q", action, text)
		}
	}
	if now := read(s, id); now.Balance != 50*usd.Dollar {
		t.Errorf("the card holds %s USD", now.Balance)
	}
	if text := invoke(s.Protocol(nil), "vcard_card_fund"); text != "" { // as -invoke does
		t.Errorf("in another run it says %q", text)
	}
	if text := invoke(s.Protocol(nil), "vcard_card_withdraw"); text != "" {
		t.Errorf("in another run it says %q", text)
	}

	_, diags = update(p, card, 75)
	diags.Must(t)
	if text := invoke(p, "vcard_card_fund"); text != "" {
		t.Errorf("after a successful update it says %q", text)
	}
	if now := read(s, id); now.Balance != 85*usd.Dollar {
		t.Errorf("the card holds %s USD", now.Balance)
	}
}

// An action that runs beside an update of its card moves nothing either: the update may still fail.
func TestActionsBesideAnUpdate(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	clock := &pausedClock{}
	p := acctest.Configure(t, object{"base_url": s.URL, "api_key": s.Key}, provider.WithClock(clock))
	change, diags := p.Plan(acctest.Card{}, object{"bin_id": bin, "amount": 50})
	diags.Must(t)
	card, diags := p.Apply(change)
	diags.Must(t)
	id := fmt.Sprint(card.Values["id"])

	const attempts = 5 // of an update; what comes after them arrives
	s.Fault(fault("POST", "/cards/*/fund", "before", attempts, "drop"))
	change, diags = p.Plan(card, object{"bin_id": bin, "amount": 75})
	diags.Must(t)
	said := make(chan string, 1)
	clock.onFirstWait(func() {
		go func() {
			_, diags := p.InvokeAction("vcard_card_fund", object{"card_id": id, "amount": 10}, nil)
			said <- diags.Errors()
		}()
	})
	_, diags = p.Apply(change)
	if diags.Errors() == "" {
		t.Fatal("the update succeeded")
	}
	if text := <-said; !strings.HasPrefix(text, "Action refused after a failed update: ") {
		t.Errorf("the action says %q", text)
	}
	if now := read(s, id); now.Balance != 50*usd.Dollar {
		t.Errorf("the card holds %s USD", now.Balance)
	}
}

// pausedClock skips its waits, and calls a function before the first of them.
type pausedClock struct {
	acctest.Clock
	call atomic.Pointer[func()]
}

func (c *pausedClock) onFirstWait(call func()) { c.call.Store(&call) }

func (c *pausedClock) Wait(ctx context.Context, d time.Duration) error {
	if call := c.call.Swap(nil); call != nil {
		(*call)()
	}
	return c.Clock.Wait(ctx, d)
}
