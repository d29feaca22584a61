package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// spend is the running sum of what a plan takes from the wallet.
type spend struct {
	mu      sync.Mutex
	planned usd.Amount
	warned  atomic.Bool
	wallet  fetchedOnce[usd.Amount]
}

// AddPlannedSpend adds to what this plan takes from the wallet, in USD; negative
// for what it gives back. After the session's first write it adds nothing,
// because apply plans again what was counted before.
func (s *Session) AddPlannedSpend(delta usd.Amount) diag.Diagnostics {
	if !s.IsPlanning() {
		return nil
	}
	s.spend.mu.Lock()
	defer s.spend.mu.Unlock()
	planned, err := usd.Sum(s.spend.planned, delta)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The plan moves more than can be counted", err.Error())}
	}
	s.spend.planned = planned
	return nil
}

// WalletWarning returns a warning the first time that it finds the planned spend
// above the wallet's balance. After the session's first write it returns
// nothing, because apply plans again from a wallet that is being spent.
func (s *Session) WalletWarning(ctx context.Context) diag.Diagnostics {
	if !s.IsPlanning() || s.spend.warned.Load() {
		return nil
	}
	s.spend.mu.Lock()
	planned := s.spend.planned
	s.spend.mu.Unlock()
	if planned <= 0 {
		return nil
	}
	wallet, err := s.spend.wallet.get(ctx, func(ctx context.Context) (usd.Amount, error) {
		w, err := s.Client.WalletBalance(ctx)
		return w.Balance, err
	})
	if err == nil && planned <= wallet {
		return nil
	}
	if s.spend.warned.Swap(true) || err != nil {
		return nil // an error is no reason to stop a plan: apply will say what is wrong
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(
		fmt.Sprintf("The plan takes at least %s USD from a wallet that holds %s USD", planned, wallet),
		fmt.Sprintf("Loads, issuance fees, funds and top-ups of this plan, less what it returns to the wallet, pass the wallet's balance by at least %s USD. "+
			"The service refuses what the wallet cannot pay, so part of the plan would fail at apply, unless what is planned after this gives enough back. "+
			"Deposit first (the data source vcard_deposit_addresses lists where), or plan for less.", planned-wallet))}
}

// IsPlanning reports that calls can be made and none has changed anything yet.
func (s *Session) IsPlanning() bool { return s.Known() && !s.Client.HasWritten() }
