package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Challenge is a 3D Secure challenge. It does not show its one-time code when
// printed, logged or marshalled: only the field OTP gives it.
type Challenge struct {
	ID        string
	CardID    string
	Merchant  string
	Amount    usd.Amount // USD
	OTP       string
	Status    string // "pending"; other values are carried through
	ExpiresAt string // ISO 8601, UTC
}

// Challenges lists the 3D Secure challenges of one status, such as "pending",
// or those that the service shows when status is empty.
func (c *Client) Challenges(ctx context.Context, status string) ([]Challenge, error) {
	type wire struct {
		ID        string     `json:"id"`
		CardID    string     `json:"card_id"`
		Merchant  string     `json:"merchant"`
		Amount    usd.Amount `json:"amount"`
		OTP       string     `json:"otp"`
		Status    string     `json:"status"`
		ExpiresAt string     `json:"expires_at"`
	}
	query := url.Values{}
	setQuery(query, "status", status)
	var challenges []Challenge
	err := c.read(ctx, &call{
		operation: "list the 3DS challenges", method: http.MethodGet, path: "/3ds", query: query, secret: true,
		accept: func(body []byte) error {
			entries, _, err := decodeList[wire](body, "id", "card_id", "otp", "status")
			challenges = nil
			for _, entry := range entries {
				// The service need not know the filter.
				if status == "" || entry.Status == status {
					challenges = append(challenges, Challenge(entry))
				}
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return challenges, nil
}

// String names the challenge and its card only.
func (c Challenge) String() string {
	return fmt.Sprintf("3DS challenge %s of card %s %s", c.ID, c.CardID, redacted)
}

// GoString is String.
func (c Challenge) GoString() string { return c.String() }

// Format writes String for every verb.
func (c Challenge) Format(f fmt.State, _ rune) { writeText(f, c.String()) }

// LogValue is String.
func (c Challenge) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes String.
func (c Challenge) MarshalJSON() ([]byte, error) { return jsonText(c.String()) }
