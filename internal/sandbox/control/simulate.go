package control

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	maxDays      = 366
	maxPerDay    = 500
	maxPurchases = 5_000 // not more, because all other changes wait until the simulation is done
)

// simulation simulates days of purchases on the account's active cards. Each card spends its balance gradually.
type simulation struct {
	call        *server.Call
	random      *rand.Rand // seeded
	merchants   []string
	payingCards []string       // the card id of each purchase, in order
	remaining   map[string]int // the number of remaining purchases, by card id

	result struct {
		Cards     int    `json:"cards"`
		Purchases int    `json:"purchases"`
		Declined  int    `json:"declined"`
		Settled   int    `json:"settled"`
		Now       string `json:"now"`
	}
}

// simulate makes purchases through the control calls of merchants, and advances the clock. About the given percentage of
// the purchases is declined.
func simulate(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	days := fields.Integer("days", 40, 1, maxDays)
	perDay := fields.Integer("purchases_per_day", 20, 1, maxPerDay)
	declinePercent := fields.Integer("declines", 5, 0, 100)
	merchants, _ := fields.Texts("merchants")
	if len(merchants) == 0 { // absent or empty
		merchants = []string{"Search Ads", "Social Ads", "Video Ads", "Cloud Hosting"}
	}
	seed := fields.Integer("seed", 1, 0, 1<<53)
	if days*perDay > maxPurchases {
		fields.Refuse(wire.Invalid("days times purchases_per_day must be at most %d", maxPurchases))
	}
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	lastDay := c.Tx.Now().AddDate(0, 0, int(days))
	if lastDay.Year() > LatestYear {
		return wire.Response{}, wire.Invalid("days is too large: the clock cannot pass the year %d", LatestYear)
	}
	s := &simulation{
		call:      c,
		random:    rand.New(rand.NewPCG(uint64(seed), 0)), //nolint:gosec // seed is not negative
		merchants: merchants,
		remaining: map[string]int{},
	}
	purchases := int(days * perDay)
	err = s.chooseCards(purchases)
	if err != nil {
		return wire.Response{}, err
	}
	declinedCount := (purchases*int(declinePercent) + 50) / 100 // rounded
	positions := s.random.Perm(purchases)                       // the position of each purchase in a random order
	interval := 24 * time.Hour / time.Duration(perDay)
	for i := range purchases {
		err := c.Tx.MoveClock(c.Tx.Now().Add(interval))
		if err != nil {
			return wire.Response{}, err
		}
		decline := positions[i] < declinedCount // true for declinedCount random purchases
		err = s.purchase(s.payingCards[i], decline)
		if err != nil {
			return wire.Response{}, err
		}
	}
	s.result.Now = wire.Timestamp(c.Tx.Now())
	return wire.Created(s.result), nil
}

// chooseCards distributes the purchases evenly, in random order, to active cards. It leaves out the cards that cannot pay
// at least a cent for each of their purchases, and returns an error if no card is left.
func (s *simulation) chooseCards(purchases int) error {
	payers, err := store.List[payer](s.call.Tx, selectSpendable+`WHERE c.account_id = ?2 AND c.status = ?3 ORDER BY c.id`,
		s.call.Tx.Now().UnixMilli(), s.call.Account.ID, card.Active)
	if err != nil {
		return err
	}
	for len(payers) > 0 {
		// With fewer cards, each has more purchases: repeat until no further card is removed.
		count := len(payers)
		purchasesPerCard := (purchases + count - 1) / count // rounded up
		minimum := usd.Cent * usd.Amount(purchasesPerCard)
		payers = slices.DeleteFunc(payers, func(p *payer) bool { return p.Spendable < minimum })
		if len(payers) == count {
			break
		}
	}
	if len(payers) == 0 {
		return wire.Invalid("no active card can pay for %d purchases of 0.01 USD or more; "+
			"issue a card, load one, or simulate fewer purchases", purchases)
	}
	s.result.Cards = min(len(payers), purchases)
	s.random.Shuffle(len(payers), func(i, j int) { payers[i], payers[j] = payers[j], payers[i] })
	for i := range purchases {
		id := payers[i%len(payers)].CardID
		s.payingCards = append(s.payingCards, id)
		s.remaining[id]++
	}
	s.random.Shuffle(len(s.payingCards), func(i, j int) { s.payingCards[i], s.payingCards[j] = s.payingCards[j], s.payingCards[i] })
	return nil
}

// payer is an active card and the amount that it can pay.
type payer struct {
	CardID    string     `db:"public_id"`
	Spendable usd.Amount `db:"spendable"`
}

// selectSpendable selects cards with the amount that each can pay within its spending limit and without being frozen
// automatically. Its ?1 is the current time in Unix milliseconds, which decides the month of the spending limit.
const selectSpendable = `
	SELECT c.public_id,
		MIN(l.balance - COALESCE(c.auto_freeze_at, 0), c.spending_limit - COALESCE(s.amount, 0)) AS spendable
	FROM cards c JOIN ledger_accounts l ON l.id = c.ledger_account_id
	LEFT JOIN card_spending s ON s.card_id = c.id AND s.month = strftime('%Y-%m', ?1 / 1000, 'unixepoch') `

// purchase makes a purchase on a card and, if it is approved, usually settles it. The amount varies around an equal share
// of what the card can still pay. If decline is true, the amount exceeds the balance.
func (s *simulation) purchase(cardID string, decline bool) error {
	payingCard, err := card.ByPublicID(s.call.Tx, s.call.Account.ID, cardID)
	if err != nil {
		return err
	}
	available, err := store.Value[usd.Amount](s.call.Tx,
		`SELECT spendable FROM (`+selectSpendable+`WHERE c.id = ?2)`, s.call.Tx.Now().UnixMilli(), payingCard.ID)
	if err != nil {
		return err
	}
	percent := 50 + s.random.IntN(100) // of an equal share
	share := available * usd.Amount(percent) / usd.Amount(100*s.remaining[cardID])
	s.remaining[cardID]--
	reserved := usd.Cent * usd.Amount(s.remaining[cardID]) // a cent for each purchase that follows
	affordable := available - reserved
	amount := max(usd.Cent, min(share, affordable))
	if decline {
		excess := usd.Cent * usd.Amount(1+s.random.IntN(5_000)) // from 0.01 to 50.00 USD
		amount = payingCard.Balance + excess
	}
	mcc := "7311" // advertising
	allowed := payingCard.AllowedCategories
	if len(allowed) > 0 {
		category := allowed[s.random.IntN(len(allowed))]
		mcc = card.MCCOf(category)
	}
	var authorization struct {
		Transaction struct {
			ID string `json:"id"`
		} `json:"transaction"`
		DeclineReason *string `json:"decline_reason"`
	}
	merchant := s.merchants[s.random.IntN(len(s.merchants))]
	err = s.do("/authorizations", map[string]any{
		"card_id":  payingCard.PublicID,
		"amount":   amount,
		"merchant": map[string]string{"name": merchant, "mcc": mcc},
	}, &authorization)
	if err != nil {
		return err
	}
	s.result.Purchases++
	if authorization.DeclineReason != nil {
		s.result.Declined++
		return nil
	}
	if s.random.IntN(20) == 0 { // on average, 1 of 20 authorizations is not settled
		return nil
	}
	s.result.Settled++
	fields := map[string]any{"transaction_id": authorization.Transaction.ID}
	return s.do("/settlements", fields, nil) // nil, because the response is not needed
}

// do runs a control call. If into is not nil, do decodes the response into the value that it points to.
func (s *simulation) do(path string, fields map[string]any, into any) error {
	o := server.Operation{Route: http.MethodPost + " " + server.Control + path, Body: wire.Encode(fields)}
	return s.call.Do(s.call.Account, o, into)
}
