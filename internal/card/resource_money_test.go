package card_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

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
	f.says("the warning", diags.Warnings())
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

func keysOf(f *fixture) (keys []string) {
	var all struct {
		Data []map[string]any `json:"data"`
	}
	f.s.Get("/_sandbox/requests").Into(&all)
	for _, r := range all.Data {
		if r["method"] == "POST" && r["path"] != "/cards" {
			key := r["idempotency_key"].(string)
			if form, err := uuid.Parse(key); err != nil || form.String() != key || form.Version() != 4 {
				f.t.Errorf("%s has another form than random keys: %v", key, err)
			}
			keys = append(keys, r["path"].(string)+" "+key)
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

// What was refused is asked for anew, since a service may repeat a refusal under
// its key, unless an attempt before it may still be on its way.
func TestKeyAfterARefusal(t *testing.T) {
	t.Parallel()
	refused, repetition := refusal(400, "insufficient_funds", "no"), refusal(400, "idempotency_key_used", "no")
	for name, test := range map[string]struct {
		answers []any
		keys    int
		says    string
	}{
		"refused":            {[]any{refused}, 2, ""},
		"lost, then refused": {[]any{"drop", refused}, 1, ""},
		"its key is refused": {[]any{repetition}, 2, "has met the idempotency key before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := issued(t, object{"amount": 100})
			f.account = object{"idempotency_keys": "honoured", "max_retries": 0}
			for _, answer := range test.answers {
				fault(f.s, "POST", "/cards/*/fund", "before", 1, answer)
				f.says("the error", f.tryApply(object{"amount": 140}).Errors(), "Could not fund card", test.says)
			}
			f.apply(object{"amount": 140})
			keys := keysOf(f)
			if n := len(keys); n != len(test.answers)+1 {
				t.Errorf("%d funds were sent", n)
			}
			if n := len(slices.Compact(keys)); n != test.keys {
				t.Errorf("they were sent under %d keys, want %d: %q", n, test.keys, keys)
			}
		})
	}
}

// A key that is refused for ever stops once; the next apply has another.
func TestKeyThatIsRefusedForEver(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	service, first := f.s, ""
	f.s = service.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodPost, "/fund") {
			return false
		}
		key := r.Header.Get("X-Idempotency-Key")
		first = cmp.Or(first, key)
		if key == first {
			answer(w, http.StatusBadRequest, `{"error":"duplicate_request","message":"the key came before"}`)
		}
		return key == first
	})
	f.account = object{"idempotency_keys": "honoured"}
	f.says("the error", f.tryApply(object{"amount": 140}).Errors(), "Could not fund card", "the key came before", "Applying again moves the money once more")
	f.apply(object{"amount": 140})
	f.unchanged(object{"amount": 140})
	f.s = service
	f.holds("active", 140*usd.Dollar, acctest.InitialBalance-141*usd.Dollar)
}

// A plan that moves money says when the card holds more than Terraform knows of.
func TestPlanNamesMoneyFromElsewhere(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60})
	for _, step := range []struct {
		happens func()
		words   []string
	}{
		{func() {}, nil},
		{func() { f.buy(500) }, nil}, // which its transactions explain
		{
			func() { f.s.Post("/cards/"+f.id()+"/fund", object{"amount": 30}).OK(200) },
			[]string{"A card holds what its transactions do not explain", "holds 85.00 USD", "30.00 USD came to it", "The fund of 40.00 USD comes on top"},
		},
	} {
		step.happens()
		f.refresh()
		_, diags := f.plan(object{"amount": 100})
		f.succeed(diags)
		f.says("the warning", diags.Warnings(), step.words...)
	}
	_, diags := f.plan(object{"amount": 60})
	f.says("a plan that moves nothing", diags.Warnings())
}

// What a run that was cut off may have moved is not planned as if it were to be
// moved for certain.
func TestPlansOfWhatMayHaveBeenMoved(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100, "top_up": object{"below": 40, "to": 80}})
	f.s.Post("/cards/"+f.id()+"/fund", object{"amount": 40}).OK(200)
	f.refresh()
	issue(f.s, map[string]any{"amount": f.s.Wallet() - 11*usd.Dollar}) // which leaves 10
	change, diags := f.plan(object{"amount": 140, "top_up": object{"below": 150, "to": 150}})
	f.succeed(diags)
	f.same("the plan", object{"topped_up": acctest.Number("0")}, change.Planned)
	for amount, counted := range map[string]bool{"140": false, "140.01": true} {
		_, diags = f.plan(object{"amount": amount})
		f.succeed(diags)
		if got := strings.Contains(diags.Warnings(), "may not be payable"); got != counted {
			t.Errorf("amount = %v: %s", amount, diags.Warnings())
		}
	}

	f.spend(8000) // of 140, as after a withdrawal of 40 and more
	f.refresh()
	_, diags = f.plan(object{"amount": 60, "top_up": object{"below": 40, "to": 80}})
	f.succeed(diags)
	f.says("the warning", diags.Warnings(), "The withdrawal of 40.00 USD may have been made already")
	_, diags = f.plan(object{"amount": 60.01, "top_up": object{"below": 40, "to": 80}})
	f.succeed(diags)
	f.says("the warning", diags.Warnings(), "may have been made already")
}

// A movement that was left undecided is asked for again under its key, once the
// service is known to honour it.
func TestUndecidedMovementIsAskedForAgain(t *testing.T) {
	t.Parallel()
	f := undecided(t)
	f.refresh()
	f.account["idempotency_keys"] = "honoured"
	f.failsToPlan(object{"amount": 101}, "An earlier movement of money is undecided", f.id())
	f.failsToPlan(object{"amount": 60, "top_up": acctest.Unknown}, "An earlier movement of money is undecided", f.id())
	f.succeed(f.tryApply(object{"amount": 100}))
	f.holds("active", 10000, 1000000-10100)
}

// What the service made of a withdrawal under the threshold has to be seen.
func TestWithdrawalAfterWhichTheCardCannotBeRead(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100, "auto_freeze_at": 60})
	var withdrawn atomic.Bool
	service := f.s
	f.s = service.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if withdrawn.Load() && isCall(r, http.MethodGet, "/"+f.id()) {
			answer(w, http.StatusInternalServerError, "")
			return true
		}
		withdrawn.Store(withdrawn.Load() || isCall(r, http.MethodPost, "/withdraw"))
		return false
	})
	f.account = object{"max_retries": 0}
	f.says("the error", f.tryApply(object{"amount": 50, "auto_freeze_at": 60}).Errors(), "could not be read after it")
	f.same("the state", object{"amount": acctest.Number("100"), "status": "active"}, f.card.Values)
	f.s = service
	f.refresh()
	f.same("the refreshed state", object{"amount": acctest.Number("50"), "balance": acctest.Number("50"), "frozen": true, "status": "frozen"}, f.card.Values)
	f.holds("frozen", 5000, 1000000-5100)
}
