// Package transaction is all that HCL can say about transactions.
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
		Name: "transactions", Does: "read the transactions",
		About: about, Check: checkPeriod, Fill: fill,
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

// cardSummary is an object with one attribute: generators of code for other languages, such
// as CDK for Terraform, cannot express a map of maps of objects.
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
	maxSums   = 50_000 // more than there are cards with purchases in a period
	mostNamed = 5      // transactions in a warning

	defaultMaxResults = 1_000
	// highestMaxResults bounds memory: an entry takes some kilobytes of Terraform and the provider.
	highestMaxResults = 10_000
)

// fill lists the first transactions, up to max_results, and sums up all of them but those whose
// amounts cannot be read, of which a warning tells.
func fill(ctx context.Context, s *session.Session, m *model, diags *diag.Diagnostics) error {
	if !tfkit.RequireCardID(path.Root("card_id"), m.CardID, diags) {
		return nil
	}
	filter := api.TransactionFilter{CardID: m.CardID.ValueString(), Type: api.TransactionType(m.Type.ValueString())}
	filter.From, _, _ = span(m.From.ValueString()) // the zero time when it is not set
	_, filter.To, _ = span(m.To.ValueString())
	limit := int64(defaultMaxResults)
	if !m.MaxResults.IsNull() {
		limit, _ = m.MaxResults.ValueBigFloat().Int64()
	}
	count, sums, unread := int64(0), 0, 0
	var first []string // of what is unread
	all, byCard := totals{}, map[string]totals{}
	m.Transactions = []transaction{}
	for t, err := range s.Client.Transactions(ctx, filter) {
		if err != nil {
			return err
		}
		if count++; count <= limit {
			m.Transactions = append(m.Transactions, transactionFromAPI(t))
		}
		if t.Problem != "" {
			if unread++; unread <= mostNamed {
				first = append(first, t.Problem)
			}
			continue
		}
		if byCard[t.CardID] == nil {
			byCard[t.CardID] = totals{}
		}
		if sums += all.add(t) + byCard[t.CardID].add(t); sums > maxSums {
			return fmt.Errorf("list transactions: they are of more than %d cards, currencies and types together; ask for a shorter period, or for one card_id", maxSums)
		}
	}
	m.Truncated = types.BoolValue(count > limit)
	m.Summary, m.ByCard = all.summaries(), make(map[string]cardSummary, len(byCard))
	for card, sums := range byCard {
		m.ByCard[card] = cardSummary{Summary: sums.summaries()}
	}
	if unread > 0 {
		diags.AddWarning(fmt.Sprintf("Transactions that are in no sum: %d", unread),
			"The service shows transactions whose amounts are not what its document describes. They are listed without amount and fee, and summary and by_card leave them out:\n  - "+
				strings.Join(first, "\n  - ")+"\n\nAsk the service's support about them, with their ids.")
	}
	return nil
}

func transactionFromAPI(t api.Transaction) transaction {
	shown := transaction{
		ID: t.ID, CardID: t.CardID, Type: string(t.Type), Currency: t.Currency, CreatedAt: string(t.CreatedAt),
		Merchant: merchant{Name: t.Merchant.Name.String(), MCC: t.Merchant.MCC.String()},
	}
	if t.Problem == "" {
		shown.Amount, shown.Fee = types.NumberValue(t.Amount.BigFloat()), types.NumberValue(t.Fee.BigFloat())
	}
	return shown
}

// transactionTypes are the types of API §2.2.
func transactionTypes() []string {
	return []string{
		string(api.TransactionAuthorization), string(api.TransactionSettlement),
		string(api.TransactionRefund), string(api.TransactionDecline),
	}
}

func about() schema.Schema {
	allTypes := "`" + strings.Join(transactionTypes(), "`, `") + "`"
	return schema.Schema{
		MarkdownDescription: "What was spent on the account's cards, newest first, with exact sums. " +
			"The sums cover all transactions that the filters select, whatever `max_results` is; so all pages are read, 100 transactions in a call where the service allows it.",
		Attributes: map[string]schema.Attribute{
			"card_id": tfkit.Filter("Only transactions of this card. Default: of all cards, terminated ones included.", tfkit.CardID()),
			"type":    tfkit.Filter("Only transactions of this type, one of "+allTypes+". Default: all types.", tfkit.OneOf(transactionTypes()...)),
			"from": tfkit.Filter("Only transactions from here on: an RFC 3339 time with its zone such as `2026-03-01T08:00:00Z`, or a date such as "+
				"`2026-03-01`, which begins at midnight UTC. Inclusive. Default: from the first one on.", tfkit.TextRule(instant)),
			"to": tfkit.Filter("Only transactions up to here: an RFC 3339 time with its zone, or a date, which includes that whole day in UTC. "+
				"Inclusive; not before `from`. Default: up to now.", tfkit.TextRule(instant)),
			"max_results": schema.NumberAttribute{
				Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(1, highestMaxResults)},
				MarkdownDescription: fmt.Sprintf("How many transactions to list at most, the newest ones, from 1 to %d. Default: %d. "+
					"It bounds the size of `transactions` alone: `summary` and `by_card` cover the others too.", highestMaxResults, defaultMaxResults),
			},
			"transactions": schema.ListNestedAttribute{
				Computed: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":      tfkit.Computed("Transaction id, of the form `txn_…`."),
					"card_id": tfkit.Computed("Id of the card."),
					"type":    tfkit.Computed("One of " + allTypes + "."),
					"amount": tfkit.ComputedNumber("Amount, in `currency`, exact and never negative: `type` says which way it went. " +
						"Null, with a warning, where the service shows none that can be read; no sum includes it then."),
					"currency": tfkit.Computed("Currency code of `amount` and `fee`, such as `USD`."),
					"fee":      tfkit.ComputedNumber("Fee charged, in `currency`, exact and never negative. Null where `amount` is."),
					"merchant": schema.SingleNestedAttribute{
						Computed: true, MarkdownDescription: "Where the card was used.",
						Attributes: map[string]schema.Attribute{
							"name": tfkit.Computed("Name of the merchant."), "mcc": tfkit.Computed("Merchant category code."),
						},
					},
					"created_at": tfkit.Computed("When it happened, as the service writes it: ISO 8601, UTC."),
				}},
				MarkdownDescription: "The transactions that pass the filters, newest first, each once, up to `max_results`.",
			},
			"truncated": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether more transactions pass the filters than `max_results` lets into `transactions`."},
			"summary": schema.MapNestedAttribute{
				Computed: true, NestedObject: summaryObject(),
				MarkdownDescription: "What all transactions that pass the filters add up to, by currency code. A currency without transactions has no entry.",
			},
			"by_card": schema.MapNestedAttribute{
				Computed: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"summary": schema.MapNestedAttribute{
						Computed: true, NestedObject: summaryObject(),
						MarkdownDescription: "What the card's transactions that pass the filters add up to, by currency code.",
					},
				}},
				MarkdownDescription: "The same sums by card id, as in `by_card[\"card_…\"].summary[\"USD\"].net_spend`. A card without transactions has no entry.",
			},
		},
	}
}

func summaryObject() schema.NestedAttributeObject {
	return schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
		"counts": schema.MapAttribute{
			Computed: true, ElementType: types.Int64Type,
			MarkdownDescription: "Number of transactions by type. The documented types are always there, with 0 where there is none.",
		},
		"authorized": tfkit.ComputedNumber("Sum of the authorizations, those that were settled since included."),
		"settled":    tfkit.ComputedNumber("Sum of the settlements."),
		"refunded":   tfkit.ComputedNumber("Sum of the refunds."),
		"declined":   tfkit.ComputedNumber("Sum of what was declined. It was not spent."),
		"fees":       tfkit.ComputedNumber("Sum of the fees of all transactions."),
		"net_spend":  tfkit.ComputedNumber("What the cards have cost: `settled`, less `refunded`, plus `fees`. Negative when more came back than went out."),
	}}
}

func instant(text string) (title, wrong string) {
	if _, _, err := span(text); err == nil {
		return "", ""
	}
	title, why := "Not a date or time", "which is neither"
	if regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?)?$`).MatchString(text) {
		title, why = "Date or time out of range", "which the calendar or the clock does not have"
	}
	for _, zoneless := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		if _, err := time.Parse(zoneless, text); err == nil {
			title, why = "A time without a zone", "which has no zone: add Z for UTC, or an offset like +02:00"
		}
	}
	return title, fmt.Sprintf("must be a date like 2026-03-31, or a time with its zone like 2026-03-31T18:00:00Z, got %q, %s.", text, why)
}

// span returns the first and the last moment that a time or a whole UTC day has.
func span(text string) (first, last time.Time, err error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, day.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, at, err
}

func checkPeriod(m model, diags *diag.Diagnostics) {
	first, _, err := span(m.From.ValueString())
	if err != nil {
		return // not set, not known, or refused by its own validator
	}
	if _, last, err := span(m.To.ValueString()); err == nil && first.After(last) {
		diags.AddAttributeError(path.Root("from"), "The period ends before it begins",
			fmt.Sprintf("from must not be after to, got from %q to %q. Both are inclusive, and a bare date is that whole day in UTC.", m.From.ValueString(), m.To.ValueString()))
	}
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

type total struct {
	counts  map[string]int64
	amounts map[api.TransactionType]usd.Decimal
	fees    usd.Decimal
}

type totals map[string]*total

// add returns by how many entries the totals have grown.
func (all totals) add(t api.Transaction) (grown int) {
	sum := all[t.Currency]
	if sum == nil {
		grown++
		sum = &total{counts: map[string]int64{}, amounts: map[api.TransactionType]usd.Decimal{}}
		for _, known := range transactionTypes() {
			sum.counts[known] = 0
		}
		all[t.Currency] = sum
	}
	if !t.Type.IsKnown() && sum.counts[string(t.Type)] == 0 {
		grown++
	}
	sum.counts[string(t.Type)]++
	sum.amounts[t.Type] = sum.amounts[t.Type].Add(t.Amount)
	sum.fees = sum.fees.Add(t.Fee)
	return grown
}

func (all totals) summaries() map[string]summary {
	summaries := make(map[string]summary, len(all))
	for currency, sum := range all {
		of := func(t api.TransactionType) types.Number { return types.NumberValue(sum.amounts[t].BigFloat()) }
		net := sum.amounts[api.TransactionSettlement].Sub(sum.amounts[api.TransactionRefund]).Add(sum.fees)
		summaries[currency] = summary{
			Counts:     sum.counts,
			Authorized: of(api.TransactionAuthorization),
			Settled:    of(api.TransactionSettlement),
			Refunded:   of(api.TransactionRefund),
			Declined:   of(api.TransactionDecline),
			Fees:       types.NumberValue(sum.fees.BigFloat()),
			NetSpend:   types.NumberValue(net.BigFloat()),
		}
	}
	return summaries
}
