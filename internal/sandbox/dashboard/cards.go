package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

type cardList struct {
	Cards []*cardFigures
	Low   int64 // the number of active cards with a low balance, regardless of the filter
}

// cardFigures is a card with its figures of this month.
type cardFigures struct {
	*card.Card

	Spent usd.Amount // settled minus refunded
	Used  usd.Amount // of the spending limit
	IsLow bool       // the balance is low
}

// CardID is for templates that link to a card.
func (f *cardFigures) CardID() string { return f.PublicID }

func readFigures(v *view, c *card.Card) (*cardFigures, error) {
	spent, err := transaction.Spent(v.Tx, v.Account.ID, c.ID)
	if err != nil {
		return nil, err
	}
	used, err := transaction.UsedLimit(v.Tx, c.ID)
	if err != nil {
		return nil, err
	}
	low, err := c.Low(v.Tx)
	if err != nil {
		return nil, err
	}
	return &cardFigures{Card: c, Spent: spent, Used: used, IsLow: low}, nil
}

// The choices of the filter of cards, besides the statuses. Without a choice, the filter hides
// terminated cards.
const (
	lowBalance = "low_balance"
	everyCard  = "all"
)

func cardFilter(v *view, text, status string) card.Filter {
	filter := card.Filter{Text: text}
	switch status {
	case "":
		filter.Live = true
	case lowBalance:
		filter.LowAt = v.Tx.Now()
	case everyCard:
	default:
		filter.Status = card.Status(status)
	}
	return filter
}

func readCards(v *view) (any, error) {
	status := pick("status", string(card.Active), string(card.Frozen), string(card.Terminated), lowBalance, everyCard)
	status.Any = "active and frozen"
	l := v.list(search("q", "Label or last four digits"), status)
	filter := cardFilter(v, l.text("q"), l.text("status"))
	found, total, err := card.Search(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.setRowsOfTotal(len(found), total)
	data := new(cardList)
	data.Low, err = card.Count(v.Tx, v.Account.ID, card.Filter{LowAt: v.Tx.Now()})
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		figures, err := readFigures(v, c)
		if err != nil {
			return nil, err
		}
		data.Cards = append(data.Cards, figures)
	}
	return data, nil
}

func cardActions() []action {
	const (
		one     = server.API + "/cards/{card_id}"
		control = "POST " + server.Control
	)
	return append([]action{
		{name: "details", route: "GET " + one + "/details", texts: "card_id"},
		{name: "freeze", route: "POST " + one + "/freeze", texts: "card_id", done: "The card is frozen."},
		{name: "unfreeze", route: "POST " + one + "/unfreeze", texts: "card_id", done: "The card is active again."},
		{name: "terminate", route: "DELETE " + one, texts: "card_id", done: "The card is terminated; $returned_to_wallet USD returned to the wallet."},
		{name: "buy", route: control + "/authorizations", texts: "card_id", numbers: "amount", body: merchant, report: reportBought},
		{
			name: "challenge", route: control + "/3ds-challenges", texts: "card_id merchant", numbers: "amount",
			done: "A 3D Secure challenge is pending. It expires after five minutes.",
		},
	}, followUps()...)
}

// merchant returns the fields of the merchant of a purchase.
func merchant(f form) map[string]any {
	return map[string]any{"merchant": map[string]string{"name": f.text("merchant"), "mcc": f.text("mcc")}}
}

// cardData is the data of a card's page.
type cardData struct {
	*cardFigures

	Held     usd.Amount
	Time     timeline
	Details  *cardDetails // only in the response to the button
	Timeline []*activity.Record
	Runs     []*requestlog.Run
}

// Title returns a title that distinguishes cards.
func (d *cardData) Title() string { return cmp.Or(d.Label, "Card") + " ••" + d.Last4 }

type cardDetails struct {
	PAN      string `json:"pan"`
	CVV      string `json:"cvv"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

func readCard(v *view) (any, error) {
	c, err := card.ByPublicID(v.Tx, v.Account.ID, v.request.PathValue("card_id"))
	if err != nil {
		return nil, err
	}
	const runs = 5
	data := new(cardData)
	l := v.list()
	details := new(cardDetails)
	if v.decodeResponse("details", details) {
		data.Details = details
	}
	data.cardFigures, err = readFigures(v, c)
	if err != nil {
		return nil, err
	}
	data.Held, err = c.Held(v.Tx)
	if err != nil {
		return nil, err
	}
	data.Time, err = v.timeline(c)
	if err != nil {
		return nil, err
	}
	data.Runs, err = requestlog.OfCard(v.Tx, v.Account.ID, c.PublicID, runs)
	if err != nil {
		return nil, err
	}
	timeline, more, err := activity.OfCard(v.Tx, c.ID, l.page)
	data.Timeline = timeline
	l.setRows(len(timeline), more)
	return data, err
}

// followUpForm settles an authorization, or refunds a settlement.
type followUpForm struct {
	Frame         *frame
	Record        *activity.Record
	ID            string // of the authorization or settlement
	Action, Words string
	Refused       bool // whether this form was sent and refused
	Amount        string
}

func newFollowUp(f *frame, r *activity.Record, action, words string) *followUpForm {
	id := r.ID
	if action == "refund" {
		id = r.Settlement
	}
	form := &followUpForm{
		Frame:   f,
		Record:  r,
		ID:      id,
		Action:  action,
		Words:   words,
		Refused: f.Value(action, "transaction_id", "") == id,
		Amount:  r.Left().String(),
	}
	if form.Refused {
		form.Amount = f.Value(action, "amount", form.Amount)
	}
	return form
}

func reportBought(res wire.Response) notice {
	var bought struct {
		Transaction struct {
			Amount usd.Amount `json:"amount"`
		} `json:"transaction"`
		DeclineReason *string `json:"decline_reason"`
	}
	err := json.Unmarshal(res.Body, &bought)
	if err != nil {
		return notice{Text: "The response could not be read.", Bad: true}
	}
	if bought.DeclineReason != nil {
		return notice{Text: fmt.Sprintf("Declined: %s.", words(*bought.DeclineReason)), Bad: true}
	}
	return notice{Text: fmt.Sprintf("Authorized: %s USD is held until the merchant settles.", bought.Transaction.Amount)}
}

// notInName matches the parts of a label that a resource's name replaces with underscores.
var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// Name returns a name for the card's resource in a configuration. A name cannot start with a digit.
func (d *cardData) Name() string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(d.Label), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = strings.Trim("card_"+name, "_")
	}
	return name
}

// Config returns a configuration that declares the card.
func (d *cardData) Config() string {
	attributes := [][2]string{
		{"bin_id", quote(d.BINID)},
		{"amount", d.Loaded.String()},
	}
	if d.Label != "" {
		attributes = append(attributes, [2]string{"label", quote(d.Label)})
	}
	attributes = append(attributes, [2]string{"spending_limit", d.SpendingLimit.String()})
	if len(d.AllowedCategories) > 0 {
		categories := make([]string, len(d.AllowedCategories))
		for i, category := range d.AllowedCategories {
			categories[i] = quote(category)
		}
		attributes = append(attributes, [2]string{"allowed_categories", "[" + strings.Join(categories, ", ") + "]"})
	}
	if d.AutoFreezeAt != nil {
		attributes = append(attributes, [2]string{"auto_freeze_at", d.AutoFreezeAt.String()})
	}
	if len(d.Metadata) > 0 {
		attributes = append(attributes, [2]string{"metadata", metadata(d.Metadata)})
	}
	if d.Status == card.Frozen {
		attributes = append(attributes, [2]string{"frozen", "true"})
	}
	width := 0
	for _, attribute := range attributes {
		width = max(width, len(attribute[0]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "resource \"vcard_card\" %q {\n", d.Name())
	for _, attribute := range attributes {
		fmt.Fprintf(&b, "  %-*s = %s\n", width, attribute[0], attribute[1])
	}
	b.WriteString("\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n")
	return b.String()
}

func metadata(all map[string]json.RawMessage) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		var text string
		if json.Unmarshal(all[key], &text) != nil {
			text = string(all[key])
		}
		pairs = append(pairs, quote(key)+" = "+quote(text))
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

// quote returns a string literal of HCL. Unlike JSON, HCL does not know the escapes \b and \f, and ${
// and %{ start templates.
func quote(text string) string {
	inHCL := strings.NewReplacer(`\\`, `\\`, `\b`, `\u0008`, `\f`, `\u000c`, "\x7f", `\u007f`, "${", "$${", "%{", "%%{")
	return inHCL.Replace(strings.TrimSpace(string(wire.Encode(text))))
}
