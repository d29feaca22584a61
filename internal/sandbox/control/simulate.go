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
	maxPurchases = 5_000 // all other changes wait for them
)

// simulation is some days of purchases on the account's active cards, which spend what they
// can bit by bit. One number makes the same days.
type simulation struct {
	call      *server.Call
	random    *rand.Rand
	merchants []string
	deck      []string       // the card of each purchase
	left      map[string]int // purchases of each card

	made struct {
		Cards     int    `json:"cards"`
		Purchases int    `json:"purchases"`
		Declined  int    `json:"declined"`
		Settled   int    `json:"settled"`
		Now       string `json:"now"`
	}
}

// simulate has days pass, with purchases through the calls that a merchant makes. As many
// are declined as were asked for.
func simulate(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	days, perDay := fields.Integer("days", 40, 1, maxDays), fields.Integer("purchases_per_day", 20, 1, maxPerDay)
	percent := fields.Integer("declines", 5, 0, 100)
	s := &simulation{call: c, merchants: []string{"Search Ads", "Social Ads", "Video Ads", "Cloud Hosting"}, left: map[string]int{}}
	if merchants, found := fields.Texts("merchants"); found && len(merchants) > 0 {
		s.merchants = merchants
	}
	s.random = rand.New(rand.NewPCG(uint64(fields.Integer("seed", 1, 0, 1<<53)), 0)) //nolint:gosec // never negative
	if days*perDay > maxPurchases {
		fields.Refuse(wire.Invalid("days times purchases_per_day must be at most %d", maxPurchases))
	}
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	purchases := int(days * perDay)
	if err := s.deal(purchases); err != nil {
		return wire.Response{}, err
	}
	declined := s.random.Perm(purchases)
	for i := range purchases {
		if err := c.Tx.MoveClock(c.Tx.Now().Add(24 * time.Hour / time.Duration(perDay))); err != nil {
			return wire.Response{}, err
		}
		if err := s.purchase(s.deck[i], declined[i] < (purchases*int(percent)+50)/100); err != nil {
			return wire.Response{}, err
		}
	}
	s.made.Now = wire.Timestamp(c.Tx.Now())
	return wire.Created(s.made), nil
}

// deal has all active cards share the purchases that can pay a cent for each of theirs.
func (s *simulation) deal(purchases int) error {
	cards, err := store.List[payer](s.call.Tx, spendable+`WHERE c.account_id = ?2 AND c.status = ?3 ORDER BY c.id`,
		s.call.Tx.Now().UnixMilli(), s.call.Account.ID, card.Active)
	for before := 0; err == nil && before != len(cards) && len(cards) > 0; {
		before = len(cards)
		each := usd.Amount((purchases + before - 1) / before)
		cards = slices.DeleteFunc(cards, func(p *payer) bool { return p.Spendable < each })
	}
	if err == nil && len(cards) == 0 {
		err = wire.Invalid("no active card can pay for so many purchases, be it of a cent; issue one, load one, or ask for fewer")
	}
	if err != nil {
		return err
	}
	s.made.Cards = min(len(cards), purchases)
	s.random.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	for i := range purchases {
		s.deck = append(s.deck, cards[i%len(cards)].ID)
		s.left[s.deck[i]]++
	}
	s.random.Shuffle(len(s.deck), func(i, j int) { s.deck[i], s.deck[j] = s.deck[j], s.deck[i] })
	return nil
}

type payer struct {
	ID        string     `db:"public_id"`
	Spendable usd.Amount `db:"spendable"`
}

// spendable selects cards with what they can pay at a time without being frozen for it.
const spendable = `
	SELECT c.public_id, MIN(l.balance - COALESCE(c.auto_freeze_at, 0), c.spending_limit - COALESCE(s.amount, 0)) AS spendable
	FROM cards c JOIN ledger_accounts l ON l.id = c.ledger_account_id
	LEFT JOIN card_spending s ON s.card_id = c.id AND s.month = strftime('%Y-%m', ?1 / 1000, 'unixepoch') `

// purchase uses a card for its part of what it can still pay, or for more than it holds.
// Nearly all of what is authorized is settled.
func (s *simulation) purchase(id string, declined bool) error {
	on, err := card.ByPublicID(s.call.Tx, s.call.Account.ID, id)
	if err != nil {
		return err
	}
	room, err := store.Value[usd.Amount](s.call.Tx, `SELECT spendable FROM (`+spendable+`WHERE c.id = ?2)`, s.call.Tx.Now().UnixMilli(), on.ID)
	if err != nil {
		return err
	}
	share := room * usd.Amount(50+s.random.IntN(100)) / usd.Amount(100*s.left[id])
	s.left[id]--
	amount := max(usd.Cent, min(share, room-usd.Amount(s.left[id]))) // a cent is left for each that follows
	if declined {
		amount = on.Balance + usd.Amount(1+s.random.IntN(5_000))
	}
	mcc := "7311"
	if allowed := on.AllowedCategories; len(allowed) > 0 {
		mcc = card.MCCOf(allowed[s.random.IntN(len(allowed))])
	}
	var bought struct {
		Transaction struct {
			ID string `json:"id"`
		} `json:"transaction"`
		Reason *string `json:"decline_reason"`
	}
	err = s.do("/authorizations", map[string]any{
		"card_id": on.PublicID, "amount": amount, "merchant": map[string]string{"name": s.merchants[s.random.IntN(len(s.merchants))], "mcc": mcc},
	}, &bought)
	if err != nil {
		return err
	}
	s.made.Purchases++
	if bought.Reason != nil {
		s.made.Declined++
		return nil
	}
	if s.random.IntN(20) == 0 {
		return nil
	}
	s.made.Settled++
	return s.do("/settlements", map[string]any{"transaction_id": bought.Transaction.ID}, nil)
}

func (s *simulation) do(path string, fields map[string]any, into any) error {
	return s.call.Do(s.call.Account, server.Operation{Route: http.MethodPost + " " + server.Control + path, Body: wire.Encode(fields)}, into)
}
