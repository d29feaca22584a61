package session

import (
	"cmp"
	"context"
	"sync"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// NewCard is what a plan knows of a card that is to be issued: its label, ""
// where it is generated, and what it costs, its fee included. It marshals to JSON.
type NewCard struct {
	Label string     `json:"label,omitempty"`
	Cost  usd.Amount `json:"cost"`
	// Least says that the card may cost more.
	Least bool `json:"least,omitempty"`
}

// issuing keeps replaced cards from being terminated where the wallet could not
// pay for the new ones.
type issuing struct {
	wallet sync.RWMutex // read-locked while cards are issued side by side
	mu     sync.Mutex
	owed   map[NewCard]int // new cards whose old ones are terminated already
}

// BeginIssuing waits until no replaced card is being terminated. The caller
// calls end when the card is issued, or refused for good.
func (s *Session) BeginIssuing(card NewCard) (end func()) {
	s.issuing.wallet.RLock()
	return func() {
		s.issuing.add(card, -1)
		s.issuing.wallet.RUnlock()
	}
}

// BeginReplacing waits until nothing else is issued or replaced and returns by
// how much the wallet and the replaced card's balance, in USD, fall short of the
// new card, beside those that other replacements still have to issue. The caller
// calls end with whether the replaced card is terminated.
func (s *Session) BeginReplacing(ctx context.Context, card NewCard, balance usd.Amount) (short usd.Amount, end func(terminated bool), err error) {
	s.issuing.wallet.Lock()
	now, err := s.Client.WalletBalance(ctx)
	wallet, walletErr := now.Balance.Floor()
	need, sumErr := usd.Sum(card.Cost, s.issuing.cost())
	return need - wallet - balance, func(terminated bool) {
		if terminated && !card.Least {
			s.issuing.add(card, 1)
		}
		s.issuing.wallet.Unlock()
	}, cmp.Or(err, walletErr, sumErr)
}

func (i *issuing) add(card NewCard, count int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.owed == nil {
		i.owed = map[NewCard]int{}
	}
	i.owed[card] = max(0, i.owed[card]+count)
}

// cost is what the new cards of begun replacements take, in USD.
func (i *issuing) cost() usd.Amount {
	i.mu.Lock()
	defer i.mu.Unlock()
	var sum usd.Amount
	for card, count := range i.owed {
		sum += card.Cost * usd.Amount(count)
	}
	return sum
}
