package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Challenge is a 3D Secure challenge.
type Challenge struct {
	ID        string      `json:"id"`
	CardID    string      `json:"card_id"`
	Merchant  Name        `json:"merchant"`
	Amount    usd.Decimal `json:"amount"`
	OTP       Secret      `json:"otp"` // empty when it is no longer waited for
	Status    Word        `json:"status"`
	ExpiresAt Timestamp   `json:"expires_at"`
}

// ChallengePending is the documented status; others are carried through.
const ChallengePending = "pending"

// Challenges lists the 3D Secure challenges of one status, such as "pending",
// or those that the service shows when status is empty.
func (c *Client) Challenges(ctx context.Context, status string) ([]Challenge, error) {
	query := url.Values{}
	setQuery(query, "status", status)
	var challenges []Challenge
	err := c.Read(ctx, &transport.Call{
		Operation: "list the 3DS challenges", Method: http.MethodGet, Path: "/3ds", Query: query, Secret: true,
		Accept: func(body []byte) (err error) {
			challenges, err = decodeChallenges(body, status)
			return err
		},
	})
	return challenges, err
}

// decodeChallenges reads those of one status, since the service need not know the
// filter. Only those that are pending have to have a code.
func decodeChallenges(body []byte, status string) ([]Challenge, error) {
	envelope, err := transport.DecodeEnvelope(body)
	if err != nil {
		return nil, err
	}
	challenges := []Challenge{}
	for i, data := range envelope.Data {
		var its struct {
			Status Word `json:"status"`
		}
		if err := transport.DecodeEntry(i, data, &its, "status"); err != nil {
			return nil, err
		}
		if status != "" && !strings.EqualFold(its.Status.Raw(), status) {
			continue
		}
		required := []string{"id", "card_id", "status"}
		if strings.EqualFold(its.Status.Raw(), ChallengePending) {
			required = append(required, "otp")
		}
		var c Challenge
		if err := transport.DecodeEntry(i, data, &c, required...); err != nil {
			return nil, err
		}
		c.Amount = c.Amount.WithoutNoise()
		challenges = append(challenges, c)
	}
	return challenges, nil
}
