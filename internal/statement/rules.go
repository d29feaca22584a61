package statement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Rules are the limits that a plan must keep. The zero value allows everything.
type Rules struct {
	MaxNet      *usd.Amount // the most that the wallet may pay, in USD
	MaxCard     *usd.Amount // the most that one card may get, in USD
	Only        []Action    // nil allows all
	NoUnknown   bool
	NoUnmanaged bool
}

func (r Rules) isAnySet() bool {
	if r.MaxNet != nil || r.MaxCard != nil {
		return true
	}
	if r.NoUnknown || r.NoUnmanaged {
		return true
	}
	return r.Only != nil
}

// Apply checks the statement of a plan against the rules, and sets the statement's Violations and Remedy.
func (r Rules) Apply(s *Statement, plan *Plan) {
	s.Violations = nil
	s.Remedy = ""
	for _, unknown := range s.Unknown {
		if unknown.isMissingChange && r.isAnySet() {
			s.refuse("a rule needs the whole plan: %s", unknown)
		} else if r.NoUnknown {
			s.refuse("--no-unknown: %s", unknown)
		}
	}
	if r.MaxNet != nil {
		checkNet(s, *r.MaxNet)
	}
	if r.MaxCard != nil {
		checkCards(s, *r.MaxCard)
	}
	if r.Only != nil {
		checkOnly(s, r.Only)
	}
	if r.NoUnmanaged {
		checkUnmanaged(s, plan)
	}
}

func (s *Statement) refuse(format string, args ...any) {
	s.Violations = append(s.Violations, sanitizeLine(fmt.Sprintf(format, args...)))
}

func checkNet(s *Statement, limit usd.Amount) {
	payment := -s.Wallet.Net // negative if the wallet gets money
	if payment > limit {
		s.refuse("--max-net %s: the wallet pays %s", limit, payment)
		return
	}
	for _, card := range s.Cards {
		if card.mayTakeMore {
			s.refuse("--max-net %s: the wallet may pay more for %s, because the exact amount is known only during apply", limit, card.Address)
			return
		}
	}
}

// checkCards adds up what a card gets from its resource and from actions. An action whose card is known only during
// apply may fund any card.
func checkCards(s *Statement, limit usd.Amount) {
	sums := map[string]usd.Amount{}
	for _, card := range s.Cards {
		sums[card.key] += card.amountReceived()
	}
	toUnknownCards := sums[""]
	seen := map[string]bool{}
	for _, card := range s.Cards {
		isFirstChange := !seen[card.key]
		seen[card.key] = true
		if card.mayTakeMore {
			s.refuse("--max-card %s: %s may get more, because the exact amount is known only during apply", limit, card.Address)
		} else if isFirstChange { // the sum covers all changes of the card
			checkCardSum(s, limit, card, sums[card.key], toUnknownCards)
		}
	}
}

// checkCardSum checks the sum that a card gets. toUnknownCards is the sum that actions may add to any card.
func checkCardSum(s *Statement, limit usd.Amount, card Card, sum, toUnknownCards usd.Amount) {
	if card.key == "" {
		if sum > limit {
			s.refuse("--max-card %s: one card may get %s from actions whose cards are known only during apply", limit, sum)
		}
		return
	}
	if sum > limit {
		s.refuse("--max-card %s: %s gets %s", limit, card.holder, sum)
	} else if sum > 0 && sum+toUnknownCards > limit { // with a sum of 0, the violation is that of the actions alone
		s.refuse("--max-card %s: %s gets %s, and may get %s more from actions whose cards are known only during apply",
			limit, card.holder, sum, toUnknownCards)
	}
}

func checkOnly(s *Statement, allowed []Action) {
	only := joinWords(allowed, ",")
	for _, card := range s.Cards {
		for _, action := range card.Actions {
			if !slices.Contains(allowed, action) {
				s.refuse("--only %s: the action %s is not allowed for %s", only, action, card.Address)
			}
		}
	}
	for _, address := range s.Others {
		s.refuse("--only %s: changes to %s are not allowed", only, address)
	}
}

func joinWords[Word ~string](words []Word, separator string) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, separator)
}
