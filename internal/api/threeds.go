package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Challenge is a 3D Secure challenge.
type Challenge struct {
	ID        string              `json:"id"`
	CardID    string              `json:"card_id"`
	Merchant  transport.Name      `json:"merchant"`
	Amount    usd.Decimal         `json:"amount"`
	OTP       transport.Secret    `json:"otp"` // empty when it is no longer waited for
	Status    transport.Word      `json:"status"`
	ExpiresAt transport.Timestamp `json:"expires_at"`
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
	isOf := func(c Challenge, status string) bool { return strings.EqualFold(c.Status.Raw(), status) }
	all, _, err := transport.DecodeListFunc(body, func(i int, data json.RawMessage) (c Challenge, err error) {
		var its struct {
			Status transport.Word `json:"status"`
		}
		err = transport.DecodeEntry(i, data, &its, "status")
		if c.Status = its.Status; err != nil || status != "" && !isOf(c, status) {
			return c, err
		}
		required := []string{"id", "card_id", "status"}
		if isOf(c, ChallengePending) {
			required = append(required, "otp")
		}
		err = transport.DecodeEntry(i, data, &c, required...)
		c.Amount = c.Amount.WithoutNoise()
		return c, err
	})
	return slices.DeleteFunc(all, func(c Challenge) bool { return status != "" && !isOf(c, status) }), err
}
