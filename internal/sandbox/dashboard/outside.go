package dashboard

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
)

func depositActions() []action {
	const deposits = "POST " + server.Control + "/deposits"
	return []action{
		{
			name: "announce", route: deposits, texts: "currency", numbers: "amount",
			done: "The deposit is pending. It is credited to the wallet when the network confirms it.",
		},
		{name: "confirm", route: deposits + "/{id}/confirm", texts: "id", done: "The deposit is confirmed and credited to the wallet."},
	}
}

type depositList struct {
	Addresses []wallet.Address
	Deposits  []*wallet.Deposit
}

func readDeposits(v *view) (any, error) {
	l := v.list(pick("status", "pending", "confirmed"))
	newest, more, err := wallet.Newest(v.Tx, v.Server.Keys, v.Account, l.text("status"), l.page)
	l.setRows(len(newest), more)
	return &depositList{Addresses: wallet.Addresses(v.Server.Keys, v.Account, ""), Deposits: newest}, err
}

func challengeActions() []action {
	const complete = "POST " + server.Control + "/3ds-challenges/{id}/complete"
	return []action{
		{name: threeds.Approved, route: complete, texts: "id", body: outcome(threeds.Approved), done: "The challenge is approved."},
		{name: threeds.Failed, route: complete, texts: "id", body: outcome(threeds.Failed), done: "The challenge has failed."},
	}
}

// outcome returns a function for the body of an action that completes a challenge.
func outcome(status string) func(form) map[string]any {
	return func(form) map[string]any { return map[string]any{"outcome": status} }
}

type challengeList struct {
	Pending []pendingChallenge
	Decided []*activity.Record // approved, failed or expired
}

// pendingChallenge is a challenge that waits for the cardholder.
type pendingChallenge struct {
	*activity.Record

	OTP  string
	Left time.Duration // until it expires
}

func readChallenges(v *view) (any, error) {
	l := v.list(
		search("q", "Card: label, last four digits or ID"),
		pick("status", threeds.Pending, threeds.Approved, threeds.Failed, threeds.Expired),
	)
	filter := activity.ChallengeFilter{CardText: l.text("q"), Status: l.text("status")}
	records, more, err := activity.OfChallenges(v.Tx, v.Account.ID, filter, l.page)
	l.setRows(len(records), more)
	list := new(challengeList)
	for _, r := range records {
		if r.Reason != threeds.Pending {
			list.Decided = append(list.Decided, r)
			continue
		}
		left := r.At.Add(threeds.Lifetime).Sub(v.Tx.Now()).Round(time.Second)
		list.Pending = append(list.Pending, pendingChallenge{r, v.Server.Keys.OTP(r.ID), left})
	}
	return list, err
}

func webhookActions() []action {
	return []action{
		redeliver(),
		{name: "redeliver-failed", route: "POST " + server.Control + "/deliveries/redeliver-failed", done: "All failed deliveries are sent again."},
		{name: "remove", route: "DELETE " + server.Control + "/webhooks/{webhook_id}", texts: "webhook_id", done: "The endpoint is removed."},
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
	l := v.list(
		pick("state", string(webhook.Pending), string(webhook.Retrying), string(webhook.Delivered), string(webhook.Failed)),
		endpoint,
		search("about", "Subject ID"),
	)
	var (
		more bool
		err  error
	)
	lists.Endpoints, more, err = webhook.Endpoints(v.Tx, v.Account.ID, lists.EndpointsList.page)
	if err != nil {
		return nil, err
	}
	lists.EndpointsList.setRows(len(lists.Endpoints), more)
	endpoint.Texts = map[string]string{}
	for _, e := range lists.Endpoints {
		endpoint.Values = append(endpoint.Values, e.ID)
		endpoint.Texts[e.ID] = fmt.Sprint(e.URL, " ", e.ID)
	}
	filter := webhook.Filter{Endpoint: endpoint.Chosen, State: webhook.DeliveryState(l.text("state"))}
	about := l.text("about")
	if about != "" {
		filter.Subjects = []string{about}
	}
	lists.Deliveries, more, err = webhook.Newest(v.Tx, v.Account.ID, filter, l.page)
	l.setRows(len(lists.Deliveries), more)
	return lists, err
}

// delivery is a delivery with its payload, and a signature that the user wants to check.
type delivery struct {
	webhook.Sent

	Readable string // the indented payload
	Claimed  string // the signature to check; empty if there is none
	Genuine  bool   // whether Claimed is the delivery's signature
}

// Title returns a title that distinguishes deliveries.
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
