package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func cardPage() *page {
	const one, control = server.API + "/cards/{card_id}", "POST " + server.Control
	return &page{
		Path: "/cards/{card_id}", Title: "Card", In: "/cards", html: cardHTML, read: readCard,
		actions: append([]action{
			{name: "details", route: "GET " + one + "/details", texts: "card_id"},
			{name: "freeze", route: "POST " + one + "/freeze", texts: "card_id", done: "The card is frozen."},
			{name: "unfreeze", route: "POST " + one + "/unfreeze", texts: "card_id", done: "The card is active again."},
			{name: "terminate", route: "DELETE " + one, texts: "card_id", report: reportReturned},
			{name: "buy", route: control + "/authorizations", texts: "card_id", numbers: "amount", body: merchant, report: reportBought},
			{
				name: "challenge", route: control + "/3ds-challenges", texts: "card_id merchant", numbers: "amount",
				done: "A 3D Secure challenge is pending for five minutes.",
			},
		}, followUps()...),
	}
}

// merchant is who takes a purchase.
func merchant(f form) map[string]any {
	return map[string]any{"merchant": map[string]string{"name": f.text("merchant"), "mcc": f.text("mcc")}}
}

// cardData is everything on a card's page.
type cardData struct {
	cardFigures

	Held     usd.Amount
	Time     timeline
	Details  *cardDetails // only in response to the press that asks for them
	Timeline []*activity.Record
	Runs     []*requestlog.Run
}

// Title tells cards apart.
func (d *cardData) Title() string { return cmp.Or(d.Label, "Card") + " ••" + d.Last4 }

type cardDetails struct {
	PAN      string `json:"pan"`
	CVV      string `json:"cvv"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

// Grouped is the number in groups of four.
func (d *cardDetails) Grouped() string {
	return strings.Join([]string{d.PAN[:4], d.PAN[4:8], d.PAN[8:12], d.PAN[12:]}, " ")
}

func readCard(v *view) (any, error) {
	c, err := card.ByPublicID(v.Tx, v.Account.ID, v.request.PathValue("card_id"))
	if err != nil {
		return nil, err
	}
	data := new(cardData)
	if data.cardFigures, err = readFigures(v, c); err != nil {
		return nil, err
	}
	if data.Held, err = c.Held(v.Tx); err != nil {
		return nil, err
	}
	if data.Time, err = v.timeline(c); err != nil {
		return nil, err
	}
	if details := new(cardDetails); v.response("details", details) {
		data.Details = details
	}
	const runs = 5
	if data.Runs, err = requestlog.OfCard(v.Tx, v.Account.ID, c.PublicID, runs); err != nil {
		return nil, err
	}
	l := v.list()
	timeline, more, err := activity.OfCard(v.Tx, c.ID, l.page)
	data.Timeline = timeline
	l.shows(len(timeline), more)
	return data, err
}

// followUpForm settles an authorization, or refunds a settlement.
type followUpForm struct {
	Frame         *frame
	Record        *activity.Record
	ID            string // of what is followed up
	Action, Words string
	Refused       bool // this very form was sent and refused
	Amount        string
}

func newFollowUp(f *frame, r *activity.Record, action, words string) *followUpForm {
	id := r.ID
	if action == "refund" {
		id = r.Settlement
	}
	form := &followUpForm{f, r, id, action, words, f.Value(action, "transaction_id", "") == id, r.Left().String()}
	if form.Refused {
		form.Amount = f.Value(action, "amount", form.Amount)
	}
	return form
}

func reportReturned(res wire.Response) notice {
	var terminated struct {
		Returned usd.Amount `json:"returned_to_wallet"`
	}
	_ = json.Unmarshal(res.Body, &terminated) // our own
	return notice{Text: fmt.Sprintf("The card is terminated; %s USD returned to the wallet.", terminated.Returned)}
}

func reportBought(res wire.Response) notice {
	var bought struct {
		Transaction struct {
			Amount usd.Amount `json:"amount"`
		} `json:"transaction"`
		DeclineReason *string `json:"decline_reason"`
	}
	_ = json.Unmarshal(res.Body, &bought) // our own
	if bought.DeclineReason != nil {
		return notice{Text: fmt.Sprintf("Declined: %s.", words(*bought.DeclineReason)), Bad: true}
	}
	return notice{Text: fmt.Sprintf("Authorized: %s USD are held until the merchant settles.", bought.Transaction.Amount)}
}
