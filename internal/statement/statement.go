// Package statement shows what a Terraform or OpenTofu plan does to the wallet.
package statement

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Action is something that a plan does with a card.
type Action string

// The values of Action.
const (
	Issue     Action = "issue"
	Replace   Action = "replace"
	Terminate Action = "terminate"
	Fund      Action = "fund"
	Withdraw  Action = "withdraw"
	TopUp     Action = "top_up"
	Freeze    Action = "freeze"
	Unfreeze  Action = "unfreeze"
	Import    Action = "import"
	Forget    Action = "forget"
	Configure Action = "configure"
)

func actions() []Action {
	return []Action{Issue, Replace, Terminate, Fund, Withdraw, TopUp, Freeze, Unfreeze, Import, Forget, Configure}
}

// Statement is what a plan does to the wallet. examples/policy/statement.schema.json is the schema of its JSON.
type Statement struct {
	FormatVersion string `json:"format_version"`
	// Complete is true if Unknown is empty.
	Complete bool `json:"complete"`
	Wallet   Sums `json:"wallet"`
	// Balance is the wallet's balance, or nil if the plan does not determine it.
	Balance *Balance  `json:"balance,omitempty"`
	Unknown []Unknown `json:"unknown"`
	// Notes are about cards whose money may differ from what Terraform knows.
	Notes []Unknown `json:"notes"`
	Cards []Card    `json:"cards"`
	// Others are the addresses of other things that the plan changes, imports or invokes, such as webhooks.
	Others     []string `json:"others"`
	Violations []string `json:"violations,omitempty"`
	// Remedy is advice on how to satisfy --no-unmanaged, or "".
	Remedy string `json:"-"`
}

// Sums are in USD. All but Net are zero or positive. Net is what the wallet gains; it is negative if the wallet pays.
type Sums struct {
	Loads       usd.Amount `json:"loads"`
	Fees        usd.Amount `json:"fees"`
	Funds       usd.Amount `json:"funds"`
	TopUps      usd.Amount `json:"top_ups"`
	Withdrawals usd.Amount `json:"withdrawals"`
	Returns     usd.Amount `json:"returns"` // from terminated cards: their last known balances
	Net         usd.Amount `json:"net"`
}

// Unknown is a value or a change that the plan does not contain, or a reason why apply may stop. Notes have the same
// form.
type Unknown struct {
	Address string `json:"address"` // of a resource or action; may be ""
	Reason  string `json:"reason"`

	isMissingChange bool // whether the plan leaves out a whole change
}

// Card is what a resource or an action of a plan does with one card, or with two in a replacement. The ID, Label and
// Last4 are "(sensitive)" if the plan marks them as sensitive.
type Card struct {
	Address string `json:"address"` // of the resource, or of the action
	Deposed string `json:"deposed,omitempty"`
	ID      string `json:"id"` // of the existing card; "" if there is none, or if the plan does not contain it
	Label   string `json:"label"`
	Last4   string `json:"last4"` // of the existing card
	// Actions are the planned actions, including those that an unknown value may cause.
	Actions []Action   `json:"actions"`
	Wallet  usd.Amount `json:"wallet"` // equal to Sums.Net
	// Baseline is the first value of amount, in USD, if setting it moves no money.
	Baseline *usd.Amount `json:"baseline,omitempty"`
	Sums     Sums        `json:"sums"`

	key         string // identifies the card; "" for an action whose card is not known yet
	holder      string // names the card in messages: the address of its resource, or its id
	after       values // the planned values, or those in the state for an action or a removed card
	isNew       bool
	mayTakeMore bool // whether the card may take more from the wallet than Sums shows
}

func (c Card) does(action Action) bool { return slices.Contains(c.Actions, action) }

// amountReceived returns the amount that the card gets from the wallet, in USD.
func (c Card) amountReceived() usd.Amount { return c.Sums.Loads + c.Sums.Funds + c.Sums.TopUps }

// part is one of the sums, with its texts.
type part struct {
	sum    *usd.Amount
	sign   usd.Amount // walletPays or walletGets
	title  string     // in the table of sums
	detail string     // in the details of a card: a format with one verb, for the amount
}

// The signs of a sum in the change of the wallet's balance.
const (
	walletPays usd.Amount = -1
	walletGets usd.Amount = 1
)

// walletChange returns the change of the wallet's balance, in USD. It is negative if the wallet pays the sum.
func (p part) walletChange() usd.Amount {
	sum := *p.sum
	return p.sign * sum
}

// parts returns all sums but Net.
func (s *Sums) parts() []part {
	return []part{
		{&s.Loads, walletPays, "loads of new cards", "load %s"},
		{&s.Fees, walletPays, "issuance fees", "fee %s"},
		{&s.Funds, walletPays, "funds", "fund %s"},
		{&s.TopUps, walletPays, "top-ups", "top-up %s"},
		{&s.Withdrawals, walletGets, "withdrawals", "withdrawal %s"},
		{&s.Returns, walletGets, "terminations, about", "about %s returned"},
	}
}

// computeNet adds up the other sums. It is for single cards, whose sums cannot overflow.
func (s *Sums) computeNet() usd.Amount {
	var net usd.Amount
	for _, part := range s.parts() {
		net += part.walletChange()
	}
	return net
}

// add adds other sums to these. It returns an error if a sum overflows.
func (s *Sums) add(other Sums) error {
	otherParts := other.parts()
	for i, part := range s.parts() {
		sum, err := usd.Sum(*part.sum, *otherParts[i].sum)
		if err != nil {
			return err
		}
		*part.sum = sum
	}
	net, err := usd.Sum(s.Net, other.Net)
	if err != nil {
		return err
	}
	s.Net = net
	return nil
}
