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

func cardsPage() *page {
	return &page{Path: "/cards", Title: "Cards", html: cardsHTML, read: readCards}
}

type cardList struct{ Cards []cardFigures }

// cardFigures is a card with what came of it this month.
type cardFigures struct {
	*card.Card

	Spent   usd.Amount // settled less refunded
	Counted usd.Amount // towards the limit
}

// CardID is for what links to a card.
func (f cardFigures) CardID() string { return f.PublicID }

func readFigures(v *view, c *card.Card) (f cardFigures, err error) {
	f.Card = c
	if f.Spent, err = transaction.Spent(v.Tx, v.Account.ID, c.ID); err != nil {
		return f, err
	}
	f.Counted, err = transaction.Counted(v.Tx, c.ID)
	return f, err
}

func readCards(v *view) (any, error) {
	l := v.list(search("q", "Label or last four digits"), pick("status", "active", "frozen", "terminated"))
	filter := card.Filter{Text: l.text("q"), Status: card.Status(l.text("status"))}
	found, total, err := card.Search(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.showsOf(len(found), total)
	data := new(cardList)
	data.Cards, err = readAllFigures(v, found)
	return data, err
}

func readAllFigures(v *view, cards []*card.Card) (all []cardFigures, err error) {
	for _, c := range cards {
		figures, err := readFigures(v, c)
		if err != nil {
			return nil, err
		}
		all = append(all, figures)
	}
	return all, nil
}

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

// notInName matches what the name of a resource cannot have.
var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// resourceName is what a card may be called in a configuration.
func resourceName(c *card.Card) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(c.Label), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = strings.Trim("card_"+name, "_")
	}
	return name
}

// Config is the card as a configuration declares it.
func (d *cardData) Config() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "resource \"vcard_card\" %q {\n", resourceName(d.Card))
	lines := [][2]string{{"bin_id", quote(d.BINID)}, {"amount", d.Loaded.String()}}
	if d.Label != "" {
		lines = append(lines, [2]string{"label", quote(d.Label)})
	}
	lines = append(lines, [2]string{"spending_limit", d.SpendingLimit.String()})
	if len(d.AllowedCategories) > 0 {
		var quoted []string
		for _, c := range d.AllowedCategories {
			quoted = append(quoted, quote(c))
		}
		lines = append(lines, [2]string{"allowed_categories", "[" + strings.Join(quoted, ", ") + "]"})
	}
	if d.AutoFreezeAt != nil {
		lines = append(lines, [2]string{"auto_freeze_at", d.AutoFreezeAt.String()})
	}
	if len(d.Metadata) > 0 {
		lines = append(lines, [2]string{"metadata", metadata(d.Metadata)})
	}
	if d.Status == card.Frozen {
		lines = append(lines, [2]string{"frozen", "true"})
	}
	width := 0
	for _, line := range lines {
		width = max(width, len(line[0]))
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(&b, "  %-*s = %s\n", width, line[0], line[1])
	}
	return b.String() + "}\n"
}

// Import is the block that takes the card over.
func (d *cardData) Import() string {
	return fmt.Sprintf("import {\n  to = vcard_card.%s\n  id = %q\n}\n", resourceName(d.Card), d.PublicID)
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

// quote writes a text as HCL does, in which templates begin with ${ and %{.
func quote(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029:
			_, _ = fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + strings.NewReplacer("${", "$${", "%{", "%%{").Replace(b.String()) + `"`
}
