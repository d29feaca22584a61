package dashboard

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
)

func webhookActions() []action {
	return []action{
		redeliverAction(),
		{
			name: "redeliver-failed", route: "POST " + server.Control + "/deliveries/redeliver-failed",
			done: "All failed deliveries are sent again.",
		},
		{
			name: "remove", route: "DELETE " + server.Control + "/webhooks/{webhook_id}", texts: []string{"webhook_id"},
			done: "The endpoint is removed.",
		},
	}
}

// redeliverAction returns the action that sends the event of a delivery again.
func redeliverAction() action {
	return action{
		name:  "redeliver",
		route: "POST " + server.Control + "/deliveries/{delivery_id}/redeliver",
		texts: []string{"delivery_id"},
		done:  "The event is sent again.",
		row:   "delivery_id",
	}
}

// webhookData is the data of the page with the endpoints and the deliveries.
type webhookData struct {
	Endpoints      []*webhook.Endpoint
	EndpointPaging *listPage
	Deliveries     []*webhook.Delivery
}

func readWebhooks(v *view) (any, error) {
	paging := v.readListOf("endpoints")
	endpoints, moreEndpoints, err := webhook.Endpoints(v.Tx, v.Account.ID, paging.page)
	if err != nil {
		return nil, err
	}
	paging.setRows(len(endpoints), moreEndpoints)

	l := v.readList(
		pick("state", string(webhook.Pending), string(webhook.Retrying), string(webhook.Delivered), string(webhook.Failed)),
		pickEndpoint(endpoints),
		search("about", "Subject ID"),
	)
	filter := webhook.Filter{Endpoint: l.text("endpoint"), State: webhook.DeliveryState(l.text("state"))}
	subjectID := l.text("about")
	if subjectID != "" {
		filter.Subjects = []string{subjectID}
	}
	deliveries, moreDeliveries, err := webhook.NewestDeliveries(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.setRows(len(deliveries), moreDeliveries)
	return &webhookData{Endpoints: endpoints, EndpointPaging: paging, Deliveries: deliveries}, nil
}

// pickEndpoint returns a field of a filter with a choice of the given endpoints.
func pickEndpoint(endpoints []*webhook.Endpoint) *inputField {
	field := pick("endpoint")
	field.Texts = map[string]string{}
	for _, e := range endpoints {
		field.Values = append(field.Values, e.ID)
		field.Texts[e.ID] = string(e.URL) + " " + e.ID
	}
	return field
}

// deliveryData is the data of the page with one delivery. It includes a signature that the user wants to check.
type deliveryData struct {
	webhook.FullDelivery

	Readable         string // the indented payload
	SignatureToCheck string // empty if there is none
	SignatureMatches bool   // whether SignatureToCheck is the delivery's signature
}

// Title returns the title of the page.
func (d *deliveryData) Title() string { return d.Type + " " + d.ID }

func readDelivery(v *view) (any, error) {
	full, err := webhook.FullDeliveryByID(v.Tx, v.Account.ID, v.request.PathValue("delivery_id"))
	if err != nil {
		return nil, err
	}
	var readable bytes.Buffer
	err = json.Indent(&readable, full.Payload, "", "  ")
	if err != nil {
		return nil, err
	}
	toCheck := strings.TrimSpace(v.Query.Get("signature"))
	return &deliveryData{
		FullDelivery:     full,
		Readable:         readable.String(),
		SignatureToCheck: toCheck,
		SignatureMatches: hmac.Equal([]byte(toCheck), []byte(full.Signature)),
	}, nil
}
