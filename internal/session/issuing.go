package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// NewCard is what is known of a card that is to be issued. It marshals to JSON.
type NewCard struct {
	// Config is the card's configuration as text, by attribute, without what is
	// not known yet.
	Config map[string]string `json:"config,omitempty"`
	// Cost is what it takes from the wallet in USD, its fee included, at least.
	Cost usd.Amount `json:"cost"`
}

// mayBe reports whether this card may be the one that a plan knew as planned.
func (c NewCard) mayBe(planned NewCard) bool {
	for name, value := range planned.Config {
		if c.Config[name] != value {
			return false
		}
	}
	return true
}

// issuing keeps replaced cards from being terminated where the wallet could not
// pay for the new ones.
type issuing struct {
	wallet *semaphore.Weighted // shared while cards are issued side by side
	mu     sync.Mutex
	owed   []NewCard // their old ones are terminated already
}

const (
	exclusive int64 = 1 << 30
	shared    int64 = 1
)

func newIssuing() *issuing { return &issuing{wallet: semaphore.NewWeighted(exclusive)} }

// BeginIssuing waits until no replaced card is being terminated. The caller
// calls end when the card is issued, or refused for good.
func (s *Session) BeginIssuing(ctx context.Context, card NewCard) (end func(), err error) {
	if err := s.issuing.wallet.Acquire(ctx, shared); err != nil {
		return nil, fmt.Errorf("nothing was sent while a replaced card was being terminated: %w", err)
	}
	return func() {
		s.issuing.settle(card)
		s.issuing.wallet.Release(shared)
	}, nil
}

// BeginReplacing waits until nothing else is issued or replaced and returns by
// how much the wallet and the replaced card, by its id, fall short of the new one
// in USD, beside those that other replacements still have to issue; a card that is
// gone already leaves no choice, and nothing falls short. Without an error the
// caller calls end, with whether the new card is to be issued now.
func (s *Session) BeginReplacing(ctx context.Context, id string, next NewCard) (short usd.Amount, end func(terminated bool), err error) {
	if err := s.issuing.wallet.Acquire(ctx, exclusive); err != nil {
		return 0, nil, fmt.Errorf("nothing was sent while cards were being issued: %w", err)
	}
	if short, err = s.shortOf(ctx, id, next); err != nil {
		s.issuing.wallet.Release(exclusive)
		return 0, nil, err
	}
	return short, func(terminated bool) {
		if terminated {
			s.issuing.owe(next)
		}
		s.issuing.wallet.Release(exclusive)
	}, nil
}

func (s *Session) shortOf(ctx context.Context, id string, next NewCard) (usd.Amount, error) {
	replaced, err := s.Client.GetCard(ctx, id)
	if api.IsNotFound(err) || replaced.Status == api.StatusTerminated {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	now, err := s.Client.WalletBalance(ctx)
	if err != nil {
		return 0, err
	}
	wallet, walletErr := now.Balance.Floor()
	need, needErr := s.issuing.cost(next)
	return need - wallet - replaced.Balance, cmp.Or(walletErr, needErr)
}

func (i *issuing) owe(next NewCard) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.owed = append(i.owed, next)
}

// settle takes a card that was issued off what is owed: of those that it may be,
// the one of which most was known.
func (i *issuing) settle(issued NewCard) {
	i.mu.Lock()
	defer i.mu.Unlock()
	best := -1
	for at, planned := range i.owed {
		if issued.mayBe(planned) && (best < 0 || len(planned.Config) > len(i.owed[best].Config)) {
			best = at
		}
	}
	if best >= 0 {
		i.owed = slices.Delete(i.owed, best, best+1)
	}
}

// cost is what a new card takes in USD, and with it all that is owed.
func (i *issuing) cost(next NewCard) (usd.Amount, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	amounts := []usd.Amount{next.Cost}
	for _, card := range i.owed {
		amounts = append(amounts, card.Cost)
	}
	return usd.Sum(amounts...)
}
