package control

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	maxDays      = 366
	maxPerDay    = 500
	maxPurchases = 5_000 // all other changes wait for them
	maxShoppers  = 100   // cards that take part, the newest ones
)

// simulation is some days of purchases on the account's active cards, which spend what
// they hold bit by bit. One number makes the same days.
type simulation struct {
	call      *server.Call
	random    *rand.Rand
	merchants []string
	declines  int64 // percent
	cards     []*card.Card
	left      []int // purchases of each card

	made struct {
		Purchases int    `json:"purchases"`
		Declined  int    `json:"declined"`
		Settled   int    `json:"settled"`
		Now       string `json:"now"`
	}
}

// simulate has days pass, with purchases through the calls that a merchant makes.
func simulate(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	days, perDay := fields.Integer("days", 40, 1, maxDays), fields.Integer("purchases_per_day", 20, 1, maxPerDay)
	s := &simulation{call: c, declines: fields.Integer("declines", 5, 0, 100), merchants: []string{"Search Ads", "Social Ads", "Video Ads", "Cloud Hosting"}}
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
	if err := s.choose(int(days * perDay)); err != nil {
		return wire.Response{}, err
	}
	for range days * perDay {
		if err := c.Tx.MoveClock(c.Tx.Now().Add(24 * time.Hour / time.Duration(perDay))); err != nil {
			return wire.Response{}, err
		}
		if err := s.purchase(); err != nil {
			return wire.Response{}, err
		}
	}
	s.made.Now = wire.Timestamp(c.Tx.Now())
	return wire.Created(s.made), nil
}

// choose has active cards share the purchases.
func (s *simulation) choose(purchases int) (err error) {
	s.cards, _, err = card.Search(s.call.Tx, s.call.Account.ID, card.Filter{Status: card.Active}, wire.Page{Number: 1, Size: maxShoppers})
	if err != nil {
		return err
	}
	if len(s.cards) == 0 {
		return wire.Invalid("there is no active card to buy with; issue one first")
	}
	s.left = make([]int, len(s.cards))
	for i := range purchases {
		s.left[i%len(s.cards)]++
	}
	return nil
}

// purchase uses a card, mostly for its part of what it still holds, now and then for
// more than it does. Nearly all of what is authorized is settled.
func (s *simulation) purchase() error {
	i := s.random.IntN(len(s.cards))
	on, err := card.ByPublicID(s.call.Tx, s.call.Account.ID, s.cards[i].PublicID)
	if err != nil {
		return err
	}
	share := on.Balance / usd.Amount(max(1, s.left[i]))
	s.left[i]--
	amount := max(usd.Cent, share*usd.Amount(50+s.random.IntN(100))/100)
	if s.random.Int64N(100) < s.declines {
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
