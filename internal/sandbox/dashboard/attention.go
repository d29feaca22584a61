package dashboard

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// maxAttention is the maximum number of cards that an attention lists, and also of endpoints.
const maxAttention = 6

// attention lists what the user should look at.
type attention struct {
	Failing  []*webhook.Delivery // the newest failed or retrying delivery of each endpoint
	Cards    []*cardAttention
	LowCount int64  // the number of cards with a low balance, including those not listed
	Declines int64  // the number of purchases declined since the beginning of yesterday, including those not listed
	Since    string // the date of yesterday
}

// cardAttention says why one card needs attention. Further reasons may apply, because each reason is looked up only for
// a limited number of cards.
type cardAttention struct {
	CardID, Label, Last4 string

	IsLow       bool // the balance is low
	Balance     usd.Amount
	IsNearLimit bool       // more than nine tenths of the spending limit are used
	Used        usd.Amount // of the spending limit
	Limit       usd.Amount
	Declines    int64            // of the card since the beginning of yesterday, among the account's newest ones
	Decline     *activity.Record // the newest one; nil if there is none
	Challenge   *activity.Record // a pending challenge; nil if there is none among the account's newest ones
}

// readAttention returns up to maxAttention cards and up to maxAttention endpoints. Cards with declined purchases come
// first.
func readAttention(v *view) (*attention, error) {
	a := new(attention)
	var err error
	a.Failing, err = webhook.NewestFailures(v.Tx, v.Account.ID, maxAttention)
	if err != nil {
		return nil, err
	}
	err = a.addDeclines(v)
	if err != nil {
		return nil, err
	}
	err = a.addLowBalances(v)
	if err != nil {
		return nil, err
	}
	err = a.addNearLimits(v)
	if err != nil {
		return nil, err
	}
	err = a.addChallenges(v)
	if err != nil {
		return nil, err
	}
	a.Cards = a.Cards[:min(len(a.Cards), maxAttention)]
	return a, nil
}

// addDeclines adds cards with purchases that were declined since the beginning of yesterday.
func (a *attention) addDeclines(v *view) error {
	const day = 24 * time.Hour
	today := v.Tx.Now().Truncate(day)
	yesterday := today.Add(-day)
	filter := transaction.Filter{State: transaction.Declined, From: yesterday, Purchases: true}
	sums, err := transaction.Sum(v.Tx, v.Account.ID, filter)
	if err != nil {
		return err
	}
	a.Declines = sums.Count
	a.Since = yesterday.Format(time.DateOnly)
	newest, err := activity.ListPurchases(v.Tx, v.Account.ID, filter, firstPage(pageSize))
	if err != nil {
		return err
	}
	for _, r := range newest {
		line := a.findOrAdd(r.CardID, r.Label, r.Last4)
		line.Declines++
		if line.Decline == nil {
			line.Decline = r
		}
	}
	return nil
}

// addLowBalances adds cards with a low balance.
func (a *attention) addLowBalances(v *view) error {
	filter := card.Filter{LowAt: v.Tx.Now()}
	found, total, err := card.Search(v.Tx, v.Account.ID, filter, firstPage(maxAttention))
	if err != nil {
		return err
	}
	a.LowCount = total
	for _, c := range found {
		line := a.findOrAdd(c.PublicID, c.Label, c.Last4)
		line.IsLow = true
		line.Balance = c.Balance
	}
	return nil
}

// addNearLimits adds cards that have used more than nine tenths of their spending limit.
func (a *attention) addNearLimits(v *view) error {
	found, err := card.SearchNearLimit(v.Tx, v.Account.ID, maxAttention)
	if err != nil {
		return err
	}
	for _, c := range found {
		used, err := transaction.UsedLimit(v.Tx, c.ID)
		if err != nil {
			return err
		}
		line := a.findOrAdd(c.PublicID, c.Label, c.Last4)
		line.IsNearLimit = true
		line.Used = used
		line.Limit = c.SpendingLimit
	}
	return nil
}

// addChallenges adds cards with a pending challenge.
func (a *attention) addChallenges(v *view) error {
	filter := activity.ChallengeFilter{Status: threeds.Pending}
	pending, _, err := activity.ListChallenges(v.Tx, v.Account.ID, filter, firstPage(maxAttention))
	if err != nil {
		return err
	}
	for _, r := range pending {
		line := a.findOrAdd(r.CardID, r.Label, r.Last4)
		line.Challenge = r
	}
	return nil
}

// findOrAdd returns the line of a card. If the card has none yet, it adds one.
func (a *attention) findOrAdd(id, label, last4 string) *cardAttention {
	for _, c := range a.Cards {
		if c.CardID == id {
			return c
		}
	}
	added := &cardAttention{CardID: id, Label: label, Last4: last4}
	a.Cards = append(a.Cards, added)
	return added
}
