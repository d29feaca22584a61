package card

import (
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	minimumLoad     = 50 * usd.Dollar
	issuanceFee     = 1 * usd.Dollar
	maxLabel        = 64 // characters
	maxMetadataKeys = 20
	maxMetadataText = 512 // characters, for a key and for a value
	validYears      = 3   // from the issue to the expiry of a card
)

func issue(c *server.Call) (wire.Response, error) {
	tidied := c.Quirks.CardValues == behavior.Tidied
	card, err := readCard(c.Fields(), tidied)
	if err != nil {
		return wire.Response{}, err
	}
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return wire.Response{}, err
	}
	cost := card.Balance + issuanceFee
	if wallet < cost {
		return wire.Response{}, wire.Refuse(wire.CodeInsufficientFunds,
			"the wallet has %s USD, but the load and the issuance fee of %s USD add up to %s USD", wallet, issuanceFee, cost)
	}
	err = card.insert(c)
	if err != nil {
		return wire.Response{}, err
	}
	err = ledger.Post(c.Tx, c.Account.ID, "card issued",
		ledger.NewLeg(ledger.Wallet, -cost),
		ledger.NewCardLeg(card.LedgerAccountID, card.Balance),
		ledger.NewLeg(ledger.Fees, issuanceFee))
	if err != nil {
		return wire.Response{}, err
	}
	err = webhook.Emit(c, webhook.CardCreated, card.PublicID, card.full())
	if err != nil {
		return wire.Response{}, err
	}
	view := card.full()
	if tidied { // only in the response; the event has the categories of the request
		view.AllowedCategories = tidy(card.AllowedCategories)
	}
	return wire.Created(view), nil
}

// tidy returns categories sorted and in upper case.
func tidy(categories []string) []string {
	sorted := slices.Clone(categories)
	slices.Sort(sorted)
	for i, name := range sorted {
		sorted[i] = strings.ToUpper(name)
	}
	return sorted
}

// readCard reads a request to issue a card. If tidied is true, it trims the label and lowers the spending limit to the
// BIN's maximum.
func readCard(f *wire.Fields, tidied bool) (*Card, error) {
	card := &Card{Status: Active}
	card.BINID = f.Text("bin_id")
	card.Balance = f.Amount("amount")
	card.Label, _ = f.OptionalText("label", maxLabel)
	limit, hasLimit := f.OptionalAmount("spending_limit")
	card.AllowedCategories, _ = f.Texts("allowed_categories")
	threshold, hasThreshold := f.OptionalAmount("auto_freeze_at")
	if hasThreshold {
		card.AutoFreezeAt = &threshold
	}
	card.Metadata = f.Pairs("metadata", maxMetadataKeys, maxMetadataText)
	err := f.Done()
	if err != nil {
		return nil, err
	}
	cardBIN, found := binByID(card.BINID)
	if !found {
		return nil, wire.Refuse(wire.CodeBINNotFound, "bin_id: there is no BIN %.64q; GET /bins lists all BINs", card.BINID)
	}
	card.SpendingLimit = cardBIN.Maximum
	if hasLimit {
		card.SpendingLimit = limit
	}
	if tidied {
		card.Label = strings.TrimSpace(card.Label)
		card.SpendingLimit = min(card.SpendingLimit, cardBIN.Maximum)
	}
	return card, card.check(cardBIN)
}

// check returns an error if the values of a request to issue a card are not valid on its BIN.
func (c *Card) check(cardBIN bin) error {
	names := categoryNames()
	for _, name := range c.AllowedCategories {
		if !slices.Contains(names, name) {
			return wire.Invalid("allowed_categories: %.64q is not a category; the categories are %s", name, strings.Join(names, ", "))
		}
	}
	if c.Balance < minimumLoad {
		return wire.Invalid("amount must be at least %s USD", minimumLoad)
	}
	if c.SpendingLimit <= 0 || c.SpendingLimit > cardBIN.Maximum {
		return wire.Invalid("spending_limit must be above 0 and at most %s USD, the maximum of %s", cardBIN.Maximum, cardBIN.ID)
	}
	if c.AutoFreezeAt != nil && *c.AutoFreezeAt < 0 {
		return wire.Invalid("auto_freeze_at must not be negative")
	}
	return nil
}

// insert sets the fields that readCard leaves empty, such as the id. It writes the card to the file, with an empty
// ledger account. The caller must post the load.
func (c *Card) insert(call *server.Call) error {
	now := call.Tx.Now()
	c.PublicID = call.Tx.NewID("card_")
	pan := call.Keys.PAN(c.PublicID)
	c.Last4 = pan[len(pan)-4:]
	c.CreatedAt = wire.Time{Time: now}
	c.Loaded = c.Balance
	// Day 0 of a month is the last day of the month before it.
	lastDay := time.Date(now.Year()+validYears, now.Month()+1, 0, 0, 0, 0, 0, time.UTC)
	c.ExpiresAt = lastDay.Format(time.DateOnly)
	var err error
	c.LedgerAccountID, err = ledger.Open(call.Tx, call.Account.ID, ledger.Card)
	if err != nil {
		return err
	}
	c.ID, err = call.Tx.Insert(`
		INSERT INTO cards (public_id, account_id, ledger_account_id, bin_id, last4, status, loaded, spending_limit, label,
		                   allowed_categories, auto_freeze_at, metadata, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.PublicID, call.Account.ID, c.LedgerAccountID, c.BINID, c.Last4, c.Status, c.Loaded, c.SpendingLimit, c.Label,
		string(wire.Encode(c.AllowedCategories)), c.AutoFreezeAt, string(wire.Encode(c.Metadata)), now.UnixMilli(), c.ExpiresAt)
	return err
}

// bin is a range of card numbers. Most of its fields are those of API §2.5.
type bin struct {
	ID         string
	Network    string
	Category   string
	ThreeDS    bool
	WalletAPay bool
	WalletBPay bool
	Maximum    usd.Amount // of a card's monthly spending limit
}

// bins returns the catalogue.
func bins() []bin {
	return []bin{
		{
			ID: "bin_ads_visa_us", Network: "visa", Category: "ads", Maximum: 50_000 * usd.Dollar,
			ThreeDS: true, WalletAPay: true, WalletBPay: true,
		},
		{
			ID: "bin_ads_visa_eu", Network: "visa", Category: "ads", Maximum: 30_000 * usd.Dollar,
			ThreeDS: true, WalletAPay: true,
		},
		{
			ID: "bin_ads_mastercard_us", Network: "mastercard", Category: "ads", Maximum: 50_000 * usd.Dollar,
			ThreeDS: true, WalletBPay: true,
		},
		{
			ID: "bin_ads_mastercard_eu", Network: "mastercard", Category: "ads", Maximum: 25_000 * usd.Dollar,
			ThreeDS: true,
		},
		{
			ID: "bin_software_visa_us", Network: "visa", Category: "software", Maximum: 20_000 * usd.Dollar,
			ThreeDS: true, WalletAPay: true, WalletBPay: true,
		},
		{
			ID: "bin_software_mastercard_us", Network: "mastercard", Category: "software", Maximum: 15_000 * usd.Dollar,
			ThreeDS: true, WalletBPay: true,
		},
		{
			ID: "bin_general_visa_us", Network: "visa", Category: "general", Maximum: 10_000 * usd.Dollar,
			ThreeDS: true, WalletAPay: true,
		},
		{
			ID: "bin_general_visa_eu", Network: "visa", Category: "general", Maximum: 5_000 * usd.Dollar,
			ThreeDS: true,
		},
		{
			ID: "bin_general_mastercard_us", Network: "mastercard", Category: "general", Maximum: 10_000 * usd.Dollar,
			ThreeDS: true, WalletAPay: true, WalletBPay: true,
		},
	}
}

func binByID(id string) (bin, bool) {
	for _, b := range bins() {
		if b.ID == id {
			return b, true
		}
	}
	return bin{}, false
}

// listBINs returns the catalogue. The names of the mobile wallets' fields depend on a quirk.
func listBINs(c *server.Call) (wire.Response, error) {
	var shown []map[string]any
	walletFields := c.Quirks.WalletFields
	for _, b := range bins() {
		shown = append(shown, map[string]any{
			"id":            b.ID,
			"network":       b.Network,
			"category":      b.Category,
			"3ds":           b.ThreeDS,
			walletFields[0]: b.WalletAPay,
			walletFields[1]: b.WalletBPay,
		})
	}
	return wire.OK(map[string]any{"data": shown, "total": len(shown)}), nil
}

// otherCategory is the category of the codes that categories does not list.
const otherCategory = "other"

// mccRange is an inclusive range of merchant category codes. Codes have four digits, so comparing the texts compares the
// numbers.
type mccRange struct{ first, last string }

func (r mccRange) contains(code string) bool { return r.first <= code && code <= r.last }

// category is a category of merchants.
type category struct {
	name  string
	codes []mccRange
}

// categories returns the categories with their codes, without otherCategory.
func categories() []category {
	return []category{
		{name: "advertising", codes: []mccRange{
			{"7311", "7311"}, {"7333", "7333"},
		}},
		{name: "software", codes: []mccRange{
			{"4816", "4816"}, {"5734", "5734"}, {"5817", "5818"}, {"7372", "7372"}, {"7375", "7375"}, {"7379", "7379"},
		}},
		{name: "travel", codes: []mccRange{
			{"3000", "3999"},
			{"4411", "4411"},
			{"4511", "4511"},
			{"4582", "4582"},
			{"4722", "4723"},
			{"7011", "7012"},
			{"7032", "7033"},
			{"7512", "7519"},
		}},
		{name: "retail", codes: []mccRange{
			{"5200", "5399"}, {"5611", "5733"}, {"5735", "5735"}, {"5931", "5974"}, {"5977", "5999"},
		}},
		{name: "food", codes: []mccRange{
			{"5411", "5499"}, {"5811", "5814"}, {"5921", "5921"},
		}},
		{name: "entertainment", codes: []mccRange{
			{"5815", "5816"}, {"7829", "7841"}, {"7911", "7999"},
		}},
		{name: "utilities", codes: []mccRange{
			{"4900", "4900"},
		}},
		{name: "telecom", codes: []mccRange{
			{"4812", "4815"}, {"4821", "4821"}, {"4899", "4899"},
		}},
		{name: "education", codes: []mccRange{
			{"8211", "8299"}, {"8351", "8351"},
		}},
		{name: "health", codes: []mccRange{
			{"5047", "5047"}, {"5122", "5122"}, {"5912", "5912"}, {"5975", "5976"}, {"8011", "8099"},
		}},
		{name: "transport", codes: []mccRange{
			{"4011", "4011"}, {"4111", "4131"}, {"4214", "4225"}, {"4784", "4789"}, {"5541", "5542"}, {"7523", "7523"},
		}},
		{name: "finance", codes: []mccRange{
			{"4829", "4829"}, {"6010", "6540"},
		}},
		{name: "government", codes: []mccRange{
			{"9211", "9405"},
		}},
	}
}

// categoryNames returns the names that allowed_categories accepts.
func categoryNames() []string {
	var names []string
	for _, c := range categories() {
		names = append(names, c.name)
	}
	return append(names, otherCategory)
}

// MCCOf returns a merchant category code of a category, or of "other" if the name is unknown.
func MCCOf(name string) string {
	for _, c := range categories() {
		if c.name == name {
			return c.codes[0].first
		}
	}
	return "0742" // a code of the category "other"
}

// CategoryOf returns the category of a merchant category code of four digits.
func CategoryOf(code string) string {
	for _, c := range categories() {
		for _, codes := range c.codes {
			if codes.contains(code) {
				return c.name
			}
		}
	}
	return otherCategory
}
