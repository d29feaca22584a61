package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Challenge is a 3D Secure challenge.
type Challenge struct {
	ID        string     `json:"id"`
	CardID    string     `json:"card_id"`
	Merchant  string     `json:"merchant"`
	Amount    usd.Amount `json:"amount"` // USD
	OTP       Secret     `json:"otp"`
	Status    string     `json:"status"`     // "pending"; other values are carried through
	ExpiresAt string     `json:"expires_at"` // ISO 8601, UTC
}

// Challenges lists the 3D Secure challenges of one status, such as "pending",
// or those that the service shows when status is empty.
func (c *Client) Challenges(ctx context.Context, status string) ([]Challenge, error) {
	query := url.Values{}
	setQuery(query, "status", status)
	var challenges []Challenge
	err := c.read(ctx, &call{
		operation: "list the 3DS challenges", method: http.MethodGet, path: "/3ds", query: query, secret: true,
		accept: func(body []byte) (err error) {
			challenges, _, err = decodeList[Challenge](body, "id", "card_id", "otp", "status")
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	// The service need not know the filter.
	return slices.DeleteFunc(challenges, func(c Challenge) bool { return status != "" && c.Status != status }), nil
}
