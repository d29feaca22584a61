package card_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A card that was to be replaced and stayed is not being replaced any more: no
// later destroy asks the wallet for its successor.
func TestDestroyAfterARefusedReplacement(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	guarded := oneCard("amount = 9000\n  deletion_protection = true")
	w := applied(t, s, "", guarded).InProcess(t)
	s.Authorize(onlyCard(s).ID, "8900", advertising).OK(201)
	w.Must("taint", "vcard_card.test")
	prints(t, applyFails(t, w, guarded), "Deletion protection keeps card")
	w.Must("untaint", "vcard_card.test")
	apply(w, oneCard("amount = 9000"))
	w.Must("destroy", "-auto-approve", "-no-color")
	if live := liveCards(s); len(live) != 0 {
		t.Errorf("the service has the live cards %v", live)
	}
}

// A state may hold a successor that an earlier run planned and never issued.
func TestPlanForgetsASuccessorThatWasNeverIssued(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]object{"destroyed": nil, "changed": {"amount": 110}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := issued(t, object{"amount": 100})
			stale := f.private()
			stale["next"] = map[string]any{"cost": "99999"}
			f.keepPrivate(stale)
			f.apply(config)
			if config != nil && f.private()["next"] != nil {
				t.Errorf("what is kept of the card: %v", f.private())
			}
		})
	}
}

// private is what the provider keeps beside the state of the card.
func (f *fixture) private() map[string]any {
	f.t.Helper()
	var kept map[string][]byte
	var card map[string]any
	if err := json.Unmarshal(f.card.Private, &kept); err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(kept["card"], &card); err != nil {
		f.t.Fatal(err)
	}
	return card
}

func (f *fixture) keepPrivate(card map[string]any) {
	f.t.Helper()
	kept, err := json.Marshal(card)
	if err != nil {
		f.t.Fatal(err)
	}
	if f.card.Private, err = json.Marshal(map[string][]byte{"card": kept}); err != nil {
		f.t.Fatal(err)
	}
}

// Terraform plans a tainted card without what the provider keeps of it, such as a
// fund whose outcome is not known, and keeps what it planned where the card stays.
func TestFundIsNotRepeatedAfterATaintedCardStayed(t *testing.T) {
	t.Parallel()
	const lines = "label = \"ads\"\n  amount = "
	for name, c := range map[string]struct {
		made    bool
		settles string // what the card is loaded with in the end
		holds   usd.Amount
		refusal string
		more    string
	}{
		"made, protected":     {true, "9000", 600 * usd.Dollar, "Deletion protection keeps card", "\n  deletion_protection = true"},
		"made, poor":          {true, "9000", 600 * usd.Dollar, "The wallet cannot pay for the card that replaces card", ""},
		"not made, protected": {false, "9100", 600 * usd.Dollar, "Deletion protection keeps card", "\n  deletion_protection = true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := applied(t, s, "", oneCard(lines+"9000"+c.more)).InProcess(t)
			s.Authorize(onlyCard(s).ID, "8500", advertising).OK(201)
			through(w, losesFund(s, c.made), "")
			asked := oneCard(lines + "9100" + c.more)
			prints(t, applyFails(t, w, asked), "it is not known whether this took effect")
			w.Must("taint", "vcard_card.test")
			prints(t, applyFails(t, w, asked), c.refusal, "compare what it holds with amount", "terraform untaint")
			w.Must("untaint", "vcard_card.test")
			id := onlyCard(s).ID
			var reads atomic.Int64
			through(w, s.Proxy(func(rw http.ResponseWriter, r *http.Request) bool {
				if !isCall(r, http.MethodGet, "/"+id) || reads.Add(1) == 1 { // the refresh
					return false
				}
				answer(rw, http.StatusInternalServerError, "")
				return true
			}), "")
			prints(t, applyFails(t, w, asked), "Could not fund card", "answered 500")
			through(w, s, "")
			balance := "500.00"
			if c.made {
				balance = "600.00"
			}
			prints(t, applyFails(t, w, asked), "Could not fund card", "with 100.00 USD: it may have been made already", "holds "+balance+" USD", "amount = 9000.00")
			apply(w, oneCard(lines+c.settles+c.more))
			if live := liveCards(s); len(live) != 1 || live[0].Balance != c.holds {
				t.Errorf("the service has the live cards %v", live)
			}
			plansNothing(t, w)
			apply(w, oneCard(lines+"9200"+c.more)) // it stops once
		})
	}
}
