package session_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestWalletDiagnosticIsGivenOnce(t *testing.T) {
	t.Parallel()
	var reads atomic.Int32
	s := against(t, func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		_, _ = w.Write([]byte(`{"balance": 100.00, "currency": "USDT", "pending_deposits": 0.00, "cards_active": 0, "cards_total_balance": 0.00}`))
	})
	if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 || reads.Load() != 0 {
		t.Errorf("nothing is planned, but %d reads gave %v", reads.Load(), diags)
	}
	s.AddPlannedSpend(100_00, 0, 0)
	if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 {
		t.Errorf("the wallet pays for it, but: %v", diags)
	}
	if diags := s.AddPlannedSpend(1, 0, 0); len(diags) != 0 {
		t.Errorf("adding says %v", diags)
	}
	diags := s.WalletDiagnostic(t.Context())
	if len(diags) != 1 || !strings.Contains(diags[0].Summary(), "at least 100.01 USD from a wallet that holds 100.00 USD") {
		t.Errorf("one cent over the wallet: %v", diags)
	}
	if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 || reads.Load() != 1 {
		t.Errorf("the second time %d reads gave %v", reads.Load(), diags)
	}
}

func TestUnreadableWalletIsReadOnce(t *testing.T) {
	t.Parallel()
	var reads atomic.Int32
	s := against(t, func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	})
	for range 2 {
		s.AddPlannedSpend(100_00, 0, 0)
		if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 {
			t.Errorf("a plan is stopped: %v", diags)
		}
	}
	if reads.Load() != 1 {
		t.Errorf("the wallet was read %d times", reads.Load())
	}
}

// A card's balance leaves what may still return at the moment at which what does
// return of it is counted, or a plan made beside it finds neither.
func TestBalancesAreNeverCountedOutBeforeTheyReturn(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := against(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"balance": 0.00, "currency": "USDT", "pending_deposits": 0.00, "cards_active": 1, "cards_total_balance": 100.00}`))
		})
		s.WalletCheck = session.WalletCheckError
		var beside sync.WaitGroup
		beside.Go(func() { s.AddPlannedSpend(0, 100_00, 100_00) })
		s.AddPlannedSpend(100_00, 0, 0)
		if diags := s.WalletDiagnostic(t.Context()); diags.HasError() {
			t.Fatalf("what can be paid is refused: %v", diags)
		}
		beside.Wait()
	}
}

// What may be payable turns out not to be as more is planned.
func TestWalletDiagnosticBecomesCertain(t *testing.T) {
	t.Parallel()
	s := against(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"balance": 100.00, "currency": "USDT", "pending_deposits": 0.00, "cards_active": 1, "cards_total_balance": 50.00}`))
	})
	for _, step := range []struct {
		taken usd.Amount
		says  string
	}{
		{120_00, "may not be payable: it takes at least 120.00 USD"},
		{40_00, "takes at least 160.00 USD"},
	} {
		s.AddPlannedSpend(step.taken, 0, 0)
		if diags := s.WalletDiagnostic(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Summary(), step.says) {
			t.Errorf("got %v, want %q", diags, step.says)
		}
		if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 {
			t.Errorf("said again: %v", diags)
		}
	}
}
