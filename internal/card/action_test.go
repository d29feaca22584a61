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
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The changes of a card trigger an action, each once.
func TestAccCardFundAction_trigger(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := func(frozen bool) string {
		return s.ProviderConfig() + fmt.Sprintf(`
			resource "vcard_card" "test" {
				bin_id = "bin_ads_visa_us"
				amount = 50
				frozen = %t
				lifecycle {
					action_trigger {
						events  = [after_create, after_update]
						actions = [action.vcard_card_fund.extra]
					}
				}
			}
			action "vcard_card_fund" "extra" {
				config {
					card_id = vcard_card.test.id
					amount  = 25.50
				}
			}`, frozen)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.14.0", ""), // actions
		CheckDestroy:             checkDestroyed(s, 9999_00),
		Steps: []resource.TestStep{
			{
				Config: config(false),
				Check:  checkCard(s, "active", 75_50, 9923_50),
			},
			{
				Config:           config(false),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("balance"), acctest.Exactly("75.50")),
				},
			},
			{
				Config: config(true),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("vcard_card.test", plancheck.ResourceActionUpdate),
				}},
				Check: checkCard(s, "frozen", 101_00, 9898_00),
			},
		},
	})
}

// Each action reports what it is about to do and what came of it.
func TestCardActions(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"wallet_decimals": 2})
	p := s.Protocol(nil)
	card := issue(s, object{"amount": 50, "label": "search"})
	name := fmt.Sprintf("%s (\"search\", ending in %s)", card.ID, card.Last4)
	for _, step := range []struct {
		action          string
		amount          any      // nil to leave it out
		before, after   []string // what it says, in this order
		status          string
		balance, wallet usd.Amount
	}{
		{
			action: "fund", amount: "25.50",
			before: []string{"Funding", name, "25.50 USD", "50.00 USD"}, after: []string{name, "75.50 USD", "9923.50 USD"},
			status: "active", balance: 75_50, wallet: 9923_50,
		},
		{
			action: "withdraw", amount: "0.01",
			before: []string{"Withdrawing", "0.01 USD", name, "75.50 USD"}, after: []string{name, "75.49 USD", "9923.51 USD"},
			status: "active", balance: 75_49, wallet: 9923_51,
		},
		{
			action: "fund", amount: "7.41000000000000000001", // the noise of computed numbers
			before: []string{"Funding", name, "7.41 USD"}, after: []string{name, "82.90 USD", "9916.10 USD"},
			status: "active", balance: 82_90, wallet: 9916_10,
		},
		{
			action: "freeze",
			before: []string{"Freezing", name, "active", "82.90 USD"}, after: []string{name, "frozen", "82.90 USD"},
			status: "frozen", balance: 82_90, wallet: 9916_10,
		},
		{
			action: "freeze",
			before: []string{"Freezing", name, "frozen", "82.90 USD"}, after: []string{name, "frozen", "82.90 USD"},
			status: "frozen", balance: 82_90, wallet: 9916_10,
		},
		{
			action: "fund", amount: 1,
			before: []string{"Funding", name, "1.00 USD", "82.90 USD"}, after: []string{name, "83.90 USD", "9915.10 USD"},
			status: "frozen", balance: 83_90, wallet: 9915_10,
		},
		{
			action: "unfreeze",
			before: []string{"Unfreezing", name, "frozen", "83.90 USD"}, after: []string{name, "active", "83.90 USD"},
			status: "active", balance: 83_90, wallet: 9915_10,
		},
		{
			action: "withdraw", amount: "83.90",
			before: []string{"Withdrawing", "83.90 USD", name, "83.90 USD"}, after: []string{name, "0.00 USD", "9999.00 USD"},
			status: "active", balance: 0, wallet: 9999_00,
		},
		{
			action: "fund", amount: "0.01",
			before: []string{"Funding", name, "0.01 USD", "0.00 USD"}, after: []string{name, "0.01 USD", "9998.99 USD"},
			status: "active", balance: 1, wallet: 9998_99,
		},
		{
			action: "withdraw", // everything
			before: []string{"Withdrawing", "0.01 USD", name, "0.01 USD"}, after: []string{name, "0.00 USD", "9999.00 USD"},
			status: "active", balance: 0, wallet: 9999_00,
		},
		{
			action: "withdraw", amount: acctest.Unknown, // which turns out to be null: everything, and there is nothing
			before: []string{name, "0.00 USD", "nothing to withdraw"},
			status: "active", balance: 0, wallet: 9999_00,
		},
	} {
		config, resolved := object{"card_id": card.ID}, object{}
		if step.amount != nil {
			config["amount"] = step.amount
		}
		if step.amount == acctest.Unknown {
			resolved["amount"] = nil
		}
		progress, diags := p.InvokeAction("vcard_card_"+step.action, config, resolved)
		diags.ExpectError(t, "")
		diags.ExpectWarning(t, "")
		want := [][]string{step.before}
		if step.after != nil {
			want = append(want, step.after)
		}
		if len(progress) != len(want) {
			t.Fatalf("%s of %v says %q, want %d messages", step.action, step.amount, progress, len(want))
		}
		for i, values := range want {
			if !inOrder(progress[i], values) {
				t.Errorf("%s of %v says %q, want %q", step.action, step.amount, progress[i], values)
			}
		}
		if now := read(s, card.ID); now.Status != step.status || now.Balance != step.balance || s.Wallet() != step.wallet {
			t.Errorf("after %s of %v the card is %s with %s USD, and the wallet holds %s", step.action, step.amount, now.Status, now.Balance, s.Wallet())
		}
	}

	_, diags := p.InvokeAction("vcard_card_fund", object{"card_id": card.ID, "amount": acctest.Unknown}, object{"amount": nil})
	diags.ExpectError(t, titleNoAmount, "amount")
}

// inOrder reports whether a text contains these values, one after the other.
func inOrder(text string, values []string) bool {
	for _, value := range values {
		_, rest, found := strings.Cut(text, value)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// diagnostic is one that is expected: its title, and values in the order in which they follow. {id} stands for the card's id.
type diagnostic struct {
	title  string
	values []string
}

func (d diagnostic) of(id string) (title string, values []string) {
	for _, value := range d.values {
		values = append(values, strings.ReplaceAll(value, "{id}", id))
	}
	return strings.ReplaceAll(d.title, "{id}", id), values
}

// An action reports an outcome that is not what was asked for, and why it was refused. The card is active and holds
// 50.00 USD at first.
func TestCardActions_outcomes(t *testing.T) {
	t.Parallel()
	lostFund := fault("POST", "/cards/*/fund", "after", 1, "drop")
	lostFreeze := fault("POST", "/cards/*/freeze", "after", 1, "drop")
	refusedWithdrawal := fault("POST", "/cards/*/withdraw", "before", 1, object{
		"status": 400, "body": `{"error": "invalid_request", "message": "not now"}`,
	})
	passTwice := fault("GET", "/cards/*", "before", 2, "pass")
	failingReads := fault("GET", "/cards/*", "before", 0, object{"status": 500, "body": object{"error": "down", "message": "down"}})
	freeze := func(s *acctest.Service, id string) { s.Freeze(id) }
	terminate := func(s *acctest.Service, id string) { s.Terminate(id) }
	for _, test := range []struct {
		name    string
		quirks  object
		before  func(s *acctest.Service, id string)
		faults  []object
		action  string
		card    string // the test's own when ""
		amount  any
		says    []string // in the end; nil if it fails
		warning diagnostic
		err     diagnostic
		balance usd.Amount
	}{
		{
			name: "withdrawal to the threshold", action: "withdraw", amount: 20,
			says: []string{"{id}", "30.00 USD"}, balance: 30_00,
		},
		{
			name: "withdrawal under the threshold", action: "withdraw", amount: "20.01",
			says:    []string{"{id}", "29.99 USD"},
			warning: diagnostic{titleFrozenNow, []string{"29.99 USD", "auto_freeze_at", "unfreeze"}}, balance: 29_99,
		},
		{
			name: "another amount", quirks: object{"withdraw_amount": "ignored"}, action: "withdraw", amount: 20,
			says:    []string{"{id}", "0.00 USD"},
			warning: diagnostic{titleMovedAnotherAmount, []string{"{id}", "0.00 USD", "30.00 USD", "vcard_card_fund"}}, balance: 0,
		},
		{
			name: "a wallet with six decimals", quirks: object{"wallet_decimals": 6}, action: "fund", amount: 25,
			says: []string{"{id}", "75.00 USD", "9924.001234 USD"}, balance: 75_00,
		},
		{
			name: "a lost response", faults: []object{lostFund}, action: "fund", amount: 25,
			says:    []string{"response was lost", "{id}", "75.00 USD"},
			warning: diagnostic{"Recovered from a lost response", []string{"{id}"}}, balance: 75_00,
		},
		{
			name: "a lost response to a freeze", faults: []object{lostFreeze}, action: "freeze",
			says:    []string{"{id}", "is now frozen"},
			warning: diagnostic{"Recovered from a lost response", []string{"freeze card {id}"}}, balance: 50_00,
		},
		{
			name: "an unknown outcome", faults: []object{lostFund, passTwice, failingReads}, action: "fund", amount: 25,
			err: diagnostic{titleUnknownOutcome, []string{"fund card {id}", "25.00 USD", "50.00 USD", "vcard_transactions"}}, balance: 75_00,
		},
		{
			name: "a confirmed transfer that is not read", faults: []object{passTwice, failingReads}, action: "fund", amount: 25,
			err: diagnostic{titleUnknownOutcome, []string{"fund card {id}", "50.00 USD", "The service answered.", "500", "vcard_transactions"}}, balance: 75_00,
		},
		{
			name: "no such card", action: "unfreeze", card: "card_none",
			err: diagnostic{"Could not unfreeze card card_none", []string{"404 (not_found)"}}, balance: 50_00,
		},
		{
			name: "too little in the wallet", action: "fund", amount: 99999,
			err: diagnostic{"Could not fund card {id} (\"search\"", []string{"99999.00 USD", "insufficient_funds", "Deposit"}}, balance: 50_00,
		},
		{
			name: "too little on the card", action: "withdraw", amount: "50.01",
			err: diagnostic{"Could not withdraw 50.01 USD from card {id}", []string{"insufficient_card_balance"}}, balance: 50_00,
		},
		{
			name: "fund of a terminated card", before: terminate, action: "fund", amount: 1,
			err: diagnostic{"Could not fund card {id}", []string{"1.00 USD", "{id}", "terminated"}}, balance: 0,
		},
		{
			name: "freeze of a terminated card", before: terminate, action: "freeze",
			err: diagnostic{"Could not freeze card {id}", []string{"{id}", "terminated"}}, balance: 0,
		},
		{
			name: "a frozen card, refused", before: freeze, faults: []object{refusedWithdrawal}, action: "withdraw", amount: 1,
			err: diagnostic{"Could not withdraw 1.00 USD from card {id}", []string{"400", "not now", "is frozen"}}, balance: 50_00,
		},
		{
			name: "an active card, refused", faults: []object{refusedWithdrawal}, action: "withdraw", amount: 1,
			err: diagnostic{"Could not withdraw 1.00 USD from card {id}", []string{"400", "not now", "amount"}}, balance: 50_00,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t, contract.RequestsOnly())
			s.Quirks(test.quirks)
			id := issue(s, object{"amount": 50, "auto_freeze_at": 30, "label": "search"}).ID
			if test.before != nil {
				test.before(s, id)
			}
			for _, one := range test.faults {
				s.Fault(one)
			}
			config := object{"card_id": cmp.Or(test.card, id)}
			if test.amount != nil {
				config["amount"] = test.amount
			}
			progress, diags := s.Protocol(object{"max_retries": 0}).InvokeAction("vcard_card_"+test.action, config, nil)
			title, values := test.warning.of(id)
			diags.ExpectWarning(t, title, values...)
			title, values = test.err.of(id)
			diags.ExpectError(t, title, values...)
			if errors := diags.Errors(); strings.Count(errors, "Could not ") > 1 {
				t.Errorf("it says twice what it could not do: %q", errors)
			}
			if test.says == nil {
				if len(progress) > 1 {
					t.Errorf("it failed and says %q", progress)
				}
			} else if _, says := (diagnostic{values: test.says}).of(id); len(progress) != 2 || !inOrder(progress[1], says) {
				t.Errorf("it says %q, want %q in the end", progress, says)
			}
			s.Delete("/_sandbox/faults").Must()
			if now, wallet := read(s, id).Balance, s.Wallet(); now != test.balance || wallet+now != 9999_00 {
				t.Errorf("the card holds %s USD, want %s, and the wallet %s", now, test.balance, wallet)
			}
		})
	}
}

// Terraform validates the values of variables as unknown. Then the plan is the first to see them, or the apply.
func TestCardActions_amounts(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(object{"max_card_load": 500})
	const aboveMost = "Amount exceeds max_card_load"
	for _, test := range []struct {
		action string
		amount any
		title  string // of the error
		value  string
	}{
		{"fund", 0, titleAmountTooSmall, "0.01 USD"},
		{"withdraw", 0, titleAmountTooSmall, "0.01 USD"},
		{"fund", "0.005", "Amount has fractions of a cent", "got 0.005"},
		{"withdraw", "0.005", "Amount has fractions of a cent", "got 0.005"},
		{"fund", nil, "…", "amount"}, // Terraform refuses what is required and null with a title of its own
		{"fund", 501, aboveMost, "500.00 USD"},
		{"fund", 500, "", ""},
		{"withdraw", 500, "", ""},
		{"withdraw", 5000, "", ""},
		{"withdraw", nil, "", ""}, // everything
		{"fund", acctest.Unknown, "", ""},
		{"withdraw", acctest.Unknown, "", ""},
	} {
		t.Logf("%s of %v", test.action, test.amount)
		config := object{"card_id": "card_1", "amount": test.amount}
		var values []string
		if test.title != "" {
			values = []string{test.value}
		}
		p.PlanAction("vcard_card_"+test.action, config).ExpectError(t, test.title, values...)
		if test.title != "" {
			_, diags := p.InvokeAction("vcard_card_"+test.action, config, nil)
			diags.ExpectError(t, test.title, values...)
			_, diags = p.InvokeAction("vcard_card_"+test.action, object{"card_id": "card_1", "amount": acctest.Unknown}, config)
			diags.ExpectError(t, test.title, values...)
		}
	}
	if requests := s.Requests(); len(requests) > 0 {
		t.Errorf("the service was asked: %v", requests)
	}
}

func TestCardActions_ids(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	p.PlanAction("vcard_card_fund", object{"card_id": "wh_1", "amount": 1}).ExpectError(t, "Invalid card id", `"wh_1"`)
	p.PlanAction("vcard_card_fund", object{"card_id": acctest.Unknown, "amount": 1}).ExpectError(t, "")
	p.PlanAction("vcard_card_freeze", object{"card_id": "wh_1"}).ExpectError(t, "Invalid card id", `"wh_1"`)
	p.PlanAction("vcard_card_freeze", object{"card_id": acctest.Unknown}).ExpectError(t, "")
}

// What needs the service says that the provider is not configured yet.
func TestActionsAndLists_unknownProvider(t *testing.T) {
	t.Parallel()
	const notKnownYet = "Provider configuration is not known yet"
	for _, name := range []string{
		"base_url", "api_key", "sandbox", "request_timeout", "max_retries", "rate_limits", "idempotency_keys", "wallet_check", "max_card_load", "max_taken_per_plan",
	} {
		config := object{"base_url": "https://cards.example.com/api/v1", "api_key": "sk_live_x"}
		config[name] = acctest.Unknown
		_, diags := acctest.Configure(t, config).List("vcard_card", object{}, 1, false)
		diags.ExpectError(t, notKnownYet)
	}
	p := acctest.Configure(t, object{"sandbox": acctest.Unknown})
	_, diags := p.InvokeAction("vcard_card_freeze", object{"card_id": "card_1"}, nil)
	diags.ExpectError(t, notKnownYet, "freeze a card", "-target")
	_, diags = p.InvokeAction("vcard_card_fund", object{"card_id": "card_1", "amount": 1}, nil)
	diags.ExpectError(t, notKnownYet, "fund a card", "1.00 USD", "-target")
	_, diags = p.List("vcard_card", object{}, 100, false)
	diags.ExpectError(t, notKnownYet, "list cards", "-target")
}

// What an action moves while a change of the same card is applied is not taken for the change. Each test sets amount to
// another value, after an action of 60.00 USD. The card was issued with 100.00 USD.
func TestCardActions_besideUpdates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		action  string
		amount  int
		balance usd.Amount
	}{
		{"fund, then fund", "vcard_card_fund", 150, 210},
		{"fund, then withdraw", "vcard_card_fund", 60, 120},
		{"withdraw, then withdraw", "vcard_card_withdraw", 70, 10},
		{"withdraw, then fund", "vcard_card_withdraw", 160, 100},
		{"fund, then fund the same amount", "vcard_card_fund", 160, 220},
	} {
		for _, keys := range []string{"unknown", "honoured"} {
			t.Run(test.name+", keys "+keys, func(t *testing.T) {
				t.Parallel()
				s := acctest.Start(t)
				first := s.Protocol(object{"idempotency_keys": keys})
				card := mustApply(t, first, acctest.Card{}, object{"bin_id": bin, "amount": 100})

				p := s.Protocol(object{"idempotency_keys": keys})
				change, diags := p.Plan(card, object{"bin_id": bin, "amount": test.amount})
				diags.Must(t)
				_, diags = p.InvokeAction(test.action, object{"card_id": card.Values["id"], "amount": 60}, nil)
				diags.Must(t)
				card, diags = p.Apply(change)
				diags.ExpectError(t, "")
				diags.ExpectWarning(t, "")
				if got, want := fmt.Sprintf("%v %v", card.Values["amount"], card.Values["balance"]), fmt.Sprintf("%d %d", test.amount, test.balance); got != want {
					t.Errorf("amount and balance are %s, want %s", got, want)
				}
				if wallet := s.Wallet(); wallet != (9999-test.balance)*usd.Dollar {
					t.Errorf("the wallet holds %s USD", wallet)
				}
			})
		}
	}
}

// Terraform runs after_update actions although the update failed. Money that they moved then
// would be taken for the update's by the next apply, which would stop, and so would the next.
func TestCardActions_afterFailedUpdate(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	card := mustApply(t, p, acctest.Card{}, object{"bin_id": bin, "label": "ads", "amount": 50})
	raised := object{"bin_id": bin, "label": "ads", "amount": 75}
	state := object{"card_id": card.Values["id"]}
	money := object{"card_id": card.Values["id"], "amount": 10}

	s.Fault(fault("POST", "/cards/*/fund", "before", 1, object{"status": 400, "body": object{"error": "invalid_request", "message": "not now"}}))
	change, diags := p.Plan(card, raised)
	diags.Must(t)
	card, diags = p.Apply(change)
	diags.ExpectError(t, "…", "not now")

	_, diags = p.InvokeAction("vcard_card_fund", money, nil)
	diags.ExpectError(t, titleActionRefused)
	_, diags = p.InvokeAction("vcard_card_withdraw", money, nil)
	diags.ExpectError(t, titleActionRefused)
	_, diags = p.InvokeAction("vcard_card_freeze", state, nil)
	diags.Must(t)
	_, diags = p.InvokeAction("vcard_card_unfreeze", state, nil)
	diags.Must(t)
	if now := read(s, fmt.Sprint(state["card_id"])); now.Balance != 50*usd.Dollar {
		t.Errorf("the card holds %s USD, want 50.00", now.Balance)
	}

	// In another run, as of -invoke, they are what somebody asks for.
	_, diags = s.Protocol(nil).InvokeAction("vcard_card_fund", money, nil)
	diags.Must(t)
	_, diags = s.Protocol(nil).InvokeAction("vcard_card_withdraw", money, nil)
	diags.Must(t)

	mustApply(t, p, card, raised)
	_, diags = p.InvokeAction("vcard_card_fund", money, nil)
	diags.Must(t)
	if now := read(s, fmt.Sprint(state["card_id"])); now.Balance != 85*usd.Dollar {
		t.Errorf("the card holds %s USD, want 85.00", now.Balance)
	}
}

// An action that runs beside an update of its card moves nothing either: the update may still fail.
func TestCardActions_duringUpdate(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	clock := &pausedClock{}
	p := acctest.Configure(t, object{"base_url": s.URL, "api_key": s.Key}, provider.WithClock(clock))
	card := mustApply(t, p, acctest.Card{}, object{"bin_id": bin, "amount": 50})
	id := fmt.Sprint(card.Values["id"])

	const attempts = 5 // of an update; what comes after them arrives
	s.Fault(fault("POST", "/cards/*/fund", "before", attempts, "drop"))
	change, diags := p.Plan(card, object{"bin_id": bin, "amount": 75})
	diags.Must(t)
	invoked := make(chan acctest.Diagnostics, 1)
	clock.onFirstWait(func() {
		go func() {
			_, diags := p.InvokeAction("vcard_card_fund", object{"card_id": id, "amount": 10}, nil)
			invoked <- diags
		}()
	})
	_, diags = p.Apply(change)
	diags.ExpectError(t, "…", id)
	diags = <-invoked
	diags.ExpectError(t, titleActionRefused)
	if now := read(s, id); now.Balance != 50*usd.Dollar {
		t.Errorf("the card holds %s USD, want 50.00", now.Balance)
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
