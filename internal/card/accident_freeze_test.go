package card_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The service freezes a card between plan and apply. Apply unfreezes nothing
// that the configuration does not say, and the next plan has nothing to do.
func TestAutoFreezeBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 200\n  auto_freeze_at = 50")).InProcess(t)
	w.Write("main.tf", oneCard("amount = 190\n  auto_freeze_at = 50"))
	w.Must("plan", "-no-color", "-out=saved")
	s.Authorize(onlyCard(s).ID, "155", "7311").Must()
	if now := onlyCard(s); now.Status != "frozen" || now.Balance != 45*usd.Dollar {
		t.Fatalf("the purchase left %+v", now)
	}
	w.Must("apply", "-no-color", "saved")
	serviceHolds(t, s, "frozen", 35*usd.Dollar, 9809*usd.Dollar)
	plansNothing(t, w)
}

// The mirror: a card that was frozen is unfrozen by hand between plan and apply.
func TestUnfrozenByHandBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 200")).InProcess(t)
	id := onlyCard(s).ID
	s.Freeze(id)
	w.Write("main.tf", oneCard("amount = 190"))
	w.Must("plan", "-no-color", "-out=saved")
	s.Post("/cards/"+id+"/unfreeze", nil).OK(http.StatusOK)
	w.Must("apply", "-no-color", "saved")
	serviceHolds(t, s, "active", 190*usd.Dollar, 9809*usd.Dollar)
	plansNothing(t, w)
}

// What the configuration says is done, whatever happened in between.
func TestConfiguredFrozenHoldsThroughAWithdrawal(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := "auto_freeze_at = 50\n  frozen = false\n  amount = "
	w := applied(t, s, "", oneCard(config+"200")).InProcess(t)
	w.Write("main.tf", oneCard(config+"190"))
	w.Must("plan", "-no-color", "-out=saved")
	s.Authorize(onlyCard(s).ID, "155", "7311").Must()
	w.Must("apply", "-no-color", "saved")
	apply(w, oneCard(config+"190"))
	serviceHolds(t, s, "active", 35*usd.Dollar, 9809*usd.Dollar)
}
