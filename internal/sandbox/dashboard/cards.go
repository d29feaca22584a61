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

// cardList is the data of the page with the cards.
type cardList struct {
	Cards    []*cardFigures
	LowCount int64 // the number of active cards with a low balance, regardless of the filter
}

// cardFigures is a card with figures about its use.
type cardFigures struct {
	*card.Card

	Spent usd.Amount // settled minus refunded, for the purchases of this month
	Used  usd.Amount // of this month's spending limit
	IsLow bool       // whether the balance is low; see card.HasLowBalance
}

// CardID is for templates that link to a card.
func (f *cardFigures) CardID() string { return f.PublicID }

// readFigures reads the figures of a card.
func readFigures(v *view, c *card.Card) (*cardFigures, error) {
	spent, err := transaction.Spent(v.Tx, v.Account.ID, c.ID)
	if err != nil {
		return nil, err
	}
	used, err := transaction.UsedLimit(v.Tx, c.ID)
	if err != nil {
		return nil, err
	}
	low, err := c.HasLowBalance(v.Tx)
	if err != nil {
		return nil, err
	}
	return &cardFigures{Card: c, Spent: spent, Used: used, IsLow: low}, nil
}

// The choices of the filter of cards, besides the statuses.
const (
	lowBalance = "low_balance"
	everyCard  = "all"
)

// cardFilter returns the filter for a text and a choice of the field status. Without a choice, it excludes terminated
// cards.
func cardFilter(v *view, text, status string) card.Filter {
	filter := card.Filter{Text: text}
	switch status {
	case "":
		filter.Live = true
	case lowBalance:
		filter.LowAt = v.Tx.Now()
	case everyCard:
		// The filter accepts every status.
	default:
		filter.Status = card.Status(status)
	}
	return filter
}

func readCards(v *view) (any, error) {
	status := pick("status", string(card.Active), string(card.Frozen), string(card.Terminated), lowBalance, everyCard)
	status.Any = "active and frozen"
	l := v.readList(search("q", "Label or last four digits"), status)
	filter := cardFilter(v, l.text("q"), l.text("status"))
	found, total, err := card.Search(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.setRowsOfTotal(len(found), total)
	data := new(cardList)
	data.LowCount, err = card.Count(v.Tx, v.Account.ID, card.Filter{LowAt: v.Tx.Now()})
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
		cardPath = server.API + "/cards/{card_id}"
		control  = "POST " + server.Control
	)
	actions := []action{
		{name: "details", route: "GET " + cardPath + "/details", texts: []string{"card_id"}},
		{name: "freeze", route: "POST " + cardPath + "/freeze", texts: []string{"card_id"}, done: "The card is frozen."},
		{
			name: "unfreeze", route: "POST " + cardPath + "/unfreeze", texts: []string{"card_id"},
			done: "The card is active again.",
		},
		{
			name: "terminate", route: "DELETE " + cardPath, texts: []string{"card_id"},
			done: "The card is terminated; $returned_to_wallet USD returned to the wallet.",
		},
		{
			name: "buy", route: control + "/authorizations", texts: []string{"card_id"}, numbers: []string{"amount"},
			body: merchantFields, report: reportPurchase,
		},
		{
			name: "challenge", route: control + "/3ds-challenges", texts: []string{"card_id", "merchant"}, numbers: []string{"amount"},
			done: "A 3D Secure challenge is pending. It expires after five minutes.",
		},
	}
	return append(actions, followUpActions()...)
}

// merchantFields returns the field for the merchant of a purchase.
func merchantFields(f form) map[string]any {
	return map[string]any{"merchant": map[string]string{"name": f.text("merchant"), "mcc": f.text("mcc")}}
}

// cardData is the data of a card's page.
type cardData struct {
	*cardFigures

	Held     usd.Amount // by open authorizations
	Timeline timeline
	Details  *cardDetails // nil unless the user has just asked for them
	Activity []*activity.Record
	Runs     []*requestlog.Run // the newest runs that requested a change of the card
}

// Title returns the title of the page.
func (d *cardData) Title() string { return cmp.Or(d.Label, "Card") + " ••" + d.Last4 }

// cardDetails is the response of the API to a request for a card's details.
type cardDetails struct {
	PAN      string `json:"pan"` // 16 digits
	CVV      string `json:"cvv"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

// GroupedPAN returns the card number in groups of four digits.
func (d *cardDetails) GroupedPAN() string {
	return strings.Join([]string{d.PAN[:4], d.PAN[4:8], d.PAN[8:12], d.PAN[12:]}, " ")
}

// Expiry returns the month and the year of expiry, such as 03/2029.
func (d *cardDetails) Expiry() string { return fmt.Sprintf("%02d/%d", d.ExpMonth, d.ExpYear) }

func readCard(v *view) (any, error) {
	c, err := card.ByPublicID(v.Tx, v.Account.ID, v.request.PathValue("card_id"))
	if err != nil {
		return nil, err
	}
	const maxRuns = 5
	data := new(cardData)
	l := v.readList()
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
	data.Timeline, err = v.readTimeline(c)
	if err != nil {
		return nil, err
	}
	data.Runs, err = requestlog.ListRunsOfCard(v.Tx, v.Account.ID, c.PublicID, maxRuns)
	if err != nil {
		return nil, err
	}
	records, more, err := activity.ListForCard(v.Tx, c.ID, l.page)
	if err != nil {
		return nil, err
	}
	data.Activity = records
	l.setRows(len(records), more)
	return data, nil
}

// followUpForm is a form that settles an authorization, or refunds a settlement.
type followUpForm struct {
	Frame   *frame
	Record  *activity.Record
	ID      string // of the authorization or settlement
	Action  string // settle or refund
	Label   string // of the button
	Refused bool   // whether this form was sent and refused
	Amount  string // what the field contains
}

// newFollowUp returns the form for a purchase. The field contains the refused input, or else the remaining amount.
func newFollowUp(f *frame, r *activity.Record, action, label string) *followUpForm {
	id := r.ID
	if action == "refund" {
		id = r.Settlement
	}
	form := &followUpForm{
		Frame:  f,
		Record: r,
		ID:     id,
		Action: action,
		Label:  label,
		Amount: r.Remaining().String(),
	}
	const notRefused = ""
	refusedID := f.Value(action, "transaction_id", notRefused)
	if refusedID == id {
		form.Refused = true
		form.Amount = f.Value(action, "amount", form.Amount)
	}
	return form
}

// reportPurchase describes the outcome of a simulated purchase.
func reportPurchase(res wire.Response) notice {
	var response struct {
		Transaction struct {
			Amount usd.Amount `json:"amount"`
		} `json:"transaction"`
		DeclineReason *string `json:"decline_reason"`
	}
	err := json.Unmarshal(res.Body, &response)
	if err != nil {
		text := "The purchase was sent, but the response could not be read. The card's activity shows the outcome."
		return notice{Text: text, Bad: true}
	}
	if response.DeclineReason != nil {
		return notice{Text: fmt.Sprintf("Declined: %s.", words(*response.DeclineReason)), Bad: true}
	}
	return notice{Text: fmt.Sprintf("Authorized: %s USD is held until the merchant settles.", response.Transaction.Amount)}
}

// notInName matches the parts of a label that become underscores in the name of a resource.
var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// ResourceName returns a name for the card's resource in a configuration. A name cannot start with a digit.
func (d *cardData) ResourceName() string {
	withUnderscores := notInName.ReplaceAllString(strings.ToLower(d.Label), "_")
	name := strings.Trim(withUnderscores, "_")
	if name == "" {
		return "card"
	}
	if '0' <= name[0] && name[0] <= '9' {
		return "card_" + name
	}
	return name
}

// attribute is a line of a resource in a configuration.
type attribute struct {
	name  string
	value string // as an expression of HCL
}

// Config returns a configuration that declares the card.
func (d *cardData) Config() string {
	attributes := []attribute{
		{"bin_id", quote(d.BINID)},
		{"amount", d.Loaded.String()},
	}
	if d.Label != "" {
		attributes = append(attributes, attribute{"label", quote(d.Label)})
	}
	attributes = append(attributes, attribute{"spending_limit", d.SpendingLimit.String()})
	if len(d.AllowedCategories) > 0 {
		categories := make([]string, len(d.AllowedCategories))
		for i, category := range d.AllowedCategories {
			categories[i] = quote(category)
		}
		expression := "[" + strings.Join(categories, ", ") + "]"
		attributes = append(attributes, attribute{"allowed_categories", expression})
	}
	if d.AutoFreezeAt != nil {
		attributes = append(attributes, attribute{"auto_freeze_at", d.AutoFreezeAt.String()})
	}
	if len(d.Metadata) > 0 {
		attributes = append(attributes, attribute{"metadata", metadata(d.Metadata)})
	}
	if d.Status == card.Frozen {
		attributes = append(attributes, attribute{"frozen", "true"})
	}
	width := 0
	for _, a := range attributes {
		width = max(width, len(a.name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "resource \"vcard_card\" %q {\n", d.ResourceName())
	for _, a := range attributes {
		fmt.Fprintf(&b, "  %-*s = %s\n", width, a.name, a.value)
	}
	b.WriteString("\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n")
	return b.String()
}

// ImportBlock returns a configuration that imports the card.
func (d *cardData) ImportBlock() string {
	return fmt.Sprintf("import {\n  to = vcard_card.%s\n  id = %q\n}\n", d.ResourceName(), d.PublicID)
}

// metadata returns the metadata of a card as a map of HCL. A value that is not a text becomes its JSON.
func metadata(values map[string]json.RawMessage) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var text string
		err := json.Unmarshal(values[key], &text)
		if err != nil {
			text = string(values[key])
		}
		pairs = append(pairs, quote(key)+" = "+quote(text))
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

// quote returns a string literal of HCL. In HCL, unlike in JSON, ${ and %{ start templates, and the escapes \b and \f
// do not exist.
func quote(text string) string {
	literal := strings.TrimSpace(string(wire.Encode(text))) // without the line break that Encode adds
	toHCL := strings.NewReplacer(
		`\\`, `\\`, // keeps an escaped backslash, so that a b or f after it is not replaced
		`\b`, `\u0008`,
		`\f`, `\u000c`,
		"\x7f", `\u007f`, // a control character that JSON does not escape
		"${", "$${",
		"%{", "%%{",
	)
	return toHCL.Replace(literal)
}
