package modeltest_test

import (
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// coverage counts what the clients have come across. A run that never sees a
// rule at work has not tested it.
type coverage struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *coverage) add(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// observe looks for what sets a response apart.
func (s *coverage) observe(r sandboxtest.Response) {
	for _, field := range []string{"error", "decline_reason"} {
		if text, ok := r.Body[field].(string); ok {
			s.add(field + " " + text)
		}
	}
}

// complete fails unless everything was seen that enoughMoves cannot miss.
func (s *coverage) complete(t *testing.T) {
	t.Helper()
	for _, what := range []string{
		"card.created", "card.frozen", "card.unfrozen", "card.terminated", "card.funded", "transaction.authorized", "transaction.settled",
		"transaction.declined", "transaction.refunded", "3ds.challenge", "deposit.pending", "deposit.confirmed",
		"decline_reason card_frozen", "decline_reason card_terminated", "decline_reason insufficient_funds",
		"decline_reason category_not_allowed", "decline_reason spending_limit_exceeded",
		"error invalid_request", "error not_found", "error bin_not_found", "error insufficient_funds", "error insufficient_card_balance",
		"error card_frozen", "error card_terminated", "error card_active",
		"auto-freeze", "loss", "given to the wallet", "repeated",
		`fault before "drop"`, `fault before "truncate"`, `fault after "drop"`, `fault after "truncate"`,
		`fault before {"status":429}`, `fault after {"status":429}`, `fault before {"status":503}`, `fault after {"status":503}`,
	} {
		if s.counts[what] == 0 {
			t.Errorf("in all these moves there was never: %s", what)
		}
	}
}
