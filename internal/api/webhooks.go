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
	Secret transport.Secret // signing secret; empty lets the service make one
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
	// How is Answered or AnsweredLate. After a lost response, and unless the service honours
	// idempotency keys, a second endpoint with another secret may exist, which the API cannot list.
	How How
}

// RegisterWebhook registers an endpoint. When a response is lost the request is
// sent again under the same key, since nothing shows whether it took effect.
func (c *Client) RegisterWebhook(ctx context.Context, request WebhookRequest) (Registration, error) {
	operation := "register webhook " + hostOf(request.URL)
	body, invalid := json.Marshal(struct {
		URL    string   `json:"url"`
		Events []string `json:"events"`
		Secret string   `json:"secret,omitempty"`
	}{request.URL, request.Events, request.Secret.Reveal()})
	var webhook Webhook
	call := &transport.Call{
		Kind: transport.MutationRegister, Operation: operation, Method: http.MethodPost, Path: "/webhooks", Body: body, Invalid: invalid,
		Secret: true, Hidden: secretsOf(request),
		Accept: func(body []byte) error {
			webhook = Webhook{Secret: request.Secret} // where the response does not repeat it
			err := transport.DecodeObject(body, &webhook, "id")
			if err != nil {
				return err
			}
			if !transport.IsID(webhook.ID) {
				return transport.NoID("id", webhook.ID)
			}
			if webhook.Secret == "" {
				return &transport.ShapeError{Field: "secret", Problem: "missing"}
			}
			return nil
		},
	}
	m, end, err := c.Begin(ctx, call, "")
	if err != nil {
		return Registration{}, err
	}
	defer end()
	for {
		fate, err := m.Try()
		switch {
		case fate == transport.Done:
			return Registration{Webhook: webhook, How: AnsweredBy(m)}, nil
		case fate == transport.NotDone:
			return Registration{}, err
		case !m.Again() || m.WaitForCommit() != nil:
			return Registration{}, m.Undecided(err)
		}
	}
}

// secretsOf lists what nobody but the service may read of a request: the signing
// secret, and the parts of the address where people put tokens.
func secretsOf(request WebhookRequest) []string {
	hidden := []string{request.Secret.Reveal(), request.URL}
	if u, err := url.Parse(request.URL); err == nil {
		hidden = append(hidden, u.RequestURI(), u.Path, u.RawQuery, u.Fragment, u.User.String())
		hidden = append(hidden, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			hidden = append(hidden, values...)
		}
	}
	const shortest = 4 // less is no secret, and would tear words apart
	return slices.DeleteFunc(hidden, func(text string) bool { return len(text) < shortest })
}

// hostOf leaves out the parts of an address where people put tokens.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return transport.Redacted
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}
