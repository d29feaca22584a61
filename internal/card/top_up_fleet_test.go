package card_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Topping up a fleet takes four requests a card, and the pages that show the fleet.
func TestTopUpsOfAFleet(t *testing.T) {
	t.Parallel()
	if sandboxtest.WithQuirks() {
		t.Skip("a service that counts no cards is asked for each one")
	}
	const cards, others = 60, 20 // pages, the wallet, and the account
	var requests atomic.Int64
	s := &acctest.Service{Client: sandboxtest.Start(t, func(o *sandboxtest.Options) {
		o.Path, o.InitialBalance = ":memory:", 500_000*usd.Dollar
		o.Wrap = func(service http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				service.ServeHTTP(w, r)
			})
		}
	}).Client}
	s.Unlimited()
	unlimited := object{"rate_limits": object{"requests_per_minute": 1_000_000, "requests_per_hour": 1_000_000, "creates_per_minute": 1_000_000}}
	config := object{"bin_id": bin, "amount": 60, "top_up": object{"below": 50, "to": 60}}
	// each calls do for every card as Terraform does, ten at a time.
	each := func(do func(i int)) {
		var walk errgroup.Group
		walk.SetLimit(10)
		for i := range cards {
			walk.Go(func() error {
				do(i)
				return nil
			})
		}
		_ = walk.Wait()
	}

	fleet := make([]acctest.Instance, cards)
	importing := s.Protocol(unlimited)
	each(func(i int) {
		id := s.Issue("60")
		var diags acctest.Diagnostics
		if fleet[i], diags = importing.Import("vcard_card", id, nil); diags.Errors() != "" {
			t.Error(diags.Errors())
		}
		s.Authorize(id, "20", "7311").OK(http.StatusCreated)
	})
	wallet := s.Wallet()

	requests.Store(0)
	planning := s.Protocol(unlimited)
	each(func(i int) {
		var diags acctest.Diagnostics
		if fleet[i], diags = planning.Refresh(fleet[i]); diags.Errors() != "" {
			t.Error(diags.Errors())
		}
		if _, diags := planning.Plan(fleet[i], config); diags.Errors() != "" {
			t.Error(diags.Errors())
		}
	})
	t.Logf("%d requests to plan", requests.Load())
	applying := s.Protocol(unlimited)
	each(func(i int) {
		change, _ := applying.Plan(fleet[i], config)
		if _, diags := applying.Apply(change, nil); diags.Errors() != "" {
			t.Error(diags.Errors())
		}
	})

	if got := requests.Load(); got > 4*cards+others {
		t.Errorf("%d requests, want at most four for each of %d cards", got, cards)
	}
	if got, want := wallet-s.Wallet(), cards*20*usd.Dollar; got != want {
		t.Errorf("the wallet paid %s USD, want %s", got, want)
	}
	t.Logf("%d requests in all", requests.Load())
}
