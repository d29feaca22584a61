package statement

import (
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const walletType = "vcard_wallet_balance"

// Balance is what the wallet holds, in USD.
type Balance struct {
	Before usd.Amount `json:"before"`
	// After is nil if the plan does not say all that it moves.
	After *usd.Amount `json:"after,omitempty"`
}

// balanceOf returns nil unless the plan read the wallet once and has one account: the balance of
// another account's wallet must not stand next to these sums.
func balanceOf(plan *Plan, wallets []*stateResource, s *Statement) (*Balance, error) {
	if len(wallets) != 1 || isReadLater(wallets[0], plan) || plan.accounts() > 1 {
		return nil, nil //nolint:nilnil // there may be none
	}
	before, err := wallets[0].values().amount("balance")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inline(wallets[0].Address), err)
	}
	if before == nil {
		return nil, nil //nolint:nilnil // there may be none
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

// accounts returns how many provider configurations of vcard there are.
func (p *Plan) accounts() int {
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

// balanceLines are those below the sums: what the wallet holds, and will hold.
func (s *Statement) balanceLines() [][2]string {
	if s.Balance == nil {
		return nil
	}
	lines := [][2]string{{"wallet holds", s.Balance.Before.String()}}
	if s.Balance.After != nil {
		name := "wallet will hold"
		if s.Wallet.Returns != 0 {
			name += ", about"
		}
		lines = append(lines, [2]string{name, s.Balance.After.String()})
	}
	return lines
}

func isWallet(r *stateResource) bool {
	return r.Mode == tfjson.DataResourceMode && r.Type == walletType
}
