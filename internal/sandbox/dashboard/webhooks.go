package dashboard

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
)

func webhooksPage() *page {
	return &page{
		Path: "/webhooks", Title: "Webhooks", html: webhooksHTML, read: readWebhooks,
		actions: []action{
			redeliver(),
			{name: "redeliver-failed", route: "POST " + server.Control + "/deliveries/redeliver-failed", done: "All that failed is sent again."},
			{name: "remove", route: "DELETE " + server.Control + "/webhooks/{webhook_id}", texts: "webhook_id", done: "The endpoint is removed."},
		},
	}
}

type webhookLists struct {
	Endpoints     []*webhook.Endpoint
	EndpointsList *list
	Deliveries    []*webhook.Delivery
}

func readWebhooks(v *view) (any, error) {
	endpoint := pick("endpoint")
	lists := &webhookLists{EndpointsList: v.listOf("endpoints")}
	l := v.list(pick("state", string(webhook.Pending), string(webhook.Retrying), string(webhook.Delivered), string(webhook.Failed)), endpoint, search("about", "About: an id"))
	var (
		more bool
		err  error
	)
	lists.Endpoints, more, err = webhook.Endpoints(v.Tx, v.Account.ID, lists.EndpointsList.page)
	if err != nil {
		return nil, err
	}
	lists.EndpointsList.shows(len(lists.Endpoints), more)
	endpoint.Texts = map[string]string{}
	for _, e := range lists.Endpoints {
		endpoint.Values = append(endpoint.Values, e.ID)
		endpoint.Texts[e.ID] = e.URL + " " + e.ID
	}
	filter := webhook.Filter{Endpoint: endpoint.Chosen, State: webhook.DeliveryState(l.text("state"))}
	if about := l.text("about"); about != "" {
		filter.Subjects = []string{about}
	}
	lists.Deliveries, more, err = webhook.Newest(v.Tx, v.Account.ID, filter, l.page)
	l.shows(len(lists.Deliveries), more)
	return lists, err
}

func deliveryPage() *page {
	return &page{
		Path: "/webhooks/{delivery_id}", Title: "Delivery", In: "/webhooks", html: deliveryHTML, read: readDelivery,
		actions: []action{redeliver()},
	}
}

// delivery is a delivery with its payload, and a signature that is to be checked.
type delivery struct {
	webhook.Sent

	Readable string // the payload
	Claimed  string // the signature; empty: none is to be checked
	Genuine  bool
}

// Title tells deliveries apart.
func (d *delivery) Title() string { return d.Type + " " + d.ID }

func readDelivery(v *view) (any, error) {
	sent, err := webhook.SentByID(v.Tx, v.Account.ID, v.request.PathValue("delivery_id"))
	if err != nil {
		return nil, err
	}
	d := &delivery{Sent: sent, Claimed: strings.TrimSpace(v.Query.Get("signature"))}
	d.Genuine = hmac.Equal([]byte(d.Claimed), []byte(d.Signature))
	var readable bytes.Buffer
	err = json.Indent(&readable, sent.Payload, "", "  ")
	d.Readable = readable.String()
	return d, err
}

func redeliver() action {
	const route = "POST " + server.Control + "/deliveries/{delivery_id}/redeliver"
	return action{name: "redeliver", route: route, texts: "delivery_id", done: "The event is sent again.", row: "delivery_id"}
}
