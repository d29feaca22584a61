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
		Path: "/webhooks", Title: "Webhooks", template: "webhooks", read: readWebhooks,
		actions: []action{
			redeliver(),
			{name: "remove", route: "DELETE " + server.Control + "/webhooks/{webhook_id}", texts: "webhook_id", done: "The endpoint is removed."},
		},
	}
}

type webhookLists struct {
	Endpoints       []*webhook.Endpoint
	EndpointsPaging paging
	Deliveries      []*webhook.Delivery
	Paging          paging
}

func readWebhooks(v *view) (any, error) {
	const endpoints = "endpoints"
	var (
		lists webhookLists
		more  bool
		err   error
	)
	page := readPageOf(v.Query, endpoints)
	if lists.Endpoints, more, err = webhook.Endpoints(v.Tx, v.Server.Keys, v.Account.ID, page); err != nil {
		return nil, err
	}
	lists.EndpointsPaging = newPagingOf(v.Query, endpoints, page, len(lists.Endpoints), more)
	page = readPage(v.Query)
	lists.Deliveries, more, err = webhook.Newest(v.Tx, v.Server.Keys, v.Account.ID, page)
	lists.Paging = newPaging(v.Query, page, len(lists.Deliveries), more)
	return lists, err
}

func deliveryPage() *page {
	return &page{
		Path: "/webhooks/{delivery_id}", Title: "Delivery", In: "/webhooks", template: "delivery", read: readDelivery,
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

func readDelivery(v *view) (any, error) {
	sent, err := webhook.SentByID(v.Tx, v.Server.Keys, v.Account.ID, v.request.PathValue("delivery_id"))
	if err != nil {
		return nil, err
	}
	d := delivery{Sent: sent, Claimed: strings.TrimSpace(v.Query.Get("signature"))}
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
