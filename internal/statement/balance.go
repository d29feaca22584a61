package statement

import (
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Balance is the balance of the wallet, in USD.
type Balance struct {
	Before usd.Amount `json:"before"`
	// After is nil if the statement is not Complete.
	After *usd.Amount `json:"after,omitempty"`
}

// balanceOf returns the balance of the wallet that the plan read, or nil if the balance is missing or may be out of
// date. It also returns nil with several wallets or provider configurations, because the balance and the sums may belong
// to different accounts.
func balanceOf(plan *Plan, wallets []*stateResource, s *Statement) (*Balance, error) {
	if len(wallets) != 1 || plan.providerCount() > 1 {
		return nil, nil //nolint:nilnil // a statement may have no balance
	}
	if isReadDuringApply(wallets[0], plan) {
		return nil, nil //nolint:nilnil // a statement may have no balance
	}
	before, err := wallets[0].values().amount("balance")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sanitizeLine(wallets[0].Address), err)
	}
	if before == nil {
		return nil, nil //nolint:nilnil // a statement may have no balance
	}
	balance := &Balance{Before: *before}
	if s.Complete {
		after, err := usd.Sum(*before, s.Wallet.Net)
		if err != nil {
			return nil, err
		}
		balance.After = &after
	}
	return balance, nil
}

// providerCount returns the number of vcard provider configurations, each of which may belong to a different account.
func (p *Plan) providerCount() int {
	if p.Config == nil {
		return 0
	}
	count := 0
	for _, provider := range p.Config.ProviderConfigs {
		if provider != nil && provider.Name == "vcard" {
			count++
		}
	}
	return count
}

func isWallet(r *stateResource) bool {
	return r.Mode == tfjson.DataResourceMode && r.Type == "vcard_wallet_balance"
}
