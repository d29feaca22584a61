package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// WebhookRequest asks for events to be sent to an address.
type WebhookRequest struct {
	URL    string           // https
	Events []string         // names of API §6, or the single element "*"
	Secret transport.Secret // signing secret; if it is empty, the service generates one
}

// webhookBody is the body of a WebhookRequest. Its secret is a string, because a transport.Secret is marshalled as
// "[redacted]".
type webhookBody struct {
	URL    string   `json:"url"`
	Events []string `json:"events"`
	Secret string   `json:"secret,omitempty"`
}

// Webhook is a registered endpoint.
type Webhook struct {
	ID        string              `json:"id"`
	Secret    transport.Secret    `json:"secret"`
	CreatedAt transport.Timestamp `json:"created_at"`
}

// Registration is the result of a WebhookRequest.
type Registration struct {
	Webhook
	// How is Answered or AnsweredLate. If it is AnsweredLate, a second endpoint may exist, possibly with another
	// secret. The API cannot list endpoints.
	How How
}

// RegisterWebhook registers an endpoint. If the response is lost, it may send the request again with the same
// idempotency key, because the API has no request that shows whether the endpoint was registered.
func (c *Client) RegisterWebhook(ctx context.Context, request WebhookRequest) (Registration, error) {
	operation := "register webhook " + originOf(request.URL)
	body, err := json.Marshal(webhookBody{
		URL:    request.URL,
		Events: request.Events,
		Secret: request.Secret.Reveal(),
	})
	if err != nil {
		return Registration{}, err
	}
	decoder := registrationDecoder{secret: request.Secret}
	m, end, err := c.Begin(ctx, &transport.Call{
		Kind:      transport.MutationRegister,
		Operation: operation,
		Method:    http.MethodPost,
		Path:      "/webhooks",
		Body:      body,
		Secret:    true,
		Hidden:    secretsOf(request),
		Accept:    decoder.accept,
	}, newKey)
	if err != nil {
		return Registration{}, err
	}
	defer end()
	for {
		fate, err := m.Try()
		if fate == transport.Done {
			return Registration{Webhook: decoder.webhook, How: HowAnswered(m)}, nil
		}
		if fate == transport.NotDone {
			return Registration{}, err
		}
		if !m.MayRetry() {
			return Registration{}, m.Undecided(err)
		}
		waitErr := m.WaitForCommit()
		if waitErr != nil { // err says more about the attempt
			return Registration{}, m.Undecided(err)
		}
	}
}

// registrationDecoder decodes the response to a WebhookRequest.
type registrationDecoder struct {
	secret  transport.Secret // of the request; some responses do not repeat it
	webhook Webhook
}

func (d *registrationDecoder) accept(body []byte) error {
	d.webhook = Webhook{Secret: d.secret}
	err := transport.DecodeObject(body, &d.webhook, "id")
	if err != nil {
		return err
	}
	if !transport.IsID(d.webhook.ID) {
		return transport.InvalidID("id", d.webhook.ID)
	}
	if d.webhook.Secret == "" {
		return &transport.ShapeError{Field: "secret", Problem: "is missing"}
	}
	return nil
}

// secretsOf returns the texts of a request that no message may contain: the signing secret, and the
// parts of the address where people put tokens.
func secretsOf(request WebhookRequest) []string {
	hidden := []string{request.Secret.Reveal(), request.URL}
	u, err := url.Parse(request.URL)
	if err == nil {
		hidden = append(hidden, u.RequestURI(), u.Path, u.RawQuery, u.Fragment, u.User.String())
		hidden = append(hidden, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			hidden = append(hidden, values...)
		}
	}
	const shortest = 4 // hiding shorter texts would garble messages
	return slices.DeleteFunc(hidden, func(text string) bool { return len(text) < shortest })
}

// originOf returns the scheme and the host of an address, without the parts where people put tokens. For an invalid
// address, it returns transport.Redacted.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return transport.Redacted
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}
