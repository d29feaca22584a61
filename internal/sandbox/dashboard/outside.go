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
		{
			name: "confirm", route: deposits + "/{id}/confirm", texts: "id",
			done: "The deposit is confirmed and credited to the wallet.",
		},
	}
}

// depositList is the data of the page with the deposits.
type depositList struct {
	Addresses []wallet.Address
	Deposits  []*wallet.Deposit
}

func readDeposits(v *view) (any, error) {
	l := v.list(pick("status", "pending", "confirmed"))
	newest, more, err := wallet.Newest(v.Tx, v.Server.Keys, v.Account, l.text("status"), l.page)
	l.setRows(len(newest), more)
	addresses := wallet.Addresses(v.Server.Keys, v.Account, "") // of all coins
	return &depositList{Addresses: addresses, Deposits: newest}, err
}

func challengeActions() []action {
	const complete = "POST " + server.Control + "/3ds-challenges/{id}/complete"
	return []action{
		{name: threeds.Approved, route: complete, texts: "id", body: approved, done: "The challenge is approved."},
		{name: threeds.Failed, route: complete, texts: "id", body: failed, done: "The challenge has failed."},
	}
}

// approved returns the field of a call that approves a challenge.
func approved(form) map[string]any { return map[string]any{"outcome": threeds.Approved} }

// failed returns the field of a call that fails a challenge.
func failed(form) map[string]any { return map[string]any{"outcome": threeds.Failed} }

// challengeList is the data of the page with the 3D Secure challenges.
type challengeList struct {
	Pending []pendingChallenge
	Decided []*activity.Record // approved, failed or expired
}

// pendingChallenge is a challenge that waits for the cardholder.
type pendingChallenge struct {
	*activity.Record

	OTP      string
	TimeLeft time.Duration // until the challenge expires
}

func readChallenges(v *view) (any, error) {
	l := v.list(
		search("q", "Card: label, last four digits or ID"),
		pick("status", threeds.Pending, threeds.Approved, threeds.Failed, threeds.Expired),
	)
	filter := activity.ChallengeFilter{CardText: l.text("q"), Status: l.text("status")}
	records, more, err := activity.ListChallenges(v.Tx, v.Account.ID, filter, l.page)
	l.setRows(len(records), more)
	data := new(challengeList)
	for _, r := range records {
		if r.Reason != threeds.Pending { // the reason of a challenge is its status
			data.Decided = append(data.Decided, r)
			continue
		}
		expires := r.At.Add(threeds.Lifetime)
		timeLeft := expires.Sub(v.Tx.Now()).Round(time.Second)
		data.Pending = append(data.Pending, pendingChallenge{Record: r, OTP: v.Server.Keys.OTP(r.ID), TimeLeft: timeLeft})
	}
	return data, err
}

func webhookActions() []action {
	return []action{
		redeliver(),
		{
			name: "redeliver-failed", route: "POST " + server.Control + "/deliveries/redeliver-failed",
			done: "All failed deliveries are sent again.",
		},
		{
			name: "remove", route: "DELETE " + server.Control + "/webhooks/{webhook_id}", texts: "webhook_id",
			done: "The endpoint is removed.",
		},
	}
}

// webhookLists is the data of the page with the endpoints and the deliveries.
type webhookLists struct {
	Endpoints     []*webhook.Endpoint
	EndpointsList *list
	Deliveries    []*webhook.Delivery
}

func readWebhooks(v *view) (any, error) {
	endpoint := pick("endpoint") // the endpoints below become its values
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
	subjectID := l.text("about")
	if subjectID != "" {
		filter.Subjects = []string{subjectID}
	}
	lists.Deliveries, more, err = webhook.Newest(v.Tx, v.Account.ID, filter, l.page)
	l.setRows(len(lists.Deliveries), more)
	return lists, err
}

// delivery is the data of the page with one delivery. It includes a signature that the user wants to check.
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

// redeliver returns the action that sends the event of a delivery again.
func redeliver() action {
	return action{
		name:  "redeliver",
		route: "POST " + server.Control + "/deliveries/{delivery_id}/redeliver",
		texts: "delivery_id",
		done:  "The event is sent again.",
		row:   "delivery_id",
	}
}
