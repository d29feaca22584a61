package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// spend is the running sum of what a plan takes from the wallet.
type spend struct {
	mu     sync.Mutex
	taken  usd.Amount
	warned bool
	wallet remembered[usd.Amount]
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
	s.spend.mu.Lock()
	defer s.spend.mu.Unlock()
	taken, err := usd.Sum(s.spend.taken, delta)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The plan moves more than can be counted", err.Error())}
	}
	s.spend.taken = taken
	if taken <= 0 || s.spend.warned || !heard {
		return nil
	}
	wallet, err := s.spend.wallet.get(ctx, func(ctx context.Context) (usd.Amount, error) {
		w, err := s.Client.WalletBalance(ctx)
		return w.Balance, err
	})
	if err != nil || taken <= wallet {
		return nil // a failed look is no reason to stop a plan: apply will say what is wrong
	}
	s.spend.warned = true
	return diag.Diagnostics{diag.NewWarningDiagnostic(
		fmt.Sprintf("The plan takes at least %s USD from a wallet that holds %s USD", taken, wallet),
		fmt.Sprintf("Loads, issuance fees, funds and top-ups of this plan, less what it returns to the wallet, pass the wallet's balance by at least %s USD. "+
			"The service refuses what the wallet cannot pay, so part of the plan would fail at apply. "+
			"Deposit first (the data source vcard_deposit_addresses lists where), or plan for less.", taken-wallet))}
}
