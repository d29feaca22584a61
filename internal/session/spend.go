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
	mu     sync.Mutex
	taken  usd.Amount
	said   atomic.Bool
	wallet remembered[usd.Amount]
}

// add returns the new sum.
func (s *spend) add(delta usd.Amount) (usd.Amount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, err := usd.Sum(s.taken, delta)
	if err == nil {
		s.taken = taken
	}
	return taken, err
}

// PlanSpend adds to what this plan takes from the wallet (USD; negative for
// what it gives back) and returns a warning the first time that the sum passes
// the wallet's balance. Heard is false when Terraform will drop the warning; it
// is then given at the next call. After the session's first write it says
// nothing, because apply plans again from a wallet that is being spent.
func (s *Session) PlanSpend(ctx context.Context, delta usd.Amount, heard bool) diag.Diagnostics {
	if !s.Known() || s.Client.HasWritten() {
		return nil
	}
	taken, err := s.spend.add(delta)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The plan moves more than can be counted", err.Error())}
	}
	if taken <= 0 || !heard || s.spend.said.Load() {
		return nil
	}
	wallet, err := s.spend.wallet.get(ctx, func(ctx context.Context) (usd.Amount, error) {
		w, err := s.Client.WalletBalance(ctx)
		return w.Balance, err
	})
	if err == nil && taken <= wallet {
		return nil
	}
	if s.spend.said.Swap(true) || err != nil {
		return nil // a failed look is no reason to stop a plan: apply will say what is wrong
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(
		fmt.Sprintf("The plan takes at least %s USD from a wallet that holds %s USD", taken, wallet),
		fmt.Sprintf("Loads, issuance fees, funds and top-ups of this plan, less what it returns to the wallet, pass the wallet's balance by at least %s USD. "+
			"The service refuses what the wallet cannot pay, so part of the plan would fail at apply, unless what is planned after this gives enough back. "+
			"Deposit first (the data source vcard_deposit_addresses lists where), or plan for less.", taken-wallet))}
}
