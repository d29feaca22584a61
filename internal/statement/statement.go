// Package statement says what a plan of Terraform or OpenTofu does to the wallet.
package statement

import (
	"errors"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Action is a word for what a plan does with a card.
type Action string

// The words, in the order in which a card has them.
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
	// Complete says that the plan does this and nothing else: Unknown is empty.
	Complete bool `json:"complete"`
	Wallet   Sums `json:"wallet"`
	// Balance is what the wallet holds, if the plan read it.
	Balance *Balance  `json:"balance,omitempty"`
	Unknown []Unknown `json:"unknown"`
	// Notes are what cards hold that Terraform knows nothing of, where it stops nothing.
	Notes []Unknown `json:"notes"`
	Cards []Card    `json:"cards"`
	// Others are the addresses of what the plan changes or invokes besides cards.
	Others     []string `json:"others"`
	Violations []string `json:"violations,omitempty"`
	// Remedy says what to add to the configuration for --no-unmanaged.
	Remedy string `json:"-"`
}

// Sums are in USD. What they count is above zero; Net is what the wallet gains,
// below zero when it pays.
type Sums struct {
	Loads       usd.Amount `json:"loads"`
	Fees        usd.Amount `json:"fees"`
	Funds       usd.Amount `json:"funds"`
	TopUps      usd.Amount `json:"top_ups"`
	Withdrawals usd.Amount `json:"withdrawals"`
	Returns     usd.Amount `json:"returns"` // by terminations: what the cards held at the last refresh
	Net         usd.Amount `json:"net"`
}

// Unknown is something that the plan does not tell, or for which apply may stop.
type Unknown struct {
	Address string `json:"address"` // "" for the plan as a whole
	Reason  string `json:"reason"`

	isMissing bool // left to another plan, as a whole
}

// Card is what a resource or an action of a plan does with one card, a replacement with two.
type Card struct {
	Address string `json:"address"` // of the resource, or of the action
	Deposed string `json:"deposed,omitempty"`
	ID      string `json:"id"` // of the card that there is; "" for a new one
	Label   string `json:"label"`
	Last4   string `json:"last4"` // of the card that there is
	// Actions are all that may happen, where something is unknown.
	Actions  []Action    `json:"actions"`
	Wallet   usd.Amount  `json:"wallet"`             // Sums.Net: its share
	Baseline *usd.Amount `json:"baseline,omitempty"` // amount that moves nothing, in USD
	Sums     Sums        `json:"sums"`

	key     string // the same for all that happens to one card, "" while that is not known
	holder  string // address of the card's resource, or the id of a card that has none here
	after   values // of a card that goes: before
	isNew   bool
	mayTake bool // from the wallet, more than Sums says
}

func (c Card) does(action Action) bool { return slices.Contains(c.Actions, action) }

// paid is what the card gets from the wallet, in USD.
func (c Card) paid() usd.Amount { return c.Sums.Loads + c.Sums.Funds + c.Sums.TopUps }

type part struct {
	sum          *usd.Amount
	sign         usd.Amount // -1 where the wallet pays
	name, ofCard string     // as a line of the sums, and among the details of a card
}

// parts end with the net.
func (s *Sums) parts() []part {
	return []part{
		{&s.Loads, -1, "loads of new cards", "load %s"},
		{&s.Fees, -1, "issuance fees", "fee %s"},
		{&s.Funds, -1, "funds", "fund %s"},
		{&s.TopUps, -1, "top-ups", "top-up %s"},
		{&s.Withdrawals, 1, "withdrawals", "withdrawal %s"},
		{&s.Returns, 1, "terminations, about", "about %s returns"},
		{&s.Net, 1, "net", ""},
	}
}

// net is right for one card, whose amounts are far from the end of their range.
func (s *Sums) net() (net usd.Amount) {
	for _, part := range s.parts()[:6] {
		net += part.sign * *part.sum
	}
	return net
}

func (s *Sums) add(more Sums) (err error) {
	added := more.parts()
	for i, part := range s.parts() {
		sum, failed := usd.Sum(*part.sum, *added[i].sum)
		*part.sum, err = sum, errors.Join(err, failed)
	}
	return err
}
