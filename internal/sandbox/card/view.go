package card

import (
	"encoding/json"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The representations of API §2.1.

type listItem struct {
	ID            string     `json:"id"`
	BINID         string     `json:"bin_id"`
	Network       string     `json:"network"`
	Last4         string     `json:"last4"`
	Status        Status     `json:"status"`
	Balance       usd.Amount `json:"balance"`
	SpendingLimit usd.Amount `json:"spending_limit"`
	Label         string     `json:"label"`
}

type listView struct {
	Data    []listItem `json:"data"`
	Page    int64      `json:"page"`
	PerPage int64      `json:"per_page"`
	Total   *int64     `json:"total,omitempty"`
}

type summaryView struct {
	listItem
	CreatedAt wire.Time `json:"created_at"`
}

type fullView struct {
	listItem
	AllowedCategories []string                   `json:"allowed_categories"`
	AutoFreezeAt      *usd.Amount                `json:"auto_freeze_at"`
	Metadata          map[string]json.RawMessage `json:"metadata"`
	CreatedAt         wire.Time                  `json:"created_at"`
	ExpiresAt         string                     `json:"expires_at"`
}

type stateView struct {
	ID      string     `json:"id"`
	Status  Status     `json:"status"`
	Balance usd.Amount `json:"balance"`
}

type terminationView struct {
	ID               string     `json:"id"`
	Status           Status     `json:"status"`
	ReturnedToWallet usd.Amount `json:"returned_to_wallet"`
}

type detailsView struct {
	ID       string `json:"id"`
	PAN      string `json:"pan"`
	CVV      string `json:"cvv"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

type moneyView struct {
	CardID        string      `json:"card_id"`
	CardBalance   usd.Amount  `json:"card_balance"`
	WalletBalance json.Number `json:"wallet_balance"`
}

func (c *Card) item() listItem {
	return listItem{c.PublicID, c.BINID, c.Network(), c.Last4, c.Status, c.shown(), c.SpendingLimit, c.Label}
}

func (c *Card) summary() summaryView { return summaryView{c.item(), c.CreatedAt} }

// full is also what events carry.
func (c *Card) full() fullView {
	return fullView{
		c.item(), c.AllowedCategories, c.AutoFreezeAt, c.Metadata,
		c.CreatedAt, c.ExpiresAt.Format(time.DateOnly),
	}
}
