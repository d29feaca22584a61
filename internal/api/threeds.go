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
	Amount    usd.Decimal         `json:"amount"` // USD
	OTP       transport.Secret    `json:"otp"`    // empty if the service does not show it
	Status    transport.Word      `json:"status"`
	ExpiresAt transport.Timestamp `json:"expires_at"`
}

// ChallengePending is the documented status of a challenge (API §2.6). There may be others.
const ChallengePending = "pending"

// Challenges lists the 3D Secure challenges with a status, such as "pending". If status is empty, it lists
// all that the service shows.
func (c *Client) Challenges(ctx context.Context, status string) ([]Challenge, error) {
	query := url.Values{}
	setQuery(query, "status", status)
	var challenges []Challenge
	err := c.Read(ctx, &transport.Call{
		Operation: "list the 3DS challenges",
		Method:    http.MethodGet,
		Path:      "/3ds",
		Query:     query,
		Secret:    true,
		Accept: func(body []byte) error {
			var err error
			challenges, err = decodeChallenges(body, status)
			return err
		},
	})
	return challenges, err
}

// decodeChallenges decodes only the challenges with the wanted status, because a service may ignore the filter.
// Any status is wanted if status is empty.
func decodeChallenges(body []byte, status string) ([]Challenge, error) {
	decode := func(i int, data json.RawMessage) (Challenge, error) { return decodeChallenge(i, data, status) }
	challenges, _, err := transport.DecodeListFunc(body, decode)
	if err != nil {
		return nil, err
	}
	unwanted := func(challenge Challenge) bool { return !challenge.hasStatus(status) }
	return slices.DeleteFunc(challenges, unwanted), nil
}

// decodeChallenge decodes entry i of a list. If its status is not the wanted one, the result has only the
// status, so that its other fields may be invalid.
func decodeChallenge(i int, data json.RawMessage, status string) (Challenge, error) {
	var entry struct {
		Status transport.Word `json:"status"`
	}
	err := transport.DecodeEntry(i, data, &entry, "status")
	if err != nil {
		return Challenge{}, err
	}
	challenge := Challenge{Status: entry.Status}
	if !challenge.hasStatus(status) {
		return challenge, nil
	}
	required := []string{"id", "card_id", "status"}
	if challenge.hasStatus(ChallengePending) {
		required = append(required, "otp")
	}
	err = transport.DecodeEntry(i, data, &challenge, required...)
	if err != nil {
		return Challenge{}, err
	}
	challenge.Amount = challenge.Amount.WithoutNoise()
	return challenge, nil
}

// hasStatus reports whether a challenge has the wanted status. Any status is wanted if status is empty.
func (c Challenge) hasStatus(status string) bool {
	return status == "" || strings.EqualFold(c.Status.Raw(), status)
}
