package session_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
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
	s.AddPlannedSpend(100_00, 0)
	if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 {
		t.Errorf("the wallet pays for it, but: %v", diags)
	}
	if diags := s.AddPlannedSpend(1, 0); len(diags) != 0 {
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
		s.AddPlannedSpend(100_00, 0)
		if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 {
			t.Errorf("a plan is stopped: %v", diags)
		}
	}
	if reads.Load() != 1 {
		t.Errorf("the wallet was read %d times", reads.Load())
	}
}
