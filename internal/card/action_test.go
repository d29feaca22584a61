package card_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// shown is a card as its own address shows it.
type shown struct {
	service
	Last4 string `json:"last4"`
}

func read(s *acctest.Service, id string) shown {
	var now shown
	s.Get("/cards/" + id).Into(&now)
	return now
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
	} {
		config := object{"card_id": card.ID}
		if step.amount != nil {
			config["amount"] = step.amount
		}
		progress, diags := p.InvokeAction(step.action, config, nil)
		if text := diags.Errors() + diags.Warnings(); text != "" {
			t.Fatalf("%s: %s", step.action, text)
		}
		if len(progress) != 2 {
			t.Fatalf("%s says %q", step.action, progress)
		}
		for i, words := range step.says {
			words = strings.NewReplacer("ID", card.ID, "LAST4", read(s, card.ID).Last4).Replace(words)
			sayAll(t, step.action, progress[i], words)
		}
		if now := read(s, card.ID); now.Status != step.status || now.Balance != step.balance || s.Wallet() != step.wallet {
			t.Errorf("after %s of %v the card is %s with %s USD, and the wallet holds %s", step.action, step.amount, now.Status, now.Balance, s.Wallet())
		}
	}
}

func TestActionRefusals(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	card, terminated := issue(s, map[string]any{"amount": 50, "label": "search"}).ID, issue(s, map[string]any{"amount": 50}).ID
	s.Terminate(terminated)
	frozen := issue(s, map[string]any{"amount": 50}).ID
	s.Freeze(frozen)
	refusing := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPost && refuse(w, http.StatusUnprocessableEntity, "invalid_request", "not now")
	})
	wallet := s.Wallet()
	for name, test := range map[string]struct {
		service *acctest.Service
		action  string
		config  object
		words   []string
	}{
		"nothing":           {s, "fund", object{"card_id": card, "amount": 0}, []string{"amount", "at least 0.01 USD", "got 0.00"}},
		"half a cent":       {s, "fund", object{"card_id": card, "amount": "0.005"}, []string{"amount", "at most two decimals", "0.005"}},
		"negative":          {s, "withdraw", object{"card_id": card, "amount": -1}, []string{"amount", "at least 0.01 USD", "-1"}},
		"no amount":         {s, "fund", object{"card_id": card}, []string{"amount"}},
		"not a card id":     {s, "freeze", object{"card_id": "wh_1"}, []string{"card_id", "must be a card id", "wh_1"}},
		"no such card":      {s, "unfreeze", object{"card_id": "card_none"}, []string{"unfreeze card card_none", "404 (not_found)", "the id is wrong"}},
		"poor wallet":       {s, "fund", object{"card_id": card, "amount": 99999}, []string{"fund card " + card, `"search"`, "99999.00 USD", "insufficient_funds", "Deposit first"}},
		"poor card":         {s, "withdraw", object{"card_id": card, "amount": "50.01"}, []string{"withdraw 50.01 USD from card " + card, "insufficient_card_balance"}},
		"terminated":        {s, "fund", object{"card_id": terminated, "amount": 1}, []string{"fund card " + terminated, "with 1.00 USD", "is terminated, which is final"}},
		"freeze terminated": {s, "freeze", object{"card_id": terminated}, []string{"freeze card " + terminated, "is terminated, which is final"}},
		"frozen, refused":   {refusing, "withdraw", object{"card_id": frozen, "amount": 1}, []string{"422", "not now", "is frozen, which may be the reason"}},
		"active, refused":   {refusing, "freeze", object{"card_id": card}, []string{"freeze card " + card, "422", "not now"}},
	} {
		progress, diags := test.service.Protocol(nil).InvokeAction("vcard_card_"+test.action, test.config, nil)
		sayAll(t, name, diags.Errors(), test.words...)
		if diags.Errors() == "" || len(progress) > 1 {
			t.Errorf("%s: it goes on to say %q", name, progress)
		}
	}
	if now := read(s, card); s.Wallet() != wallet || now.Status != "active" || now.Balance != 5000 {
		t.Errorf("refused actions left the card %s with %s USD, and the wallet with %s", now.Status, now.Balance, s.Wallet())
	}
	_, diags := acctest.Configure(t, object{"base_url": acctest.Unknown, "api_key": "sk_live_x"}).InvokeAction("vcard_card_fund", object{"card_id": card, "amount": 1}, nil)
	sayAll(t, "an unknown provider", diags.Errors(), "not known yet", "fund a card with 1.00 USD")
}

func TestWithdrawActionWithoutAnAmountTakesEverything(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	card, wallet := issue(s, map[string]any{"amount": 76.54}), s.Wallet()
	for _, step := range []struct {
		config object
		words  []string
	}{
		{object{"card_id": card.ID}, []string{"Withdrawing 76.54 USD from card " + card.ID, "holds 0.00 USD now"}},
		{object{"card_id": card.ID, "amount": acctest.Unknown}, []string{"holds 0.00 USD: there is nothing to withdraw"}}, // turns out to be null
	} {
		progress, diags := p.InvokeAction("vcard_card_withdraw", step.config, object{"amount": nil})
		if text := diags.Errors() + diags.Warnings(); text != "" {
			t.Fatalf("%v: %s", step.config, text)
		}
		sayAll(t, "the progress", strings.Join(progress, "\n"), step.words...)
	}
	if s.Wallet() != wallet+7654 || read(s, card.ID).Balance != 0 {
		t.Errorf("the card holds %s USD and the wallet went from %s to %s", read(s, card.ID).Balance, wallet, s.Wallet())
	}
	_, diags := p.InvokeAction("vcard_card_fund", object{"card_id": card.ID, "amount": acctest.Unknown}, object{"amount": nil})
	sayAll(t, "a fund of null", diags.Errors(), "amount turned out to be null")
}

func TestWithdrawActionTellsOfAutoFreeze(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	card := issue(s, map[string]any{"amount": 50, "auto_freeze_at": 30})
	_, diags := s.Protocol(nil).InvokeAction("vcard_card_withdraw", object{"card_id": card.ID, "amount": 20}, nil)
	if text := diags.Errors() + diags.Warnings(); text != "" {
		t.Errorf("a withdrawal down to the threshold says %s", text)
	}
	_, diags = s.Protocol(nil).InvokeAction("vcard_card_withdraw", object{"card_id": card.ID, "amount": "0.01"}, nil)
	sayAll(t, "a withdrawal under the threshold", diags.Warnings(), card.ID, "is frozen now", "29.99 USD", "auto_freeze_at", "unfreeze")
	if diags.Errors() != "" {
		t.Error(diags.Errors())
	}
}

func TestWithdrawActionOfAServiceThatIgnoresTheAmount(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	card := issue(s, map[string]any{"amount": 50})
	emptying := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/withdraw") {
			return false
		}
		s.Post("/cards/"+card.ID+"/withdraw", map[string]any{"amount": 50}).Must()
		_, _ = fmt.Fprintf(w, `{"card_id": %q, "card_balance": 0, "wallet_balance": %s}`, card.ID, s.Wallet())
		return true
	})
	_, diags := emptying.Protocol(nil).InvokeAction("vcard_card_withdraw", object{"card_id": card.ID, "amount": 20}, nil)
	sayAll(t, "too large a withdrawal", diags.Warnings(), "More or less money moved than asked", card.ID, "withdraw 20.00 USD", "holds 0.00 USD", "30.00 USD other than", "vcard_card_fund")
	if diags.Errors() != "" {
		t.Error(diags.Errors())
	}
}

// losingResponses is s that funds and withdraws but loses the response. When blind,
// the card cannot be read any more either.
func losingResponses(s *acctest.Service, id string, blind bool) *acctest.Service {
	var mu sync.Mutex
	lost := false
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			lost = true
			s.Post("/cards/"+id+"/fund", map[string]any{"amount": 25}).Must()
			panic(http.ErrAbortHandler)
		}
		return lost && blind && refuse(w, http.StatusNotFound, "not_found", "no such card")
	})
}

func TestFundActionThatLosesItsResponse(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	card := issue(s, map[string]any{"amount": 50})
	progress, diags := losingResponses(s, card.ID, false).Protocol(nil).InvokeAction("vcard_card_fund", object{"card_id": card.ID, "amount": 25}, nil)
	if text := diags.Errors(); text != "" || len(progress) != 2 {
		t.Fatalf("says %q, %s", progress, text)
	}
	sayAll(t, "a lost response", progress[1], "The response was lost", card.ID, "holds 75.00 USD now")
	if now := read(s, card.ID); now.Balance != 7500 {
		t.Errorf("25 USD were funded once, and the card holds %s", now.Balance)
	}
}

func TestFundActionThatCannotBeDecided(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	card := issue(s, map[string]any{"amount": 50})
	progress, diags := losingResponses(s, card.ID, true).Protocol(nil).InvokeAction("vcard_card_fund", object{"card_id": card.ID, "amount": 25}, nil)
	sayAll(t, "an undecided transfer", diags.Errors(), "not known whether this took effect: fund card "+card.ID, "25.00 USD", "held 50.00 USD before",
		"Look before you repeat", "a second time", "transactions")
	if len(progress) != 1 {
		t.Errorf("it goes on to say %q", progress)
	}
}

// An amount that is unknown while Terraform validates may turn out to be none.
func TestTransferActionsCheckTheAmountAgain(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	card := issue(s, map[string]any{"amount": 50})
	s.Delete("/_sandbox/requests").Must()
	p := s.Protocol(nil)
	for amount, words := range map[string]string{"0": "at least 0.01 USD", "-3": "at least 0.01 USD", "0.005": "two decimals", "1e30": "at most"} {
		for _, name := range []string{"vcard_card_fund", "vcard_card_withdraw"} {
			_, diags := p.InvokeAction(name, object{"card_id": card.ID, "amount": acctest.Unknown}, object{"amount": amount})
			sayAll(t, amount, diags.Errors(), words)
			if strings.Contains(diags.Errors(), "No amount") {
				t.Errorf("%s %s: there is an amount, but it says %s", name, amount, diags.Errors())
			}
		}
	}
	if calls := requests(s); len(calls) > 0 {
		t.Errorf("amounts that are none were sent: %v", calls)
	}
}

// Terraform validates the values of variables as unknown, so a plan is the first
// to see them.
func TestActionsAreCheckedInThePlan(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	for name, test := range map[string]struct {
		action string
		config object
		words  string
	}{
		"nothing":           {"fund", object{"card_id": "card_1", "amount": 0}, "at least 0.01 USD"},
		"half a cent":       {"withdraw", object{"card_id": "card_1", "amount": "0.005"}, "two decimals"},
		"null":              {"fund", object{"card_id": "card_1", "amount": nil}, "must say how many USD"},
		"no card, fund":     {"fund", object{"card_id": "wh_1", "amount": 1}, "card_id must be a card id"},
		"no card, freeze":   {"freeze", object{"card_id": "wh_1"}, "card_id must be a card id"},
		"unknown":           {"fund", object{"card_id": acctest.Unknown, "amount": acctest.Unknown}, ""},
		"unknown, freeze":   {"unfreeze", object{"card_id": acctest.Unknown}, ""},
		"everything":        {"withdraw", object{"card_id": "card_1"}, ""},
		"some of it, a lot": {"withdraw", object{"card_id": "card_1", "amount": 5000}, ""},
	} {
		errors := p.PlanAction("vcard_card_"+test.action, test.config).Errors()
		if !strings.Contains(errors, test.words) || test.words == "" && errors != "" {
			t.Errorf("%s: the plan says %q, want %q", name, errors, test.words)
		}
	}
}
