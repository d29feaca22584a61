package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
)

// WebhookRequest asks for events to be sent to an address. It does not show its
// secret when printed, logged or marshalled.
type WebhookRequest struct {
	URL    string   // https
	Events []string // names of API §6, or the single element "*"
	Secret string   // signing secret; empty lets the service make one
}

// Webhook is a registered endpoint. It does not show its secret when printed,
// logged or marshalled: only the field Secret gives it.
type Webhook struct {
	ID        string
	URL       string
	Events    []string
	Secret    string
	CreatedAt string // ISO 8601, UTC
}

// Registration is what became of a WebhookRequest.
type Registration struct {
	Webhook
	// MayHaveDuplicate says that an answer was lost on the way, so that a second
	// endpoint with another secret may exist. The API cannot list endpoints: it
	// shows in the dashboard only.
	MayHaveDuplicate bool
}

// RegisterWebhook registers an endpoint. When an answer is lost the request is
// sent again under the same key, since nothing shows whether it took effect.
func (c *Client) RegisterWebhook(ctx context.Context, request WebhookRequest) (Registration, error) {
	operation := "register webhook " + hostOf(request.URL)
	body, err := json.Marshal(struct {
		URL    string   `json:"url"`
		Events []string `json:"events"`
		Secret string   `json:"secret,omitempty"`
	}(request))
	if err != nil {
		return Registration{}, fmt.Errorf("%s: %w", operation, err)
	}
	var webhook struct {
		ID        string   `json:"id"`
		URL       string   `json:"url"`
		Events    []string `json:"events"`
		Secret    string   `json:"secret"`
		CreatedAt string   `json:"created_at"`
	}
	x := &call{
		operation: operation, method: http.MethodPost, path: "/webhooks", body: body, secret: true,
		accept: func(body []byte) error {
			webhook.Secret = request.Secret // where the answer does not repeat it
			if err := decodeObject(body, &webhook, "id"); err != nil {
				return err
			}
			if webhook.Secret == "" {
				return errors.New("the answer lacks secret")
			}
			return nil
		},
	}
	how, err := c.change(ctx, &change{call: x})
	if err != nil {
		return Registration{}, unknownOutcome(x, how, err, "look for the endpoint in the dashboard, and remove it there before registering it again")
	}
	return Registration{Webhook: Webhook(webhook), MayHaveDuplicate: how.doubts}, nil
}

// hostOf leaves out the parts of an address where people put tokens.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return redacted
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// String names the address only.
func (r WebhookRequest) String() string { return "webhook to " + hostOf(r.URL) + " " + redacted }

// GoString is String.
func (r WebhookRequest) GoString() string { return r.String() }

// Format writes String for every verb.
func (r WebhookRequest) Format(f fmt.State, _ rune) { writeText(f, r.String()) }

// LogValue is String.
func (r WebhookRequest) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalJSON writes String.
func (r WebhookRequest) MarshalJSON() ([]byte, error) { return jsonText(r.String()) }

// String names the endpoint and its address only.
func (w Webhook) String() string {
	return "webhook " + w.ID + " to " + hostOf(w.URL) + " " + redacted
}

// GoString is String.
func (w Webhook) GoString() string { return w.String() }

// Format writes String for every verb.
func (w Webhook) Format(f fmt.State, _ rune) { writeText(f, w.String()) }

// LogValue is String.
func (w Webhook) LogValue() slog.Value { return slog.StringValue(w.String()) }

// MarshalJSON writes String.
func (w Webhook) MarshalJSON() ([]byte, error) { return jsonText(w.String()) }
