package api

import (
	"context"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

// CardDetails are what a payment needs.
type CardDetails struct {
	ID       string `json:"id"`
	PAN      Secret `json:"pan"` // full card number
	CVV      Secret `json:"cvv"`
	ExpMonth int    `json:"exp_month"` // 1 to 12
	ExpYear  int    `json:"exp_year"`  // four digits
}

// CardDetails reads number, CVV and expiry of a card. The service grants this
// 30 times a minute (API §8).
func (c *Client) CardDetails(ctx context.Context, id string) (CardDetails, error) {
	path, err := cardPath(id, "/details")
	if err != nil {
		return CardDetails{}, err
	}
	var details CardDetails
	err = c.read(ctx, &call{
		card: id, operation: "read the details of card " + id, method: http.MethodGet, path: path,
		budget: ratelimit.Details, secret: true,
		accept: func(body []byte) error {
			if err := decodeObject(body, &details, "id", "pan", "cvv", "exp_month", "exp_year"); err != nil {
				return err
			}
			return sameCard(id, details.ID)
		},
	})
	if err != nil {
		return CardDetails{}, err
	}
	if details.ExpYear < 100 {
		details.ExpYear += 2000
	}
	return details, nil
}
