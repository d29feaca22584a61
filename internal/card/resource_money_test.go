package card_test

import (
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const d = usd.Dollar

// A purchase of 40, and then 40 are withdrawn.
func TestWithdrawAsMuchAsWasBought(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	f.buy(40 * d)
	f.refresh()
	change, diags := f.plan(object{"amount": 60})
	f.succeed(diags)
	now, diags := f.protocol().Apply(change, nil)
	f.succeed(diags)
	f.card = now
	if b := f.service().Balance; b != 20*d {
		t.Errorf("holds %s", b)
	}
}

// 40 are held when money is moved, settle later, and 40 are funded then.
func TestFundAsMuchAsSettled(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	var bought struct{ Transaction struct{ ID string } }
	f.s.Post("/_sandbox/authorizations", map[string]any{"card_id": f.id(), "amount": 40, "merchant": map[string]string{"name": "Ads", "mcc": "7311"}}).Into(&bought)
	f.refresh()
	f.apply(object{"amount": 110})
	f.s.Post("/_sandbox/settlements", map[string]any{"transaction_id": bought.Transaction.ID}).Must()
	f.refresh()
	// On a service whose balances fall at settlement, a run that was cut off might
	// have made this fund: it stops once.
	f.says("the error", f.tryApply(object{"amount": 150}).Errors(), "it may have been made already", f.id())
	f.refresh()
	f.succeed(f.tryApply(object{"amount": 150}))
	if b := f.service().Balance; b != 110*d {
		t.Errorf("holds %s", b)
	}
}

// A withdrawal that will cross auto_freeze_at, after ordinary spending.
func TestAutoFreezeStaysUnknown(t *testing.T) {
	t.Parallel()
	config := object{"amount": 100, "auto_freeze_at": 45}
	f := issued(t, config)
	f.buy(50 * d)
	f.refresh()
	config["amount"] = 90
	change, diags := f.plan(config)
	f.succeed(diags)
	if change.Planned["frozen"] != acctest.Unknown {
		t.Errorf("plans frozen %v, status %v", change.Planned["frozen"], change.Planned["status"])
	}
	now, diags := f.protocol().Apply(change, nil)
	t.Log(diags.Errors(), diags.Warnings())
	if now.Values["status"] != f.service().Status {
		t.Errorf("the state says %v, and the card is %s", now.Values["status"], f.service().Status)
	}
}

// Two accounts in one configuration, and a card is given the wrong provider by mistake.
func TestWrongAliasDropsALiveCard(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	f.s.Advance("1h")
	f.refresh()
	var other struct {
		APIKey string `json:"api_key"`
	}
	f.s.Post("/_sandbox/accounts", map[string]string{"state": "ready"}).Into(&other)
	deposit := struct{ ID string }{}
	them := f.s.As(other.APIKey)
	them.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 1000}).Into(&deposit)
	them.Post("/_sandbox/deposits/"+deposit.ID+"/confirm", nil).Must()
	p := f.s.Protocol(object{"api_key": other.APIKey})
	theirs := acctest.Instance{Type: "vcard_card"}
	change, diags := p.Plan(theirs, complete(object{"amount": 60}))
	f.succeed(diags)
	theirs, diags = p.Apply(change, nil)
	f.succeed(diags)
	f.s.Advance("1h")
	p = f.s.Protocol(object{"api_key": other.APIKey})
	if _, diags = p.Refresh(theirs); diags.Errors() != "" {
		t.Fatal(diags.Errors())
	}
	gone, diags := p.Refresh(f.card)
	if gone.Values == nil {
		t.Errorf("the live card (%s, %s USD) left the state: %s", f.service().Status, f.service().Balance, diags.Warnings())
	}
}

// A state of the release before, and the first apply after the upgrade is killed.
func TestKillInTheFirstApplyAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"honoured", "unknown"} {
		f := issued(t, object{"amount": 100})
		if keys == "unknown" {
			f.s.AddQuirks(object{"idempotency": "ignored"})
		}
		f.account = object{"idempotency_keys": keys}
		f.card.Private = nil // no anchor, no token
		stored := f.card
		for range 2 {
			f.card = stored // the first apply was killed before it could save
			f.refresh()
			change, diags := f.plan(object{"amount": 140})
			f.succeed(diags)
			_, diags = f.protocol().Apply(change, nil)
			f.succeed(diags)
			if !strings.Contains(diags.Warnings(), "Not checked for an earlier run") && !strings.Contains(diags.Warnings(), "made before") {
				t.Errorf("%s: says %s", keys, diags.Warnings())
			}
		}
		// Without the key nothing can tell, which the warning says.
		if b, want := f.service().Balance, map[string]usd.Amount{"honoured": 140 * d, "unknown": 180 * d}[keys]; b != want {
			t.Errorf("%s: holds %s, want %s", keys, b, want)
		}
	}
}

func keysOf(f *fixture) (keys []string) {
	var all struct {
		Data []map[string]any `json:"data"`
	}
	f.s.Get("/_sandbox/requests").Into(&all)
	for _, r := range all.Data {
		if r["method"] == "POST" && r["path"] != "/cards" {
			keys = append(keys, r["path"].(string)+" "+r["idempotency_key"].(string))
		}
	}
	return keys
}

// A reading that is refused says nothing of the movement that is on its way.
func TestKeyStaysWhenTheLookIsRefused(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	f.account = object{"idempotency_keys": "honoured"}
	change, diags := f.plan(object{"amount": 140})
	f.succeed(diags)
	fault(f.s, "POST", "/cards/*/fund", "before", 0, "drop")
	f.card, diags = f.protocol().Apply(change, nil)
	t.Log(diags.Errors())
	f.s.Delete("/_sandbox/faults").Must()
	change, diags = f.plan(object{"amount": 140})
	f.succeed(diags)
	fault(f.s, "GET", "/cards/*", "before", 0, refusal(400, "try_later", "no"))
	f.card, diags = f.protocol().Apply(change, nil)
	t.Log(diags.Errors())
	f.s.Delete("/_sandbox/faults").Must()
	change, diags = f.plan(object{"amount": 140})
	f.succeed(diags)
	f.card, diags = f.protocol().Apply(change, nil)
	f.succeed(diags)
	keys := keysOf(f)
	for _, key := range keys {
		if key != keys[0] {
			t.Errorf("%s, and before %s", key, keys[0])
		}
	}
}

// A second card with the label of one that is in the state, planned before that is read.
func TestOwnCardIsNoOrphan(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100, "label": "ads"})
	p := f.protocol()
	if _, diags := p.Plan(f.card, complete(object{"amount": 100, "label": "ads"})); diags.Errors() != "" {
		t.Fatal(diags.Errors())
	}
	_, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, complete(object{"amount": 60, "label": "ads"}))
	f.says("the warning", diags.Warnings())
}

// Two cards that are gone for good.
func TestTwoCardsThatAreGone(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	p := f.protocol()
	change, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, complete(object{"amount": 60}))
	f.succeed(diags)
	second, diags := p.Apply(change, nil)
	f.succeed(diags)
	f.s.Terminate(f.id())
	f.s.Terminate(second.Values["id"].(string))
	f.s.Advance("1h")
	fault(f.s, "GET", "/cards/*", "before", 0, refusal(404, "not_found", "no such card"))
	fault(f.s, "GET", "/cards", "before", 0, map[string]any{"status": 200, "body": map[string]any{"data": []any{}, "page": 1, "per_page": 100, "total": 0}})
	p = f.protocol()
	for i, card := range []acctest.Instance{f.card, second} {
		now, diags := p.Refresh(card)
		if now.Values != nil {
			t.Errorf("card %d stays: %s", i+1, diags.Errors())
		}
	}
}
