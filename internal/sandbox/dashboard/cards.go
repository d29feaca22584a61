package dashboard

import (
	"cmp"
	"encoding/json"
	"errors"
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

type cardList struct{ Cards []cardFigures }

// cardFigures is a card with what came of it this month.
type cardFigures struct {
	*card.Card

	Spent   usd.Amount // settled less refunded
	Counted usd.Amount // towards the limit
}

// CardID is for what links to a card.
func (f cardFigures) CardID() string { return f.PublicID }

func readFigures(v *view, c *card.Card) (cardFigures, error) {
	spent, err := transaction.Spent(v.Tx, v.Account.ID, c.ID)
	counted, failed := transaction.Counted(v.Tx, c.ID)
	return cardFigures{c, spent, counted}, errors.Join(err, failed)
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

func cardActions() []action {
	const one, control = server.API + "/cards/{card_id}", "POST " + server.Control
	return append([]action{
		{name: "details", route: "GET " + one + "/details", texts: "card_id"},
		{name: "freeze", route: "POST " + one + "/freeze", texts: "card_id", done: "The card is frozen."},
		{name: "unfreeze", route: "POST " + one + "/unfreeze", texts: "card_id", done: "The card is active again."},
		{name: "terminate", route: "DELETE " + one, texts: "card_id", done: "The card is terminated; $returned_to_wallet USD returned to the wallet."},
		{name: "buy", route: control + "/authorizations", texts: "card_id", numbers: "amount", body: merchant, report: reportBought},
		{
			name: "challenge", route: control + "/3ds-challenges", texts: "card_id merchant", numbers: "amount",
			done: "A 3D Secure challenge is pending for five minutes.",
		},
	}, followUps()...)
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

func readCard(v *view) (any, error) {
	c, err := card.ByPublicID(v.Tx, v.Account.ID, v.request.PathValue("card_id"))
	if err != nil {
		return nil, err
	}
	data, l := new(cardData), v.list()
	if details := new(cardDetails); v.response("details", details) {
		data.Details = details
	}
	const runs = 5
	var (
		more                          bool
		figures, held, days, log, all error
	)
	data.cardFigures, figures = readFigures(v, c)
	data.Held, held = c.Held(v.Tx)
	data.Time, days = v.timeline(c)
	data.Runs, log = requestlog.OfCard(v.Tx, v.Account.ID, c.PublicID, runs)
	data.Timeline, more, all = activity.OfCard(v.Tx, c.ID, l.page)
	l.shows(len(data.Timeline), more)
	return data, errors.Join(figures, held, days, log, all)
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

// Name is what the card may be called in a configuration.
func (d *cardData) Name() string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(d.Label), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = strings.Trim("card_"+name, "_")
	}
	return name
}

// Config is the card as a configuration declares it.
func (d *cardData) Config() string {
	width := len("spending_limit") // the longest name, if there are no categories
	if len(d.AllowedCategories) > 0 {
		width = len("allowed_categories")
	}
	var b strings.Builder
	line := func(wanted bool, name string, value any) {
		if wanted {
			_, _ = fmt.Fprintf(&b, "  %-*s = %v\n", width, name, value)
		}
	}
	var categories []string
	for _, c := range d.AllowedCategories {
		categories = append(categories, quote(c))
	}
	line(true, "bin_id", quote(d.BINID))
	line(true, "amount", d.Loaded)
	line(d.Label != "", "label", quote(d.Label))
	line(true, "spending_limit", d.SpendingLimit)
	line(len(categories) > 0, "allowed_categories", "["+strings.Join(categories, ", ")+"]")
	line(d.AutoFreezeAt != nil, "auto_freeze_at", d.AutoFreezeAt)
	line(len(d.Metadata) > 0, "metadata", metadata(d.Metadata))
	line(d.Status == card.Frozen, "frozen", true)
	return fmt.Sprintf("resource \"vcard_card\" %q {\n%s}\n", d.Name(), &b)
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

// quote writes a text as HCL does: as JSON, but for two escapes, and in which templates begin with ${ and %{.
func quote(text string) string {
	inHCL := strings.NewReplacer(`\\`, `\\`, `\b`, `\u0008`, `\f`, `\u000c`, "\x7f", `\u007f`, "${", "$${", "%{", "%%{")
	return inHCL.Replace(strings.TrimSpace(string(wire.Encode(text))))
}
