package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func cardPage() page {
	const one = server.API + "/cards/{card_id}"
	return page{
		Path: "/cards/{card_id}", Title: "Card", In: "/cards", template: "card", read: readCard,
		actions: []action{
			{name: "details", operation: onCard("GET " + one + "/details")},
			{name: "freeze", operation: onCard("POST " + one + "/freeze"), done: says("The card is frozen.")},
			{name: "unfreeze", operation: onCard("POST " + one + "/unfreeze"), done: says("The card is active again.")},
			{name: "terminate", operation: onCard("DELETE " + one), done: saysReturned},
			{name: "buy", operation: buy, done: saysBought},
			{name: "settle", operation: followUp("settlements"), done: says("The authorization is settled.")},
			{name: "refund", operation: followUp("refunds"), done: says("The refund is on the card.")},
			{name: "challenge", operation: challenge, done: says("A 3D Secure challenge is pending for five minutes.")},
		},
	}
}

// cardData is everything on a card's page.
type cardData struct {
	cardFigures

	Held     usd.Amount
	Details  *cardDetails // only in response to the press that asks for them
	Timeline []activity.Record
	Paging   paging
}

type cardDetails struct {
	PAN      string `json:"pan"`
	CVV      string `json:"cvv"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

// Grouped is the number in groups of four.
func (d cardDetails) Grouped() string {
	return strings.Join([]string{d.PAN[:4], d.PAN[4:8], d.PAN[8:12], d.PAN[12:]}, " ")
}

func readCard(v *view) (any, error) {
	c, err := card.ByPublicID(v.Tx, v.Account.ID, v.PathValue("card_id"))
	if err != nil {
		return nil, err
	}
	var data cardData
	if data.cardFigures, err = readFigures(v, c); err != nil {
		return nil, err
	}
	if data.Held, err = c.Held(v.Tx); err != nil {
		return nil, err
	}
	if details := new(cardDetails); v.Response("details", details) {
		data.Details = details
	}
	page := readPage(v.Query)
	timeline, more, err := activity.OfCard(v.Tx, c.ID, page)
	data.Timeline, data.Paging = timeline, newPaging(v.Query, page, len(timeline), more)
	return data, err
}

// followUpForm settles an authorization, or refunds a settlement.
type followUpForm struct {
	Frame         frame
	Record        activity.Record
	Action, Words string
}

func newFollowUp(f frame, r activity.Record, action, words string) followUpForm {
	return followUpForm{f, r, action, words}
}

// Refused tells whether this very form was sent and refused.
func (f followUpForm) Refused() bool {
	return f.Frame.Value(f.Action, "transaction_id", "") == f.Record.ID
}

// Amount is what can be settled or refunded, unless another amount was refused.
func (f followUpForm) Amount() string {
	left := f.Record.Left.String()
	if !f.Refused() {
		return left
	}
	return f.Frame.Value(f.Action, "amount", left)
}

// onCard is a call that names the page's card in its path and needs no more.
func onCard(route string) func(form) server.Operation {
	return func(f form) server.Operation {
		return server.Operation{Route: route, Path: map[string]string{"card_id": f.PathValue("card_id")}}
	}
}

func buy(f form) server.Operation {
	return server.Operation{Route: "POST " + server.Control + "/authorizations", Fields: map[string]any{
		"card_id": f.PathValue("card_id"), "amount": f.Number("amount"),
		"merchant": map[string]string{"name": f.Text("merchant"), "mcc": f.Text("mcc")},
	}}
}

func followUp(calls string) func(form) server.Operation {
	return func(f form) server.Operation {
		fields := map[string]any{"transaction_id": f.Text("transaction_id")}
		if amount := f.Number("amount"); amount != nil { // else all of it
			fields["amount"] = amount
		}
		return server.Operation{Route: "POST " + server.Control + "/" + calls, Fields: fields}
	}
}

func challenge(f form) server.Operation {
	return server.Operation{Route: "POST " + server.Control + "/3ds-challenges", Fields: map[string]any{
		"card_id": f.PathValue("card_id"), "merchant": f.Text("merchant"), "amount": f.Number("amount"),
	}}
}

func says(words string) func(form, wire.Response) string {
	return func(form, wire.Response) string { return words }
}

func saysReturned(_ form, res wire.Response) string {
	var terminated struct {
		Returned usd.Amount `json:"returned_to_wallet"`
	}
	_ = json.Unmarshal(res.Body, &terminated) // our own
	return fmt.Sprintf("The card is terminated; %s USD returned to the wallet.", terminated.Returned)
}

func saysBought(_ form, res wire.Response) string {
	var bought struct {
		Transaction struct {
			Amount usd.Amount `json:"amount"`
		} `json:"transaction"`
		DeclineReason *string `json:"decline_reason"`
	}
	_ = json.Unmarshal(res.Body, &bought) // our own
	if bought.DeclineReason != nil {
		return fmt.Sprintf("Declined: %s.", words(*bought.DeclineReason))
	}
	return fmt.Sprintf("Authorized: %s USD are held until the merchant settles.", bought.Transaction.Amount)
}
