// Package transaction has the Terraform types for transactions.
package transaction

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// NewDataSource makes the data source vcard_transactions.
func NewDataSource() datasource.DataSource {
	return &tfkit.DataSource[model]{
		Name:      "transactions",
		Operation: "read the transactions",
		NewSchema: transactionsSchema,
		Check:     checkPeriod,
		Fill:      fill,
	}
}

type model struct {
	CardID       types.String           `tfsdk:"card_id"`
	Type         types.String           `tfsdk:"type"`
	From         types.String           `tfsdk:"from"`
	To           types.String           `tfsdk:"to"`
	MaxResults   types.Number           `tfsdk:"max_results"`
	Transactions []transaction          `tfsdk:"transactions"`
	Truncated    types.Bool             `tfsdk:"truncated"`
	Summary      map[string]summary     `tfsdk:"summary"`
	ByCard       map[string]cardSummary `tfsdk:"by_card"`
}

// cardSummary is an object with one attribute, because CDK for Terraform cannot express a map of maps of objects.
type cardSummary struct {
	Summary map[string]summary `tfsdk:"summary"`
}

type transaction struct {
	ID        string       `tfsdk:"id"`
	CardID    string       `tfsdk:"card_id"`
	Type      string       `tfsdk:"type"`
	Amount    types.Number `tfsdk:"amount"`
	Currency  string       `tfsdk:"currency"`
	Fee       types.Number `tfsdk:"fee"`
	Merchant  merchant     `tfsdk:"merchant"`
	CreatedAt string       `tfsdk:"created_at"`
}

type merchant struct {
	Name string `tfsdk:"name"`
	MCC  string `tfsdk:"mcc"`
}

const (
	// maxSums limits the memory for sums. See sumsByCurrency.add for what counts as one.
	maxSums = 50_000
	// maxNamed is the maximum number of transactions that a warning names.
	maxNamed = 5

	defaultMaxResults = 1_000
	// highestMaxResults limits memory: a listed transaction takes some kilobytes in Terraform and the provider.
	highestMaxResults = 10_000
)

// fill lists up to max_results transactions, and sums up all that match the filters. It leaves unreadable transactions
// out of the sums, and warns about them.
func fill(ctx context.Context, s *session.Session, m *model, diags *diag.Diagnostics) error {
	if !tfkit.CheckCardID(path.Root("card_id"), m.CardID, diags) {
		return nil
	}
	limit := int64(defaultMaxResults)
	if !m.MaxResults.IsNull() {
		limit, _ = m.MaxResults.ValueBigFloat().Int64()
	}
	matching := int64(0) // transactions that match the filters
	unreadable := 0
	var problems []string // of the first maxNamed unreadable transactions
	sums := newTotals()
	m.Transactions = []transaction{}
	for t, err := range s.Client.Transactions(ctx, m.filter()) {
		if err != nil {
			return err
		}
		matching++
		if matching <= limit {
			m.Transactions = append(m.Transactions, transactionFromAPI(t))
		}
		if t.Problem != "" {
			unreadable++
			if unreadable <= maxNamed {
				problems = append(problems, t.Problem)
			}
			continue
		}
		sums.add(t)
		if sums.count > maxSums {
			diags.AddError("Too many totals to compute",
				fmt.Sprintf("The provider computes totals by card, currency and type, at most %d per data source. "+
					"This query exceeds that limit. Choose a shorter period with from and to, or set card_id.", maxSums))
			return nil
		}
	}
	m.Truncated = types.BoolValue(matching > limit)
	m.Summary = sums.all.summaries()
	m.ByCard = make(map[string]cardSummary, len(sums.byCard))
	for card, cardSums := range sums.byCard {
		m.ByCard[card] = cardSummary{Summary: cardSums.summaries()}
	}
	if unreadable > 0 {
		diags.AddWarning("Unreadable transactions", describeUnreadable(unreadable, problems))
	}
	return nil
}

// describeUnreadable returns the text of a warning about a number of unreadable transactions. It lists the given
// problems.
func describeUnreadable(count int, problems []string) string {
	list := "\n  - " + strings.Join(problems, "\n  - ") + "\n\n"
	if count == 1 {
		return "The service returned 1 transaction that does not match the API documentation. " +
			"The result leaves out its amount and fee, and does not count it in summary or by_card. Details:" + list +
			"Report this id to the service's support."
	}
	text := fmt.Sprintf("The service returned %d transactions that do not match the API documentation. "+
		"The result leaves out their amounts and fees, and does not count them in summary or by_card. ", count)
	if count > len(problems) {
		text += fmt.Sprintf("The first %d:", len(problems))
	} else {
		text += "Details:"
	}
	return text + list + "Report these ids to the service's support."
}

// filter returns the filter of a validated configuration. An attribute that is null leaves its field zero.
func (m *model) filter() api.TransactionFilter {
	// A null attribute has an empty text, for which parsePeriod returns zero times.
	from, _, _ := parsePeriod(m.From.ValueString())
	_, to, _ := parsePeriod(m.To.ValueString())
	return api.TransactionFilter{
		CardID: m.CardID.ValueString(),
		Type:   api.TransactionType(m.Type.ValueString()),
		From:   from,
		To:     to,
	}
}

// transactionFromAPI returns a transaction for the list. If the transaction is unreadable, its amounts stay null.
func transactionFromAPI(t api.Transaction) transaction {
	listed := transaction{
		ID:        t.ID,
		CardID:    t.CardID,
		Type:      string(t.Type),
		Currency:  t.Currency,
		CreatedAt: string(t.CreatedAt),
		Merchant:  merchant{Name: t.Merchant.Name.String(), MCC: t.Merchant.MCC.String()},
	}
	if t.Problem == "" {
		listed.Amount = types.NumberValue(t.Amount.BigFloat())
		listed.Fee = types.NumberValue(t.Fee.BigFloat())
	}
	return listed
}

// transactionTypes returns the documented types (API §2.2).
func transactionTypes() []string {
	return []string{
		string(api.TransactionAuthorization), string(api.TransactionSettlement),
		string(api.TransactionRefund), string(api.TransactionDecline),
	}
}

func transactionsSchema() schema.Schema {
	allTypes := "`" + strings.Join(transactionTypes(), "`, `") + "`"
	return schema.Schema{
		MarkdownDescription: "Lists the transactions of the account's cards, newest first, with exact sums. " +
			"The sums cover all transactions that match the filters, even beyond `max_results`. " +
			"Therefore all pages are read, up to 100 transactions per request.",
		Attributes: map[string]schema.Attribute{
			"card_id": tfkit.Filter("Only transactions of this card. Default: all cards, including terminated ones.", tfkit.CardID()),
			"type": tfkit.Filter("Only transactions of this type, one of "+allTypes+". Default: "+
				"all types.", tfkit.OneOf(transactionTypes()...)),
			"from": tfkit.Filter("Start of the period, inclusive: an RFC 3339 time with its zone, such as "+
				"`2026-03-01T08:00:00Z`, or a date, such as `2026-03-01`, which starts at midnight UTC. Default: "+
				"the first transaction.", tfkit.RuleWithTitles(checkTime)),
			"to": tfkit.Filter("End of the period, inclusive: an RFC 3339 time with its zone, or a date, which includes "+
				"the whole day in UTC. "+
				"It must not be earlier than `from`. Default: now.", tfkit.RuleWithTitles(checkTime)),
			"max_results": schema.NumberAttribute{
				Optional:   true,
				Validators: []validator.Number{tfkit.WholeNumberBetween(1, highestMaxResults)},
				MarkdownDescription: fmt.Sprintf("Maximum number of listed transactions, 1 to %d. Default: %d. "+
					"It limits `transactions` only; `summary` and `by_card` cover all transactions that match the filters.",
					highestMaxResults, defaultMaxResults),
			},
			"transactions": schema.ListNestedAttribute{
				Computed: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":      tfkit.Computed("Transaction id, of the form `txn_…`."),
					"card_id": tfkit.Computed("Id of the card."),
					"type":    tfkit.Computed("One of " + allTypes + "."),
					"amount": tfkit.ComputedNumber("Exact amount in `currency`, never negative; `type` shows its direction. " +
						"Null, with a warning, if the transaction is unreadable; the sums leave such a transaction out."),
					"currency": tfkit.Computed("Currency code of `amount` and `fee`, such as `USD`."),
					"fee":      tfkit.ComputedNumber("Exact fee in `currency`, never negative. Null if `amount` is null."),
					"merchant": schema.SingleNestedAttribute{
						Computed: true, MarkdownDescription: "Where the card was used.",
						Attributes: map[string]schema.Attribute{
							"name": tfkit.Computed("Name of the merchant."),
							"mcc":  tfkit.Computed("Merchant category code."),
						},
					},
					"created_at": tfkit.Computed("When the transaction happened, as reported by the service: ISO 8601, UTC."),
				}},
				MarkdownDescription: "The transactions that match the filters, newest first, up to `max_results`.",
			},
			"truncated": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether more transactions match the " +
				"filters than `transactions` lists."},
			"summary": schema.MapNestedAttribute{
				Computed: true, NestedObject: summaryObject(),
				MarkdownDescription: "Sums of all transactions that match the filters, by currency code. " +
					"A currency without transactions has no entry.",
			},
			"by_card": schema.MapNestedAttribute{
				Computed: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"summary": schema.MapNestedAttribute{
						Computed: true, NestedObject: summaryObject(),
						MarkdownDescription: "Sums of the card's transactions that match the filters, by currency code.",
					},
				}},
				MarkdownDescription: "The same sums by card id, as in `by_card[\"card_…\"].summary[\"USD\"].net_spend`. " +
					"A card without transactions has no entry.",
			},
		},
	}
}

func summaryObject() schema.NestedAttributeObject {
	return schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
		"counts": schema.MapAttribute{
			Computed: true, ElementType: types.Int64Type,
			MarkdownDescription: "Number of transactions by type. Documented types are always present, with 0 if there are none.",
		},
		"authorized": tfkit.ComputedNumber("Sum of the authorizations, including those that were settled later."),
		"settled":    tfkit.ComputedNumber("Sum of the settlements."),
		"refunded":   tfkit.ComputedNumber("Sum of the refunds."),
		"declined":   tfkit.ComputedNumber("Sum of the declined amounts, which were not spent."),
		"fees":       tfkit.ComputedNumber("Sum of the fees of all transactions."),
		"net_spend": tfkit.ComputedNumber("Net spend: `settled` minus `refunded` plus `fees`. " +
			"Negative if refunds exceed settlements and fees."),
	}}
}

// timeForm matches a date, or a time with or without a zone. It also matches dates and times that do not exist, such as
// 2026-02-30.
var timeForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?)?$`)

// checkTime checks a date or time. If it is invalid, checkTime returns the title of the error and the problem,
// and otherwise empty texts.
func checkTime(text string) (title, problem string) {
	_, _, err := parsePeriod(text)
	if err == nil {
		return "", ""
	}
	layoutsWithoutZone := []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05"}
	for _, layout := range layoutsWithoutZone {
		_, err := time.Parse(layout, text)
		if err == nil {
			return "Time has no zone", fmt.Sprintf("must have a time zone, got %q. "+
				"Use a form such as 2026-03-31T18:00:00Z in UTC, or 2026-03-31T18:00:00+02:00 with an offset.", text)
		}
	}
	if timeForm.MatchString(text) {
		return "Date or time out of range", fmt.Sprintf("must be a date or time that exists, got %q.", text)
	}
	return "Invalid date or time", fmt.Sprintf("must be a date such as 2026-03-31, or a time with its zone such as "+
		"2026-03-31T18:00:00Z, got %q.", text)
}

// parsePeriod returns the first and the last moment of a date in UTC. For a time, both are that time. If the text is
// invalid, they are zero.
func parsePeriod(text string) (first, last time.Time, err error) {
	day, err := time.Parse(time.DateOnly, text)
	if err == nil {
		nextDay := day.AddDate(0, 0, 1)
		return day, nextDay.Add(-time.Nanosecond), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, at, err
}

// checkPeriod refuses a period that ends before it starts. It accepts a period whose start or end cannot be read, for
// example because it is null, unknown or invalid.
func checkPeriod(m model, diags *diag.Diagnostics) {
	first, _, err := parsePeriod(m.From.ValueString())
	if err != nil {
		return
	}
	_, last, err := parsePeriod(m.To.ValueString())
	if err != nil || !first.After(last) {
		return
	}
	diags.AddAttributeError(path.Root("from"), "from is later than to",
		fmt.Sprintf("from is %q, and to is %q. A date covers the whole day in UTC. Choose an earlier from or a later to.",
			m.From.ValueString(), m.To.ValueString()))
}

type summary struct {
	Counts     map[string]int64 `tfsdk:"counts"`
	Authorized types.Number     `tfsdk:"authorized"`
	Settled    types.Number     `tfsdk:"settled"`
	Refunded   types.Number     `tfsdk:"refunded"`
	Declined   types.Number     `tfsdk:"declined"`
	Fees       types.Number     `tfsdk:"fees"`
	NetSpend   types.Number     `tfsdk:"net_spend"`
}

// currencySums has the sums of the transactions in one currency. The keys of counts and amounts are types, documented or
// not.
type currencySums struct {
	counts  map[string]int64
	amounts map[api.TransactionType]usd.Decimal
	fees    usd.Decimal
}

// sumsByCurrency has the sums by currency code.
type sumsByCurrency map[string]*currencySums

// add adds a transaction to the sums. It returns how many sums it created, which is how many it adds to totals.count: one
// for a new currency, which includes the documented types, and one for a new undocumented type.
func (s sumsByCurrency) add(tx api.Transaction) int {
	created := 0
	sums := s[tx.Currency]
	if sums == nil {
		created++
		sums = &currencySums{counts: map[string]int64{}, amounts: map[api.TransactionType]usd.Decimal{}}
		for _, name := range transactionTypes() {
			sums.counts[name] = 0
		}
		s[tx.Currency] = sums
	}
	if !tx.Type.IsKnown() && sums.counts[string(tx.Type)] == 0 {
		created++
	}
	sums.counts[string(tx.Type)]++
	sums.amounts[tx.Type] = sums.amounts[tx.Type].Add(tx.Amount)
	sums.fees = sums.fees.Add(tx.Fee)
	return created
}

// summaries returns the sums by currency code, as the state has them.
func (s sumsByCurrency) summaries() map[string]summary {
	summaries := make(map[string]summary, len(s))
	for currency, sums := range s {
		settled := sums.amounts[api.TransactionSettlement]
		refunded := sums.amounts[api.TransactionRefund]
		netSpend := settled.Sub(refunded).Add(sums.fees)
		summaries[currency] = summary{
			Counts:     sums.counts,
			Authorized: types.NumberValue(sums.amounts[api.TransactionAuthorization].BigFloat()),
			Settled:    types.NumberValue(settled.BigFloat()),
			Refunded:   types.NumberValue(refunded.BigFloat()),
			Declined:   types.NumberValue(sums.amounts[api.TransactionDecline].BigFloat()),
			Fees:       types.NumberValue(sums.fees.BigFloat()),
			NetSpend:   types.NumberValue(netSpend.BigFloat()),
		}
	}
	return summaries
}

// totals has the sums of all transactions that were added, and the sums by card.
type totals struct {
	all    sumsByCurrency
	byCard map[string]sumsByCurrency
	count  int // the number of sums; see sumsByCurrency.add
}

func newTotals() *totals {
	return &totals{all: sumsByCurrency{}, byCard: map[string]sumsByCurrency{}}
}

// add adds a transaction to the sums of all transactions and to those of its card.
func (t *totals) add(tx api.Transaction) {
	cardSums := t.byCard[tx.CardID]
	if cardSums == nil {
		cardSums = sumsByCurrency{}
		t.byCard[tx.CardID] = cardSums
	}
	t.count += t.all.add(tx)
	t.count += cardSums.add(tx)
}
